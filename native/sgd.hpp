// Stochastic gradient descent on comparisons with lock-free threads: draw "i prefers j to k", step on three rows.
//
//   x = u_i . (v_j - v_k),  g = w L'(x)
//   u_i <- (u_i - eta g (v_j - v_k)) / (1 + eta p_i)
//   v_j <- (v_j - eta g u_i) / (1 + eta q_j)        v_k <- (v_k + eta g u_i) / (1 + eta q_k)
//
// all at once, from the values before. The ridge's share is that of the row after the step, not before: the two differ
// by O(eta^2), but a row with few comparisons has so large a share that 1 - eta q would fall below -1.
//
// A sampler says how comparisons are drawn, which is where the methods differ. The bias is column `free` of V, against
// a column of U that is fixed. With several threads the steps race on purpose (Hogwild): the result then varies from
// run to run. gradient_steps is what scripts/races tells the thread sanitizer to overlook.
#pragma once

#include <algorithm>
#include <array>

#include "draws.hpp"
#include "losses.hpp"
#include "numbering.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace rather {

struct Drawn {
  std::int64_t user;
  std::int32_t winner, loser;  // items
  float weight;
};

// A comparison of a store, uniformly, with replacement.
struct FromStore {
  const Store& s;
  const Numbering& number;

  Drawn operator()(Draws& draws) const {
    std::int64_t t = draws.below(s.n_comparisons);
    Comparison at = number[t];
    const std::int32_t* items = s.item.data() + s.start[at.user];
    return {at.user, items[at.winner], items[at.loser], number.weight(at.user, t)};
  }
};

struct ClickRows {  // user[e] clicked item[e]; user i's clicks are start[i] .. start[i+1], items ascending
  const std::int64_t* start;
  const std::int32_t *user, *item;
  std::int64_t n;
  std::int32_t n_items;

  // Halving without a branch on the items: which way it goes cannot be foreseen, and many searches then overlap.
  bool has(std::int64_t i, std::int32_t j) const {
    const std::int32_t* at = item + start[i];
    for (std::int64_t n = start[i + 1] - start[i]; n > 1; n -= n / 2) at += at[n / 2] <= j ? n / 2 : 0;
    return *at == j;
  }
};

// A click, uniformly, against an item the user did not click, uniformly. Some user must not have clicked everything.
struct ClickedAgainstUnclicked {
  ClickRows clicks;

  Drawn operator()(Draws& draws) const {
    for (;;) {
      std::int64_t e = draws.below(clicks.n), i = clicks.user[e];
      const std::int64_t own = clicks.start[i + 1] - clicks.start[i];
      if (own == clicks.n_items) continue;
      const std::int32_t* list = clicks.item + clicks.start[i];
      if (const std::int64_t left = clicks.n_items - own; is_few(left, clicks.n_items))
        return {i, clicks.item[e], nth_missing(list, own, draws.below(left)), 1.0f};
      std::int32_t k;
      do k = static_cast<std::int32_t>(draws.below(clicks.n_items));
      while (clicks.has(i, k));
      return {i, clicks.item[e], k, 1.0f};
    }
  }
};

struct Descent {
  const float *p, *q;  // ridges that a step takes its share of
  float *U, *V;
  std::int64_t ld, free;
  float fixed;  // column `free` of U: 1, or 0 without bias
  double step, decay, passes_done;

  float eta(double share) const {  // when a share of the next pass is done
    return static_cast<float>(step / (1 + decay * (passes_done + share)));
  }
};

struct DescentOptions {
  std::int64_t updates = 0;  // a pass
  std::uint64_t seed = 0;
  int n_threads = 1;
};

// One step, the slope of the loss being given. RobiRank's objective has no ridge for an item that was only drawn.
template <bool RidgeOfLoser = true>
void take_step(const Descent& d, const Drawn& t, float eta, float slope) {
  float *u = d.U + t.user * d.ld, *vj = d.V + t.winner * d.ld, *vk = d.V + t.loser * d.ld;
  Lanes g = splat(eta * slope), keep_u = splat(1 / (1 + eta * d.p[t.user]));
  Lanes keep_j = splat(1 / (1 + eta * d.q[t.winner]));
  Lanes keep_k = splat(RidgeOfLoser ? 1 / (1 + eta * d.q[t.loser]) : 1.0f);
  for (std::int64_t c = 0; c < d.ld; c += kLanes) {
    Lanes x = load(u + c), a = load(vj + c), b = load(vk + c);
    store(u + c, keep_u * (x - g * (a - b)));
    store(vj + c, keep_j * (a - g * x));
    store(vk + c, keep_k * (b + g * x));
  }
  u[d.free] = d.fixed;  // not what was there before: another thread may have been between these two lines
}

inline float margin(const Descent& d, const Drawn& t) {
  const float *u = d.U + t.user * d.ld, *vj = d.V + t.winner * d.ld, *vk = d.V + t.loser * d.ld;
  Lanes x{};
  for (std::int64_t c = 0; c < d.ld; c += kLanes) x += load(u + c) * (load(vj + c) - load(vk + c));
  return sum(x);
}

// Steps first .. last of a pass; returns the sum of the losses before them. Comparisons are drawn a block ahead, so
// that the cache misses of drawing overlap, and the rows of the next are on their way while this one is worked on.
template <class Loss, class Sampler>
double gradient_steps(const Loss& loss, const Sampler& sample, const Descent& d, std::int64_t first, std::int64_t last,
                      std::int64_t updates, Draws draws) {
  constexpr std::int64_t kAhead = 32;
  std::array<Drawn, kAhead> block;
  double total = 0;
  for (std::int64_t done = first; done < last; done += kAhead) {
    std::int64_t n = std::min(kAhead, last - done);
    for (std::int64_t b = 0; b < n; ++b) block[b] = sample(draws);
    float eta = d.eta(static_cast<double>(done) / static_cast<double>(updates));
    for (std::int64_t b = 0; b < n; ++b) {
      if (b + 1 < n) {
        fetch_row<true>(d.U + block[b + 1].user * d.ld, d.ld);
        fetch_row<true>(d.V + block[b + 1].winner * d.ld, d.ld);
        fetch_row<true>(d.V + block[b + 1].loser * d.ld, d.ld);
      }
      Slopes at = loss(splat(margin(d, block[b])));
      take_step(d, block[b], eta, block[b].weight * at.slope[0]);
      total += block[b].weight * at.value[0];
    }
  }
  return total;
}

// A pass: the mean over its steps of the loss before each. Every chunk of steps has a random stream of its own.
template <class Loss, class Sampler>
double descend(const Loss& loss, const Sampler& sample, const Descent& d, const DescentOptions& options) {
  constexpr std::int64_t kChunk = 1 << 15;
  double total =
      sum_ranges(options.n_threads, options.updates, kChunk, [&](int, std::int64_t first, std::int64_t last) {
        return gradient_steps(loss, sample, d, first, last, options.updates, Draws(options.seed, first));
      });
  return total / static_cast<double>(options.updates);
}

}  // namespace rather
