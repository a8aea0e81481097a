// Means of the rows of a factor that are linear in features of the rows: the prior of a hierarchical model.
//
//   row x_n ~ C' f_n,  where C minimises  sum_n w_n |x_n - C' f_n|^2 + lambda |C|^2   and   lambda = strength tr(F'WF) / k
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
    for (std::int64_t a = 0; a < k_; ++a) {  // G + lambda I = L L', L in the lower triangle
      L_(a, a) += lambda_;
      for (std::int64_t b = 0; b <= a; ++b) {
        double rest = L_(a, b);
        for (std::int64_t t = 0; t < b; ++t) rest -= L_(a, t) * L_(b, t);
        L_(a, b) = b < a ? rest / L_(b, b) : std::sqrt(std::max(rest, lambda_ * 1e-9));
      }
    }
  }

  double lambda() const { return lambda_; }

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

}  // namespace rather
