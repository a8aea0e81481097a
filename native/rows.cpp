// Products with chosen rows of a matrix, in blocks of columns that stay in registers.
#include "rows.hpp"

#include <algorithm>

namespace rather {

namespace {

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

template <class Index>
void dots_of(const float* A, Index index, std::int64_t n, std::int64_t ld, const float* x, float* out) {
  for_column_blocks(ld, [&]<int NV>(std::int64_t column) {
    if (column == 0)
      dots_block<NV, false>(A, index, n, ld, x, out);
    else
      dots_block<NV, true>(A + column, index, n, ld, x + column, out);
  });
}

template <class Index>
void combine_of(const float* A, Index index, const float* coefficient, std::int64_t n, std::int64_t ld, float* y) {
  for_column_blocks(
      ld, [&]<int NV>(std::int64_t column) { combine_block<NV>(A + column, index, coefficient, n, ld, y + column); });
}

}  // namespace

void dots(const float* A, const std::int32_t* index, std::int64_t n, std::int64_t ld, const float* x, float* out) {
  dots_of(A, index, n, ld, x, out);
}
void dots(const float* A, Direct index, std::int64_t n, std::int64_t ld, const float* x, float* out) {
  dots_of(A, index, n, ld, x, out);
}

void combine(const float* A, const std::int32_t* index, const float* coefficient, std::int64_t n, std::int64_t ld,
             float* y) {
  combine_of(A, index, coefficient, n, ld, y);
}
void combine(const float* A, Direct index, const float* coefficient, std::int64_t n, std::int64_t ld, float* y) {
  combine_of(A, index, coefficient, n, ld, y);
}

}  // namespace rather
