// Small positive definite systems in double: A = R'R, R in the upper triangle, row by row. Loops run along rows, where
// the compiler makes vectors of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rather {

inline void add(double scale, const double* from, double* to, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) to[k] += scale * from[k];
}

// Overwrites the upper triangle of A (n x n) with R. A pivot that rounding has used up is taken as minute.
inline void upper_root(double* A, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    double* row = A + k * n;
    const double pivot = std::sqrt(std::max(row[k], 1e-12));
    row[k] = pivot;
    for (std::int64_t l = k + 1; l < n; ++l) row[l] /= pivot;
    for (std::int64_t l = k + 1; l < n; ++l) add(-row[l], row + l, A + l * n + l, n - l);
  }
}

// y <- R'^-1 y
inline void solve_lower(const double* R, std::int64_t n, double* y) {
  for (std::int64_t k = 0; k < n; ++k) {
    y[k] /= R[k * n + k];
    add(-y[k], R + k * n + k + 1, y + k + 1, n - k - 1);
  }
}

// y <- R^-1 y
inline void solve_upper(const double* R, std::int64_t n, double* y) {
  for (std::int64_t k = n - 1; k >= 0; --k) {
    double rest = y[k];
    for (std::int64_t l = k + 1; l < n; ++l) rest -= R[k * n + l] * y[l];
    y[k] = rest / R[k * n + k];
  }
}

// Y <- R'^-1 Y for the columns of Y (n x m).
inline void solve_lower_columns(const double* R, std::int64_t n, double* Y, std::int64_t m) {
  for (std::int64_t k = 0; k < n; ++k) {
    double* row = Y + k * m;
    for (std::int64_t c = 0; c < m; ++c) row[c] /= R[k * n + k];
    for (std::int64_t l = k + 1; l < n; ++l)
      if (R[k * n + l] != 0) add(-R[k * n + l], row, Y + l * m, m);
  }
}

}  // namespace rather
