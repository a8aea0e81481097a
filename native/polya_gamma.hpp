// Draws from the Polya-Gamma distribution PG(b, c), by which a logistic likelihood is a mixture of normal ones:
//
//   e^(k x) / (2 cosh(x / 2))^b  is in proportion to  E e^(k x - w x^2 / 2),  w ~ PG(b, 0)
//
// and w given x is PG(b, x) (N. Polson, J. Scott, J. Windle: Bayesian inference for logistic models using Polya-Gamma
// latent variables, 2013). PG(1, 2z) is a quarter of J, whose density is in proportion to e^(-z^2 x / 2) times an
// alternating series; L. Devroye's method draws from its first term and accepts by its partial sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "portable.hpp"
#include "variates.hpp"

namespace rather {

namespace polya_gamma {

inline constexpr double kCut = 0.64;          // the series has one form below and another above
inline constexpr int kWhole = 4, kTerms = 8;  // whole b up to kWhole are sums; others a series of so many gammas

inline double mean(double b, double c) {
  const double h = 0.5 * std::abs(c);
  return h < 1e-4 ? 0.25 * b : 0.25 * b * std::tanh(h) / h;
}

inline double variance(double b, double c) {
  const double x = std::abs(c), h = 0.5 * x, s = 1 / std::cosh(std::min(h, 300.0));
  return x < 1e-2 ? b / 24 : b / (4 * x * x * x) * (2 * std::tanh(h) - x * s * s);
}

// The n-th term of the series, without (-1)^n.
inline double term(int n, double x) {
  const double k = std::numbers::pi * (n + 0.5);
  if (x > kCut) return k * std::exp(-0.5 * k * k * x);
  const double f = 2 / (std::numbers::pi * x), near = n + 0.5;
  return k * f * std::sqrt(f) * std::exp(-2 * near * near / x);
}

// An inverse normal variable with the mean 1 / z and the shape 1, given that it is below kCut.
inline double below_cut(double z, Variates& draws) {
  if (z * kCut < 1) {  // by 1 / chi^2, accepted with e^(-z^2 x / 2)
    for (;;) {
      double first, second;
      do {
        first = draws.exponential(), second = draws.exponential();
      } while (first * first > 2 * second / kCut);
      const double root = 1 + first * kCut, x = kCut / (root * root);
      if (draws.unit() <= std::exp(-0.5 * z * z * x)) return x;
    }
  }
  const double m = 1 / z;
  for (;;) {  // the two roots of z^2 (x - m)^2 / x = chi^2, each with its probability
    const double normal = draws.normal(), half = 0.5 * m * normal * normal;
    const double small = m * (1 + half - std::sqrt(half * (2 + half)));
    const double x = draws.unit() * (m + small) <= m ? small : m * m / std::max(small, 1e-300);
    if (x < kCut) return x;
  }
}

inline double one(double c, Variates& draws) {
  const double z = 0.5 * std::abs(c), rate = std::numbers::pi * std::numbers::pi / 8 + 0.5 * z * z,
               root = std::sqrt(0.5 / kCut);
  const double above = std::numbers::pi / (2 * rate) * std::exp(-rate * kCut);
  // Twice e^-z times the distribution function of the inverse normal variable.
  const double below =
      std::exp(-z) * std::erfc(root * (1 - kCut * z)) + std::exp(std::min(z, 300.0)) * std::erfc(root * (1 + kCut * z));
  const double tail = above / (above + below);
  for (;;) {
    const double x = draws.unit() < tail ? kCut + draws.exponential() / rate : below_cut(z, draws);
    double sum = term(0, x), level = draws.unit() * sum;
    for (int n = 1;; ++n) {
      const double next = term(n, x);
      sum += n % 2 ? -next : next;
      if (n % 2 && level <= sum) return 0.25 * x;
      if (n % 2 == 0 && level > sum) break;
      if (!(next >= 1e-300)) return 0.25 * x;  // the sum no longer changes
    }
  }
}

// The sum over k of gamma variables of shape b over 2 pi^2 ((k - 1/2)^2 + (c / 2 pi)^2); one gamma variable with the
// mean and the variance of all others stands for them.
inline double series(double b, double c, Variates& draws) {
  const double square = c * c / (4 * std::numbers::pi * std::numbers::pi);
  double sum = 0, mean_left = mean(b, c), variance_left = variance(b, c);
  for (int k = 0; k < kTerms; ++k) {
    const double scale = 1 / (2 * std::numbers::pi * std::numbers::pi * ((k + 0.5) * (k + 0.5) + square));
    sum += scale * draws.gamma(b);
    mean_left -= b * scale, variance_left -= b * scale * scale;
  }
  if (mean_left <= 0 || variance_left <= 0) return sum + std::max(mean_left, 0.0);
  return sum + variance_left / mean_left * draws.gamma(mean_left * mean_left / variance_left);
}

}  // namespace polya_gamma

// A draw from PG(b, c), b above 0.
inline double draw_polya_gamma(double b, double c, Variates& draws) {
  if (b > polya_gamma::kWhole || b != std::floor(b)) return polya_gamma::series(b, c, draws);
  double sum = 0;
  for (int k = 0; k < static_cast<int>(b); ++k) sum += polya_gamma::one(c, draws);
  return sum;
}

}  // namespace rather
