// The halves of CofiRank for losses of lists: users with V fixed, items with U fixed.
//
//   min over U, V, b    sum_i loss_i(s_i) + reg/2 |U|^2 + 1/2 sum_j (q_j |v_j|^2 + beta_j b_j^2)
//   with                s_ij = u_i . v_j + b_j
//
// Every user is a small convex problem of their own and the items are one large one. Both go to the bundle method, in
// coordinates scaled by the roots of the ridges.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "bundle.hpp"
#include "columns.hpp"
#include "lists.hpp"

namespace rather {

// Evaluates all lists at scores m; c gets the subgradients. Returns the loss.
inline double evaluate_lists(const RatedLists& lists, const float* m, float* c, int n_threads) {
  const Store& s = lists.s;
  std::vector<ListLoss> loss(n_threads, ListLoss(lists));
  return sum_ranges(n_threads, s.n_users, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) total += loss[thread](i, m + s.start[i], c + s.start[i]);
    return total;
  });
}

// Solves every user in place: the first `free` columns of U.
inline BundleReport bundle_users(const RatedLists& lists, const float* V, float* U, std::int64_t ld, std::int64_t free,
                                 double reg, BundleOptions options) {
  const Store& s = lists.s;
  const int n_threads = std::exchange(options.n_threads, 1);
  const float root = static_cast<float>(std::sqrt(reg));
  struct Work {
    Work(const RatedLists& lists, std::int64_t ld, const BundleOptions& options)
        : loss(lists), bundle(ld, options), x(ld), u(ld), m(lists.s.longest), c(lists.s.longest) {}
    ListLoss loss;
    Bundle bundle;
    Aligned<float> x, u, m, c;
  };
  std::vector<Work> work;
  for (int t = 0; t < n_threads; ++t) work.emplace_back(lists, ld, options);
  std::int64_t n_chunks = (s.n_users + kUserChunk - 1) / kUserChunk;
  std::vector<BundleReport> part(n_chunks);
  for_chunks(n_threads, n_chunks, [&](int thread, std::int64_t chunk) {
    Work& w = work[thread];
    std::int64_t last = std::min<std::int64_t>(s.n_users, (chunk + 1) * kUserChunk);
    for (std::int64_t i = chunk * kUserChunk; i < last; ++i) {
      const std::int32_t* items = s.item.data() + s.start[i];
      const std::int32_t n = s.entries(i);
      float* u = U + i * ld;
      std::copy_n(u, ld, w.u.data());
      for (std::int64_t k = 0; k < ld; ++k) w.x[k] = k < free ? root * u[k] : 0.0f;
      BundleReport one = w.bundle.minimise(w.x.data(), [&](const float* x, float* a) {
        for (std::int64_t k = 0; k < free; ++k) w.u[k] = x[k] / root;
        dots(V, items, n, ld, w.u.data(), w.m.data());
        double loss = w.loss(i, w.m.data(), w.c.data());
        std::fill_n(a, ld, 0.0f);
        combine(V, items, w.c.data(), n, ld, a);
        for (std::int64_t k = 0; k < ld; ++k) a[k] = k < free ? a[k] / root : 0.0f;
        return loss;
      });
      for (std::int64_t k = 0; k < free; ++k) u[k] = w.x[k] / root;
      part[chunk] += one;
    }
  });
  BundleReport total;
  for (const BundleReport& one : part) total += one;
  return total;
}

// Solves all items in place: V and the bias in its next column.
inline BundleReport bundle_items(const RatedLists& lists, const float* U, float* V, const ItemRidge& ridge,
                                 const BundleOptions& options) {
  const Store& s = lists.s;
  const std::int64_t ld = ridge.ld, size = s.n_items * ld;
  std::vector<float> m(s.n_entries()), c(s.n_entries());
  Aligned<float> root = ridge.rows(s.n_items), x(size);
  for (std::int64_t k = 0; k < size; ++k) root[k] = std::sqrt(root[k]), x[k] = root[k] * V[k];
  BundleReport report = Bundle(size, options).minimise(x.data(), [&](const float* at, float* a) {
    for (std::int64_t k = 0; k < size; ++k) V[k] = at[k] / root[k];
    scores(s, U, V, ld, m.data(), options.n_threads);
    double loss = evaluate_lists(lists, m.data(), c.data(), options.n_threads);
    item_products(s, c.data(), U, ld, a, options.n_threads);
    for (std::int64_t k = 0; k < size; ++k) a[k] /= root[k];
    return loss;
  });
  for (std::int64_t k = 0; k < size; ++k) V[k] = x[k] / root[k];
  return report;
}

}  // namespace rather
