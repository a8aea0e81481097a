// What was clicked together with what: sums over users for pairs of items, and sums of an item's rows over clicks.
//
// Every row of a result is one thread's, summed in the order of the data: no number of threads shows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel.hpp"

namespace rather {

// out[r][j] = the sum of weight_u over the users u of row r who clicked j. Row r has the users user[row[r] ...], user u
// the clicks item[start[u] ...].
inline void clicked_together(const std::int64_t* row, const std::int32_t* user, std::int64_t n_rows,
                             const std::int64_t* start, const std::int32_t* item, const float* weight,
                             std::int64_t n_items, float* out, int n_threads) {
  for_ranges(n_threads, n_rows, 8, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      float* sum = out + r * n_items;
      std::fill(sum, sum + n_items, 0.0f);
      for (std::int64_t e = row[r]; e < row[r + 1]; ++e) {
        const std::int32_t u = user[e];
        for (std::int64_t k = start[u]; k < start[u + 1]; ++k) sum[item[k]] += weight[u];
      }
    }
  });
}

// out[q] = the sum of the rows B[code[k]], k from start[q] on.
inline void sum_rows(const std::int64_t* start, const std::int32_t* code, std::int64_t n_queries, const float* B,
                     std::int64_t width, float* out, int n_threads) {
  for_ranges(n_threads, n_queries, 4, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t q = first; q < last; ++q) {
      float* sum = out + q * width;
      std::fill(sum, sum + width, 0.0f);
      for (std::int64_t k = start[q]; k < start[q + 1]; ++k) {
        const float* b = B + code[k] * width;
        for (std::int64_t j = 0; j < width; ++j) sum[j] += b[j];
      }
    }
  });
}

}  // namespace rather
