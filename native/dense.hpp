// Dense algebra of tall matrices of floats and small ones of doubles: products, orthonormal columns, eigenvectors.
//
// Tall products go through tiles of a few rows and vectors that stay in registers. Sums over the rows of a tall matrix
// are in single precision within a chunk (of 64 rows, or a 64th of them if that is more) and in double across chunks.
// What single precision loses, a second orthonormalisation repairs. No BLAS: its last bits depend on its threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "aligned.hpp"
#include "rows.hpp"
#include "shards.hpp"

namespace rather {

// A small dense symmetric or triangular matrix in double, row-major.
struct Small {
  std::int64_t n;
  std::vector<double> a;
  explicit Small(std::int64_t n) : n(n), a(n * n, 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) { return a[i * n + j]; }
  double operator()(std::int64_t i, std::int64_t j) const { return a[i * n + j]; }
  double* row(std::int64_t i) { return &a[i * n]; }
};

// sum_i w_i a_i b_i^T over the rows of A (the first l columns) and B (all of them): l x ldb numbers. No w: all ones.
std::vector<double> cross(const float* A, std::int64_t lda, std::int64_t l, const float* B, std::int64_t ldb,
                          const float* w, const Shards& rows, int n_threads);

// A^T A for the first l columns of A (rows of ld floats), weighted by w if given.
Small gram(const float* A, const Shards& rows, std::int64_t ld, std::int64_t l, int n_threads,
           const float* w = nullptr);

// Rows of A R, a few at a time: calls each(i, row i of the product), where A has l columns of interest (rows of lda) and
// R is l x ldb, and returns the sum of what that returns. `each` may overwrite the row it is given, and row i of A.
double multiply_each(const float* A, std::int64_t lda, std::int64_t l, const float* R, std::int64_t ldb,
                     const Shards& rows_of_A, int n_threads, Body<double(std::int64_t, float*)> each);

// out (n x ldb) <- A R
void multiply(const float* A, std::int64_t lda, std::int64_t l, const float* R, std::int64_t ldb, float* out,
              std::int64_t n, int n_threads);

// A <- A R for the first R.n columns of A (n x ld); the others become 0.
void multiply_right(float* A, std::int64_t n, std::int64_t ld, const Small& R, int n_threads);

inline void subtract(double scale, const double* from, double* to, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) to[k] -= scale * from[k];
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

// R^-1, upper triangular, where G = R'R; the rows and columns of what depends on others, to `least` of its square, are
// 0. In steps along rows, which the compiler makes vectors of. G is used up.
Small inverse_root(Small& G, double least, int n_threads = 1);

// G^-1 of a positive definite matrix.
Small inverse(Small G, int n_threads);

// Makes the columns of A orthonormal (Cholesky of the Gram matrix, inverted); columns that depend on others become 0. A
// second pass repairs what single precision lost in the first.
void orthonormalise(float* A, std::int64_t n, std::int64_t ld, std::int64_t l, int n_threads, int passes = 2);

// Eigenvalues (descending) and eigenvectors (columns) of a symmetric matrix: Householder's reduction to three diagonals,
// then the implicit QL method (C. Reinsch, J. Wilkinson: Linear Algebra, 1971). The eigenvectors are built as rows, so
// that every inner loop runs along memory. LAPACK would do, but its last bits depend on the threads of its BLAS.
std::vector<double> eigen(Small T, Small& vectors);

// Turns the first k columns of A (n x ld) into their principal axes, largest first, and returns the squares that they
// hold; axes (k x k) are those, in columns. The other columns become 0.
std::vector<double> principal(float* A, std::int64_t n, std::int64_t ld, std::int64_t k, double* axes, int n_threads);

}  // namespace rather
