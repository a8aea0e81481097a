// One user's comparisons as functions of the user's scores m (one number per item seen):
//
//   slopes:     sum_t w_t L(m_j - m_k), its gradient c with respect to m, and the diagonal d of its Hessian
//   curvature:  h = (Hessian) x, the weighted Laplacian of the comparisons times x
//
// A comparison only ever touches two scalars, so a pass costs O(comparisons) scalars and not O(comparisons * rank).
// All arrays have room for kLanes floats beyond the user's n entries, and those floats are finite.
#pragma once

#include <algorithm>

#include "losses.hpp"
#include "store.hpp"

namespace rather {

inline constexpr float kFarBelow = -1e30f;  // the score of an entry that loses without being felt

// Comparisons written down one by one.
struct Pairs {
  const std::uint32_t *winner, *loser;
  const float* weight;  // null: all 1
  std::int64_t n_pairs;
  std::int32_t n;

  Pairs(const Store& s, std::int64_t i)
      : winner(s.winner.data() + s.pair_start[i]),
        loser(s.loser.data() + s.pair_start[i]),
        weight(s.weight.empty() ? nullptr : s.weight.data() + s.pair_start[i]),
        n_pairs(s.pair_start[i + 1] - s.pair_start[i]),
        n(s.entries(i)) {}

  template <class Loss>
  double slopes(const Loss& loss, const float* m, float* c, float* d) const {
    std::fill(c, c + n, 0.0f);
    std::fill(d, d + n, 0.0f);
    double total = 0;
    for_lanes(m, [&](std::int64_t t, int count, Lanes x, Lanes w) {
      Slopes s = loss(x);
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
    for_lanes(m, [&](std::int64_t t, int count, Lanes margin, Lanes w) {
      Lanes curvature = w * loss.curvature(margin);
      for (int l = 0; l < count; ++l) {
        std::uint32_t j = winner[t + l], k = loser[t + l];
        float flow = curvature[l] * (x[j] - x[k]);
        h[j] += flow;
        h[k] -= flow;
      }
    });
  }

 private:
  // Calls f(first pair, how many, margins, weights) for kLanes pairs at a time; weights are 0 past the last pair.
  template <class F>
  void for_lanes(const float* m, F&& f) const {
    for (std::int64_t t = 0; t < n_pairs; t += kLanes) {
      int count = static_cast<int>(std::min<std::int64_t>(kLanes, n_pairs - t));
      Lanes x{}, w{};
      for (int l = 0; l < count; ++l) {
        x[l] = m[winner[t + l]] - m[loser[t + l]];
        w[l] = weight ? weight[t + l] : 1.0f;
      }
      f(t, count, x, w);
    }
  }
};

// Every entry against every entry of a lower level. Entries are sorted by level, so the entries that one beats are a
// prefix, and the loop over them is a loop over lanes.
struct Levels {
  const std::int32_t* end;
  std::int32_t n_levels, n;

  Levels(const Store& s, std::int64_t i)
      : end(s.level_end.data() + s.level_start[i]),
        n_levels(static_cast<std::int32_t>(s.level_start[i + 1] - s.level_start[i])),
        n(s.entries(i)) {}

  template <class Loss>
  double slopes(const Loss& loss, const float* m, float* c, float* d) const {
    clear(c);
    clear(d);
    double total = 0;
    for_winners([&]<int G>(std::int32_t a, std::int32_t below) {
      Lanes ma[G], ca[G], da[G], value{};
      for (int g = 0; g < G; ++g) ma[g] = splat(m[a + g]), ca[g] = da[g] = Lanes{};
      for_losers(m, below, [&](std::int32_t b, Lanes mb) {
        Lanes cb = load(c + b), db = load(d + b);
        for (int g = 0; g < G; ++g) {
          Slopes s = loss(ma[g] - mb);
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

  template <class Loss>
  void curvature(const Loss& loss, const float* m, const float* x, float* h) const {
    clear(h);
    for_winners([&]<int G>(std::int32_t a, std::int32_t below) {
      Lanes ma[G], xa[G], ha[G];
      for (int g = 0; g < G; ++g) ma[g] = splat(m[a + g]), xa[g] = splat(x[a + g]), ha[g] = Lanes{};
      for_losers(m, below, [&](std::int32_t b, Lanes mb) {
        Lanes hb = load(h + b), xb = load(x + b);
        for (int g = 0; g < G; ++g) {
          Lanes flow = loss.curvature(ma[g] - mb) * (xa[g] - xb);
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
