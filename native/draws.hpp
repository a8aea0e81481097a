// Random draws that are the same everywhere, and independent between streams.
#pragma once

#include <cstdint>

#include "portable.hpp"

namespace rather {

// splitmix64: a counter through a mixing function, so that any (seed, stream) is as good as any other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream) : state_(seed * 0x9E3779B97F4A7C15u ^ mix(stream + 1)) {}
  std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15u); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(high_product(next(), static_cast<std::uint64_t>(n)));
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  std::uint64_t state_;
};

// Whether so few of n are left that draws from all would be rejected too often.
inline bool is_few(std::int64_t left, std::int64_t n) { return 16 * left < n; }

// The n-th (from 0) whole number that is not in an ascending list without repeats.
inline std::int32_t nth_missing(const std::int32_t* list, std::int64_t size, std::int64_t n) {
  std::int64_t low = 0, high = size;  // list[k] - k numbers below list[k] are missing
  while (low < high) {
    std::int64_t middle = (low + high) / 2;
    if (list[middle] - middle > n)
      high = middle;
    else
      low = middle + 1;
  }
  return static_cast<std::int32_t>(n + low);
}

}  // namespace rather
