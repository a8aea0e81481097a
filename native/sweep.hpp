// One user's comparisons by level, without visiting them: for the hinge and the squared hinge, which are zero beyond a
// threshold, a sweep over the sorted scores costs O(n log levels) where the pairs are O(n^2).
//
// For a threshold h let t = h - (m_a - m_b) for a preferred to b; the pair is active if t > 0. Walking the scores in
// descending order, the losers active against a only ever grow in number; a Fenwick tree over levels keeps their
// count and sum, so that  sum_b t = count (h - m_a) + sum_b m_b  is a prefix query. Losers are the mirror image.
//   squared hinge:    L = Q_1                           with Q_h = max(0, t)^2
//   smoothed hinge:   L = (Q_1 - Q_{1 - delta}) / (2 delta)
//   hinge:            L = max(0, t)
//
// With two levels (clicked, not clicked) no tree is needed and only the winners are sorted: a loser's place among them,
// found by bisection, says which winners it is active against, and the winners collect from the places.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "losses.hpp"
#include "store.hpp"

namespace rather {

struct Sweep {
  // Below this many entries the loop over pairs in Levels is faster.
  static constexpr std::int32_t kFrom = 320;
  static bool any(const Store& s) { return s.by_level && s.longest >= kFrom; }  // whether any user is swept

  const std::int32_t* end;
  std::int32_t n_levels, n;

  Sweep(const Store& s, std::int64_t i)
      : end(s.level_end.data() + s.level_start[i]),
        n_levels(static_cast<std::int32_t>(s.level_start[i + 1] - s.level_start[i])),
        n(s.entries(i)) {}

  // Entries (with two levels: winners) by ascending score, equal scores by index. Must be called again whenever m
  // changes.
  void sort(const float* m, std::uint32_t* order) const {
    static thread_local std::vector<std::uint64_t> keys;
    const std::int32_t from = n_levels == 2 ? end[0] : 0;
    keys.resize(n - from);
    for (std::int32_t a = from; a < n; ++a) {
      float score = m[a] + 0.0f;  // -0 sorts as 0
      std::uint32_t bits;
      std::memcpy(&bits, &score, sizeof bits);
      bits ^= (bits >> 31) ? 0xFFFFFFFFu : 0x80000000u;  // unsigned order = float order
      keys[a - from] = (std::uint64_t{bits} << 32) | static_cast<std::uint32_t>(a);
    }
    std::sort(keys.begin(), keys.end());
    for (std::uint64_t key : keys) *order++ = static_cast<std::uint32_t>(key);
  }

  double slopes(const SquaredHinge&, const float* m, const std::uint32_t* order, float* c, float* d) const {
    clear(c);
    clear(d);
    return add_quadratic(1.0, 1.0, m, order, c, d);
  }

  double slopes(const Hinge& loss, const float* m, const std::uint32_t* order, float* c, float* d) const {
    clear(c);
    clear(d);
    if (loss.delta > 0) {
      double scale = 0.5 / loss.delta;
      return add_quadratic(1.0, scale, m, order, c, d) + add_quadratic(1.0 - loss.delta, -scale, m, order, c, d);
    }
    double total = 0;
    active(1.0, m, m, order, [&](std::int32_t a, double count, double sum, double side) {
      if (side < 0) total += count * (1.0 - m[a]) + sum;
      c[a] += static_cast<float>(side * count);
    });
    return total;
  }

  void curvature(const SquaredHinge&, const float* m, const std::uint32_t* order, const float* x, float* h) const {
    clear(h);
    add_laplacian(1.0, 2.0, m, order, x, h);
  }

  void curvature(const Hinge& loss, const float* m, const std::uint32_t* order, const float* x, float* h) const {
    clear(h);
    if (loss.delta == 0) return;
    add_laplacian(1.0, 1.0 / loss.delta, m, order, x, h);
    add_laplacian(1.0 - loss.delta, -1.0 / loss.delta, m, order, x, h);
  }

 private:
  void clear(float* y) const { std::fill(y, y + n, 0.0f); }

  // Adds scale * (value, gradient, Hessian diagonal) of sum Q_h; returns the value.
  double add_quadratic(double h, double scale, const float* m, const std::uint32_t* order, float* c, float* d) const {
    // sum t^2 = sum t (h - m_a + m_b) = sum_a (h - m_a) T_a + sum_b m_b T_b, with T the sum of an entry's active t
    double total = 0;
    active(h, m, m, order, [&](std::int32_t a, double count, double sum, double side) {
      bool wins = side < 0;
      double t = wins ? count * (h - m[a]) + sum : count * (h + m[a]) - sum;
      total += (wins ? h - m[a] : m[a]) * t;
      c[a] += static_cast<float>(side * 2 * scale * t);
      d[a] += static_cast<float>(2 * scale * count);
    });
    return scale * total;
  }

  void add_laplacian(double h, double curvature, const float* m, const std::uint32_t* order, const float* x,
                     float* out) const {
    active(h, m, x, order, [&](std::int32_t a, double count, double sum, double) {
      out[a] += static_cast<float>(curvature * (count * x[a] - sum));
    });
  }

  // Calls f(a, count, sum of y, side) for the entries a: over the losers active against it (side -1) and over the
  // winners it is active against (side +1). Entries without any may be left out.
  template <class F>
  void active(double h, const float* m, const float* y, const std::uint32_t* order, F&& f) const {
    if (n_levels == 2)
      active_of_two(static_cast<float>(h), m, y, order, f);
    else
      active_of_many(h, m, y, order, f);
  }

  template <class F>
  void active_of_two(float h, const float* m, const float* y, const std::uint32_t* order, F&& f) const {
    static thread_local std::vector<float> score;          // of the winners, ascending
    static thread_local std::vector<double> before, from;  // sums of y over winners before, over losers from a place on
    static thread_local std::vector<std::int32_t> place, losers;
    const std::int32_t n_losers = end[0], n_winners = n - n_losers;
    score.resize(n_winners);
    before.resize(n_winners + 1);
    before[0] = 0;
    for (std::int32_t w = 0; w < n_winners; ++w) {
      score[w] = m[order[w]];
      before[w + 1] = before[w] + y[order[w]];
    }
    place.assign(n_losers, 0);  // winners with m_a < m_b + h come before it
    const float* sorted = score.data();
    std::int32_t* at = place.data();
    for (std::int32_t rest = n_winners; rest > 0;) {  // all losers take a step of their bisections at a time
      std::int32_t half = (rest + 1) / 2;
      for (std::int32_t b = 0; b < n_losers; ++b) at[b] += sorted[at[b] + half - 1] < m[b] + h ? half : 0;
      rest -= half;
    }
    from.assign(n_winners + 1, 0.0);
    losers.assign(n_winners + 1, 0);
    for (std::int32_t b = 0; b < n_losers; ++b) {
      if (at[b] == 0) continue;
      from[at[b]] += y[b];
      losers[at[b]] += 1;
      f(b, double(at[b]), before[at[b]], +1.0);
    }
    double sum = 0, count = 0;
    for (std::int32_t w = n_winners; w-- > 0;) {
      sum += from[w + 1];
      count += losers[w + 1];
      f(order[w], count, sum, -1.0);
    }
  }

  template <class F>
  void active_of_many(double h, const float* m, const float* y, const std::uint32_t* order, F&& f) const {
    static thread_local std::vector<std::int32_t> level;
    static thread_local std::vector<double> tree;  // count and sum, interleaved; levels from 1
    level.resize(n);
    for (std::int32_t l = 0, a = 0; l < n_levels; ++l)
      for (; a < end[l]; ++a) level[a] = l + 1;
    auto add = [&](std::int32_t l, double value) {
      for (; l <= n_levels; l += l & -l) tree[2 * l] += 1, tree[2 * l + 1] += value;
    };
    auto report = [&](std::int32_t a, std::int32_t below, double side) {
      double count = 0, total = 0;
      for (std::int32_t l = below; l > 0; l -= l & -l) count += tree[2 * l], total += tree[2 * l + 1];
      f(a, count, total, side);
    };
    tree.assign(2 * (n_levels + 1), 0.0);
    for (std::int32_t w = n - 1, b = n - 1; w >= 0; --w) {  // winners, from the top: losers with m_b > m_a - h join
      std::uint32_t a = order[w];
      for (; b >= 0 && h - (double{m[a]} - m[order[b]]) > 0; --b) add(level[order[b]], y[order[b]]);
      report(a, level[a] - 1, -1);
    }
    tree.assign(2 * (n_levels + 1), 0.0);
    for (std::int32_t w = 0, a = 0; w < n; ++w) {  // losers, from the bottom: winners with m_a < m_b + h join
      std::uint32_t b = order[w];
      for (; a < n && h - (double{m[order[a]]} - m[b]) > 0; ++a) add(n_levels + 1 - level[order[a]], y[order[a]]);
      report(b, n_levels - level[b], +1);
    }
  }
};

}  // namespace rather
