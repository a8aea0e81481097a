// What compilers offer beyond the language, each with a fallback. RATHER_PORTABLE asks for the fallbacks, so that a test
// can compare the two.
#pragma once

#include <cstdint>

#if !defined(RATHER_PORTABLE)
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define RATHER_SHUFFLES
#endif
#if __has_builtin(__builtin_prefetch)
#define RATHER_PREFETCHES
#endif
#endif
#if defined(__SIZEOF_INT128__)
#define RATHER_INT128
#endif
#endif

namespace rather {

// The upper 64 bits of a product.
inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(RATHER_INT128)
  __extension__ typedef unsigned __int128 Product;
  return static_cast<std::uint64_t>((static_cast<Product>(a) * b) >> 64);
#else
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  const std::uint64_t low = (a & kLow) * (b & kLow), left = (a >> 32) * (b & kLow), right = (a & kLow) * (b >> 32);
  const std::uint64_t middle = (low >> 32) + (left & kLow) + (right & kLow);
  return (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32);
#endif
}

// Asks for a cache line ahead of its use.
template <bool Write>
inline void prefetch([[maybe_unused]] const float* p) {
#if defined(RATHER_PREFETCHES)
  __builtin_prefetch(p, Write);
#endif
}

// Tells the processor that this thread waits in a loop.
inline void pause() {
#if defined(RATHER_PORTABLE)
#elif defined(__x86_64__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace rather
