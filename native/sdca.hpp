// Stochastic dual coordinate descent with lock-free threads: Algorithm 1 of Park et al. (ICML 2015).
//
// Both halves are one problem in scaled variables z = sum_t a_t x_t (see duals.hpp); z is kept up to date while single
// a_t are optimised. A half rebuilds its factor from its duals (the features changed since they were set), makes one
// update per comparison on average, drawn uniformly with replacement, and rebuilds again: the duality gap is valid only
// if z = sum a x.
//
// With several threads user_updates and item_updates race on purpose (Hogwild): the result then varies from run to run.
// scripts/races tells the thread sanitizer to overlook them.
#pragma once

#include <algorithm>
#include <vector>

#include "draws.hpp"
#include "duals.hpp"

namespace rather {

struct DualOptions {
  const float* user_weight;
  std::int64_t updates = 0;
  std::uint64_t seed = 0;
  int n_threads = 1;
};

// After a half: the loss, the ridge of the side that moved, its duality gap; and the gap it began with, after the other
// side had moved, which goes to zero only as the alternation converges.
struct HalfReport {
  double loss = 0, ridge = 0, gap = 0, gap_before = 0;
};

// Draws comparisons uniformly with replacement and updates each. A comparison's rows and dual are asked for some
// updates before they are needed: they lie anywhere in memory, or in the cache of another core.
template <class Fetch, class Update>
void draw_and_update(const Store& s, const Numbering& number, std::int64_t updates, Draws draws, Fetch&& fetch,
                     Update&& update) {
  constexpr std::int64_t kAhead = 4;
  struct Drawn {
    std::int64_t t;
    Comparison at;
  } waiting[kAhead];
  for (std::int64_t step = 0; step < updates + kAhead; ++step) {
    Drawn& slot = waiting[step % kAhead];
    if (step >= kAhead) update(slot.t, slot.at);
    if (step < updates) {
      std::int64_t t = draws.below(s.n_comparisons);
      slot = {t, number[t]};
      fetch(slot.t, slot.at);
    }
  }
}

template <class Loss>
void user_updates(const Loss&, const Store& s, const Numbering& number, const float* p, const float* V, float* U,
                  float* user_dual, std::int64_t ld, std::int64_t free, float fixed, std::int64_t updates,
                  Draws draws) {
  auto fetch = [&](std::int64_t t, const Comparison& at) {
    const std::int32_t* items = s.item.data() + s.start[at.user];
    prefetch<true>(user_dual + t);
    fetch_row<true>(U + at.user * ld, ld);
    fetch_row<false>(V + items[at.winner] * ld, ld);
    fetch_row<false>(V + items[at.loser] * ld, ld);
  };
  draw_and_update(s, number, updates, draws, fetch, [&](std::int64_t t, const Comparison& at) {
    const std::int32_t* items = s.item.data() + s.start[at.user];
    const float *vj = V + items[at.winner] * ld, *vk = V + items[at.loser] * ld;
    float* u = U + at.user * ld;
    Lanes margin{}, norm{};
    for (std::int64_t k = 0; k < ld; k += kLanes) {
      Lanes x = load(vj + k) - load(vk + k);
      margin += load(u + k) * x;
      norm += x * x;
    }
    float bias = vj[free] - vk[free];
    double xx = std::max(0.0, (double{sum(norm)} - double{bias} * bias) / p[at.user]);
    double before = user_dual[t], after = Loss::step(before, sum(margin), xx, number.weight(at.user, t));
    user_dual[t] = static_cast<float>(after);
    // The bias column of U is fixed: what the vector update adds to it is taken out again.
    Lanes delta = splat(static_cast<float>((after - before) / p[at.user]));
    for (std::int64_t k = 0; k < ld; k += kLanes) store(u + k, load(u + k) + delta * (load(vj + k) - load(vk + k)));
    u[free] = fixed;
  });
}

template <class Loss>
void item_updates(const Loss&, const Store& s, const Numbering& number, const ItemRidge& ridge, const float* U,
                  const float* uu, float* V, float* item_dual, std::int64_t updates, Draws draws) {
  const std::int64_t ld = ridge.ld, free = ridge.free;
  auto fetch = [&](std::int64_t t, const Comparison& at) {
    const std::int32_t* items = s.item.data() + s.start[at.user];
    prefetch<true>(item_dual + t);
    fetch_row<false>(U + at.user * ld, ld);
    fetch_row<true>(V + items[at.winner] * ld, ld);
    fetch_row<true>(V + items[at.loser] * ld, ld);
  };
  draw_and_update(s, number, updates, draws, fetch, [&](std::int64_t t, const Comparison& at) {
    const std::int32_t* items = s.item.data() + s.start[at.user];
    std::int32_t j = items[at.winner], k = items[at.loser];
    float *vj = V + j * ld, *vk = V + k * ld;
    const float* u = U + at.user * ld;
    Lanes margin{};
    for (std::int64_t c = 0; c < ld; c += kLanes) margin += load(u + c) * (load(vj + c) - load(vk + c));
    float one = u[free] * u[free];
    double xx = uu[at.user] * (1.0 / ridge.q[j] + 1.0 / ridge.q[k]) + one * (1.0 / ridge.beta[j] + 1.0 / ridge.beta[k]);
    double before = item_dual[t], after = Loss::step(before, sum(margin), xx, number.weight(at.user, t));
    item_dual[t] = static_cast<float>(after);
    float change = static_cast<float>(after - before);
    float bj = vj[free] + change * u[free] / ridge.beta[j], bk = vk[free] - change * u[free] / ridge.beta[k];
    Lanes dj = splat(change / ridge.q[j]), dk = splat(change / ridge.q[k]);
    for (std::int64_t c = 0; c < ld; c += kLanes) {
      Lanes x = load(u + c);
      store(vj + c, load(vj + c) + dj * x);
      store(vk + c, load(vk + c) - dk * x);
    }
    vj[free] = bj;
    vk[free] = bk;
  });
}

// Divides the updates among the threads; each draws from its own stream.
template <class Updates>
void in_parallel(const DualOptions& options, Updates&& run) {
  for_chunks(options.n_threads, options.n_threads, [&](int, std::int64_t share) {
    std::int64_t first = options.updates * share / options.n_threads;
    std::int64_t last = options.updates * (share + 1) / options.n_threads;
    run(last - first, Draws(options.seed, share));
  });
}

template <class Loss>
HalfReport sdca_items(const Loss& loss, const PairLoss& over, const Store& s, const ItemRidge& ridge, const float* U,
                      float* V, float* item_dual, const DualOptions& options) {
  const std::int64_t ld = ridge.ld;
  const int n_threads = options.n_threads;
  Numbering number(s, options.user_weight);
  std::vector<float> uu(s.n_users);
  for (std::int64_t i = 0; i < s.n_users; ++i) uu[i] = static_cast<float>(inner(U + i * ld, U + i * ld, ridge.free));
  HalfReport report;
  rebuild_items(s, number, item_dual, ridge, U, V, n_threads);
  shrink_item_duals(loss, s, number, ridge, V, item_dual, n_threads);
  report.gap_before = duality_gap<Loss>(s, number, U, V, ld, item_dual, n_threads);
  in_parallel(options, [&](std::int64_t updates, Draws draws) {
    item_updates(loss, s, number, ridge, U, uu.data(), V, item_dual, updates, draws);
  });
  rebuild_items(s, number, item_dual, ridge, U, V, n_threads);
  report.gap = duality_gap<Loss>(s, number, U, V, ld, item_dual, n_threads);
  report.loss = loss_at(over, s, options.user_weight, U, V, ld, n_threads);
  report.ridge = ridge.half_square(V, s.n_items);
  return report;
}

template <class Loss>
HalfReport sdca_users(const Loss& loss, const PairLoss& over, const Store& s, const float* p, const float* V, float* U,
                      float* user_dual, std::int64_t ld, std::int64_t free, const DualOptions& options) {
  const int n_threads = options.n_threads;
  Numbering number(s, options.user_weight);
  HalfReport report;
  rebuild_users(s, number, user_dual, p, V, U, ld, free, n_threads);
  shrink_user_duals(loss, s, number, p, V, U, user_dual, ld, free, n_threads);
  report.gap_before = duality_gap<Loss>(s, number, U, V, ld, user_dual, n_threads);
  const float fixed = s.n_users ? U[free] : 0;
  in_parallel(options, [&](std::int64_t updates, Draws draws) {
    user_updates(loss, s, number, p, V, U, user_dual, ld, free, fixed, updates, draws);
  });
  rebuild_users(s, number, user_dual, p, V, U, ld, free, n_threads);
  report.gap = duality_gap<Loss>(s, number, U, V, ld, user_dual, n_threads);
  report.loss = loss_at(over, s, options.user_weight, U, V, ld, n_threads);
  for (std::int64_t i = 0; i < s.n_users; ++i) report.ridge += 0.5 * p[i] * inner(U + i * ld, U + i * ld, free);
  return report;
}

}  // namespace rather
