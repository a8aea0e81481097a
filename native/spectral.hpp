// The leading singular triples of a sparse matrix C over the store's entries (C_ij = coefficient at (i, j)), by block
// subspace iteration: Q <- orth(C^T C Q). Every product is a pass over the store, so the result is the same at any
// number of threads. Where a fit starts.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "columns.hpp"
#include "dense.hpp"

namespace rather {

// The leading singular triples of a matrix given by its products: forth(right, left) and back(left, right), on blocks of
// rows of ld floats. To its left are rows that may be in shards, and after them so many `shared` ones that every process
// has; to its right n_right that every process has. On entry right holds a random block in its first l columns; on return
// right and left hold singular vectors and the result the singular values, descending.
template <class Forth, class Back>
std::vector<double> singular(const Shards& own, std::int64_t shared, std::int64_t n_right, Forth&& forth, Back&& back,
                             float* left, float* right, std::int64_t ld, std::int64_t l, int iterations,
                             int n_threads) {
  orthonormalise(right, n_right, ld, l, n_threads);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    forth(right, left);
    back(left, right);
    orthonormalise(right, n_right, ld, l, n_threads, iteration + 1 < iterations ? 1 : 2);
  }
  forth(right, left);
  Small E(l);
  Small G = gram(left, own, ld, l, n_threads);
  if (shared) subtract(-1.0, gram(left + own.n() * ld, Shards(shared), ld, l, n_threads).row(0), G.row(0), l * l);
  std::vector<double> values = eigen(std::move(G), E);
  multiply_right(right, n_right, ld, E, n_threads);
  for (std::int64_t k = 0; k < l; ++k) {
    values[k] = std::sqrt(std::max(0.0, values[k]));
    if (values[k] < 1e-10 * values[0]) values[k] = 0;  // nothing, in single precision, which 1 / it might not fit into
    for (std::int64_t i = 0; i < l; ++i) E(i, k) = values[k] > 0 ? E(i, k) / values[k] : 0.0;
  }
  multiply_right(left, own.n() + shared, ld, E, n_threads);
  return values;
}

// Of the sparse matrix with the given entries.
inline std::vector<double> singular(const Store& s, const float* coefficient, float* left, float* right,
                                    std::int64_t ld, std::int64_t l, int iterations, int n_threads) {
  return singular(
      s.users, 0, s.n_items,
      [&](const float* from, float* to) { user_products(s, coefficient, from, ld, to, n_threads); },
      [&](const float* from, float* to) { item_products(s, coefficient, from, ld, to, n_threads); }, left, right, ld, l,
      iterations, n_threads);
}

}  // namespace rather
