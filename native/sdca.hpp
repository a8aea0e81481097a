// Stochastic dual coordinate descent with lock-free threads: Algorithm 1 of Park et al. (ICML 2015).
//
// Both halves are the same problem,  min_z 1/2 |z|^2 + sum_t w_t L(b_t),  b_t = z . x_t + offset_t,  in variables
// scaled by the square roots of the ridges; z = sum_t a_t x_t is kept up to date while single a_t are optimised.
//   user half:  u_i = 1/p_i sum_t alpha_t (v_j - v_k)          |x_t|^2 = |v_j - v_k|^2 / p_i,  offset b_j - b_k
//   item half:  v_j = 1/q_j (sum over wins - sum over losses of beta_t u_i), the bias likewise with 1/beta_j
//                                                              |x_t|^2 = |u_i|^2 (1/q_j + 1/q_k) + 1/beta_j + 1/beta_k
// A half rebuilds its factor from its duals (the features changed since they were set), makes one update per comparison
// on average, drawn uniformly with replacement, and rebuilds again: the duality gap is valid only if z = sum a x.
//
// With several threads user_updates and item_updates race on purpose (Hogwild): the result then varies from run to run.
// scripts/races tells the thread sanitizer to overlook them.
#pragma once

#include <cmath>
#include <vector>

#include "draws.hpp"
#include "passes.hpp"

namespace rather {

struct Comparison {
  std::int64_t user;
  std::int32_t winner, loser;  // entries of the user, from 0
};

// Numbers every comparison of a store, written down or not, from 0 to n_comparisons - 1, users in order.
class Numbering {
 public:
  Numbering(const Store& s, const float* user_weight) : s_(s), user_weight_(user_weight), first_(s.n_users + 1, 0) {
    if (s.by_level) {
      before_level_.resize(s.level_end.size());
      for (std::int64_t i = 0; i < s.n_users; ++i) {
        std::int64_t total = 0, below = 0;
        for (std::int64_t l = s.level_start[i]; l < s.level_start[i + 1]; ++l) {
          before_level_[l] = total;
          total += (s.level_end[l] - below) * below;
          below = s.level_end[l];
        }
        first_[i + 1] = first_[i] + total;
      }
    } else {
      first_ = s.pair_start;
    }
    guide_.resize(s.n_users + 1);
    std::int64_t user = 0;
    for (std::int64_t g = 0; g <= s.n_users; ++g) {
      std::int64_t t = static_cast<std::int64_t>(static_cast<__int128>(s.n_comparisons) * g / std::max(1, s.n_users));
      while (user + 1 < s.n_users && first_[user + 1] <= t) ++user;
      guide_[g] = static_cast<std::int32_t>(user);
    }
  }

  Comparison operator[](std::int64_t t) const {
    std::int64_t user = guide_[static_cast<std::int64_t>(static_cast<__int128>(t) * s_.n_users / s_.n_comparisons)];
    while (first_[user + 1] <= t) ++user;
    std::int64_t local = t - first_[user];
    if (!s_.by_level) return {user, static_cast<std::int32_t>(s_.winner[t]), static_cast<std::int32_t>(s_.loser[t])};
    std::int64_t begin = s_.level_start[user], end = s_.level_start[user + 1];
    std::int64_t l =
        std::upper_bound(before_level_.begin() + begin, before_level_.begin() + end, local) - before_level_.begin() - 1;
    std::int64_t below = s_.level_end[l - 1], rest = local - before_level_[l];
    return {user, static_cast<std::int32_t>(below + rest / below), static_cast<std::int32_t>(rest % below)};
  }

  float weight(std::int64_t user, std::int64_t t) const {
    return s_.weight.empty() ? user_weight_[user] : user_weight_[user] * s_.weight[t];
  }

  // Calls f(t, winner, loser) for every comparison of a user, t ascending.
  template <class F>
  void each(std::int64_t user, F&& f) const {
    std::int64_t t = first_[user];
    if (!s_.by_level) {
      for (; t < first_[user + 1]; ++t) f(t, s_.winner[t], s_.loser[t]);
      return;
    }
    for (std::int64_t l = s_.level_start[user] + 1; l < s_.level_start[user + 1]; ++l)
      for (std::int32_t a = s_.level_end[l - 1]; a < s_.level_end[l]; ++a)
        for (std::int32_t b = 0; b < s_.level_end[l - 1]; ++b) f(t++, a, b);
  }

 private:
  const Store& s_;
  const float* user_weight_;
  std::vector<std::int64_t> first_, before_level_;
  std::vector<std::int32_t> guide_;
};

struct DualOptions {
  const float* user_weight;
  std::int64_t updates = 0;
  std::uint64_t seed = 0;
  int n_threads = 1;
};

// Net dual weight of every entry: sum of a_t over its wins minus over its losses.
inline void net_duals(const Store& s, const Numbering& number, const float* a, float* net, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<double> sum;
    for (std::int64_t i = first; i < last; ++i) {
      sum.assign(s.entries(i), 0.0);
      number.each(i, [&](std::int64_t t, std::int32_t j, std::int32_t k) { sum[j] += a[t], sum[k] -= a[t]; });
      std::copy(sum.begin(), sum.end(), net + s.start[i]);
    }
  });
}

// Duality gap of a half at the factors (U, V) and duals a, valid if the half's factor is the one its duals define.
template <class Loss>
double duality_gap(const Store& s, const Numbering& number, const float* U, const float* V, std::int64_t ld,
                   const float* a, int n_threads) {
  return sum_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<float> m(s.longest);
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) {
      dots(V, s.item.data() + s.start[i], s.entries(i), ld, U + i * ld, m.data());
      number.each(i, [&](std::int64_t t, std::int32_t j, std::int32_t k) {
        total += Loss::gap(a[t], double{m[j]} - m[k], number.weight(i, t));
      });
    }
    return total;
  });
}

template <class Loss>
double loss_at(const Loss& loss, const Store& s, const float* weight, const float* U, const float* V, std::int64_t ld,
               int n_threads) {
  std::vector<float> m(s.n_entries()), c(s.n_entries()), d(s.n_entries());
  scores(s, U, V, ld, m.data(), n_threads);
  return evaluate(loss, s, Scalars{m.data(), c.data(), d.data(), nullptr, weight}, n_threads);
}

// The factor that the duals define: rows of U, or rows of V with the bias.
inline void rebuild_users(const Store& s, const Numbering& number, const float* alpha, const float* p, const float* V,
                          float* U, std::int64_t ld, std::int64_t free, int n_threads) {
  std::vector<float> net(s.n_entries());
  net_duals(s, number, alpha, net.data(), n_threads);
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    Aligned<float> row(ld);
    for (std::int64_t i = first; i < last; ++i) {
      std::fill(row.begin(), row.end(), 0.0f);
      combine(V, s.item.data() + s.start[i], net.data() + s.start[i], s.entries(i), ld, row.data());
      for (std::int64_t k = 0; k < free; ++k) U[i * ld + k] = row[k] / p[i];
    }
  });
}

inline void rebuild_items(const Store& s, const Numbering& number, const float* beta, const ItemRidge& ridge,
                          const float* U, float* V, int n_threads) {
  std::vector<float> net(s.n_entries());
  net_duals(s, number, beta, net.data(), n_threads);
  item_products(s, net.data(), U, ridge.ld, V, n_threads);
  for (std::int64_t j = 0; j < s.n_items; ++j)
    for (std::int64_t k = 0; k <= ridge.free; ++k) V[j * ridge.ld + k] /= ridge.at(j, k);
}

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

template <bool Write>
void fetch_row(const float* row, std::int64_t ld) {
  for (std::int64_t k = 0; k < ld; k += kRowPad) __builtin_prefetch(row + k, Write);
}

template <class Loss>
void user_updates(const Loss&, const Store& s, const Numbering& number, const float* p, const float* V, float* U,
                  float* alpha, std::int64_t ld, std::int64_t free, float fixed, std::int64_t updates, Draws draws) {
  auto fetch = [&](std::int64_t t, const Comparison& at) {
    const std::int32_t* items = s.item.data() + s.start[at.user];
    __builtin_prefetch(alpha + t, 1);
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
    double before = alpha[t], after = Loss::step(before, sum(margin), xx, number.weight(at.user, t));
    alpha[t] = static_cast<float>(after);
    // The bias column of U is fixed: what the vector update adds to it is taken out again.
    Lanes delta = splat(static_cast<float>((after - before) / p[at.user]));
    for (std::int64_t k = 0; k < ld; k += kLanes) store(u + k, load(u + k) + delta * (load(vj + k) - load(vk + k)));
    u[free] = fixed;
  });
}

template <class Loss>
void item_updates(const Loss&, const Store& s, const Numbering& number, const ItemRidge& ridge, const float* U,
                  const float* uu, float* V, float* beta, std::int64_t updates, Draws draws) {
  const std::int64_t ld = ridge.ld, free = ridge.free;
  auto fetch = [&](std::int64_t t, const Comparison& at) {
    const std::int32_t* items = s.item.data() + s.start[at.user];
    __builtin_prefetch(beta + t, 1);
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
    double before = beta[t], after = Loss::step(before, sum(margin), xx, number.weight(at.user, t));
    beta[t] = static_cast<float>(after);
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

// Duals set for other features can be far too large for the present ones; then the rebuilt factor overshoots, and round
// after round diverges. The dual along s a, s in [0, 1], is concave, with slope
//   -(s |z|^2 + sum_t a_t (offset_t + d/dq L*(-s q_t))),
// so where it falls steeply at s = 1 the duals and the factor are shrunk to about its maximum.
template <class Slope>
float best_shrinkage(double zz, Slope&& slope) {
  if (slope(1.0) >= -0.02 * zz) return 1.0f;
  double low = 0, high = 1;
  for (int halving = 0; halving < 8; ++halving) {
    double middle = 0.5 * (low + high);
    (slope(middle) >= 0 ? low : high) = middle;
  }
  return static_cast<float>(low);
}

template <class Loss>
void shrink_item_duals(const Loss&, const Store& s, const Numbering& number, const ItemRidge& ridge, float* V,
                       float* beta, int n_threads) {
  double zz = 2 * ridge.half_square(V, s.n_items);
  float shrinkage = best_shrinkage(zz, [&](double scale) {
    return -scale * zz - sum_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
      double total = 0;
      for (std::int64_t i = first; i < last; ++i)
        number.each(i, [&](std::int64_t t, std::int32_t, std::int32_t) {
          total += beta[t] * Loss::conjugate_slope(scale * beta[t] / number.weight(i, t));
        });
      return total;
    });
  });
  if (shrinkage == 1) return;
  for (std::int64_t t = 0; t < s.n_comparisons; ++t) beta[t] *= shrinkage;
  for (std::int64_t k = 0; k < s.n_items * ridge.ld; ++k) V[k] *= shrinkage;
}

template <class Loss>
void shrink_user_duals(const Loss&, const Store& s, const Numbering& number, const float* p, const float* V, float* U,
                       float* alpha, std::int64_t ld, std::int64_t free, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      double zz = p[i] * inner(U + i * ld, U + i * ld, free);
      const std::int32_t* items = s.item.data() + s.start[i];
      float shrinkage = best_shrinkage(zz, [&](double scale) {
        double total = scale * zz;
        number.each(i, [&](std::int64_t t, std::int32_t j, std::int32_t k) {
          double offset = U[i * ld + free] * (V[items[j] * ld + free] - V[items[k] * ld + free]);
          total += alpha[t] * (offset + Loss::conjugate_slope(scale * alpha[t] / number.weight(i, t)));
        });
        return -total;
      });
      if (shrinkage == 1) continue;
      number.each(i, [&](std::int64_t t, std::int32_t, std::int32_t) { alpha[t] *= shrinkage; });
      for (std::int64_t k = 0; k < free; ++k) U[i * ld + k] *= shrinkage;
    }
  });
}

template <class Loss>
HalfReport sdca_items(const Loss& loss, const Store& s, const ItemRidge& ridge, const float* U, float* V, float* beta,
                      const DualOptions& options) {
  const std::int64_t ld = ridge.ld;
  const int n_threads = options.n_threads;
  Numbering number(s, options.user_weight);
  std::vector<float> uu(s.n_users);
  for (std::int64_t i = 0; i < s.n_users; ++i) uu[i] = static_cast<float>(inner(U + i * ld, U + i * ld, ridge.free));
  HalfReport report;
  rebuild_items(s, number, beta, ridge, U, V, n_threads);
  shrink_item_duals(loss, s, number, ridge, V, beta, n_threads);
  report.gap_before = duality_gap<Loss>(s, number, U, V, ld, beta, n_threads);
  in_parallel(options, [&](std::int64_t updates, Draws draws) {
    item_updates(loss, s, number, ridge, U, uu.data(), V, beta, updates, draws);
  });
  rebuild_items(s, number, beta, ridge, U, V, n_threads);
  report.gap = duality_gap<Loss>(s, number, U, V, ld, beta, n_threads);
  report.loss = loss_at(loss, s, options.user_weight, U, V, ld, n_threads);
  report.ridge = ridge.half_square(V, s.n_items);
  return report;
}

template <class Loss>
HalfReport sdca_users(const Loss& loss, const Store& s, const float* p, const float* V, float* U, float* alpha,
                      std::int64_t ld, std::int64_t free, const DualOptions& options) {
  const int n_threads = options.n_threads;
  Numbering number(s, options.user_weight);
  HalfReport report;
  rebuild_users(s, number, alpha, p, V, U, ld, free, n_threads);
  shrink_user_duals(loss, s, number, p, V, U, alpha, ld, free, n_threads);
  report.gap_before = duality_gap<Loss>(s, number, U, V, ld, alpha, n_threads);
  const float fixed = s.n_users ? U[free] : 0;
  in_parallel(options, [&](std::int64_t updates, Draws draws) {
    user_updates(loss, s, number, p, V, U, alpha, ld, free, fixed, updates, draws);
  });
  rebuild_users(s, number, alpha, p, V, U, ld, free, n_threads);
  report.gap = duality_gap<Loss>(s, number, U, V, ld, alpha, n_threads);
  report.loss = loss_at(loss, s, options.user_weight, U, V, ld, n_threads);
  for (std::int64_t i = 0; i < s.n_users; ++i) report.ridge += 0.5 * p[i] * inner(U + i * ld, U + i * ld, free);
  return report;
}

}  // namespace rather
