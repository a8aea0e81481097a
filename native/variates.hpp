// Random numbers of the usual distributions, from one stream of draws.
#pragma once

#include <cmath>

#include "draws.hpp"

namespace rather {

class Variates {
 public:
  Variates(std::uint64_t seed, std::uint64_t stream) : draws_(seed, stream) {}

  double unit() { return 1.0 - draws_.unit(); }  // in (0, 1], so that its logarithm is finite
  double exponential() { return -std::log(unit()); }

  // Marsaglia's polar method makes two at a time.
  double normal() {
    if (spare_) {
      spare_ = false;
      return other_;
    }
    double x, y, square;
    do {
      x = 2 * draws_.unit() - 1, y = 2 * draws_.unit() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double far = std::sqrt(-2 * std::log(square) / square);
    spare_ = true, other_ = y * far;
    return x * far;
  }

  // G. Marsaglia, W. W. Tsang: A simple method for generating gamma variables (2000).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(unit(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      double x = normal(), v = 1 + c * x;
      if (v <= 0) continue;
      v = v * v * v;
      if (std::log(unit()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  Draws draws_;
  bool spare_ = false;
  double other_ = 0;
};

}  // namespace rather
