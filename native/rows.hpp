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

#include <cstdint>

#include "portable.hpp"
#include "simd.hpp"

namespace rather {

struct Direct {  // rows 0, 1, 2, ... of A
  std::int64_t operator[](std::int64_t k) const { return k; }
};

void dots(const float* A, const std::int32_t* index, std::int64_t n, std::int64_t ld, const float* x, float* out);
void dots(const float* A, Direct index, std::int64_t n, std::int64_t ld, const float* x, float* out);

void combine(const float* A, const std::int32_t* index, const float* coefficient, std::int64_t n, std::int64_t ld,
             float* y);
void combine(const float* A, Direct index, const float* coefficient, std::int64_t n, std::int64_t ld, float* y);

template <bool Write>
void fetch_row(const float* row, std::int64_t ld) {
  for (std::int64_t k = 0; k < ld; k += kRowPad) prefetch<Write>(row + k);
}

inline float dot(const float* a, const float* b, std::int64_t ld) {
  float out;
  dots(a, Direct{}, 1, ld, b, &out);
  return out;
}

}  // namespace rather
