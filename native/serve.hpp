// What a fitted model is asked for: scores of pairs, the best k items for each of many users, and orders within rows.
//
// Scores have the same bits whichever function computes them: each is one row of dots().
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "aligned.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace rather {

// out_t = A[left_t] . B[right_t]; 0 where either code is negative (unknown).
inline void score_pairs(const float* A, const std::int32_t* left, const float* B, const std::int32_t* right,
                        std::int64_t n, std::int64_t ld, float* out, int n_threads) {
  for_ranges(n_threads, n, 4096, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t t = first; t < last; ++t)
      out[t] = left[t] < 0 || right[t] < 0 ? 0.0f : dot(B + right[t] * ld, A + left[t] * ld, ld);
  });
}

namespace detail {

// out[q * width + k] (+)= A_q . B_k for four rows of A and all rows of B, sharing the loads of both.
template <int NV, bool Add>
void dots_by_four(const float* const* a, const float* B, std::int64_t n, std::int64_t ld, float* out,
                  std::int64_t width) {
  std::int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    Lanes acc[4][4] = {};
    for (int v = 0; v < NV; ++v) {
      Lanes x[4];
      for (int q = 0; q < 4; ++q) x[q] = load(a[q] + v * kLanes);
      for (int b = 0; b < 4; ++b) {
        Lanes y = load(B + (k + b) * ld + v * kLanes);
        for (int q = 0; q < 4; ++q) acc[q][b] += y * x[q];
      }
    }
    for (int q = 0; q < 4; ++q) {
      Quad s = sums(acc[q][0], acc[q][1], acc[q][2], acc[q][3]);
      for (int b = 0; b < 4; ++b) out[q * width + k + b] = Add ? out[q * width + k + b] + s[b] : s[b];
    }
  }
  if (k < n)
    for (int q = 0; q < 4; ++q) dots_block<NV, Add>(B + k * ld, Direct{}, n - k, ld, a[q], out + q * width + k);
}

}  // namespace detail

// The k best items of each query row of A: higher score first, equal scores by lower item. Items of query t in
// excluded[exclude_start[t] .. exclude_start[t+1]) are left out; places that cannot be filled hold item -1.
inline void best_items(const float* A, const std::int32_t* query, std::int64_t n_queries, const float* B,
                       std::int64_t n_items, std::int64_t ld, std::int64_t k, const std::int64_t* exclude_start,
                       const std::int32_t* excluded, std::int32_t* item, float* score, int n_threads) {
  constexpr std::int64_t kGroup = 4;
  struct Candidate {
    float score;
    std::int32_t item;
    bool operator<(const Candidate& other) const {  // better comes first
      return score != other.score ? score > other.score : item < other.item;
    }
  };
  for_ranges(n_threads, n_queries, kGroup, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<float> all(kGroup * n_items);
    std::vector<Candidate> heap;
    const float* a[kGroup];
    for (std::int64_t q = 0; q < kGroup; ++q) a[q] = A + query[std::min(first + q, last - 1)] * ld;
    detail::for_column_blocks(ld, [&]<int NV>(std::int64_t column) {
      const float* shifted[kGroup];
      for (std::int64_t q = 0; q < kGroup; ++q) shifted[q] = a[q] + column;
      if (column == 0)
        detail::dots_by_four<NV, false>(shifted, B, n_items, ld, all.data(), n_items);
      else
        detail::dots_by_four<NV, true>(shifted, B + column, n_items, ld, all.data(), n_items);
    });
    for (std::int64_t t = first; t < last; ++t) {
      float* scores = all.data() + (t - first) * n_items;
      const float gone = -std::numeric_limits<float>::infinity();
      if (exclude_start)
        for (std::int64_t e = exclude_start[t]; e < exclude_start[t + 1]; ++e) scores[excluded[e]] = gone;
      heap.clear();  // the worst of the best so far on top
      for (std::int64_t j = 0; j < n_items; ++j) {
        if (scores[j] == gone) continue;
        Candidate one{scores[j], static_cast<std::int32_t>(j)};
        if (static_cast<std::int64_t>(heap.size()) < k) {
          heap.push_back(one);
          std::push_heap(heap.begin(), heap.end());
        } else if (one < heap.front()) {
          std::pop_heap(heap.begin(), heap.end());
          heap.back() = one;
          std::push_heap(heap.begin(), heap.end());
        }
      }
      std::sort_heap(heap.begin(), heap.end());
      for (std::int64_t place = 0; place < k; ++place) {
        bool filled = place < static_cast<std::int64_t>(heap.size());
        item[t * k + place] = filled ? heap[place].item : -1;
        score[t * k + place] = filled ? heap[place].score : 0.0f;
      }
    }
  });
}

// The permutation that sorts each row [start[i], start[i+1]) of key descending, equal keys by position.
inline void order_rows(const std::int64_t* start, std::int64_t n_rows, const float* key, std::int64_t* order,
                       int n_threads) {
  for_ranges(n_threads, n_rows, 64, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t e = start[i]; e < start[i + 1]; ++e) order[e] = e;
      std::sort(order + start[i], order + start[i + 1],
                [&](std::int64_t a, std::int64_t b) { return key[a] != key[b] ? key[a] > key[b] : a < b; });
    }
  });
}

// Over all pairs of a row whose values differ by at least min_gap (and by more than 0): how many there are, and in how
// many the larger value has the strictly larger key.
inline void count_ordered(const std::int64_t* start, std::int64_t n_rows, const double* value, const float* key,
                          double min_gap, int n_threads, std::int64_t& ordered, std::int64_t& total) {
  std::vector<std::int64_t> hits(n_rows), pairs(n_rows);
  for_ranges(n_threads, n_rows, 16, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t a = start[i]; a < start[i + 1]; ++a)
        for (std::int64_t b = start[i]; b < start[i + 1]; ++b) {
          bool counts = value[a] > value[b] && value[a] - value[b] >= min_gap;
          pairs[i] += counts;
          hits[i] += counts && key[a] > key[b];
        }
  });
  ordered = total = 0;
  for (std::int64_t i = 0; i < n_rows; ++i) ordered += hits[i], total += pairs[i];
}

}  // namespace rather
