// The only file of the core that knows Python: arrays in, plain functions out. Callers (src/rather) pass contiguous
// arrays whose sizes and codes are right.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>

#include "cofi.hpp"
#include "least_squares.hpp"
#include "limits.hpp"
#include "newton.hpp"
#include "prior.hpp"
#include "robirank.hpp"
#include "sample.hpp"
#include "sdca.hpp"
#include "serve.hpp"
#include "spectral.hpp"

namespace nb = nanobind;
using namespace rather;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Release = nb::call_guard<nb::gil_scoped_release>;

// A read-only numpy view of a vector owned by `owner`.
template <class T>
auto view(const std::vector<T>& values, nb::handle owner) {
  return nb::ndarray<nb::numpy, const T>(values.data(), {values.size()}, owner);
}

std::string best_instruction_set() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return v4 ? "avx512" : v3 ? "avx2" : "baseline";
#else
  return "baseline";
#endif
}

struct State {  // the scalars of a fit and the users' weights
  InOut<float> m, c, d;
  std::optional<InOut<std::uint32_t>> order;
  In<float> weight;
  Scalars scalars() const { return {m.data(), c.data(), d.data(), order ? order->data() : nullptr, weight.data()}; }
};

struct FeaturePrior {  // with the features it refers to
  In<float> features;
  Prior prior;
};

using Report = std::tuple<double, double, double>;
using DualReport = std::tuple<double, double, double, double>;

Report user_step_(const Store& s, int loss, float delta, In<float> p, std::optional<In<float>> centre, In<float> V,
                  InOut<float> U, std::int64_t rank, const State& z, int newton_steps, int cg_steps, double cg_tol,
                  double grad_tol, int n_threads) {
  StepOptions options{newton_steps, cg_steps, cg_tol, grad_tol, n_threads};
  StepReport r = with_primal_loss(static_cast<LossKind>(loss), delta, [&](auto kind) {
    return user_step(kind, s, p.data(), centre ? centre->data() : nullptr, V.data(), U.data(), U.shape(1), rank,
                     z.scalars(), options);
  });
  return {r.loss, r.ridge, r.decrement};
}

Report item_step_(const Store& s, int loss, float delta, In<float> q, In<float> beta, In<float> U, InOut<float> V,
                  std::int64_t rank, double loss_before, const State& z, int cg_steps, double cg_tol, int n_threads) {
  StepOptions options{1, cg_steps, cg_tol, 0, n_threads};
  ItemRidge ridge{q.data(), beta.data(), rank, static_cast<std::int64_t>(V.shape(1))};
  StepReport r = with_primal_loss(static_cast<LossKind>(loss), delta, [&](auto kind) {
    return item_step(kind, s, ridge, U.data(), V.data(), loss_before, z.scalars(), options);
  });
  return {r.loss, r.ridge, r.decrement};
}

double evaluate_(const Store& s, int loss, float delta, const State& z, int n_threads) {
  return with_primal_loss(static_cast<LossKind>(loss), delta,
                          [&](auto kind) { return evaluate(kind, s, z.scalars(), n_threads); });
}

double dual_value(const Store& s, int loss, float delta, float tau, const State& z, int n_threads) {
  if (static_cast<LossKind>(loss) == LossKind::hinge) return evaluate(HingeDual{tau, delta}, s, z.scalars(), n_threads);
  return evaluate(LogisticDual{tau}, s, z.scalars(), n_threads);
}

DualReport sdca_users_(const Store& s, int loss, In<float> weight, In<float> p, In<float> V, InOut<float> U,
                       InOut<float> alpha, std::int64_t rank, std::int64_t updates, std::uint64_t seed, int n_threads) {
  HalfReport r = with_loss(static_cast<LossKind>(loss), 0, [&](auto kind) {
    return sdca_users(kind, s, p.data(), V.data(), U.data(), alpha.data(), U.shape(1), rank,
                      DualOptions{weight.data(), updates, seed, n_threads});
  });
  return {r.loss, r.ridge, r.gap, r.gap_before};
}

DualReport sdca_items_(const Store& s, int loss, In<float> weight, In<float> q, In<float> beta_ridge, In<float> U,
                       InOut<float> V, InOut<float> beta, std::int64_t rank, std::int64_t updates, std::uint64_t seed,
                       int n_threads) {
  ItemRidge ridge{q.data(), beta_ridge.data(), rank, static_cast<std::int64_t>(V.shape(1))};
  HalfReport r = with_loss(static_cast<LossKind>(loss), 0, [&](auto kind) {
    return sdca_items(kind, s, ridge, U.data(), V.data(), beta.data(),
                      DualOptions{weight.data(), updates, seed, n_threads});
  });
  return {r.loss, r.ridge, r.gap, r.gap_before};
}

// The factors and the step sizes of a pass of stochastic gradient descent.
struct Pass {
  In<float> p, q;
  InOut<float> U, V;
  std::int64_t rank;
  double step, decay, passes_done;
  DescentOptions options;
  Descent descent() const {
    auto ld = static_cast<std::int64_t>(U.shape(1));
    const float fixed = U.size() ? U.data()[rank] : 0.0f;
    return {p.data(), q.data(), U.data(), V.data(), ld, rank, fixed, step, decay, passes_done};
  }
};

struct Clicks {
  In<std::int64_t> start;
  In<std::int32_t> user, item;
  std::int32_t n_items;
  ClickRows rows() const {
    return {start.data(), user.data(), item.data(), static_cast<std::int64_t>(user.size()), n_items};
  }
};

double descend_comparisons(const Store& s, int loss, In<float> weight, const Pass& pass) {
  Numbering number(s, weight.data());
  return with_loss(static_cast<LossKind>(loss), 0,
                   [&](auto kind) { return descend(kind, FromStore{s, number}, pass.descent(), pass.options); });
}

double descend_clicks(const Clicks& clicks, const Pass& pass) {
  return descend(Logistic{}, ClickedAgainstUnclicked{clicks.rows()}, pass.descent(), pass.options);
}

double robirank_pass_(const Clicks& clicks, In<std::int32_t> order, const Pass& pass) {
  return robirank_pass(clicks.rows(), order.data(), order.size(), pass.descent(), pass.options.seed,
                       pass.options.n_threads);
}

}  // namespace

NB_MODULE(RATHER_MODULE, m) {
  m.attr("LANES") = kLanes;
  m.attr("ROW_PAD") = kRowPad;
  m.def("best_instruction_set", &best_instruction_set);
  m.def("most_flops", &most_flops, Release());
  m.def("most_bytes", &most_bytes, Release());

  nb::class_<Store>(m, "Store")
      .def_ro("n_users", &Store::n_users)
      .def_ro("n_items", &Store::n_items)
      .def_ro("n_comparisons", &Store::n_comparisons)
      .def_ro("by_level", &Store::by_level)
      .def_prop_ro("n_entries", &Store::n_entries)
      .def_prop_ro("sweeps", [](const Store& s) { return s.by_level && s.longest >= Sweep::kFrom; })
      .def_prop_ro("start", [](nb::handle self) { return view(nb::cast<const Store&>(self).start, self); })
      .def_prop_ro("item_count", [](nb::handle self) { return view(nb::cast<const Store&>(self).item_count, self); })
      .def_prop_ro("item", [](nb::handle self) { return view(nb::cast<const Store&>(self).item, self); });
  m.def(
      "store_from_ratings",
      [](std::int32_t n_users, std::int32_t n_items, In<std::int32_t> user, In<std::int32_t> item, In<double> rating,
         int n_threads) {
        return store_from_ratings(n_users, n_items, user.size(), user.data(), item.data(), rating.data(), n_threads);
      },
      Release());
  m.def(
      "store_from_pairs",
      [](std::int32_t n_users, std::int32_t n_items, In<std::int32_t> user, In<std::int32_t> winner,
         In<std::int32_t> loser, std::optional<In<float>> weight, std::optional<In<float>> gap, int n_threads) {
        return store_from_pairs(n_users, n_items, user.size(), user.data(), winner.data(), loser.data(),
                                weight ? weight->data() : nullptr, gap ? gap->data() : nullptr, n_threads);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), Release());

  m.def(
      "comparisons_per_user", [](const Store& s, InOut<double> out) { comparisons_per_user(s, out.data()); },
      Release());
  m.def(
      "count_comparisons",
      [](const Store& s, InOut<double> users, InOut<double> items) {
        count_comparisons(s, users.data(), items.data());
      },
      Release());
  m.def(
      "sample_clicks",
      [](In<std::int64_t> start, In<std::int32_t> clicked, In<std::int64_t> seen_start, In<std::int32_t> seen,
         std::int32_t n_items, std::int64_t per_user, std::uint64_t seed, InOut<std::int32_t> winner,
         InOut<std::int32_t> loser, int n_threads) {
        sample_clicks({start.data(), clicked.data()}, {seen_start.data(), seen.data()}, start.size() - 1, n_items,
                      per_user, seed, winner.data(), loser.data(), n_threads);
      },
      Release());
  m.def(
      "sample_unseen",
      [](In<std::int64_t> start, In<std::int32_t> seen, In<double> weight, In<std::int64_t> wanted,
         In<std::int64_t> place, std::uint64_t seed, InOut<std::int32_t> item, int n_threads) {
        sample_unseen({start.data(), seen.data()}, start.size() - 1, weight.data(), weight.size(), wanted.data(),
                      place.data(), seed, item.data(), n_threads);
      },
      Release());
  m.def(
      "sample_items",
      [](std::int64_t n_users, std::int32_t n_items, std::int64_t per_user, std::uint64_t seed,
         InOut<std::int32_t> item,
         int n_threads) { sample_items(n_users, n_items, per_user, seed, item.data(), n_threads); },
      Release());
  m.def(
      "all_pairs",
      [](In<std::int64_t> start, In<double> rating, In<std::int64_t> pair_start, InOut<std::int64_t> winner,
         InOut<std::int64_t> loser, int n_threads) {
        all_pairs(start.data(), start.size() - 1, rating.data(), pair_start.data(), winner.data(), loser.data(),
                  n_threads);
      },
      Release());
  m.def(
      "largest_gaps",
      [](In<std::int64_t> start, In<double> rating, std::uint64_t seed, InOut<std::int64_t> winner,
         InOut<std::int64_t> loser, int n_threads) {
        largest_gaps(start.data(), start.size() - 1, rating.data(), seed, winner.data(), loser.data(), n_threads);
      },
      Release());

  nb::class_<State>(m, "State")
      .def(
          "__init__",
          [](State* self, InOut<float> m, InOut<float> c, InOut<float> d, std::optional<InOut<std::uint32_t>> order,
             In<float> weight) { new (self) State{m, c, d, order, weight}; },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  m.def("user_step", &user_step_, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), Release());
  m.def("item_step", &item_step_, Release());
  m.def("evaluate", &evaluate_, Release());
  m.def("dual_value", &dual_value, Release());
  m.def("sdca_users", &sdca_users_, Release());
  m.def("sdca_items", &sdca_items_, Release());

  nb::class_<Pass>(m, "Pass").def("__init__", [](Pass* self, In<float> p, In<float> q, InOut<float> U, InOut<float> V,
                                                 std::int64_t rank, double step, double decay, double passes_done,
                                                 std::int64_t updates, std::uint64_t seed, int n_threads) {
    new (self) Pass{p, q, U, V, rank, step, decay, passes_done, DescentOptions{updates, seed, n_threads}};
  });
  nb::class_<Clicks>(m, "Clicks")
      .def("__init__", [](Clicks* self, In<std::int64_t> start, In<std::int32_t> user, In<std::int32_t> item,
                          std::int32_t n_items) { new (self) Clicks{start, user, item, n_items}; });
  m.def("descend_comparisons", &descend_comparisons, Release());
  m.def("descend_clicks", &descend_clicks, Release());
  m.def("robirank_pass", &robirank_pass_, Release());

  m.def(
      "scores",
      [](const Store& s, In<float> U, In<float> V, InOut<float> out, int n_threads) {
        scores(s, U.data(), V.data(), U.shape(1), out.data(), n_threads);
      },
      Release());
  m.def(
      "item_products",
      [](const Store& s, In<float> coefficient, In<float> U, InOut<float> out, int n_threads) {
        item_products(s, coefficient.data(), U.data(), U.shape(1), out.data(), n_threads);
      },
      Release());
  nb::class_<RatedLists>(m, "RatedLists")
      .def(
          "__init__",
          [](RatedLists* self, const Store& s, int loss, std::int32_t k, In<double> rating) {
            new (self) RatedLists(s, static_cast<ListKind>(loss), k, rating.data());
          },
          nb::keep_alive<1, 2>());
  m.def(
      "evaluate_lists",
      [](const RatedLists& lists, In<float> m, InOut<float> c, int n_threads) {
        return evaluate_lists(lists, m.data(), c.data(), n_threads);
      },
      Release());
  m.def(
      "bundle_users",
      [](const RatedLists& lists, In<float> V, InOut<float> U, std::int64_t rank, double reg, int planes, double gap,
         int n_threads) {
        BundleReport r =
            bundle_users(lists, V.data(), U.data(), U.shape(1), rank, reg, BundleOptions{planes, gap, n_threads});
        return Report{r.loss, r.ridge, r.gap};
      },
      Release());
  m.def(
      "bundle_items",
      [](const RatedLists& lists, In<float> U, InOut<float> V, std::int64_t rank, In<float> q, In<float> beta,
         int planes, double gap, int n_threads) {
        ItemRidge ridge{q.data(), beta.data(), rank, static_cast<std::int64_t>(V.shape(1))};
        BundleReport r = bundle_items(lists, U.data(), V.data(), ridge, BundleOptions{planes, gap, n_threads});
        return Report{r.loss, r.ridge, r.gap};
      },
      Release());
  m.def(
      "regress_users",
      [](const Store& s, In<float> y, In<float> V, InOut<float> U, std::int64_t rank, double reg, int n_threads) {
        Regression r{rank, rank + 1, static_cast<std::int64_t>(U.shape(1))};
        return regress_users(s, y.data(), V.data(), U.data(), r, reg, n_threads);
      },
      Release());
  m.def(
      "regress_items",
      [](const Store& s, In<float> y, In<float> U, InOut<float> V, std::int64_t rank, bool bias, In<float> q,
         In<float> beta, int n_threads) {
        Regression r{rank, rank + bias, static_cast<std::int64_t>(V.shape(1))};
        return regress_items(s, y.data(), U.data(), V.data(), r, q.data(), beta.data(), n_threads);
      },
      Release());
  m.def(
      "scaled",
      [](const Store& s, In<float> c, In<float> left, In<float> right, InOut<float> out, int n_threads) {
        scaled(s, c.data(), left.data(), right.data(), out.data(), n_threads);
      },
      Release());
  m.def(
      "row_and_column_sums",
      [](const Store& s, In<float> x, InOut<double> row_absolute, InOut<double> row_square, InOut<double> column_square,
         int n_threads) {
        row_and_column_sums(s, x.data(), row_absolute.data(), row_square.data(), column_square.data(), n_threads);
      },
      Release());
  m.def(
      "user_products",
      [](const Store& s, In<float> coefficient, In<float> V, InOut<float> out, int n_threads) {
        user_products(s, coefficient.data(), V.data(), V.shape(1), out.data(), n_threads);
      },
      Release());
  m.def(
      "singular",
      [](const Store& s, In<float> coefficient, InOut<float> left, InOut<float> right, std::int64_t columns,
         int iterations, int n_threads) {
        return singular(s, coefficient.data(), left.data(), right.data(), left.shape(1), columns, iterations,
                        n_threads);
      },
      Release());

  nb::class_<FeaturePrior>(m, "Prior")
      .def("__init__",
           [](FeaturePrior* self, In<float> F, std::int64_t k, In<float> weight, double strength, int n_threads) {
             std::vector<float> w(weight.data(), weight.data() + weight.size());
             new (self) FeaturePrior{F, Prior(F.data(), F.shape(1), k, std::move(w), strength, n_threads)};
           })
      .def_prop_ro("ridge", [](const FeaturePrior& self) { return self.prior.lambda(); })
      .def(
          "regress",
          [](const FeaturePrior& self, In<float> X, InOut<float> C, InOut<float> mean, int n_threads) {
            self.prior.regress(X.data(), X.shape(1), C.data(), mean.data(), n_threads);
          },
          Release());

  m.def(
      "singular_expanded",
      [](const Store& s, In<float> coefficient, In<float> user_root, const FeaturePrior& users, In<float> item_root,
         const FeaturePrior& items, InOut<float> left, InOut<float> right, std::int64_t columns, int iterations,
         int n_threads) {
        auto side = [](const In<float>& root, const FeaturePrior& p) {
          return Expansion{root.data(),
                           p.features.data(),
                           static_cast<std::int64_t>(p.features.shape(0)),
                           static_cast<std::int64_t>(p.features.shape(1)),
                           p.prior.k(),
                           static_cast<float>(1 / std::sqrt(p.prior.lambda()))};
        };
        return singular_expanded(s, coefficient.data(), side(user_root, users), side(item_root, items), left.data(),
                                 right.data(), left.shape(1), columns, iterations, n_threads);
      },
      Release());

  m.def(
      "score_pairs",
      [](In<float> A, In<std::int32_t> left, In<float> B, In<std::int32_t> right, InOut<float> out, int n_threads) {
        score_pairs(A.data(), left.data(), B.data(), right.data(), left.size(), A.shape(1), out.data(), n_threads);
      },
      Release());
  m.def(
      "best_items",
      [](In<float> A, In<std::int32_t> query, In<float> B, std::int64_t k, std::optional<In<std::int64_t>> start,
         std::optional<In<std::int32_t>> excluded, InOut<std::int32_t> item, InOut<float> score, int n_threads) {
        best_items(A.data(), query.data(), query.size(), B.data(), B.shape(0), A.shape(1), k,
                   start ? start->data() : nullptr, excluded ? excluded->data() : nullptr, item.data(), score.data(),
                   n_threads);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
      Release());
  m.def(
      "order_rows",
      [](In<std::int64_t> start, In<float> key, InOut<std::int64_t> order, int n_threads) {
        order_rows(start.data(), start.size() - 1, key.data(), order.data(), n_threads);
      },
      Release());
  m.def(
      "count_ordered",
      [](In<std::int64_t> start, In<double> value, In<float> key, double min_gap, int n_threads) {
        std::int64_t ordered, total;
        count_ordered(start.data(), start.size() - 1, value.data(), key.data(), min_gap, n_threads, ordered, total);
        return std::make_tuple(ordered, total);
      },
      Release());
}
