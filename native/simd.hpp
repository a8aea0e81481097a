// Short float vectors of the widest kind the target has, and the few operations on them that the passes need.
//
// Nothing here names an instruction set: the compiler's vector extension is lowered to AVX-512, AVX2, SSE2 or NEON
// by the flags the file is built with. The build makes one module per instruction set (see CMakeLists.txt).
#pragma once

#include <cstdint>
#include <cstring>

#include "portable.hpp"

namespace rather {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

// Rows of U and V are padded to this many floats, one cache line, whatever the lanes.
inline constexpr int kRowPad = 16;

typedef float Lanes __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t IntLanes __attribute__((vector_size(4 * kLanes)));
typedef float Quad __attribute__((vector_size(16)));

inline Lanes load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline void store(float* p, Lanes v) { std::memcpy(p, &v, sizeof v); }

inline Lanes splat(float x) { return x - Lanes{}; }

inline Lanes vmax(Lanes a, Lanes b) { return a > b ? a : b; }
inline Lanes vmin(Lanes a, Lanes b) { return a < b ? a : b; }

// Whether a comparison holds in any lane.
inline bool any(IntLanes holds) {
  std::int64_t words[sizeof holds / 8], all = 0;
  std::memcpy(words, &holds, sizeof holds);
  for (std::int64_t word : words) all |= word;
  return all != 0;
}

// The first `n` lanes of v, `other` in the rest.
inline Lanes keep_first(Lanes v, int n, float other) {
  IntLanes index;
  for (int l = 0; l < kLanes; ++l) index[l] = l;
  return index < n ? v : splat(other);
}

// The sum of the lanes, always in the same order: quarters of the vector first, then within the four that remain.
#if defined(RATHER_SHUFFLES)
inline Quad fold_to_quad(Lanes v) {
#if defined(__AVX512F__)
  typedef float Half __attribute__((vector_size(32)));
  Half h = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(h, h, 0, 1, 2, 3) + __builtin_shufflevector(h, h, 4, 5, 6, 7);
#elif defined(__AVX2__)
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
  return v;
#endif
}
#else  // GCC 11
inline Quad fold_to_quad(Lanes v) {
  float part[kLanes];
  std::memcpy(part, &v, sizeof part);
  for (int width = kLanes / 2; width >= 4; width /= 2)
    for (int l = 0; l < width; ++l) part[l] += part[l + width];
  return Quad{part[0], part[1], part[2], part[3]};
}
#endif

inline float sum(Lanes v) {
  Quad q = fold_to_quad(v);
  return (q[0] + q[2]) + (q[1] + q[3]);
}

// The four sums of four vectors, with fewer shuffles than four calls of sum().
inline Quad sums(Lanes a, Lanes b, Lanes c, Lanes d) {
#if defined(RATHER_SHUFFLES)
  Quad qa = fold_to_quad(a), qb = fold_to_quad(b), qc = fold_to_quad(c), qd = fold_to_quad(d);
  Quad ab = __builtin_shufflevector(qa, qb, 0, 4, 1, 5) + __builtin_shufflevector(qa, qb, 2, 6, 3, 7);
  Quad cd = __builtin_shufflevector(qc, qd, 0, 4, 1, 5) + __builtin_shufflevector(qc, qd, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#else
  return Quad{sum(a), sum(b), sum(c), sum(d)};
#endif
}

// e^x for x <= 0, to about 2 ulp: x = k ln 2 + f with |f| <= ln 2 / 2, e^f by its Taylor polynomial of degree 7.
inline Lanes exp_nonpositive(Lanes x) {
  x = vmax(x, splat(-87.0f));
  Lanes shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds to an integer held in the low bits
  Lanes k = shifted - 12582912.0f;
  Lanes f = (x - k * 0.693145752f) - k * 1.42860677e-6f;
  Lanes e = splat(1.0f / 5040);
  e = e * f + 1.0f / 720;
  e = e * f + 1.0f / 120;
  e = e * f + 1.0f / 24;
  e = e * f + 1.0f / 6;
  e = e * f + 0.5f;
  e = e * f + 1.0f;
  e = e * f + 1.0f;
  IntLanes bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + (127 - 0x4B400000)) << 23;  // 0x4B400000 is the bit pattern of 1.5 * 2^23
  Lanes power;
  std::memcpy(&power, &bits, sizeof power);
  return e * power;
}

// log(1 + e) for 0 <= e <= 1, as 2 atanh(s) with s = e / (2 + e) <= 1/3.
inline Lanes log1p_unit(Lanes e) {
  Lanes s = e / (e + 2.0f), s2 = s * s;
  Lanes p = splat(1.0f / 15);
  p = p * s2 + 1.0f / 13;
  p = p * s2 + 1.0f / 11;
  p = p * s2 + 1.0f / 9;
  p = p * s2 + 1.0f / 7;
  p = p * s2 + 1.0f / 5;
  p = p * s2 + 1.0f / 3;
  p = p * s2 + 1.0f;
  return 2.0f * s * p;
}

}  // namespace rather
