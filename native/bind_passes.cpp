// Binds passes over the entries of a store, the spectrum of numbers over them, and prior means.
#include <nanobind/stl/vector.h>

#include "bind_prior.hpp"
#include "bindings.hpp"
#include "border.hpp"
#include "spectral.hpp"
#include "tied.hpp"

namespace rather {

void bind_passes(nb::module_& m) {
  m.def(
      "scores",
      [](const Store& s, const In<float>& U, const In<float>& V, const InOut<float>& out, Threads n_threads) {
        auto u = rows(U, s.n_users, "U");
        auto v = rows(V, s.n_items, "V", u.ld);
        scores(s, u.data, v.data, u.ld, sized(out, s.n_entries(), "out"), n_threads);
      },
      "store"_a, "U"_a, "V"_a, "out"_a, "n_threads"_a, Release());
  m.def(
      "item_products",
      [](const Store& s, const In<float>& coefficient, const In<float>& U, const InOut<float>& out, Threads n_threads) {
        auto u = rows(U, s.n_users, "U");
        item_products(s, sized(coefficient, s.n_entries(), "coefficient"), u.data, u.ld,
                      rows(out, s.n_items, "out", u.ld).data, n_threads);
      },
      "store"_a, "coefficient"_a, "U"_a, "out"_a, "n_threads"_a, Release());
  m.def(
      "user_products",
      [](const Store& s, const In<float>& coefficient, const In<float>& V, const InOut<float>& out, Threads n_threads) {
        auto v = rows(V, s.n_items, "V");
        user_products(s, sized(coefficient, s.n_entries(), "coefficient"), v.data, v.ld,
                      rows(out, s.n_users, "out", v.ld).data, n_threads);
      },
      "store"_a, "coefficient"_a, "V"_a, "out"_a, "n_threads"_a, Release());
  m.def(
      "scaled",
      [](const Store& s, const std::optional<In<float>>& c, const In<float>& left, const In<float>& right,
         const InOut<float>& out, Threads n_threads) {
        scaled(s, sized(c, s.n_entries(), "c"), sized(left, s.n_users, "left"), sized(right, s.n_items, "right"),
               sized(out, s.n_entries(), "out"), n_threads);
      },
      "store"_a, "c"_a.none(), "left"_a, "right"_a, "out"_a, "n_threads"_a, Release());
  m.def(
      "scale_rows",
      [](const InOut<float>& out, const std::optional<In<float>>& by_row, const In<float>& by_column,
         Threads n_threads) {
        auto a = rows(out, kAny, "out");
        scale_rows(a.data, a.n, a.ld, sized(by_row, a.n, "by_row"), sized(by_column, a.ld, "by_column"), n_threads);
      },
      "out"_a, "by_row"_a.none(), "by_column"_a, "n_threads"_a, Release());
  m.def(
      "square_sum",
      [](const Store& s, const In<float>& x, Threads n_threads) {
        return square_sum(s, sized(x, s.n_entries(), "x"), n_threads);
      },
      "store"_a, "x"_a, "n_threads"_a, Release());
  m.def(
      "sum_users",
      [](const Store& s, const In<double>& x, Threads n_threads) {
        return sum_users(s, sized(x, s.n_users, "x"), n_threads);
      },
      "store"_a, "x"_a, "n_threads"_a, Release());
  m.def(
      "copy_within",
      [](const In<float>& x, const InOut<float>& out, float largest, Threads n_threads) {
        const std::int64_t n = size_of(x, "x");
        return copy_within(sized(x, n, "x"), sized(out, n, "out"), n, largest, n_threads);
      },
      "x"_a, "out"_a, "largest"_a, "n_threads"_a, Release());
  m.def(
      "row_and_column_sums",
      [](const Store& s, const In<float>& x, const InOut<double>& row_absolute, const InOut<double>& row_square,
         const InOut<double>& column_square, Threads n_threads) {
        row_and_column_sums(s, sized(x, s.n_entries(), "x"), sized(row_absolute, s.n_users, "row_absolute"),
                            sized(row_square, s.n_users, "row_square"),
                            sized(column_square, s.n_items, "column_square"), n_threads);
      },
      "store"_a, "x"_a, "row_absolute"_a, "row_square"_a, "column_square"_a, "n_threads"_a, Release());

  m.def(
      "singular",
      [](const Store& s, const In<float>& coefficient, const InOut<float>& left, const InOut<float>& right,
         std::int64_t columns, int iterations, Threads n_threads) {
        auto u = rows(left, s.n_users, "left");
        auto v = rows(right, s.n_items, "right", u.ld);
        return singular(s, sized(coefficient, s.n_entries(), "coefficient"), u.data, v.data, u.ld,
                        between(columns, 0, u.ld, "columns"), iterations, n_threads);
      },
      "store"_a, "coefficient"_a, "left"_a, "right"_a, "columns"_a, "iterations"_a, "n_threads"_a, Release());
  nb::class_<FeaturePrior>(m, "Prior")
      .def(nb::init<In<float>, std::int64_t, In<float>, double, Threads, const Store*>(), "features"_a, "k"_a,
           "weight"_a, "ridge"_a, "n_threads"_a, "store"_a.none() = nb::none())
      .def(
          "regress",
          [](const FeaturePrior& self, const In<float>& X, const InOut<float>& C,
             const std::optional<InOut<float>>& mean, Threads n_threads) {
            auto x = rows(X, self.f.n, "X");
            self.prior.regress(x.data, x.ld, rows(C, self.prior.k(), "C", x.ld).data,
                               mean ? rows(*mean, self.f.n, "mean", x.ld).data : nullptr, n_threads);
          },
          "X"_a, "C"_a, "mean"_a.none(), "n_threads"_a, Release())
      .def(
          "means",
          [](const FeaturePrior& self, const In<float>& C, const InOut<float>& out, Threads n_threads) {
            auto c = rows(C, self.prior.k(), "C");
            multiply(self.f.data, self.f.ld, self.prior.k(), c.data, c.ld, rows(out, self.f.n, "out", c.ld).data,
                     self.f.n, n_threads);
          },
          "C"_a, "out"_a, "n_threads"_a, Release());
  m.def(
      "principal",
      [](const InOut<float>& F, std::int64_t k, const InOut<double>& axes, Threads n_threads) {
        auto f = rows(F, kAny, "F");
        between(k, 0, f.ld, "k");
        return principal(f.data, f.n, f.ld, k, sized(axes, k * k, "axes"), n_threads);
      },
      "F"_a, "k"_a, "axes"_a, "n_threads"_a, Release());
  m.def(
      "singular_expanded",
      [](const Store& s, const In<float>& coefficient, const In<float>& user_root, const FeaturePrior& users,
         const In<float>& item_root, const FeaturePrior& items, const InOut<float>& left, const InOut<float>& right,
         std::int64_t columns, int iterations, Threads n_threads) {
        auto u = rows(left, s.n_users, "left");
        auto v = rows(right, s.n_items, "right", u.ld);
        return singular_expanded(s, sized(coefficient, s.n_entries(), "coefficient"),
                                 {sized(user_root, s.n_users, "user_root"), users.of(s.n_users, "users")},
                                 {sized(item_root, s.n_items, "item_root"), items.of(s.n_items, "items")}, u.data,
                                 v.data, u.ld, between(columns, 0, u.ld, "columns"), iterations, n_threads);
      },
      "store"_a, "coefficient"_a, "user_root"_a, "users"_a, "item_root"_a, "items"_a, "left"_a, "right"_a, "columns"_a,
      "iterations"_a, "n_threads"_a, Release());
  m.def(
      "singular_tied",
      [](const Store& s, const In<float>& coefficient, const In<float>& user_root, const FeaturePrior& users,
         const FeaturePrior& described, const InOut<float>& left, const InOut<float>& right, std::int64_t columns,
         int iterations, Threads n_threads) {
        auto u = rows(left, s.n_users, "left");
        auto v = rows(right, s.n_items, "right", u.ld);
        return singular_tied(s, sized(coefficient, s.n_entries(), "coefficient"),
                             {sized(user_root, s.n_users, "user_root"), users.of(s.n_users, "users")},
                             described.of(s.n_items, "described"), u.data, v.data, u.ld,
                             between(columns, 0, u.ld, "columns"), iterations, n_threads);
      },
      "store"_a, "coefficient"_a, "user_root"_a, "users"_a, "described"_a, "left"_a, "right"_a, "columns"_a,
      "iterations"_a, "n_threads"_a, Release());
}

}  // namespace rather
