// Which items are connected by comparisons, whoever made them: union-find with the lowest item as a set's root.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "store.hpp"

namespace rather {

// part (n_items) <- the number of each item's part, the largest part first, equal ones by their lowest item; -1 for an
// item in no comparison. Returns how many parts there are.
inline std::int32_t connected_parts(const Store& s, std::int32_t* part) {
  std::vector<std::int32_t> above(s.n_items), size(s.n_items, 0);
  std::iota(above.begin(), above.end(), 0);
  auto root = [&](std::int32_t j) {
    while (above[j] != j) j = above[j] = above[above[j]];
    return j;
  };
  auto join = [&](std::int32_t a, std::int32_t b) {
    a = root(a), b = root(b);
    above[std::max(a, b)] = std::min(a, b);
  };
  for (std::int64_t i = 0; i < s.n_users; ++i) {
    const std::int32_t* own = s.item.data() + s.start[i];
    if (s.by_level)  // every entry is compared with those of all other levels, of which there are some
      for (std::int32_t e = 1; e < s.entries(i); ++e) join(own[0], own[e]);
    else
      for (std::int64_t t = s.pair_start[i]; t < s.pair_start[i + 1]; ++t) join(own[s.winner[t]], own[s.loser[t]]);
  }
  std::vector<bool> met(s.n_items, false);
  for (std::int32_t item : s.item) met[item] = true;
  std::vector<std::int32_t> roots;
  for (std::int32_t j = 0; j < s.n_items; ++j)
    if (met[j] && ++size[root(j)] == 1) roots.push_back(root(j));
  std::stable_sort(roots.begin(), roots.end(), [&](auto a, auto b) { return size[a] > size[b]; });
  std::vector<std::int32_t> number(s.n_items, -1);
  for (std::size_t k = 0; k < roots.size(); ++k) number[roots[k]] = static_cast<std::int32_t>(k);
  for (std::int32_t j = 0; j < s.n_items; ++j) part[j] = met[j] ? number[root(j)] : -1;
  return static_cast<std::int32_t>(roots.size());
}

}  // namespace rather
