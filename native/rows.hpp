// Products with a few rows of a row-major matrix, chosen by index: the only two ways a pass touches U or V.
//
//   dots:             out_k = A[index_k] . x
//   combine:          y += sum_k coefficient_k A[index_k]
//   fetch_row:        asks for a row ahead of its use
//
// Rows have `ld` floats, a multiple of kRowPad. x, or y, stays in registers while the rows stream by.
//
// All sums are in single precision: those of dots() over a row's columns, those of combine() over all the rows given,
// which may be every user of an item. For n of them the error is about sqrt(n) roundings of the sum of magnitudes, 2e-5
// of it for 100,000. That is enough for slopes and directions, whose worth a line search then checks by losses summed
// in double.
#pragma once

#include <algorithm>

#include "simd.hpp"

namespace rather {

struct Direct {  // rows 0, 1, 2, ... of A
  std::int64_t operator[](std::int64_t k) const { return k; }
};

namespace detail {

inline constexpr int kBlock = 8;  // vectors of x or y held in registers

// Sums start from zero, not from the first product: of a product plus a product, the compiler may fuse either, and two
// kernels that should agree to the bit would not.
template <int NV, bool Add, class Index>
void dots_block(const float* A, Index index, std::int64_t n, std::int64_t ld, const float* x, float* out) {
  Lanes xv[NV];
  for (int v = 0; v < NV; ++v) xv[v] = load(x + v * kLanes);
  std::int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    const float* row[4];
    for (int q = 0; q < 4; ++q) row[q] = A + index[k + q] * ld;
    Lanes acc[4] = {};
    for (int v = 0; v < NV; ++v)
      for (int q = 0; q < 4; ++q) acc[q] += load(row[q] + v * kLanes) * xv[v];
    Quad s = sums(acc[0], acc[1], acc[2], acc[3]);
    for (int q = 0; q < 4; ++q) out[k + q] = Add ? out[k + q] + s[q] : s[q];
  }
  for (; k < n; ++k) {
    const float* row = A + index[k] * ld;
    Lanes acc{};
    for (int v = 0; v < NV; ++v) acc += load(row + v * kLanes) * xv[v];
    // The same order of additions as sums(): a row's result does not depend on its place among the others.
    out[k] = Add ? out[k] + sum(acc) : sum(acc);
  }
}

template <int NV, class Index>
void combine_block(const float* A, Index index, const float* coefficient, std::int64_t n, std::int64_t ld, float* y) {
  Lanes acc[NV];
  for (int v = 0; v < NV; ++v) acc[v] = load(y + v * kLanes);
  for (std::int64_t k = 0; k < n; ++k) {
    const float* row = A + index[k] * ld;
    Lanes c = splat(coefficient[k]);
    for (int v = 0; v < NV; ++v) acc[v] += c * load(row + v * kLanes);
  }
  for (int v = 0; v < NV; ++v) store(y + v * kLanes, acc[v]);
}

// Calls f with the number of vectors in each column block as a compile-time constant.
template <class F>
void for_column_blocks(std::int64_t ld, F&& f) {
  std::int64_t n_vectors = ld / kLanes;
  for (std::int64_t v = 0; v < n_vectors; v += kBlock) {
    std::int64_t column = v * kLanes;
    switch (std::min<std::int64_t>(kBlock, n_vectors - v)) {
      case 1: f.template operator()<1>(column); break;
      case 2: f.template operator()<2>(column); break;
      case 3: f.template operator()<3>(column); break;
      case 4: f.template operator()<4>(column); break;
      case 5: f.template operator()<5>(column); break;
      case 6: f.template operator()<6>(column); break;
      case 7: f.template operator()<7>(column); break;
      default: f.template operator()<8>(column); break;
    }
  }
}

}  // namespace detail

template <class Index>
void dots(const float* A, Index index, std::int64_t n, std::int64_t ld, const float* x, float* out) {
  detail::for_column_blocks(ld, [&]<int NV>(std::int64_t column) {
    if (column == 0)
      detail::dots_block<NV, false>(A, index, n, ld, x, out);
    else
      detail::dots_block<NV, true>(A + column, index, n, ld, x + column, out);
  });
}

template <class Index>
void combine(const float* A, Index index, const float* coefficient, std::int64_t n, std::int64_t ld, float* y) {
  detail::for_column_blocks(ld, [&]<int NV>(std::int64_t column) {
    detail::combine_block<NV>(A + column, index, coefficient, n, ld, y + column);
  });
}

template <bool Write>
void fetch_row(const float* row, std::int64_t ld) {
  for (std::int64_t k = 0; k < ld; k += kRowPad) __builtin_prefetch(row + k, Write);
}

inline float dot(const float* a, const float* b, std::int64_t ld) {
  float out;
  dots(a, Direct{}, 1, ld, b, &out);
  return out;
}

}  // namespace rather
