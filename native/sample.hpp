// Comparisons drawn from other data: clicked against unclicked items, and the pairs of ratings furthest apart.
// Every user has a random stream of their own, so the draw does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "draws.hpp"
#include "parallel.hpp"

namespace rather {

// per_user comparisons for every user: a clicked item, drawn uniformly, against an unclicked one, drawn uniformly.
// Users who clicked nothing or everything get -1 in their places.
inline void sample_clicks(const std::int64_t* start, std::int64_t n_users, const std::int32_t* clicked,
                          std::int32_t n_items, std::int64_t per_user, std::uint64_t seed, std::int32_t* winner,
                          std::int32_t* loser, int n_threads) {
  for_ranges(n_threads, n_users, 64, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<char> has(n_items, 0);
    for (std::int64_t i = first; i < last; ++i) {
      const std::int32_t* own = clicked + start[i];
      std::int64_t n = start[i + 1] - start[i];
      Draws draws(seed, i);
      for (std::int64_t e = 0; e < n; ++e) has[own[e]] = 1;
      for (std::int64_t t = i * per_user; t < (i + 1) * per_user; ++t) {
        winner[t] = loser[t] = -1;
        if (n == 0 || n == n_items) continue;
        winner[t] = own[draws.below(n)];
        do loser[t] = static_cast<std::int32_t>(draws.below(n_items));
        while (has[loser[t]]);
      }
      for (std::int64_t e = 0; e < n; ++e) has[own[e]] = 0;
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
      std::int64_t t = pair_start[i];
      for (std::int64_t a = start[i]; a < start[i + 1]; ++a)
        for (std::int64_t b = start[i]; b < start[i + 1]; ++b)
          if (rating[a] > rating[b]) winner[t] = a, loser[t++] = b;
    }
  });
}

// For each row of n ratings, the n pairs with the largest gaps (all unequal pairs if there are fewer), ties at the cut
// drawn at random, as positions in the whole array; unused places hold -1.
inline void largest_gaps(const std::int64_t* start, std::int64_t n_users, const double* rating, std::uint64_t seed,
                         std::int64_t* winner, std::int64_t* loser, int n_threads) {
  struct Pair {
    double gap;
    std::uint64_t draw;
    std::int64_t winner, loser;
  };
  for_ranges(n_threads, n_users, 16, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<Pair> pairs;
    for (std::int64_t i = first; i < last; ++i) {
      Draws draws(seed, i);
      pairs.clear();
      for (std::int64_t a = start[i]; a < start[i + 1]; ++a)
        for (std::int64_t b = start[i]; b < start[i + 1]; ++b)
          if (rating[a] > rating[b]) pairs.push_back({rating[a] - rating[b], draws.next(), a, b});
      std::int64_t n = start[i + 1] - start[i], kept = std::min<std::int64_t>(n, pairs.size());
      std::partial_sort(pairs.begin(), pairs.begin() + kept, pairs.end(),
                        [](const Pair& x, const Pair& y) { return x.gap != y.gap ? x.gap > y.gap : x.draw < y.draw; });
      for (std::int64_t t = 0; t < n; ++t) {
        winner[start[i] + t] = t < kept ? pairs[t].winner : -1;
        loser[start[i] + t] = t < kept ? pairs[t].loser : -1;
      }
    }
  });
}

}  // namespace rather
