// Binds the sampler of everyone's tastes, and what follows from its draws.
#include <vector>

#include "bindings.hpp"
#include "border.hpp"
#include "tastes.hpp"

namespace rather {

namespace {

// Finite numbers, from `low` on.
const double* finite(const double* numbers, std::int64_t n, const char* name, double low = -1e100) {
  for (std::int64_t k = 0; k < n; ++k) between(numbers[k], low, 1e100, name, k);
  return numbers;
}

TasteVotes votes_of(const Store& s, const In<double>& count, const In<double>& lead, const In<float>& context,
                    std::int64_t rank) {
  if (s.by_level) wrong("store", "holds items on levels", "hold comparisons one by one");
  const std::int64_t n = s.n_comparisons;
  TasteVotes votes{s,
                   finite(sized(count, n, "count"), n, "count", 0.0),
                   finite(sized(lead, n, "lead"), n, "lead"),
                   nullptr,
                   0,
                   between(rank, 0, 4096, "rank")};
  const std::int64_t numbers = size_of(context, "context");
  votes.d = s.n_comparisons ? numbers / s.n_comparisons : 0;
  votes.context = sized(context, votes.d * s.n_comparisons, "context");
  return votes;
}

// Draws of the items, one after the other.
std::vector<TasteItems> items_of(const TasteVotes& votes, const In<double>& rows, const In<double>& effect,
                                 const In<double>& own) {
  const std::int64_t n = size_of(own, "own"), size = votes.s.n_items * (votes.rank + 1);
  const double *row = sized(rows, n * size, "rows"),
               *h = sized(effect, votes.s.n_comparisons ? n * votes.d : size_of(effect, "effect"), "effect");
  std::vector<TasteItems> draws;
  for (std::int64_t k = 0; k < n; ++k) draws.push_back({row + k * size, h + k * votes.d, sized(own, n, "own")[k]});
  return draws;
}

// Twice the number of a pair, or 1 more, of each of n.
const std::int64_t* numbered(const In<std::int64_t>& array, std::int64_t n, const char* name) {
  const std::int64_t* numbers = sized(array, n, name);
  for (std::int64_t q = 0; q < n; ++q) between(numbers[q], 0, n - 1, name, q);
  return numbers;
}

double taste_sweep_(const Store& s, const In<double>& count, const In<double>& lead, const In<float>& context,
                    std::int64_t rank, const In<std::int32_t>& user, const In<std::int64_t>& item_start,
                    const In<std::int64_t>& item_pair, const InOut<double>& rows, const InOut<double>& z,
                    const InOut<double>& e, const InOut<double>& effect, const InOut<double>& variance,
                    const In<double>& scale, std::uint64_t seed, std::uint64_t sweep, Threads n_threads) {
  TasteVotes votes = votes_of(s, count, lead, context, rank);
  const std::int64_t n = s.n_comparisons;
  const std::int32_t* owner = coded(user, n, s.n_users, "user");
  for (std::int64_t t = 0; t < n; ++t)
    if (t < s.pair_start[owner[t]] || t >= s.pair_start[owner[t] + 1])
      wrong(named("user", t), "is " + std::to_string(owner[t]), "be whose comparison it is");
  TasteIndex index{owner, starts(item_start, 2 * n, "item_start", s.n_items).data,
                   numbered(item_pair, 2 * n, "item_pair")};
  TasteState state{sized(rows, s.n_items * (rank + 1), "rows"), sized(z, s.n_users * rank, "z"),
                   sized(e, s.n_entries(), "e"), sized(effect, votes.d, "effect"),
                   sized(variance, rank + 2, "variance")};
  finite(state.variance, rank + 2, "variance", 1e-100);
  return TasteSampler(votes, index, state, finite(sized(scale, 3, "scale"), 3, "scale", 0.0), seed, sweep, n_threads)
      .sweep();
}

void taste_means_(const Store& s, const In<double>& count, const In<double>& lead, const In<float>& context,
                  std::int64_t rank, const In<double>& rows, const In<double>& effect, const In<double>& own,
                  const InOut<float>& z, const InOut<float>& e, Threads n_threads) {
  TasteVotes votes = votes_of(s, count, lead, context, rank);
  std::vector<TasteItems> draws = items_of(votes, rows, effect, own);
  if (draws.size() != 1) wrong("own", "has " + std::to_string(draws.size()) + " numbers", "have 1");
  taste_means(votes, draws[0], sized(z, s.n_users * rank, "z"), rank, sized(e, s.n_entries(), "e"), n_threads);
}

void taste_margins_(const Store& s, const In<double>& count, const In<double>& lead, const In<float>& context,
                    std::int64_t rank, const In<double>& rows, const In<double>& effect, const In<double>& own,
                    const In<std::int32_t>& users, const In<std::int64_t>& start, const In<std::int32_t>& left,
                    const In<std::int32_t>& right, const InOut<double>& mean, const InOut<double>& variance,
                    Threads n_threads) {
  TasteVotes votes = votes_of(s, count, lead, context, rank);
  std::vector<TasteItems> draws = items_of(votes, rows, effect, own);
  const std::int64_t n = size_of(left, "left"), m = size_of(users, "users");
  taste_margins(votes, draws.data(), static_cast<std::int64_t>(draws.size()), coded(users, m, s.n_users, "users"),
                starts(start, n, "start", m).data, m, coded(left, n, s.n_items, "left"),
                coded(right, n, s.n_items, "right"), sized(mean, n, "mean"), sized(variance, n, "variance"), n_threads);
}

void taste_answers_(const Store& s, const In<double>& count, const In<double>& lead, const In<float>& context,
                    std::int64_t rank, const In<double>& rows, const In<double>& effect, const In<double>& own,
                    std::int32_t user, const InOut<double>& slope, const InOut<double>& curvature) {
  TasteVotes votes = votes_of(s, count, lead, context, rank);
  std::vector<TasteItems> draws = items_of(votes, rows, effect, own);
  between(user, 0, s.n_users - 1, "user");
  const std::int64_t n = static_cast<std::int64_t>(draws.size());
  const std::int64_t size = n * (s.pair_start[user + 1] - s.pair_start[user]);
  taste_answers(votes, draws.data(), n, user, sized(slope, size, "slope"), sized(curvature, size, "curvature"));
}

void polya_gamma_(const In<double>& b, const In<double>& c, const InOut<double>& out, std::uint64_t seed) {
  const std::int64_t n = size_of(b, "b");
  const double *count = finite(sized(b, n, "b"), n, "b", 0.0), *tilt = finite(sized(c, n, "c"), n, "c");
  double* drawn = sized(out, n, "out");
  Variates draws(seed, 0);
  for (std::int64_t k = 0; k < n; ++k) drawn[k] = draw_polya_gamma(count[k], tilt[k], draws);
}

}  // namespace

void bind_tastes(nb::module_& m) {
  m.def("taste_sweep", &taste_sweep_, "store"_a, "count"_a, "lead"_a, "context"_a, "rank"_a, "user"_a, "item_start"_a,
        "item_pair"_a, "rows"_a, "z"_a, "e"_a, "effect"_a, "variance"_a, "scale"_a, "seed"_a, "sweep"_a, "n_threads"_a,
        Release());
  m.def("taste_means", &taste_means_, "store"_a, "count"_a, "lead"_a, "context"_a, "rank"_a, "rows"_a, "effect"_a,
        "own"_a, "z"_a, "e"_a, "n_threads"_a, Release());
  m.def("taste_margins", &taste_margins_, "store"_a, "count"_a, "lead"_a, "context"_a, "rank"_a, "rows"_a, "effect"_a,
        "own"_a, "users"_a, "start"_a, "left"_a, "right"_a, "mean"_a, "variance"_a, "n_threads"_a, Release());
  m.def("taste_answers", &taste_answers_, "store"_a, "count"_a, "lead"_a, "context"_a, "rank"_a, "rows"_a, "effect"_a,
        "own"_a, "user"_a, "slope"_a, "curvature"_a, Release());
  m.def("polya_gamma", &polya_gamma_, "b"_a, "c"_a, "out"_a, "seed"_a, Release());
}

}  // namespace rather
