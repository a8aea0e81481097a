// Binds halves of dual coordinate descent and passes of stochastic gradient descent.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "border.hpp"
#include "robirank.hpp"
#include "sdca.hpp"

namespace rather {

namespace {

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
    return sdca_users(kind, *pair_loss(static_cast<LossKind>(loss), 0), s, ridge, v.data, u.data, dual, u.ld, rank,
                      options);
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
  HalfReport r = with_loss(static_cast<LossKind>(loss), 0, [&](auto kind) {
    return sdca_items(kind, *pair_loss(static_cast<LossKind>(loss), 0), s, ridge, u.data, v.data, dual, options);
  });
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

void bind_stochastic(nb::module_& m) {
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
