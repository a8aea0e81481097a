// Comparisons drawn from other data: clicked against unclicked items, and the pairs of ratings furthest apart.
// Every user has a random stream of their own, so the draw does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "draws.hpp"
#include "parallel.hpp"

namespace rather {

// Items of every user, as rows: user i's are item[start[i] .. start[i+1]).
struct ItemRows {
  const std::int64_t* start;
  const std::int32_t* item;
  const std::int32_t* begin(std::int64_t i) const { return item + start[i]; }
  const std::int32_t* end(std::int64_t i) const { return item + start[i + 1]; }
  std::int64_t size(std::int64_t i) const { return start[i + 1] - start[i]; }
};

// per_user comparisons for every user: a clicked item, drawn uniformly, against one not seen, drawn uniformly. Users
// who clicked nothing or saw everything get -1 in their places.
inline void sample_clicks(const ItemRows& clicked, const ItemRows& seen, std::int64_t n_users, std::int32_t n_items,
                          std::int64_t per_user, std::uint64_t seed, std::int32_t* winner, std::int32_t* loser,
                          int n_threads) {
  for_ranges(n_threads, n_users, 64, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<char> has(n_items, 0);
    std::vector<std::int32_t> rest;  // what is left to draw from, where that is little
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t n = clicked.size(i);
      std::int64_t left = n_items;
      Draws draws(seed, i);
      for (auto* j = seen.begin(i); j != seen.end(i); ++j) left -= !std::exchange(has[*j], 1);
      const bool none = n == 0 || left == 0;
      rest.clear();
      for (std::int32_t j = 0; !none && is_few(left, n_items) && j < n_items; ++j)
        if (!has[j]) rest.push_back(j);
      for (std::int64_t t = i * per_user; t < (i + 1) * per_user; ++t) {
        winner[t] = loser[t] = -1;
        if (none) continue;
        winner[t] = clicked.begin(i)[draws.below(n)];
        if (!rest.empty()) {
          loser[t] = rest[draws.below(left)];
          continue;
        }
        do loser[t] = static_cast<std::int32_t>(draws.below(n_items));
        while (has[loser[t]]);
      }
      for (auto* j = seen.begin(i); j != seen.end(i); ++j) has[*j] = 0;
    }
  });
}

// Draws with given probabilities at the cost of one draw each (Walker's alias method, Vose's way to fill it).
class Alias {
 public:
  Alias(const double* weight, std::int32_t n) : keep_(n), other_(n) {
    double total = 0;
    for (std::int32_t j = 0; j < n; ++j) total += weight[j];
    std::vector<std::int32_t> small, large;
    for (std::int32_t j = 0; j < n; ++j) {
      keep_[j] = weight[j] * n / total;
      other_[j] = j;
      (keep_[j] < 1 ? small : large).push_back(j);
    }
    while (!small.empty() && !large.empty()) {
      std::int32_t s = small.back(), l = large.back();
      small.pop_back();
      other_[s] = l;
      keep_[l] -= 1 - keep_[s];
      if (keep_[l] < 1) {
        large.pop_back();
        small.push_back(l);
      }
    }
  }
  std::int32_t draw(Draws& draws) const {
    std::int32_t j = static_cast<std::int32_t>(draws.below(static_cast<std::int64_t>(keep_.size())));
    return draws.unit() < keep_[j] ? j : other_[j];
  }

 private:
  std::vector<double> keep_;
  std::vector<std::int32_t> other_;
};

// For every user wanted[i] different items they have not seen, ascending, from item[place[i]] on: drawn one after
// another with probability proportional to the weight of those that remain.
inline void sample_unseen(const ItemRows& seen, std::int64_t n_users, const double* weight, std::int32_t n_items,
                          const std::int64_t* wanted, const std::int64_t* place, std::uint64_t seed, std::int32_t* item,
                          int n_threads) {
  constexpr std::int64_t kTries = 8;  // draws for each item wanted, before turning to the slower way
  const Alias alias(weight, n_items);
  for_ranges(n_threads, n_users, 64, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<char> has(n_items, 0);
    std::vector<std::pair<double, std::int32_t>> waiting;
    for (std::int64_t i = first; i < last; ++i) {
      Draws draws(seed, i);
      std::int32_t *begin = item + place[i], *end = begin;
      for (auto* j = seen.begin(i); j != seen.end(i); ++j) has[*j] = 1;
      for (std::int64_t t = 0; t < kTries * wanted[i] && end - begin < wanted[i]; ++t) {
        std::int32_t j = alias.draw(draws);
        if (!has[j]) has[*end++ = j] = 1;
      }
      if (std::int64_t missing = wanted[i] - (end - begin); missing > 0) {
        // Hardly any weight is left. Exponential waiting times of rate `weight` end in the order of such draws.
        waiting.clear();
        for (std::int32_t j = 0; j < n_items; ++j)
          if (!has[j]) waiting.emplace_back(-std::log(1 - draws.unit()) / weight[j], j);
        std::nth_element(waiting.begin(), waiting.begin() + (missing - 1), waiting.end());
        for (std::int64_t t = 0; t < missing; ++t) *end++ = waiting[t].second;
      }
      for (auto* j = seen.begin(i); j != seen.end(i); ++j) has[*j] = 0;
      for (auto* j = begin; j != end; ++j) has[*j] = 0;
      std::sort(begin, end);
    }
  });
}

// per_user different items for every user, drawn uniformly, ascending.
inline void sample_items(std::int64_t n_users, std::int32_t n_items, std::int64_t per_user, std::uint64_t seed,
                         std::int32_t* item, int n_threads) {
  for_ranges(n_threads, n_users, 64, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<char> has(n_items, 0);
    for (std::int64_t i = first; i < last; ++i) {
      Draws draws(seed, i);
      std::int32_t *own = item + i * per_user, *end = own;
      for (std::int64_t top = n_items - per_user; top < n_items; ++top) {  // Floyd's way: one draw an item
        std::int32_t j = static_cast<std::int32_t>(draws.below(top + 1));
        if (has[j]) j = static_cast<std::int32_t>(top);
        has[j] = 1;
        *end++ = j;
      }
      for (std::int32_t* j = own; j != end; ++j) has[*j] = 0;
      std::sort(own, end);
    }
  });
}

// Every pair of unequal ratings of a row, as positions in the whole array, rows in order; pair_start[i] is where those
// of row i go.
inline void all_pairs(const std::int64_t* start, std::int64_t n_users, const double* rating,
                      const std::int64_t* pair_start, std::int64_t* winner, std::int64_t* loser, int n_threads) {
  for_ranges(n_threads, n_users, 64, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t t = pair_start[i], end = pair_start[i + 1], n = 0;
      for (std::int64_t a = start[i]; a < start[i + 1]; ++a)
        for (std::int64_t b = start[i]; b < start[i + 1]; ++b) {
          if (!(rating[a] > rating[b])) continue;
          if (t < end) winner[t] = a, loser[t++] = b;
          ++n;
        }
      if (n != end - pair_start[i])
        throw std::invalid_argument("pair_start has room for " + std::to_string(end - pair_start[i]) +
                                    " pairs of row " + std::to_string(i) + "; it must be for " + std::to_string(n));
    }
  });
}

// For each row of n ratings, the n pairs with the largest gaps (all unequal pairs if there are fewer), ties at the cut
// drawn at random, as positions in the whole array; unused places hold -1. Every pair is looked at, and draws a number,
// but no more than n are held: a heap with the worst of them on top.
inline void largest_gaps(const std::int64_t* start, std::int64_t n_users, const double* rating, std::uint64_t seed,
                         std::int64_t* winner, std::int64_t* loser, int n_threads) {
  struct Pair {
    double gap;
    std::uint64_t draw;
    std::int64_t winner, loser;
  };
  auto better = [](const Pair& x, const Pair& y) { return x.gap != y.gap ? x.gap > y.gap : x.draw < y.draw; };
  for_ranges(n_threads, n_users, 16, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<Pair> best;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t begin = start[i], end = start[i + 1];
      Draws draws(seed, i);
      best.clear();
      for (std::int64_t a = begin; a < end; ++a)
        for (std::int64_t b = begin; b < end; ++b) {
          if (!(rating[a] > rating[b])) continue;
          Pair one{rating[a] - rating[b], draws.next(), a, b};
          if (static_cast<std::int64_t>(best.size()) == end - begin) {
            if (!better(one, best.front())) continue;
            std::pop_heap(best.begin(), best.end(), better);
            best.pop_back();
          }
          best.push_back(one);
          std::push_heap(best.begin(), best.end(), better);
        }
      std::sort_heap(best.begin(), best.end(), better);
      for (std::int64_t t = 0; t < end - begin; ++t) {
        const bool used = t < static_cast<std::int64_t>(best.size());
        winner[begin + t] = used ? best[t].winner : -1;
        loser[begin + t] = used ? best[t].loser : -1;
      }
    }
  });
}

}  // namespace rather
