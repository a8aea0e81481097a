// Means of the rows of a factor that are linear in features of the rows: the prior of a hierarchical model.
//
//   row x_n ~ C' f_n,  where C minimises  sum_n w_n |x_n - C' f_n|^2 + lambda |C|^2
//                      and                lambda = strength tr(F'WF) / k
//
// A strength of 1 makes the shared C cost, on average, what it would cost every row to pay for its mean itself.
#pragma once

#include <cmath>
#include <vector>

#include "spectral.hpp"

namespace rather {

class Prior {
 public:
  // F: n rows of ldf floats of which the first k are features. It must outlive this.
  Prior(const float* F, std::int64_t ldf, std::int64_t k, std::vector<float> weight, double strength, int n_threads)
      : F_(F), ldf_(ldf), k_(k), weight_(std::move(weight)), L_(k) {
    L_ = gram(F_, n(), ldf_, k_, n_threads, weight_.data());
    double trace = 0;
    for (std::int64_t a = 0; a < k_; ++a) trace += L_(a, a);
    lambda_ = std::max(strength * trace / static_cast<double>(k_), 1e-12);
    for (std::int64_t a = 0; a < k_; ++a) L_(a, a) += lambda_;
    cholesky(L_.a.data(), k_,
             [&](std::int64_t, double, double rest) { return std::sqrt(std::max(rest, lambda_ * 1e-9)); });
  }

  double lambda() const { return lambda_; }
  std::int64_t k() const { return k_; }

  // C (k x ld) and the means (n x ld) for rows X (n x ld).
  void regress(const float* X, std::int64_t ld, float* C, float* mean, int n_threads) const {
    std::vector<double> y = cross(F_, ldf_, k_, X, ld, weight_.data(), n(), n_threads);
    for (std::int64_t a = 0; a < k_; ++a) {  // L^-1, then L'^-1, on all columns at once
      for (std::int64_t t = 0; t < a; ++t) subtract(L_(a, t), &y[t * ld], &y[a * ld], ld);
      divide(L_(a, a), &y[a * ld], ld);
    }
    for (std::int64_t a = k_; a-- > 0;) {
      for (std::int64_t t = a + 1; t < k_; ++t) subtract(L_(t, a), &y[t * ld], &y[a * ld], ld);
      divide(L_(a, a), &y[a * ld], ld);
    }
    for (std::int64_t k = 0; k < k_ * ld; ++k) C[k] = static_cast<float>(y[k]);
    multiply(F_, ldf_, k_, C, ld, mean, n(), n_threads);
  }

 private:
  std::int64_t n() const { return static_cast<std::int64_t>(weight_.size()); }
  static void subtract(double scale, const double* from, double* to, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) to[k] -= scale * from[k];
  }
  static void divide(double by, double* x, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) x[k] /= by;
  }

  const float* F_;
  std::int64_t ldf_, k_;
  std::vector<float> weight_;
  Small L_;
  double lambda_ = 0;
};

// One side of a factor model with prior means: its rows are L x, where x has a row for every row and one for every
// feature, and L = [diag(root)^-1, F / root_lambda].
struct Expansion {
  const float* inverse_root;  // of the shapes of the ridges
  const float* F;
  std::int64_t n, ldf, k;
  float inverse_root_lambda;

  void rows(const float* x, float* out, std::int64_t ld, int n_threads) const {
    multiply(F, ldf, k, x + n * ld, ld, out, n, n_threads);
    for_ranges(n_threads, n, 1024, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t c = 0; c < ld; ++c)
          out[i * ld + c] = inverse_root_lambda * out[i * ld + c] + inverse_root[i] * x[i * ld + c];
    });
  }

  // x <- L' rows
  void contract(const float* rows, float* x, std::int64_t ld, int n_threads) const {
    for_ranges(n_threads, n, 1024, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t c = 0; c < ld; ++c) x[i * ld + c] = inverse_root[i] * rows[i * ld + c];
    });
    std::vector<double> shared = cross(F, ldf, k, rows, ld, nullptr, n, n_threads);
    for (std::int64_t c = 0; c < k * ld; ++c) x[n * ld + c] = inverse_root_lambda * static_cast<float>(shared[c]);
  }
};

// The leading singular triples of L' C M, where C has the given entries. On entry right (n_items x ld) holds a random
// block, which the features' part follows; on return left and right hold the rows of U and V that the singular vectors
// stand for.
inline std::vector<double> singular_expanded(const Store& s, const float* coefficient, const Expansion& users,
                                             const Expansion& items, float* left, float* right, std::int64_t ld,
                                             std::int64_t l, int iterations, int n_threads) {
  Aligned<float> x((users.n + users.k) * ld), y((items.n + items.k) * ld);
  std::copy_n(right, items.n * ld, y.data());
  std::vector<double> values = singular(
      users.n + users.k, items.n + items.k,
      [&](const float* from, float* to) {
        items.rows(from, right, ld, n_threads);
        user_products(s, coefficient, right, ld, left, n_threads);
        users.contract(left, to, ld, n_threads);
      },
      [&](const float* from, float* to) {
        users.rows(from, left, ld, n_threads);
        item_products(s, coefficient, left, ld, right, n_threads);
        items.contract(right, to, ld, n_threads);
      },
      x.data(), y.data(), ld, l, iterations, n_threads);
  users.rows(x.data(), left, ld, n_threads);
  items.rows(y.data(), right, ld, n_threads);
  return values;
}

}  // namespace rather
