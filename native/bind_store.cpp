// Binds the store of comparisons, and the ways to draw comparisons from other data.
#include "bindings.hpp"
#include "border.hpp"
#include "parts.hpp"
#include "sample.hpp"
#include "store.hpp"
#include "sweep.hpp"

namespace rather {

namespace {

// A read-only numpy view of a vector owned by `owner`.
template <class T>
auto view(const std::vector<T>& values, nb::handle owner) {
  return nb::ndarray<nb::numpy, const T>(values.data(), {values.size()}, owner);
}

Store from_ratings(std::int32_t n_users, std::int32_t n_items, const In<std::int32_t>& user,
                   const In<std::int32_t>& item, const In<double>& rating, Threads n_threads) {
  const std::int64_t n = size_of(user, "user");
  at_least(n_users, 0, "n_users"), at_least(n_items, 0, "n_items");
  return store_from_ratings(n_users, n_items, n, in_order(coded(user, n, n_users, "user"), n, "user"),
                            coded(item, n, n_items, "item"), sized(rating, n, "rating"), n_threads);
}

Store from_pairs(std::int32_t n_users, std::int32_t n_items, const In<std::int32_t>& user,
                 const In<std::int32_t>& winner, const In<std::int32_t>& loser, const std::optional<In<float>>& weight,
                 const std::optional<In<float>>& gap, Threads n_threads) {
  const std::int64_t n = size_of(user, "user");
  at_least(n_users, 0, "n_users"), at_least(n_items, 0, "n_items");
  return store_from_pairs(n_users, n_items, n, in_order(coded(user, n, n_users, "user"), n, "user"),
                          coded(winner, n, n_items, "winner"), coded(loser, n, n_items, "loser"),
                          sized(weight, n, "weight"), sized(gap, n, "gap"), n_threads);
}

// Sums over processes as Python makes them: a function that replaces an array by its sum, in place.
class PythonAcross : public Across {
 public:
  explicit PythonAcross(nb::callable sum) : sum_(std::move(sum)) {}
  ~PythonAcross() override {
    nb::gil_scoped_acquire hold;
    sum_.reset();
  }
  void sum(float* x, std::int64_t n) const override { call(x, n); }
  void sum(double* x, std::int64_t n) const override { call(x, n); }

 private:
  template <class T>
  void call(T* x, std::int64_t n) const {
    nb::gil_scoped_acquire hold;
    nb::ndarray<nb::numpy, T, nb::ndim<1>> array(x, {static_cast<std::size_t>(n)}, nb::none());
    sum_(nb::cast(array, nb::rv_policy::reference));
  }
  nb::callable sum_;
};

void in_shards_(Store& s, const In<std::int64_t>& start, std::int64_t first, std::optional<nb::callable> across,
                Threads n_threads) {
  const std::int64_t n = size_of(start, "start") - 1;
  Starts users = starts(start, s.n_users, "start");
  if (n < 1 || (n & (n - 1))) wrong("start", "is of " + std::to_string(n) + " shards", "be of a power of two");
  std::shared_ptr<const Across> others;
  if (across) others = std::make_shared<PythonAcross>(std::move(*across));
  s.first_shard = at_least(first, 0, "first");
  s.sharded = true;
  nb::gil_scoped_release release;
  in_shards(s, Shards({users.data, users.data + n + 1}, std::move(others)), n_threads);
}

void clicks_against_unseen(const In<std::int64_t>& start, const In<std::int32_t>& clicked,
                           const In<std::int64_t>& seen_start, const In<std::int32_t>& seen, std::int32_t n_items,
                           std::int64_t per_user, std::uint64_t seed, const InOut<std::int32_t>& winner,
                           const InOut<std::int32_t>& loser, Threads n_threads) {
  const std::int64_t n_clicked = size_of(clicked, "clicked"), n_seen = size_of(seen, "seen");
  Starts rows = starts(start, n_clicked, "start"), seen_rows = starts(seen_start, n_seen, "seen_start", rows.n_rows);
  const std::int64_t n = rows.n_rows * at_least(per_user, 0, "per_user");
  sample_clicks({rows.data, coded(clicked, n_clicked, n_items, "clicked")},
                {seen_rows.data, coded(seen, n_seen, n_items, "seen")}, rows.n_rows, n_items, per_user, seed,
                sized(winner, n, "winner"), sized(loser, n, "loser"), n_threads);
}

void unseen_items(const In<std::int64_t>& start, const In<std::int32_t>& seen, const In<double>& weight,
                  const In<std::int64_t>& wanted, const In<std::int64_t>& place, std::uint64_t seed,
                  const InOut<std::int32_t>& item, Threads n_threads) {
  const std::int64_t n_seen = size_of(seen, "seen"), n_places = size_of(item, "item");
  const std::int64_t n_items = size_of(weight, "weight");
  if (n_items > std::numeric_limits<std::int32_t>::max())
    wrong("weight", "has " + std::to_string(n_items) + " numbers", "have fewer than 2^31");
  Starts rows = starts(start, n_seen, "start");
  const std::int64_t *n_wanted = sized(wanted, rows.n_rows, "wanted"), *first = sized(place, rows.n_rows, "place");
  for (std::int64_t i = 0; i < rows.n_rows; ++i) {
    const std::int64_t left = n_items - (rows.data[i + 1] - rows.data[i]);
    between(n_wanted[i], 0, std::max<std::int64_t>(left, 0), "wanted", i);
    between(first[i], 0, n_places - n_wanted[i], "place", i);
  }
  sample_unseen({rows.data, coded(seen, n_seen, n_items, "seen")}, rows.n_rows, sized(weight, n_items, "weight"),
                static_cast<std::int32_t>(n_items), n_wanted, first, seed, sized(item, n_places, "item"), n_threads);
}

}  // namespace

void bind_store(nb::module_& m) {
  nb::class_<Store>(m, "Store")
      .def_ro("n_users", &Store::n_users)
      .def_ro("n_items", &Store::n_items)
      .def_ro("n_comparisons", &Store::n_comparisons)
      .def_ro("by_level", &Store::by_level)
      .def_prop_ro("n_entries", &Store::n_entries)
      .def_ro("sharded", &Store::sharded)
      .def_ro("first_shard", &Store::first_shard)
      .def_prop_ro("shard_start",
                   [](nb::handle self) { return view(nb::cast<const Store&>(self).users.start(), self); })
      .def_ro("all_users", &Store::all_users)
      .def_ro("all_entries", &Store::all_entries)
      .def_prop_ro("sweeps", &Sweep::any)
      .def(
          "across",
          [](const Store& s, const InOut<double>& x) {
            s.users.across(sized(x, size_of(x, "x"), "x"), size_of(x, "x"));
          },
          "x"_a, Release())
      .def(
          "in_shards_of",
          [](Store& s, const Store& other, Threads n_threads) {
            between(other.n_users, s.n_users, s.n_users, "other.n_users");
            s.first_shard = other.first_shard, s.sharded = other.sharded;
            in_shards(s, other.users, n_threads);
          },
          "other"_a, "n_threads"_a, Release())
      .def("in_shards", &in_shards_, "start"_a, "first"_a, "across"_a.none(), "n_threads"_a)
      .def_prop_ro("start", [](nb::handle self) { return view(nb::cast<const Store&>(self).start, self); })
      .def_prop_ro("item_count", [](nb::handle self) { return view(nb::cast<const Store&>(self).item_count, self); })
      .def_prop_ro("item", [](nb::handle self) { return view(nb::cast<const Store&>(self).item, self); });
  m.def("store_from_ratings", &from_ratings, "n_users"_a, "n_items"_a, "user"_a, "item"_a, "rating"_a, "n_threads"_a,
        Release());
  m.def("store_from_pairs", &from_pairs, "n_users"_a, "n_items"_a, "user"_a, "winner"_a, "loser"_a, "weight"_a.none(),
        "gap"_a.none(), "n_threads"_a, Release());
  m.def(
      "comparisons_per_user",
      [](const Store& s, const InOut<double>& out) { comparisons_per_user(s, sized(out, s.n_users, "out")); },
      "store"_a, "out"_a, Release());
  m.def(
      "count_comparisons",
      [](const Store& s, const InOut<double>& users, const InOut<double>& items) {
        count_comparisons(s, sized(users, s.n_users, "users"), sized(items, s.n_items, "items"));
      },
      "store"_a, "users"_a, "items"_a, Release());
  m.def(
      "connected_parts",
      [](const Store& s, const InOut<std::int32_t>& part) {
        return connected_parts(s, sized(part, s.n_items, "part"));
      },
      "store"_a, "part"_a, Release());

  m.def("sample_clicks", &clicks_against_unseen, "start"_a, "clicked"_a, "seen_start"_a, "seen"_a, "n_items"_a,
        "per_user"_a, "seed"_a, "winner"_a, "loser"_a, "n_threads"_a, Release());
  m.def("sample_unseen", &unseen_items, "start"_a, "seen"_a, "weight"_a, "wanted"_a, "place"_a, "seed"_a, "item"_a,
        "n_threads"_a, Release());
  m.def(
      "sample_items",
      [](std::int64_t n_users, std::int32_t n_items, std::int64_t per_user, std::uint64_t seed,
         const InOut<std::int32_t>& item, Threads n_threads) {
        at_least(n_users, 0, "n_users"), between(per_user, 0, n_items, "per_user");
        sample_items(n_users, n_items, per_user, seed, sized(item, n_users * per_user, "item"), n_threads);
      },
      "n_users"_a, "n_items"_a, "per_user"_a, "seed"_a, "item"_a, "n_threads"_a, Release());
  m.def(
      "all_pairs",
      [](const In<std::int64_t>& start, const In<double>& rating, const In<std::int64_t>& pair_start,
         const InOut<std::int64_t>& winner, const InOut<std::int64_t>& loser, Threads n_threads) {
        const std::int64_t n = size_of(rating, "rating"), n_pairs = size_of(winner, "winner");
        Starts rows = starts(start, n, "start"), pairs = starts(pair_start, n_pairs, "pair_start", rows.n_rows);
        all_pairs(rows.data, rows.n_rows, sized(rating, n, "rating"), pairs.data, sized(winner, n_pairs, "winner"),
                  sized(loser, n_pairs, "loser"), n_threads);
      },
      "start"_a, "rating"_a, "pair_start"_a, "winner"_a, "loser"_a, "n_threads"_a, Release());
  m.def(
      "largest_gaps",
      [](const In<std::int64_t>& start, const In<double>& rating, std::uint64_t seed, const InOut<std::int64_t>& winner,
         const InOut<std::int64_t>& loser, Threads n_threads) {
        const std::int64_t n = size_of(rating, "rating");
        Starts rows = starts(start, n, "start");
        largest_gaps(rows.data, rows.n_rows, sized(rating, n, "rating"), seed, sized(winner, n, "winner"),
                     sized(loser, n, "loser"), n_threads);
      },
      "start"_a, "rating"_a, "seed"_a, "winner"_a, "loser"_a, "n_threads"_a, Release());
}

}  // namespace rather
