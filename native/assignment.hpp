// The assignment problem: give every row a column of its own at the least total cost, by shortest augmenting paths.
//
// scipy has one too, but this is solved for every user at every plane of a bundle, in threads that have no interpreter,
// and from a start that leaves only the first k rows to place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "simd.hpp"

namespace rather {

// Columns are worked on as many at a time as a vector holds doubles.
inline constexpr std::int32_t kWide = kLanes / 2;
typedef double Wide __attribute__((vector_size(8 * kWide)));
typedef std::int64_t WideInt __attribute__((vector_size(8 * kWide)));

template <class Vector, class T>
Vector load_wide(const T* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Buffers for problems of up to `most` rows and columns. Begin with rows that hold columns at given prices, each its
// cheapest: cost - price is least there. Then every further row is added at the cost of a search over the columns.
class Assignment {
 public:
  explicit Assignment(std::int64_t most)
      : column_(most),
        row_(most),
        done_(most),
        length_(most),
        from_(most + kWide),
        price_(most + kWide),
        way_(most + kWide),
        closed_(most + kWide) {}

  void begin(std::int32_t n) {
    n_ = n;
    std::fill_n(row_.begin(), n, kNone);
    std::fill(closed_.begin() + n, closed_.end(), kFar);
  }
  void hold(std::int32_t row, std::int32_t column) { column_[row] = column, row_[column] = row; }
  double& price(std::int32_t column) { return price_[column]; }
  std::int32_t row(std::int32_t column) const { return row_[column]; }

  // Dijkstra over columns, from a row without one to a column without a row, in costs reduced by the prices; an edge
  // back to the row that holds a column is free. cost(row) is a function of j: the costs of columns j to j + kWide - 1.
  template <class Cost>
  void add(std::int32_t start, const Cost& cost) {
    std::fill_n(closed_.begin(), n_, 0.0);
    std::fill(way_.begin(), way_.end(), kFar);
    std::int32_t last = relax(start, cost(start), 0), n_done = 0;
    while (row_[last] != kNone) {
      double length = way_[last];
      done_[n_done] = last, length_[n_done] = length, ++n_done;
      closed_[last] = way_[last] = kFar;
      auto onward = cost(row_[last]);
      last = relax(row_[last], onward, length - (onward(last)[0] - price_[last]));
    }
    for (std::int32_t t = 0; t < n_done; ++t) price_[done_[t]] += length_[t] - way_[last];
    for (std::int32_t j = last, i = kNone; i != start;) {
      i = row_[j] = static_cast<std::int32_t>(from_[j]);
      std::swap(j, column_[i]);
    }
  }

 private:
  // Shortens the ways that are shorter through a row; returns the open column whose way is then shortest.
  template <class Costs>
  std::int32_t relax(std::int32_t row, const Costs& costs, double before) {
    Wide least = kFar - Wide{};
    WideInt where{}, here;
    for (int l = 0; l < kWide; ++l) here[l] = l;
    for (std::int32_t j = 0; j < n_; j += kWide, here += kWide) {
      Wide d = costs(j) - load_wide<Wide>(price_.data() + j) + before + load_wide<Wide>(closed_.data() + j);
      Wide way = load_wide<Wide>(way_.data() + j);
      WideInt from = load_wide<WideInt>(from_.data() + j), shorter = d < way;
      way = shorter ? d : way;
      from = shorter ? row - WideInt{} : from;
      std::memcpy(way_.data() + j, &way, sizeof way);
      std::memcpy(from_.data() + j, &from, sizeof from);
      where = way < least ? here : where;
      least = way < least ? way : least;
    }
    int best = 0;
    for (int l = 1; l < kWide; ++l)
      if (least[l] < least[best] || (least[l] == least[best] && where[l] < where[best])) best = l;
    return static_cast<std::int32_t>(where[best]);
  }

  static constexpr std::int32_t kNone = -1;
  static constexpr double kFar = std::numeric_limits<double>::infinity();
  std::int32_t n_ = 0;
  std::vector<std::int32_t> column_, row_, done_;  // done: columns whose way is final, in the order they were reached
  std::vector<double> length_;                     // of their ways
  std::vector<std::int64_t> from_;                 // the row before a column on the way to it
  std::vector<double> price_, way_, closed_;       // closed: infinite for columns that are done, else 0
};

}  // namespace rather
