// What a fitted model is asked for: scores of pairs, the best k items for each of many users, and orders within rows.
//
// Scores have the same bits whichever function computes them: each is one row of dots().
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
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

// The items of a matrix B packed for products with many rows: panels of kPanel items, coordinate after coordinate, so
// that a vector of lanes is a coordinate of kLanes items and no sum across lanes is needed.
class Panels {
 public:
  static constexpr int kRows = kLanes == 16 ? 8 : 4, kVectors = 3, kPanel = kVectors * kLanes;

  Panels(const float* B, std::int64_t n_items, std::int64_t ld, int n_threads)
      : ld_(ld), n_panels_((n_items + kPanel - 1) / kPanel), packed_(n_panels_ * kPanel * ld) {
    for_ranges(n_threads, n_panels_, 64, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t j = first * kPanel; j < std::min(n_items, last * kPanel); ++j)
        for (std::int64_t k = 0; k < ld; ++k)
          packed_[(j / kPanel) * kPanel * ld + k * kPanel + j % kPanel] = B[j * ld + k];
    });
  }

  std::int64_t size() const { return n_panels_; }

  // tile[q][v]: the products of kRows rows with the items of a panel.
  void multiply(std::int64_t panel, const float* const* rows, Lanes (&tile)[kRows][kVectors]) const {
    Lanes acc[kRows][kVectors] = {};
    const float* b = packed_.data() + panel * kPanel * ld_;
    for (std::int64_t k = 0; k < ld_; ++k, b += kPanel) {
      Lanes items[kVectors];
      for (int v = 0; v < kVectors; ++v) items[v] = load(b + v * kLanes);
      for (int q = 0; q < kRows; ++q) {
        Lanes x = splat(rows[q][k]);
        for (int v = 0; v < kVectors; ++v) acc[q][v] += x * items[v];
      }
    }
    for (int q = 0; q < kRows; ++q)
      for (int v = 0; v < kVectors; ++v) tile[q][v] = acc[q][v];
  }

 private:
  std::int64_t ld_, n_panels_;
  Aligned<float> packed_;
};

// The items that may be among the k best of one row, given scores that are right to within `error`.
class Shortlist {
 public:
  struct Item {
    float score;
    std::int32_t item;
    bool operator<(const Item& other) const {  // better comes first
      return score != other.score ? score > other.score : item < other.item;
    }
  };

  void begin(std::int64_t k, float error, const std::int32_t* gone, const std::int32_t* gone_end) {
    k_ = k;
    error_ = error;
    least_ = -std::numeric_limits<float>::infinity();
    items_.clear();
    full_ = 2 * k + 64;
    gone_.assign(gone, gone_end);
    std::sort(gone_.begin(), gone_.end());
  }

  float least() const { return least_; }  // no score below it is of interest

  void add(float score, std::int32_t item) {
    if (score < least_ || std::binary_search(gone_.begin(), gone_.end(), item)) return;
    items_.push_back({score, item});
    if (static_cast<std::int64_t>(items_.size()) < full_) return;
    std::nth_element(items_.begin(), items_.begin() + (k_ - 1), items_.end());
    least_ = items_[k_ - 1].score - 2 * error_;
    std::erase_if(items_, [&](const Item& one) { return one.score < least_; });
    full_ = std::max<std::int64_t>(full_, 2 * items_.size());  // many scores nearly the same: let them come
  }

  // The k best by their exact scores, best first; fewer where there are fewer.
  template <class Exact>
  const std::vector<Item>& best(Exact&& exact) {
    for (Item& one : items_) one.score = exact(one.item);
    std::int64_t kept = std::min<std::int64_t>(k_, items_.size());
    std::partial_sort(items_.begin(), items_.begin() + kept, items_.end());
    items_.resize(kept);
    return items_;
  }

 private:
  std::int64_t k_ = 0, full_ = 0;
  float error_ = 0, least_ = 0;
  std::vector<Item> items_;
  std::vector<std::int32_t> gone_;
};

}  // namespace detail

// The k best items of each query row of A: higher score first, equal scores by lower item. Items of query t in
// excluded[exclude_start[t] .. exclude_start[t+1]) are left out; places that cannot be filled hold item -1.
//
// Many queries are screened by a product whose sums run in another order than those of dots(), and so differ in their
// last bits; what could be among the best in spite of that is scored again.
inline void best_items(const float* A, const std::int32_t* query, std::int64_t n_queries, const float* B,
                       std::int64_t n_items, std::int64_t ld, std::int64_t k, const std::int64_t* exclude_start,
                       const std::int32_t* excluded, std::int32_t* item, float* score, int n_threads) {
  using detail::Panels, detail::Shortlist;
  constexpr std::int64_t kQueries = 64, kMany = 64;  // queries that share a panel while it is in cache
  auto begin = [&](Shortlist& list, std::int64_t t, float error) {
    bool some = exclude_start != nullptr;
    list.begin(k, error, some ? excluded + exclude_start[t] : nullptr,
               some ? excluded + exclude_start[t + 1] : nullptr);
  };
  auto finish = [&](Shortlist& list, std::int64_t t) {
    const float* a = A + query[t] * ld;
    const auto& best = list.best([&](std::int32_t j) { return dot(B + j * ld, a, ld); });
    for (std::int64_t place = 0; place < k; ++place) {
      bool filled = place < static_cast<std::int64_t>(best.size());
      item[t * k + place] = filled ? best[place].item : -1;
      score[t * k + place] = filled ? best[place].score : 0.0f;
    }
  };
  if (n_queries < kMany) {  // not worth packing B
    for_ranges(n_threads, n_queries, 1, [&](int, std::int64_t t, std::int64_t) {
      std::vector<float> all(n_items);
      Shortlist list;
      begin(list, t, 0);
      dots(B, Direct{}, n_items, ld, A + query[t] * ld, all.data());
      for (std::int64_t j = 0; j < n_items; ++j) list.add(all[j], static_cast<std::int32_t>(j));
      finish(list, t);
    });
    return;
  }
  // Both sums of ld products are within ld * epsilon / 2 * |a| |b| of the truth, to first order; twice that for safety.
  const Panels panels(B, n_items, ld, n_threads);
  auto square = [&](const float* x) {
    return std::transform_reduce(x, x + ld, 0.0, std::plus<>{}, [](float a) { return double{a} * a; });
  };
  double longest = 0;
  for (std::int64_t j = 0; j < n_items; ++j) longest = std::max(longest, square(B + j * ld));
  const double relative = 2.0 * ld * std::numeric_limits<float>::epsilon();
  const double absolute = 2.0 * ld * std::numeric_limits<float>::min();  // where products are too small to be normal
  const std::int64_t together = std::clamp<std::int64_t>(n_queries / (4 * n_threads), Panels::kRows, kQueries);
  for_ranges(n_threads, n_queries, together, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<Shortlist> lists(last - first);
    for (std::int64_t t = first; t < last; ++t) {
      const float* a = A + query[t] * ld;
      begin(lists[t - first], t, static_cast<float>(relative * std::sqrt(longest * square(a)) + absolute));
    }
    for (std::int64_t panel = 0; panel < panels.size(); ++panel)
      for (std::int64_t t = first; t < last; t += Panels::kRows) {
        const float* rows[Panels::kRows];
        for (int q = 0; q < Panels::kRows; ++q) rows[q] = A + query[std::min(t + q, last - 1)] * ld;
        Lanes tile[Panels::kRows][Panels::kVectors];
        panels.multiply(panel, rows, tile);
        for (int q = 0; q < Panels::kRows && t + q < last; ++q) {
          Shortlist& list = lists[t + q - first];
          Lanes most = tile[q][0];
          for (int v = 1; v < Panels::kVectors; ++v) most = vmax(most, tile[q][v]);
          if (!any(most >= list.least())) continue;
          std::int64_t j = panel * Panels::kPanel;
          for (int v = 0; v < Panels::kVectors; ++v)
            for (int l = 0; l < kLanes && j < n_items; ++l, ++j) list.add(tile[q][v][l], static_cast<std::int32_t>(j));
        }
      }
    for (std::int64_t t = first; t < last; ++t) finish(lists[t - first], t);
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

namespace detail {

// Whether a pair counts, the larger value first. For either value fixed it counts for all values from some point on, in
// floating point too: rounding never turns an order round.
inline bool apart(double larger, double smaller, double min_gap) {
  return larger > smaller && larger - smaller >= min_gap;
}

// The pairs of n entries that count, and those of them whose larger value has the larger key: by visiting them all.
inline void count_visiting(const double* value, const float* key, std::int64_t n, double min_gap, std::int64_t& ordered,
                           std::int64_t& total) {
  for (std::int64_t a = 0; a < n; ++a)
    for (std::int64_t b = 0; b < n; ++b) {
      bool counts = apart(value[a], value[b], min_gap);
      total += counts;
      ordered += counts && key[a] > key[b];
    }
}

// The same in O(n log n): in ascending order of value the entries below a only grow in number, and a Fenwick tree over
// the places of their keys says how many have a smaller key. No value or key is NaN.
inline void count_sorting(const double* value, const float* key, std::int64_t n, double min_gap, std::int64_t& ordered,
                          std::int64_t& total) {
  std::vector<std::int64_t> order(n), tree(n + 1, 0);
  std::vector<float> keys(key, key + n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return value[a] < value[b]; });
  std::sort(keys.begin(), keys.end());
  auto place = [&](std::int64_t e) { return std::lower_bound(keys.begin(), keys.end(), key[e]) - keys.begin(); };
  std::int64_t below = 0;
  for (std::int64_t a : order) {
    for (; below < n && apart(value[a], value[order[below]], min_gap); ++below)
      for (std::int64_t t = place(order[below]) + 1; t <= n; t += t & -t) ++tree[t];
    total += below;
    for (std::int64_t t = place(a); t > 0; t -= t & -t) ordered += tree[t];
  }
}

}  // namespace detail

// For every row, over its pairs whose values differ by at least min_gap (and by more than 0): how many there are, and
// in how many the larger value has the strictly larger key.
inline void count_ordered(const std::int64_t* start, std::int64_t n_rows, const double* value, const float* key,
                          double min_gap, std::int64_t* ordered, std::int64_t* total, int n_threads) {
  constexpr std::int64_t kLong = 32;  // from here on sorting is faster
  for_ranges(n_threads, n_rows, 16, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const double* v = value + start[i];
      const float* k = key + start[i];
      const std::int64_t n = start[i + 1] - start[i];
      auto nan = [](auto x) { return x != x; };
      ordered[i] = total[i] = 0;
      if (n < kLong || std::any_of(v, v + n, nan) || std::any_of(k, k + n, nan))
        detail::count_visiting(v, k, n, min_gap, ordered[i], total[i]);
      else
        detail::count_sorting(v, k, n, min_gap, ordered[i], total[i]);
    }
  });
}

}  // namespace rather
