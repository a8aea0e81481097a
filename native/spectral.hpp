// The leading singular triples of a sparse matrix C over the store's entries (C_ij = coefficient at (i, j)), by block
// subspace iteration: Q <- orth(C^T C Q). Every product is a pass over the store, so the result is the same at any
// number of threads. Where a fit starts.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense.hpp"
#include "passes.hpp"

namespace rather {

// The leading singular triples of an n_left x n_right matrix given by its products: forth(right, left) and back(left,
// right), on blocks of rows of ld floats. On entry right holds a random block in its first l columns; on return right
// and left hold singular vectors and the result the singular values, descending.
template <class Forth, class Back>
std::vector<double> singular(std::int64_t n_left, std::int64_t n_right, Forth&& forth, Back&& back, float* left,
                             float* right, std::int64_t ld, std::int64_t l, int iterations, int n_threads) {
  orthonormalise(right, n_right, ld, l, n_threads);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    forth(right, left);
    back(left, right);
    orthonormalise(right, n_right, ld, l, n_threads, iteration + 1 < iterations ? 1 : 2);
  }
  forth(right, left);
  Small E(l);
  std::vector<double> values = eigen(gram(left, n_left, ld, l, n_threads), E);
  multiply_right(right, n_right, ld, E, n_threads);
  for (std::int64_t k = 0; k < l; ++k) {
    values[k] = std::sqrt(std::max(0.0, values[k]));
    if (values[k] < 1e-10 * values[0]) values[k] = 0;  // nothing, in single precision, which 1 / it might not fit into
    for (std::int64_t i = 0; i < l; ++i) E(i, k) = values[k] > 0 ? E(i, k) / values[k] : 0.0;
  }
  multiply_right(left, n_left, ld, E, n_threads);
  return values;
}

// Of the sparse matrix with the given entries.
inline std::vector<double> singular(const Store& s, const float* coefficient, float* left, float* right,
                                    std::int64_t ld, std::int64_t l, int iterations, int n_threads) {
  return singular(
      s.n_users, s.n_items,
      [&](const float* from, float* to) { user_products(s, coefficient, from, ld, to, n_threads); },
      [&](const float* from, float* to) { item_products(s, coefficient, from, ld, to, n_threads); }, left, right, ld, l,
      iterations, n_threads);
}

}  // namespace rather
