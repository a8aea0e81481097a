// Binds the solvers: steps of Newton's method, halves of dual coordinate descent, passes of stochastic descent.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bind_prior.hpp"
#include "bindings.hpp"
#include "border.hpp"
#include "newton.hpp"
#include "robirank.hpp"
#include "sdca.hpp"
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

// Calls f with a loss that the store has what it takes for.
template <class F>
auto with_loss_of(const Store& s, int loss, float delta, F&& f) {
  return with_primal_loss(static_cast<LossKind>(loss), delta, [&](auto kind) {
    if (kSeesGaps<decltype(kind)> && !s.by_level && s.gap.empty())
      wrong("loss", "is " + std::to_string(loss) + ", which sees gaps", "be another: the store's pairs have no gaps");
    return f(kind);
  });
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
  return reported(with_loss_of(s, loss, delta, [&](auto kind) {
    return user_step(kind, s, ridge, to, v.data, u.data, u.ld, rank, state.z, options);
  }));
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
  return reported(with_loss_of(s, loss, delta, [&](auto kind) {
    return joint_step(kind, side, ridges, x.data, loss_before, state.z, room(state), options);
  }));
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
  Report report = reported(with_loss_of(s, loss, delta, [&](auto kind) {
    return joint_step(kind, side, ridges, c.data, loss_before, state.z, room(state), options);
  }));
  multiply(prior.features(), prior.ldf(), prior.k(), c.data, c.ld, v, s.n_items, n_threads);
  return report;
}

double evaluate_(const State& state, int loss, float delta, Threads n_threads) {
  return with_loss_of(state.s, loss, delta, [&](auto kind) { return evaluate(kind, state.s, state.z, n_threads); });
}

double slope_along_(const State& state, int loss, float delta, const In<float>& x, float t, Threads n_threads) {
  const float* along = sized(x, state.s.n_entries(), "x");
  return with_loss_of(state.s, loss, delta,
                      [&](auto kind) { return slope_along(kind, state.s, state.z, along, t, n_threads); });
}

void pair_slopes_(const State& state, int loss, float delta, const InOut<float>& slope, const InOut<float>& curvature,
                  Threads n_threads) {
  const Store& s = state.s;
  if (s.by_level) wrong("state", "is of items on levels", "be of comparisons one by one");
  float *slopes = sized(slope, s.n_comparisons, "slope"), *curvatures = sized(curvature, s.n_comparisons, "curvature");
  with_loss_of(s, loss, delta, [&](auto kind) { pair_slopes(kind, s, state.z, slopes, curvatures, n_threads); });
}

double dual_value(const State& state, int loss, float delta, float tau, Threads n_threads) {
  return with_dual(static_cast<LossKind>(loss), delta, tau,
                   [&](auto kind) { return evaluate(kind, state.s, state.z, n_threads); });
}

using DualReport = std::tuple<double, double, double, double>;

// The options of a half; without comparisons there is nothing to draw.
DualOptions dual_options(const Store& s, const In<float>& weight, std::int64_t updates, std::uint64_t seed,
                         int n_threads) {
  at_least(updates, 0, "updates");
  if (!s.n_comparisons) between(updates, 0, 0, "updates");
  return {sized(weight, s.n_users, "weight"), updates, seed, n_threads};
}

DualReport sdca_users_(const Store& s, int loss, const In<float>& weight, const In<float>& p, const In<float>& V,
                       const InOut<float>& U, const InOut<float>& user_dual, std::int64_t rank, std::int64_t updates,
                       std::uint64_t seed, Threads n_threads) {
  auto u = rows(U, s.n_users, "U");
  auto v = rows(V, s.n_items, "V", u.ld);
  between(rank, 0, u.ld - 1, "rank");
  const float* ridge = sized(p, s.n_users, "p");
  float* dual = sized(user_dual, s.n_comparisons, "user_dual");
  DualOptions options = dual_options(s, weight, updates, seed, n_threads);
  HalfReport r = with_loss(static_cast<LossKind>(loss), 0, [&](auto kind) {
    return sdca_users(kind, s, ridge, v.data, u.data, dual, u.ld, rank, options);
  });
  return {r.loss, r.ridge, r.gap, r.gap_before};
}

DualReport sdca_items_(const Store& s, int loss, const In<float>& weight, const In<float>& q, const In<float>& beta,
                       const In<float>& U, const InOut<float>& V, const InOut<float>& item_dual, std::int64_t rank,
                       std::int64_t updates, std::uint64_t seed, Threads n_threads) {
  auto v = rows(V, s.n_items, "V");
  auto u = rows(U, s.n_users, "U", v.ld);
  ItemRidge ridge{sized(q, s.n_items, "q"), sized(beta, s.n_items, "beta"), between(rank, 0, v.ld - 1, "rank"), v.ld};
  float* dual = sized(item_dual, s.n_comparisons, "item_dual");
  DualOptions options = dual_options(s, weight, updates, seed, n_threads);
  HalfReport r = with_loss(static_cast<LossKind>(loss), 0,
                           [&](auto kind) { return sdca_items(kind, s, ridge, u.data, v.data, dual, options); });
  return {r.loss, r.ridge, r.gap, r.gap_before};
}

// The factors and the step sizes of a pass of stochastic gradient descent.
struct Pass {
  In<float> p, q;
  InOut<float> U, V;
  Rows<float> u, v;
  std::int64_t rank;
  double step, decay, passes_done;
  DescentOptions options;

  Pass(In<float> p, In<float> q, InOut<float> U, InOut<float> V, std::int64_t rank, double step, double decay,
       double passes_done, std::int64_t updates, std::uint64_t seed, Threads n_threads)
      : p(p),
        q(q),
        U(U),
        V(V),
        u(rows(U, kAny, "U")),
        v(rows(V, kAny, "V", u.ld)),
        rank(between(rank, 0, u.ld - 1, "rank")),
        step(step),
        decay(decay),
        passes_done(passes_done),
        options{at_least(updates, 1, "updates"), seed, n_threads} {
    sized(p, u.n, "p"), sized(q, v.n, "q");
  }

  Descent descent(std::int64_t n_users, std::int64_t n_items) const {
    auto size = [](auto a, auto b) { return std::to_string(a) + " users and " + std::to_string(b) + " items"; };
    if (u.n != n_users || v.n != n_items)
      wrong("descent", "is of " + size(u.n, v.n), "be of " + size(n_users, n_items));
    const float fixed = u.n ? u.data[rank] : 0.0f;
    return {sized(p, u.n, "p"), sized(q, v.n, "q"), u.data, v.data, u.ld, rank, fixed, step, decay, passes_done};
  }
};

// Clicks by user, a user's items ascending.
struct Clicks {
  In<std::int64_t> start;
  In<std::int32_t> user, item;
  Starts users;
  ClickRows rows;

  Clicks(In<std::int64_t> start, In<std::int32_t> user, In<std::int32_t> item, std::int32_t n_items)
      : start(start), user(user), item(item), users(starts(start, size_of(user, "user"), "start")) {
    const std::int64_t n = size_of(user, "user");
    rows = {users.data, coded(user, n, users.n_rows, "user"), coded(item, n, n_items, "item"), n, n_items};
    for (std::int64_t i = 0; i < users.n_rows; ++i)
      for (std::int64_t e = users.data[i]; e < users.data[i + 1]; ++e) {
        if (rows.user[e] != i) wrong("user", "is not in the rows that start says", "hold every row's number");
        if (e > users.data[i] && rows.item[e] <= rows.item[e - 1]) wrong("item", "falls in a row", "rise in every row");
      }
  }

  // Some user clicked some items and not all: there is something to draw.
  bool comparable() const {
    for (std::int64_t i = 0; i < users.n_rows; ++i)
      if (std::int64_t n = users.data[i + 1] - users.data[i]; n > 0 && n < rows.n_items) return true;
    return false;
  }
};

double descend_comparisons(const Store& s, int loss, const In<float>& weight, const Pass& pass) {
  if (!s.n_comparisons) wrong("store", "holds no comparisons", "hold some to draw");
  Numbering number(s, sized(weight, s.n_users, "weight"));
  Descent descent = pass.descent(s.n_users, s.n_items);
  return with_loss(static_cast<LossKind>(loss), 0,
                   [&](auto kind) { return descend(kind, FromStore{s, number}, descent, pass.options); });
}

double descend_clicks(const Clicks& clicks, const Pass& pass) {
  if (!clicks.comparable())
    wrong("clicks", "is of users who clicked everything or nothing", "leave something to compare");
  return descend(Logistic{}, ClickedAgainstUnclicked{clicks.rows},
                 pass.descent(clicks.users.n_rows, clicks.rows.n_items), pass.options);
}

double robirank_pass_(const Clicks& clicks, const In<std::int32_t>& order, const Pass& pass) {
  const std::int64_t n = size_of(order, "order");
  return robirank_pass(clicks.rows, coded(order, n, clicks.users.n_rows, "order"), n,
                       pass.descent(clicks.users.n_rows, clicks.rows.n_items), pass.options.seed,
                       pass.options.n_threads);
}

}  // namespace

void bind_solvers(nb::module_& m) {
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
  m.def("sdca_users", &sdca_users_, "store"_a, "loss"_a, "weight"_a, "p"_a, "V"_a, "U"_a, "user_dual"_a, "rank"_a,
        "updates"_a, "seed"_a, "n_threads"_a, Release());
  m.def("sdca_items", &sdca_items_, "store"_a, "loss"_a, "weight"_a, "q"_a, "beta"_a, "U"_a, "V"_a, "item_dual"_a,
        "rank"_a, "updates"_a, "seed"_a, "n_threads"_a, Release());

  nb::class_<Pass>(m, "Pass").def(nb::init<In<float>, In<float>, InOut<float>, InOut<float>, std::int64_t, double,
                                           double, double, std::int64_t, std::uint64_t, Threads>(),
                                  "p"_a, "q"_a, "U"_a, "V"_a, "rank"_a, "step"_a, "decay"_a, "passes_done"_a,
                                  "updates"_a, "seed"_a, "n_threads"_a);
  nb::class_<Clicks>(m, "Clicks")
      .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<std::int32_t>, std::int32_t>(), "start"_a, "user"_a,
           "item"_a, "n_items"_a);
  m.def("descend_comparisons", &descend_comparisons, "store"_a, "loss"_a, "weight"_a, "descent"_a, Release());
  m.def("descend_clicks", &descend_clicks, "clicks"_a, "descent"_a, Release());
  m.def("robirank_pass", &robirank_pass_, "clicks"_a, "order"_a, "descent"_a, Release());
}

}  // namespace rather
