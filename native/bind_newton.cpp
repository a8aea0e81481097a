// Binds the steps of Newton's method, and a loss at given scores.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bind_prior.hpp"
#include "bindings.hpp"
#include "border.hpp"
#include "newton.hpp"
#include "sweep.hpp"
#include "tied.hpp"

namespace rather {

namespace {

// The scalars of a fit over the entries of a store, the users' weights, and offsets of written comparisons.
struct State {
  const Store& s;
  InOut<float> m, c, d;
  In<float> weight;
  std::optional<In<float>> offset;
  std::vector<std::uint32_t> order;  // empty when no user is swept
  Scalars z;
  mutable std::unique_ptr<Aligned<float>> room;  // for numbers over the entries: kept from step to step

  State(const Store& s, InOut<float> m, InOut<float> c, InOut<float> d, In<float> weight,
        std::optional<In<float>> offset)
      : s(s), m(m), c(c), d(d), weight(weight), offset(offset), order(Sweep::any(s) ? s.n_entries() : 0) {
    z = {sized(m, s.n_entries(), "m"), sized(c, s.n_entries(), "c"), sized(d, s.n_entries(), "d"),
         order.empty() ? nullptr : order.data(), sized(weight, s.n_users, "weight")};
    if (offset && s.by_level) wrong("offset", "goes with comparisons one by one", "be None for items on levels");
    z.offset = sized(offset, s.n_comparisons, "offset");
  }
};

float* room(const State& state) {
  if (!state.room) state.room = std::make_unique<Aligned<float>>(state.s.n_entries(), kUnfilled);
  return state.room->data();
}

// A loss that the store has what it takes for.
std::unique_ptr<PairLoss> loss_of(const Store& s, int loss, float delta) {
  auto found = pair_loss(static_cast<LossKind>(loss), delta);
  if (found->sees_gaps() && !s.by_level && s.gap.empty())
    wrong("loss", "is " + std::to_string(loss) + ", which sees gaps", "be another: the store's pairs have no gaps");
  return found;
}

using Report = std::tuple<double, double, double>;  // loss, decrement, penalty

Report reported(const StepReport& r) { return {r.loss, r.decrement, r.penalty}; }

Report user_step_(const State& state, int loss, float delta, const In<float>& p, const std::optional<In<float>>& centre,
                  const In<float>& V, const InOut<float>& U, std::int64_t rank, int newton_steps, int cg_steps,
                  double cg_tol, double grad_tol, Threads n_threads) {
  const Store& s = state.s;
  auto u = rows(U, s.n_users, "U");
  auto v = rows(V, s.n_items, "V", u.ld);
  const float* to = centre ? rows(*centre, s.n_users, "centre", u.ld).data : nullptr;
  between(rank, 0, u.ld - 1, "rank");
  StepOptions options{newton_steps, cg_steps, cg_tol, grad_tol, n_threads};
  const float* ridge = sized(p, s.n_users, "p");
  return reported(user_step(*loss_of(s, loss, delta), s, ridge, to, v.data, u.data, u.ld, rank, state.z, options));
}

// All rows X of one side together; the other side's are `other`.
template <bool kUsers>
Report joint_step_(const State& state, int loss, float delta, const In<float>& shape, float reg, float bias_reg,
                   const FeaturePrior* prior, const In<float>& other, const InOut<float>& X, std::int64_t rank,
                   double loss_before, int cg_steps, double cg_tol, int n_threads) {
  const Store& s = state.s;
  const std::int64_t n = kUsers ? s.n_users : s.n_items, n_other = kUsers ? s.n_items : s.n_users;
  auto x = rows(X, n, kUsers ? "U" : "V");
  OneSide<kUsers> side{s, rows(other, n_other, kUsers ? "V" : "U", x.ld).data};
  const float* shapes = sized(shape, n, "shape");
  between(rank, 0, x.ld - 1, "rank");
  Ridges ridges{shapes, side.mine(), rank, x.ld, reg, bias_reg, prior ? &prior->of(n, "prior") : nullptr, !kUsers};
  StepOptions options{1, cg_steps, cg_tol, 0, n_threads};
  return reported(
      joint_step(*loss_of(s, loss, delta), side, ridges, x.data, loss_before, state.z, room(state), options));
}

Report joint_user_step_(const State& state, int loss, float delta, const In<float>& shape, float reg,
                        const FeaturePrior& prior, const In<float>& V, const InOut<float>& U, std::int64_t rank,
                        double loss_before, int cg_steps, double cg_tol, Threads n_threads) {
  return joint_step_<true>(state, loss, delta, shape, reg, 0, &prior, V, U, rank, loss_before, cg_steps, cg_tol,
                           n_threads);
}

Report item_step_(const State& state, int loss, float delta, const In<float>& shape, float reg, float bias_reg,
                  const FeaturePrior* prior, const In<float>& U, const InOut<float>& V, std::int64_t rank,
                  double loss_before, int cg_steps, double cg_tol, Threads n_threads) {
  return joint_step_<false>(state, loss, delta, shape, reg, bias_reg, prior, U, V, rank, loss_before, cg_steps, cg_tol,
                            n_threads);
}

// Items that are nothing but their features; V is set to them times C.
Report tied_item_step_(const State& state, int loss, float delta, float reg, float bias_reg,
                       const FeaturePrior& described, const In<float>& U, const InOut<float>& C, const InOut<float>& V,
                       std::int64_t rank, double loss_before, int cg_steps, double cg_tol, Threads n_threads) {
  const Store& s = state.s;
  const Prior& prior = described.of(s.n_items, "described");
  auto c = rows(C, prior.k(), "C");
  TiedItems side{s, rows(U, s.n_users, "U", c.ld).data, prior};
  float* v = rows(V, s.n_items, "V", c.ld).data;
  between(rank, 0, c.ld - 1, "rank");
  const std::vector<float> alike(prior.k(), 1.0f);
  Ridges ridges{alike.data(), side.mine(), rank, c.ld, reg, bias_reg, nullptr, true};
  StepOptions options{1, cg_steps, cg_tol, 0, n_threads};
  Report report =
      reported(joint_step(*loss_of(s, loss, delta), side, ridges, c.data, loss_before, state.z, room(state), options));
  multiply(prior.features(), prior.ldf(), prior.k(), c.data, c.ld, v, s.n_items, n_threads);
  return report;
}

double evaluate_(const State& state, int loss, float delta, Threads n_threads) {
  return evaluate(*loss_of(state.s, loss, delta), state.s, state.z, n_threads);
}

double slope_along_(const State& state, int loss, float delta, const In<float>& x, float t, Threads n_threads) {
  const float* along = sized(x, state.s.n_entries(), "x");
  return slope_along(*loss_of(state.s, loss, delta), state.s, state.z, along, t, n_threads);
}

void pair_slopes_(const State& state, int loss, float delta, const InOut<float>& slope, const InOut<float>& curvature,
                  Threads n_threads) {
  const Store& s = state.s;
  if (s.by_level) wrong("state", "is of items on levels", "be of comparisons one by one");
  float *slopes = sized(slope, s.n_comparisons, "slope"), *curvatures = sized(curvature, s.n_comparisons, "curvature");
  pair_slopes(*loss_of(s, loss, delta), s, state.z, slopes, curvatures, n_threads);
}

double dual_value(const State& state, int loss, float delta, float tau, Threads n_threads) {
  return evaluate(*dual_loss(static_cast<LossKind>(loss), delta, tau), state.s, state.z, n_threads);
}

}  // namespace

void bind_newton(nb::module_& m) {
  nb::class_<State>(m, "State")
      .def(nb::init<const Store&, InOut<float>, InOut<float>, InOut<float>, In<float>, std::optional<In<float>>>(),
           "store"_a, "m"_a, "c"_a, "d"_a, "weight"_a, "offset"_a.none() = nb::none(), nb::keep_alive<1, 2>());
  m.def("user_step", &user_step_, "state"_a, "loss"_a, "delta"_a, "p"_a, "centre"_a.none(), "V"_a, "U"_a, "rank"_a,
        "newton_steps"_a, "cg_steps"_a, "cg_tol"_a, "grad_tol"_a, "n_threads"_a, Release());
  m.def("joint_user_step", &joint_user_step_, "state"_a, "loss"_a, "delta"_a, "shape"_a, "reg"_a, "prior"_a, "V"_a,
        "U"_a, "rank"_a, "loss_before"_a, "cg_steps"_a, "cg_tol"_a, "n_threads"_a, Release());
  m.def("item_step", &item_step_, "state"_a, "loss"_a, "delta"_a, "shape"_a, "reg"_a, "bias_reg"_a, "prior"_a.none(),
        "U"_a, "V"_a, "rank"_a, "loss_before"_a, "cg_steps"_a, "cg_tol"_a, "n_threads"_a, Release());
  m.def("tied_item_step", &tied_item_step_, "state"_a, "loss"_a, "delta"_a, "reg"_a, "bias_reg"_a, "described"_a, "U"_a,
        "C"_a, "V"_a, "rank"_a, "loss_before"_a, "cg_steps"_a, "cg_tol"_a, "n_threads"_a, Release());
  m.def("evaluate", &evaluate_, "state"_a, "loss"_a, "delta"_a, "n_threads"_a, Release());
  m.def("slope_along", &slope_along_, "state"_a, "loss"_a, "delta"_a, "x"_a, "t"_a, "n_threads"_a, Release());
  m.def("pair_slopes", &pair_slopes_, "state"_a, "loss"_a, "delta"_a, "slope"_a, "curvature"_a, "n_threads"_a,
        Release());
  m.def("dual_value", &dual_value, "state"_a, "loss"_a, "delta"_a, "tau"_a, "n_threads"_a, Release());
}

}  // namespace rather
