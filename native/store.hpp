// The comparisons as the passes want them: one row of items seen per user, and the comparisons among them.
//
//   entry e in [start[i], start[i+1])   item[e] was seen by user i; scalars per (user, item) live in arrays over e
//   levels    a user's entries are sorted by level, lowest first; level l ends at local index level_end[l]; every
//             entry is preferred to every entry of a lower level. No pair is ever written down.
//   pairs     (winner, loser) as local indices into the user's entries, with a weight or 1
//   columns   the transpose: the entries of each item, in blocks of consecutive users so that the rows of U which a
//             block touches stay in cache
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace rather {

struct Store {
  std::int32_t n_users = 0, n_items = 0;
  bool by_level = false;
  std::int64_t n_comparisons = 0;
  std::int32_t longest = 0;  // entries of the user with most

  std::vector<std::int64_t> start;
  std::vector<std::int32_t> item;

  std::vector<std::int64_t> level_start;  // by level: user i's ends are level_end[level_start[i] .. level_start[i+1])
  std::vector<std::int32_t> level_end;

  std::vector<std::int64_t> pair_start;
  std::vector<std::uint32_t> winner, loser;
  std::vector<float> weight;  // empty: all 1

  std::int32_t user_block = 1;             // users in a block
  std::vector<std::int64_t> column_start;  // n_blocks * n_items + 1
  std::vector<std::int32_t> column_user;
  std::vector<std::uint32_t> column_entry;  // relative to the first entry of the block

  std::int64_t n_entries() const { return static_cast<std::int64_t>(item.size()); }
  std::int32_t n_blocks() const { return (n_users + user_block - 1) / user_block; }
  std::int32_t entries(std::int64_t i) const { return static_cast<std::int32_t>(start[i + 1] - start[i]); }
};

namespace detail {

// Offsets of each key's run when n values in [0, n_keys) are sorted.
inline std::vector<std::int64_t> run_starts(const std::int32_t* key, std::int64_t n, std::int32_t n_keys) {
  std::vector<std::int64_t> start(n_keys + 1, 0);
  for (std::int64_t e = 0; e < n; ++e) ++start[key[e] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  return start;
}

inline void build_columns(Store& s) {
  std::int64_t n_cells = static_cast<std::int64_t>(s.n_blocks()) * s.n_items;
  s.column_start.assign(n_cells + 1, 0);
  for (std::int64_t i = 0; i < s.n_users; ++i) {
    std::int64_t* cell = s.column_start.data() + 1 + (i / s.user_block) * s.n_items;
    for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e) ++cell[s.item[e]];
  }
  std::partial_sum(s.column_start.begin(), s.column_start.end(), s.column_start.begin());
  std::vector<std::int64_t> next(s.column_start.begin(), s.column_start.end() - 1);
  s.column_user.resize(s.item.size());
  s.column_entry.resize(s.item.size());
  for (std::int64_t i = 0; i < s.n_users; ++i) {
    std::int64_t block = i / s.user_block, first = s.start[block * s.user_block];
    for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e) {
      std::int64_t place = next[block * s.n_items + s.item[e]]++;
      s.column_user[place] = static_cast<std::int32_t>(i);
      s.column_entry[place] = static_cast<std::uint32_t>(e - first);
    }
  }
}

inline void finish(Store& s) {
  for (std::int64_t i = 0; i < s.n_users; ++i) s.longest = std::max(s.longest, s.entries(i));
  // Blocks of 4,096 users keep their rows of U in cache, but a block is not worth its index where it holds less than
  // a few entries an item.
  constexpr std::int64_t kInCache = 4096, kFew = 8;
  std::int64_t most = std::max<std::int64_t>(1, s.n_entries() / (kFew * std::max(1, s.n_items)));
  std::int64_t n_blocks = std::max<std::int64_t>(1, std::min(most, (s.n_users + kInCache - 1) / kInCache));
  s.user_block = static_cast<std::int32_t>(std::max<std::int64_t>(1, (s.n_users + n_blocks - 1) / n_blocks));
  for (std::int64_t b = 0; b < s.n_blocks(); ++b) {
    std::int64_t end = std::min<std::int64_t>(s.n_users, (b + 1) * s.user_block);
    if (s.start[end] - s.start[b * s.user_block] > std::int64_t{0xFFFFFFFF})
      throw std::length_error("there are more than 4 billion (user, item) entries in a block of users");
  }
  build_columns(s);
}

}  // namespace detail

// Every pair of a user's items whose ratings differ; a user with no such pair has no entries. user and item are codes
// in range; ratings are finite.
inline Store store_from_ratings(std::int32_t n_users, std::int32_t n_items, std::int64_t n, const std::int32_t* user,
                                const std::int32_t* item, const double* rating) {
  Store s;
  s.n_users = n_users;
  s.n_items = n_items;
  s.by_level = true;
  struct Rated {
    double rating;
    std::int32_t item;
  };
  std::vector<std::int64_t> row = detail::run_starts(user, n, n_users);
  std::vector<Rated> rated;
  s.item.reserve(n);
  s.start.assign(n_users + 1, 0);
  s.level_start.assign(n_users + 1, 0);
  for (std::int64_t i = 0; i < n_users; ++i) {
    rated.clear();
    for (std::int64_t e = row[i]; e < row[i + 1]; ++e) rated.push_back({rating[e], item[e]});
    auto first = rated.begin(), last = rated.end();
    auto lower = [](const Rated& a, const Rated& b) {
      return a.rating != b.rating ? a.rating < b.rating : a.item < b.item;
    };
    if (!std::is_sorted(first, last, lower)) std::sort(first, last, lower);
    if (first != last && first->rating != (last - 1)->rating) {
      std::int64_t below = 0;
      for (auto at = first; at != last; ++at) {
        s.item.push_back(at->item);
        if (at + 1 == last || at[1].rating != at->rating) {
          std::int64_t reached = at + 1 - first;
          s.level_end.push_back(static_cast<std::int32_t>(reached));
          s.n_comparisons += (reached - below) * below;
          below = reached;
        }
      }
    }
    s.start[i + 1] = static_cast<std::int64_t>(s.item.size());
    s.level_start[i + 1] = static_cast<std::int64_t>(s.level_end.size());
  }
  detail::finish(s);
  return s;
}

// Comparisons (user, winner, loser) one by one; weight may be null.
inline Store store_from_pairs(std::int32_t n_users, std::int32_t n_items, std::int64_t n, const std::int32_t* user,
                              const std::int32_t* winner, const std::int32_t* loser, const float* weight) {
  Store s;
  s.n_users = n_users;
  s.n_items = n_items;
  s.n_comparisons = n;
  s.pair_start = detail::run_starts(user, n, n_users);
  s.winner.resize(n);
  s.loser.resize(n);
  if (weight) s.weight.resize(n);
  {
    std::vector<std::int64_t> next(s.pair_start.begin(), s.pair_start.end() - 1);
    for (std::int64_t t = 0; t < n; ++t) {
      std::int64_t place = next[user[t]]++;
      s.winner[place] = static_cast<std::uint32_t>(winner[t]);
      s.loser[place] = static_cast<std::uint32_t>(loser[t]);
      if (weight) s.weight[place] = weight[t];
    }
  }
  s.start.assign(n_users + 1, 0);
  constexpr std::uint32_t kUnseen = 0xFFFFFFFF;
  std::vector<std::uint32_t> local(n_items, kUnseen);
  std::vector<std::int32_t> seen;
  for (std::int64_t i = 0; i < n_users; ++i) {
    std::int64_t begin = s.pair_start[i], end = s.pair_start[i + 1];
    seen.clear();
    for (auto* side : {&s.winner, &s.loser})
      for (std::int64_t t = begin; t < end; ++t)
        if (std::uint32_t item = (*side)[t]; local[item] == kUnseen) {
          local[item] = 0;
          seen.push_back(static_cast<std::int32_t>(item));
        }
    std::sort(seen.begin(), seen.end());
    for (std::size_t l = 0; l < seen.size(); ++l) local[seen[l]] = static_cast<std::uint32_t>(l);
    s.item.insert(s.item.end(), seen.begin(), seen.end());
    s.start[i + 1] = static_cast<std::int64_t>(s.item.size());
    for (std::int64_t t = begin; t < end; ++t) {
      s.winner[t] = local[s.winner[t]];
      s.loser[t] = local[s.loser[t]];
    }
    for (std::int32_t item : seen) local[item] = kUnseen;
  }
  detail::finish(s);
  return s;
}

// The number of comparisons of every user, or the sum of their weights.
inline void comparisons_per_user(const Store& s, double* out) {
  for (std::int64_t i = 0; i < s.n_users; ++i) {
    out[i] = 0;
    if (s.by_level) {
      std::int64_t below = 0;
      for (std::int64_t l = s.level_start[i]; l < s.level_start[i + 1]; ++l) {
        out[i] += static_cast<double>((s.level_end[l] - below) * below);
        below = s.level_end[l];
      }
    } else if (s.weight.empty()) {
      out[i] = static_cast<double>(s.pair_start[i + 1] - s.pair_start[i]);
    } else {
      for (std::int64_t t = s.pair_start[i]; t < s.pair_start[i + 1]; ++t) out[i] += s.weight[t];
    }
  }
}

}  // namespace rather
