// What the machine can do at best, measured in the way the passes use it: for benchmarks to compare with.
#pragma once

#include <chrono>
#include <vector>

#include "aligned.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace rather {

// Seconds that n_threads threads take for body(thread), all at once.
template <class Body>
double timed(int n_threads, Body&& body) {
  auto began = std::chrono::steady_clock::now();
  for_chunks(n_threads, n_threads, [&](int, std::int64_t share) { body(share); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Floating-point operations a second of fused multiply-adds in registers, all threads together.
inline double most_flops(int n_threads) {
  constexpr int kChains = 12;
  constexpr std::int64_t kSteps = 20'000'000;
  std::vector<float> sink(n_threads * 16);
  double seconds = timed(n_threads, [&](std::int64_t thread) {
    Lanes a = splat(0.999f), b = splat(1e-3f), acc[kChains];
    for (int c = 0; c < kChains; ++c) acc[c] = splat(static_cast<float>(c));
    for (std::int64_t s = 0; s < kSteps; ++s)
      for (int c = 0; c < kChains; ++c) acc[c] = acc[c] * a + b;
    Lanes total{};
    for (int c = 0; c < kChains; ++c) total += acc[c];
    sink[thread * 16] = sum(total);
  });
  return 2.0 * kLanes * kChains * kSteps * n_threads / seconds;
}

// Bytes read a second when every thread reads an array of its own of the given size again and again.
inline double most_bytes(int n_threads, std::int64_t bytes) {
  std::int64_t n = bytes / 4 / (8 * kLanes) * (8 * kLanes),
               repeats = std::max<std::int64_t>(1, (std::int64_t{4} << 30) / bytes);
  std::vector<Aligned<float>> arrays;
  for (int t = 0; t < n_threads; ++t) arrays.emplace_back(n);
  std::vector<float> sink(n_threads * 16);
  double seconds = timed(n_threads, [&](std::int64_t thread) {
    const float* a = arrays[thread].data();
    Lanes acc[8] = {};
    for (std::int64_t r = 0; r < repeats; ++r)
      for (std::int64_t k = 0; k < n; k += 8 * kLanes)
        for (int c = 0; c < 8; ++c) acc[c] += load(a + k + c * kLanes);
    Lanes total{};
    for (int c = 0; c < 8; ++c) total += acc[c];
    sink[thread * 16] = sum(total);
  });
  return 4.0 * n * repeats * n_threads / seconds;
}

}  // namespace rather
