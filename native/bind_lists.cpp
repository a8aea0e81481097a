// Binds what CofiRank is made of: losses of whole lists, the bundle method on them, and least squares.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "border.hpp"
#include "cofi.hpp"
#include "least_squares.hpp"

namespace rather {

namespace {

BundleOptions bundle_options(int planes, double gap, int n_threads) {
  return {at_least(planes, 1, "planes"), gap, n_threads};
}

}  // namespace

void bind_lists(nb::module_& m) {
  nb::class_<RatedLists>(m, "RatedLists")
      .def(
          "__init__",
          [](RatedLists* self, const Store& s, int loss, std::int32_t k, const In<double>& rating) {
            if (!s.by_level) wrong("store", "holds pairs", "hold ratings");
            new (self)
                RatedLists(s, static_cast<ListKind>(loss), at_least(k, 1, "k"), sized(rating, s.n_entries(), "rating"));
          },
          "store"_a, "loss"_a, "k"_a, "rating"_a, nb::keep_alive<1, 2>());
  m.def(
      "evaluate_lists",
      [](const RatedLists& lists, const In<float>& m, const InOut<float>& c, Threads n_threads) {
        const std::int64_t n = lists.s.n_entries();
        return evaluate_lists(lists, sized(m, n, "m"), sized(c, n, "c"), n_threads);
      },
      "lists"_a, "m"_a, "c"_a, "n_threads"_a, Release());
  m.def(
      "bundle_users",
      [](const RatedLists& lists, const In<float>& V, const InOut<float>& U, std::int64_t rank, double reg, int planes,
         double gap, Threads n_threads) {
        auto u = rows(U, lists.s.n_users, "U");
        auto v = rows(V, lists.s.n_items, "V", u.ld);
        BundleReport r = bundle_users(lists, v.data, u.data, u.ld, between(rank, 0, u.ld - 1, "rank"), reg,
                                      bundle_options(planes, gap, n_threads));
        return std::make_tuple(r.loss, r.gap);
      },
      "lists"_a, "V"_a, "U"_a, "rank"_a, "reg"_a, "planes"_a, "gap"_a, "n_threads"_a, Release());
  m.def(
      "bundle_items",
      [](const RatedLists& lists, const In<float>& U, const InOut<float>& V, std::int64_t rank, const In<float>& q,
         const In<float>& beta, int planes, double gap, Threads n_threads) {
        const std::int64_t n = lists.s.n_items;
        auto v = rows(V, n, "V");
        auto u = rows(U, lists.s.n_users, "U", v.ld);
        ItemRidge ridge{sized(q, n, "q"), sized(beta, n, "beta"), between(rank, 0, v.ld - 1, "rank"), v.ld};
        BundleReport r = bundle_items(lists, u.data, v.data, ridge, bundle_options(planes, gap, n_threads));
        return std::make_tuple(r.loss, r.gap);
      },
      "lists"_a, "U"_a, "V"_a, "rank"_a, "q"_a, "beta"_a, "planes"_a, "gap"_a, "n_threads"_a, Release());
  m.def(
      "regress_users",
      [](const Store& s, const In<float>& y, const In<float>& V, const InOut<float>& U, std::int64_t rank, double reg,
         Threads n_threads) {
        auto u = rows(U, s.n_users, "U");
        auto v = rows(V, s.n_items, "V", u.ld);
        Regression r{between(rank, 0, u.ld - 1, "rank"), rank + 1, u.ld};
        return regress_users(s, sized(y, s.n_entries(), "y"), v.data, u.data, r, reg, n_threads);
      },
      "store"_a, "y"_a, "V"_a, "U"_a, "rank"_a, "reg"_a, "n_threads"_a, Release());
  m.def(
      "regress_items",
      [](const Store& s, const In<float>& y, const In<float>& U, const InOut<float>& V, std::int64_t rank, bool bias,
         const In<float>& q, const In<float>& beta, Threads n_threads) {
        auto v = rows(V, s.n_items, "V");
        auto u = rows(U, s.n_users, "U", v.ld);
        Regression r{between(rank, 0, v.ld - 1, "rank"), rank + bias, v.ld};
        return regress_items(s, sized(y, s.n_entries(), "y"), u.data, v.data, r, sized(q, s.n_items, "q"),
                             sized(beta, s.n_items, "beta"), n_threads);
      },
      "store"_a, "y"_a, "U"_a, "V"_a, "rank"_a, "bias"_a, "q"_a, "beta"_a, "n_threads"_a, Release());
}

}  // namespace rather
