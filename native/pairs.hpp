// One user's comparisons as functions of the user's scores m (one number per item seen):
//
//   slopes:     sum_t w_t L(m_j - m_k), its gradient c with respect to m, and the diagonal d of its Hessian
//   curvature:  h = (Hessian) x, the weighted Laplacian of the comparisons times x
//
// A comparison only ever touches two scalars, so a pass costs O(comparisons) scalars and not O(comparisons * rank).
// All arrays have room for kLanes floats beyond the user's n entries, and those floats are finite.
//
// The loss is summed in double. c, d and h are in single precision: an entry's sum is over the comparisons of one item
// by one user, and it only gives directions, whose worth a line search checks by the loss.
#pragma once

#include <algorithm>
#include <vector>

#include "losses.hpp"
#include "store.hpp"

namespace rather {

inline constexpr float kFarBelow = -1e30f;  // the score of an entry that loses without being felt

// A loss at margins x of pairs whose ratings differ by g, whether it sees the gaps or not.
template <class Loss>
Slopes slopes_at(const Loss& loss, Lanes x, Lanes g) {
  if constexpr (kSeesGaps<Loss>)
    return loss(x, g);
  else
    return loss(x);
}

template <class Loss>
Lanes curvature_at(const Loss& loss, Lanes x, Lanes g) {
  if constexpr (kSeesGaps<Loss>)
    return loss.curvature(x, g);
  else
    return loss.curvature(x);
}

// Comparisons written down one by one. An offset is added to a comparison's margin.
struct Pairs {
  const std::uint32_t *winner, *loser;
  const float *weight, *gap, *offset;  // null: all 1, not known, none
  std::int64_t n_pairs;
  std::int32_t n;

  Pairs(const Store& s, std::int64_t i, const float* offsets)
      : winner(s.winner.data() + s.pair_start[i]),
        loser(s.loser.data() + s.pair_start[i]),
        weight(s.weight.empty() ? nullptr : s.weight.data() + s.pair_start[i]),
        gap(s.gap.empty() ? nullptr : s.gap.data() + s.pair_start[i]),
        offset(offsets ? offsets + s.pair_start[i] : nullptr),
        n_pairs(s.pair_start[i + 1] - s.pair_start[i]),
        n(s.entries(i)) {}

  template <class Loss>
  double slopes(const Loss& loss, const float* m, float* c, float* d) const {
    std::fill(c, c + n, 0.0f);
    std::fill(d, d + n, 0.0f);
    double total = 0;
    for_lanes<kSeesGaps<Loss>>(m, [&](std::int64_t t, int count, Lanes x, Lanes g, Lanes w) {
      Slopes s = slopes_at(loss, x, g);
      Lanes slope = w * s.slope, curvature = w * s.curvature;
      total += sum(w * s.value);
      for (int l = 0; l < count; ++l) {
        std::uint32_t j = winner[t + l], k = loser[t + l];
        c[j] += slope[l];
        c[k] -= slope[l];
        d[j] += curvature[l];
        d[k] += curvature[l];
      }
    });
    return total;
  }

  template <class Loss>
  void curvature(const Loss& loss, const float* m, const float* x, float* h) const {
    std::fill(h, h + n, 0.0f);
    for_lanes<kSeesGaps<Loss>>(m, [&](std::int64_t t, int count, Lanes margin, Lanes g, Lanes w) {
      Lanes curvature = w * curvature_at(loss, margin, g);
      for (int l = 0; l < count; ++l) {
        std::uint32_t j = winner[t + l], k = loser[t + l];
        float flow = curvature[l] * (x[j] - x[k]);
        h[j] += flow;
        h[k] -= flow;
      }
    });
  }

  // The slope and the curvature of every comparison's loss, with its weight.
  template <class Loss>
  void each(const Loss& loss, const float* m, float factor, float* slope, float* curvature) const {
    for_lanes<kSeesGaps<Loss>>(m, [&](std::int64_t t, int count, Lanes x, Lanes g, Lanes w) {
      Slopes s = slopes_at(loss, x, g);
      for (int l = 0; l < count; ++l) {
        slope[t + l] = factor * w[l] * s.slope[l];
        curvature[t + l] = factor * w[l] * s.curvature[l];
      }
    });
  }

 private:
  // Calls f(first pair, how many, margins, gaps, weights) for kLanes pairs at a time; weights are 0 past the last pair.
  template <bool WithGaps, class F>
  void for_lanes(const float* m, F&& f) const {
    for (std::int64_t t = 0; t < n_pairs; t += kLanes) {
      int count = static_cast<int>(std::min<std::int64_t>(kLanes, n_pairs - t));
      Lanes x{}, g{}, w{};
      for (int l = 0; l < count; ++l) {
        x[l] = m[winner[t + l]] - m[loser[t + l]] + (offset ? offset[t + l] : 0.0f);
        if constexpr (WithGaps) g[l] = gap[t + l];
        w[l] = weight ? weight[t + l] : 1.0f;
      }
      f(t, count, x, g, w);
    }
  }
};

// Every entry against every entry of a lower level. Entries are sorted by level, so the entries that one beats are a
// prefix, and the loop over them is a loop over lanes.
struct Levels {
  const std::int32_t* end;
  const float* rating;
  std::int32_t n_levels, n;

  Levels(const Store& s, std::int64_t i)
      : end(s.level_end.data() + s.level_start[i]),
        rating(s.level_rating.data() + s.level_start[i]),
        n_levels(static_cast<std::int32_t>(s.level_start[i + 1] - s.level_start[i])),
        n(s.entries(i)) {}

  template <class Loss>
  double slopes(const Loss& loss, const float* m, float* c, float* d) const {
    clear(c);
    clear(d);
    const float* r = entry_ratings<Loss>();
    double total = 0;
    for_winners([&]<int G>(std::int32_t a, std::int32_t below) {
      Lanes ma[G], ra[G], ca[G], da[G], value{};
      for (int g = 0; g < G; ++g) {
        ma[g] = splat(m[a + g]), ra[g] = r ? splat(r[a + g]) : Lanes{};
        ca[g] = da[g] = Lanes{};
      }
      for_losers(m, below, [&](std::int32_t b, Lanes mb) {
        Lanes cb = load(c + b), db = load(d + b), rb = r ? load(r + b) : Lanes{};
        for (int g = 0; g < G; ++g) {
          Slopes s = slopes_at(loss, ma[g] - mb, ra[g] - rb);
          value += s.value;
          ca[g] += s.slope;
          da[g] += s.curvature;
          cb -= s.slope;
          db += s.curvature;
        }
        store(c + b, cb);
        store(d + b, db);
      });
      total += sum(value);
      for (int g = 0; g < G; ++g) c[a + g] += sum(ca[g]), d[a + g] += sum(da[g]);
    });
    return total;
  }

  // The squared hinge needs less work a pair. With t = max(0, 1 - m_a + m_b) and T an entry's sum of t, the gradient is
  // -2T for a winner and +2T for a loser, and sum t^2 = sum_pairs t (1 - m_a + m_b) = sum_a T_a + sum_k m_k (+-T_k).
  double slopes(const SquaredHinge&, const float* m, float* c, float* d) const {
    clear(c);
    clear(d);
    double total = 0;
    for_winners([&]<int G>(std::int32_t a, std::int32_t below) {
      Lanes gap[G], ta[G], na[G];
      for (int g = 0; g < G; ++g) gap[g] = splat(1.0f - m[a + g]), ta[g] = na[g] = Lanes{};
      for_losers(m, below, [&](std::int32_t b, Lanes mb) {
        Lanes tb = load(c + b), nb = load(d + b);
        for (int g = 0; g < G; ++g) {
          Lanes t = vmax(gap[g] + mb, Lanes{}), active = t > 0.0f ? splat(1.0f) : Lanes{};
          ta[g] += t;
          tb += t;
          na[g] += active;
          nb += active;
        }
        store(c + b, tb);
        store(d + b, nb);
      });
      for (int g = 0; g < G; ++g) {
        float won = sum(ta[g]);  // from below, level by level: a has not been a loser yet, so c and d are still 0
        total += won;
        c[a + g] = -won;
        d[a + g] = sum(na[g]);
      }
    });
    for (std::int32_t k = 0; k < n; ++k) {
      total += double{m[k]} * c[k];
      c[k] *= 2;
      d[k] *= 2;
    }
    return total;
  }

  // Every pair, tied ones too: a tie is a difference of 0. With e = m - ratings the sum over all pairs of squared
  // differences of e is n times the sum of squares of e about its mean.
  double slopes(const SquaredDifference&, const float* m, float* c, float* d) const {
    const float* r = entry_ratings<SquaredDifference>();
    double mean = 0, total = 0;
    for (std::int32_t k = 0; k < n; ++k) mean += double{m[k]} - r[k];
    mean /= std::max(n, 1);
    for (std::int32_t k = 0; k < n; ++k) {
      double e = double{m[k]} - r[k] - mean;
      total += e * e;
      c[k] = static_cast<float>(2.0 * n * e);
      d[k] = 2.0f * static_cast<float>(n - 1);
    }
    return n * total;
  }

  void curvature(const SquaredDifference&, const float*, const float* x, float* h) const {
    double mean = 0;
    for (std::int32_t k = 0; k < n; ++k) mean += x[k];
    mean /= std::max(n, 1);
    for (std::int32_t k = 0; k < n; ++k) h[k] = static_cast<float>(2.0 * n * (x[k] - mean));
  }

  template <class Loss>
  void curvature(const Loss& loss, const float* m, const float* x, float* h) const {
    clear(h);
    const float* r = entry_ratings<Loss>();
    for_winners([&]<int G>(std::int32_t a, std::int32_t below) {
      Lanes ma[G], ra[G], xa[G], ha[G];
      for (int g = 0; g < G; ++g) {
        ma[g] = splat(m[a + g]), ra[g] = r ? splat(r[a + g]) : Lanes{};
        xa[g] = splat(x[a + g]), ha[g] = Lanes{};
      }
      for_losers(m, below, [&](std::int32_t b, Lanes mb) {
        Lanes hb = load(h + b), xb = load(x + b), rb = r ? load(r + b) : Lanes{};
        for (int g = 0; g < G; ++g) {
          Lanes flow = curvature_at(loss, ma[g] - mb, ra[g] - rb) * (xa[g] - xb);
          ha[g] += flow;
          hb -= flow;
        }
        store(h + b, hb);
      });
      for (int g = 0; g < G; ++g) h[a + g] += sum(ha[g]);
    });
  }

  void curvature(const SquaredHinge&, const float* m, const float* x, float* h) const {
    clear(h);
    for_winners([&]<int G>(std::int32_t a, std::int32_t below) {
      Lanes bound[G], xa[G], ha[G];
      for (int g = 0; g < G; ++g) bound[g] = splat(m[a + g] - 1.0f), xa[g] = splat(x[a + g]), ha[g] = Lanes{};
      for_losers(m, below, [&](std::int32_t b, Lanes mb) {
        Lanes hb = load(h + b), xb = load(x + b);
        for (int g = 0; g < G; ++g) {
          Lanes flow = mb > bound[g] ? xa[g] - xb : Lanes{};
          ha[g] += flow;
          hb -= flow;
        }
        store(h + b, hb);
      });
      for (int g = 0; g < G; ++g) h[a + g] = sum(ha[g]);
    });
    for (std::int32_t k = 0; k < n; ++k) h[k] *= 2;
  }

 private:
  void clear(float* y) const { std::fill(y, y + n + kLanes, 0.0f); }

  // The rating of every entry, for losses that see gaps; null for the others.
  template <class Loss>
  const float* entry_ratings() const {
    if constexpr (!kSeesGaps<Loss>) return nullptr;
    static thread_local std::vector<float> all;
    all.assign(n + kLanes, 0.0f);
    for (std::int32_t l = 0, k = 0; l < n_levels; ++l)
      std::fill(all.data() + k, all.data() + end[l], rating[l]), k = end[l];
    return all.data();
  }

  // Calls f<G>(a, below) for the entries a .. a + G - 1, which all beat exactly the entries before `below`.
  template <class F>
  void for_winners(F&& f) const {
    for (std::int32_t l = 1; l < n_levels; ++l) {
      std::int32_t below = end[l - 1], a = below;
      for (; a + 4 <= end[l]; a += 4) f.template operator()<4>(a, below);
      for (; a < end[l]; ++a) f.template operator()<1>(a, below);
    }
  }

  // Calls f(b, scores of the entries from b) for kLanes entries at a time before `below`; those past it never bind.
  template <class F>
  static void for_losers(const float* m, std::int32_t below, F&& f) {
    std::int32_t b = 0;
    for (; b + kLanes <= below; b += kLanes) f(b, load(m + b));
    if (b < below) f(b, keep_first(load(m + b), below - b, kFarBelow));
  }
};

}  // namespace rather
