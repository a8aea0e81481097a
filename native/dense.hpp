// Dense algebra of tall matrices of floats and small ones of doubles: Gram matrices, orthonormal columns, eigenvectors.
//
// Sums over the rows of a tall matrix are in single precision within a chunk (of 256 rows, or a 64th of them if that is
// more) and in double across chunks. What single precision loses, a second orthonormalisation repairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "aligned.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace rather {

// A small dense symmetric or triangular matrix in double, row-major.
struct Small {
  std::int64_t n;
  std::vector<double> a;
  explicit Small(std::int64_t n) : n(n), a(n * n, 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) { return a[i * n + j]; }
  double operator()(std::int64_t i, std::int64_t j) const { return a[i * n + j]; }
};

// sum_i w_i a_i b_i^T over the rows of A (n x lda, the first l columns) and B (n x ldb, all of them): l x ldb numbers,
// in chunks of rows added in order. No w: all ones.
inline std::vector<double> cross(const float* A, std::int64_t lda, std::int64_t l, const float* B, std::int64_t ldb,
                                 const float* w, std::int64_t n, int n_threads) {
  std::int64_t size = std::max<std::int64_t>(256, (n + 63) / 64), n_chunks = (n + size - 1) / size;
  std::vector<Aligned<float>> part;
  for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk) part.emplace_back(l * ldb);
  for_chunks(n_threads, n_chunks, [&](int, std::int64_t chunk) {
    for (std::int64_t i = chunk * size; i < std::min(n, (chunk + 1) * size); ++i) {
      const float* row = B + i * ldb;
      for (std::int64_t a = 0; a < l; ++a) {
        Lanes scale = splat(w ? w[i] * A[i * lda + a] : A[i * lda + a]);
        float* out = part[chunk].data() + a * ldb;
        for (std::int64_t k = 0; k < ldb; k += kLanes) store(out + k, load(out + k) + scale * load(row + k));
      }
    }
  });
  std::vector<double> total(l * ldb, 0.0);
  for (auto& one : part)
    for (std::int64_t k = 0; k < l * ldb; ++k) total[k] += one[k];
  return total;
}

// A^T A for the first l columns of A (n x ld), weighted by w if given.
inline Small gram(const float* A, std::int64_t n, std::int64_t ld, std::int64_t l, int n_threads,
                  const float* w = nullptr) {
  std::vector<double> all = cross(A, ld, l, A, ld, w, n, n_threads);
  Small G(l);
  for (std::int64_t a = 0; a < l; ++a) std::copy_n(&all[a * ld], l, &G(a, 0));
  return G;
}

// out (n x ldb) <- A R, where A has l columns of interest (n x lda) and R is l x ldb.
inline void multiply(const float* A, std::int64_t lda, std::int64_t l, const float* R, std::int64_t ldb, float* out,
                     std::int64_t n, int n_threads) {
  for_ranges(n_threads, n, 256, [&](int, std::int64_t first, std::int64_t last) {
    Aligned<float> row(ldb);
    for (std::int64_t i = first; i < last; ++i) {
      std::fill(row.begin(), row.end(), 0.0f);
      combine(R, Direct{}, A + i * lda, l, ldb, row.data());
      std::copy_n(row.data(), ldb, out + i * ldb);
    }
  });
}

// A <- A R for the first R.n columns of A (n x ld).
inline void multiply_right(float* A, std::int64_t n, std::int64_t ld, const Small& R, int n_threads) {
  Aligned<float> packed(R.n * ld);
  for (std::int64_t a = 0; a < R.n; ++a)
    for (std::int64_t b = 0; b < R.n; ++b) packed[a * ld + b] = static_cast<float>(R(a, b));
  multiply(A, ld, R.n, packed.data(), ld, A, n, n_threads);
}

// A = L L', L in the lower triangle of A (n x n), row by row. pivot(k, full, rest) is the diagonal of row k of L, given
// the diagonal of A and what the columns before leave of it.
template <class Pivot>
void cholesky(double* A, std::int64_t n, Pivot&& pivot) {
  for (std::int64_t k = 0; k < n; ++k) {
    double *row = A + k * n, full = row[k];
    for (std::int64_t l = 0; l <= k; ++l) {
      double rest = row[l];
      for (std::int64_t t = 0; t < l; ++t) rest -= row[t] * A[l * n + t];
      row[l] = l < k ? rest / A[l * n + l] : pivot(k, full, rest);
    }
  }
}

// Makes the columns of A orthonormal (Cholesky of the Gram matrix, inverted); columns that depend on others become 0. A
// second pass repairs what single precision lost in the first. The Cholesky is its own: down the columns, as here, the
// compiler fuses multiplications with subtractions, along the rows, as above, it does not, and results would change.
inline void orthonormalise(float* A, std::int64_t n, std::int64_t ld, std::int64_t l, int n_threads, int passes = 2) {
  for (int pass = 0; pass < passes; ++pass) {
    Small G = gram(A, n, ld, l, n_threads), inverse(l);
    std::vector<bool> independent(l, true);
    for (std::int64_t j = 0; j < l; ++j) {  // G = R^T R, R in the upper triangle
      double full = G(j, j), pivot = full;
      for (std::int64_t k = 0; k < j; ++k) pivot -= G(k, j) * G(k, j);
      independent[j] = full > 0 && pivot > 1e-6 * full;
      double root = independent[j] ? std::sqrt(pivot) : 1.0;
      G(j, j) = root;
      for (std::int64_t b = j + 1; b < l; ++b) {
        double value = G(j, b);
        for (std::int64_t k = 0; k < j; ++k) value -= G(k, j) * G(k, b);
        G(j, b) = independent[j] ? value / root : 0.0;
      }
    }
    for (std::int64_t j = 0; j < l; ++j) {
      if (!independent[j]) continue;
      inverse(j, j) = 1 / G(j, j);
      for (std::int64_t i = j - 1; i >= 0; --i) {
        double value = 0;
        for (std::int64_t k = i + 1; k <= j; ++k) value -= G(i, k) * inverse(k, j);
        inverse(i, j) = independent[i] ? value / G(i, i) : 0.0;
      }
    }
    multiply_right(A, n, ld, inverse, n_threads);
  }
}

// Eigenvalues (descending) and eigenvectors (columns) of a symmetric matrix, by cyclic Jacobi rotations. LAPACK would
// be faster, but its last bits depend on the number of threads of the BLAS that happens to be installed. On one thread,
// with rotations that stride: 0.2 s for n = 256, 3 s for 512, 30 s for 1024. To be replaced before ranks of thousands.
inline std::vector<double> eigen(Small T, Small& vectors) {
  const std::int64_t n = T.n;
  Small E(n);
  for (std::int64_t i = 0; i < n; ++i) E(i, i) = 1;
  double total = std::inner_product(T.a.begin(), T.a.end(), T.a.begin(), 0.0);
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) off += 2 * T(i, j) * T(i, j);
    if (off <= 1e-22 * total) break;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) {
        if (T(i, j) * T(i, j) <= 1e-26 * total / (n * n)) continue;
        double theta = (T(j, j) - T(i, i)) / (2 * T(i, j));
        double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        double c = 1 / std::sqrt(t * t + 1), s = t * c;
        double *ti = &T.a[i * n], *tj = &T.a[j * n], *ei = &E.a[i * n], *ej = &E.a[j * n];
        double diagonal_i = T(i, i) - t * T(i, j), diagonal_j = T(j, j) + t * T(i, j);
        for (std::int64_t k = 0; k < n; ++k) {
          double a = ti[k], b = tj[k];
          ti[k] = c * a - s * b;
          tj[k] = s * a + c * b;
          a = ei[k], b = ej[k];
          ei[k] = c * a - s * b;
          ej[k] = s * a + c * b;
        }
        ti[i] = diagonal_i, tj[j] = diagonal_j, ti[j] = tj[i] = 0;
        for (std::int64_t k = 0; k < n; ++k) T(k, i) = ti[k], T(k, j) = tj[k];
      }
  }
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return T(a, a) > T(b, b); });
  std::vector<double> values(n);
  for (std::int64_t k = 0; k < n; ++k) {
    values[k] = T(order[k], order[k]);
    for (std::int64_t i = 0; i < n; ++i) vectors(i, k) = E(order[k], i);
  }
  return values;
}

}  // namespace rather
