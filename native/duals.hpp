// What the dual variables of the comparisons define: a half's factor, its duality gap, and the scale that suits them.
//
// Both halves are the same problem,  min_z 1/2 |z|^2 + sum_t w_t L(b_t),  b_t = z . x_t + offset_t,  in variables
// scaled by the square roots of the ridges, and z = sum_t a_t x_t for duals a_t, one per comparison.
//   user half:  u_i = 1/p_i sum_t a_t (v_j - v_k)              |x_t|^2 = |v_j - v_k|^2 / p_i,  offset b_j - b_k
//   item half:  v_j = 1/q_j (sum over wins - sum over losses of a_t u_i), the bias likewise with 1/beta_j
//                                                              |x_t|^2 = |u_i|^2 (1/q_j + 1/q_k) + 1/beta_j + 1/beta_k
#pragma once

#include <vector>

#include "columns.hpp"
#include "numbering.hpp"

namespace rather {

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

inline double loss_at(const PairLoss& loss, const Store& s, const float* weight, const float* U, const float* V,
                      std::int64_t ld, int n_threads) {
  std::vector<float> m(s.n_entries()), c(s.n_entries()), d(s.n_entries());
  scores(s, U, V, ld, m.data(), n_threads);
  return evaluate(loss, s, Scalars{m.data(), c.data(), d.data(), nullptr, weight}, n_threads);
}

// The factor that the duals define: rows of U, or rows of V with the bias.
inline void rebuild_users(const Store& s, const Numbering& number, const float* user_dual, const float* p,
                          const float* V, float* U, std::int64_t ld, std::int64_t free, int n_threads) {
  std::vector<float> net(s.n_entries());
  net_duals(s, number, user_dual, net.data(), n_threads);
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    Aligned<float> row(ld);
    for (std::int64_t i = first; i < last; ++i) {
      std::fill(row.begin(), row.end(), 0.0f);
      combine(V, s.item.data() + s.start[i], net.data() + s.start[i], s.entries(i), ld, row.data());
      for (std::int64_t k = 0; k < free; ++k) U[i * ld + k] = row[k] / p[i];
    }
  });
}

inline void rebuild_items(const Store& s, const Numbering& number, const float* item_dual, const ItemRidge& ridge,
                          const float* U, float* V, int n_threads) {
  std::vector<float> net(s.n_entries());
  net_duals(s, number, item_dual, net.data(), n_threads);
  item_products(s, net.data(), U, ridge.ld, V, n_threads);
  for (std::int64_t j = 0; j < s.n_items; ++j)
    for (std::int64_t k = 0; k <= ridge.free; ++k) V[j * ridge.ld + k] /= ridge.at(j, k);
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
                       float* item_dual, int n_threads) {
  double zz = 2 * ridge.half_square(V, s.n_items);
  float shrinkage = best_shrinkage(zz, [&](double scale) {
    return -scale * zz - sum_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
      double total = 0;
      for (std::int64_t i = first; i < last; ++i)
        number.each(i, [&](std::int64_t t, std::int32_t, std::int32_t) {
          total += item_dual[t] * Loss::conjugate_slope(scale * item_dual[t] / number.weight(i, t));
        });
      return total;
    });
  });
  if (shrinkage == 1) return;
  for (std::int64_t t = 0; t < s.n_comparisons; ++t) item_dual[t] *= shrinkage;
  for (std::int64_t k = 0; k < s.n_items * ridge.ld; ++k) V[k] *= shrinkage;
}

template <class Loss>
void shrink_user_duals(const Loss&, const Store& s, const Numbering& number, const float* p, const float* V, float* U,
                       float* user_dual, std::int64_t ld, std::int64_t free, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      double zz = p[i] * inner(U + i * ld, U + i * ld, free);
      const std::int32_t* items = s.item.data() + s.start[i];
      float shrinkage = best_shrinkage(zz, [&](double scale) {
        double total = scale * zz;
        number.each(i, [&](std::int64_t t, std::int32_t j, std::int32_t k) {
          double offset = U[i * ld + free] * (V[items[j] * ld + free] - V[items[k] * ld + free]);
          total += user_dual[t] * (offset + Loss::conjugate_slope(scale * user_dual[t] / number.weight(i, t)));
        });
        return -total;
      });
      if (shrinkage == 1) continue;
      number.each(i, [&](std::int64_t t, std::int32_t, std::int32_t) { user_dual[t] *= shrinkage; });
      for (std::int64_t k = 0; k < free; ++k) U[i * ld + k] *= shrinkage;
    }
  });
}

}  // namespace rather
