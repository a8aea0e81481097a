// The comparisons as the passes want them: one row of items seen per user, and the comparisons among them.
//
//   entry e in [start[i], start[i+1])   item[e] was seen by user i; scalars per (user, item) live in arrays over e
//   levels    a user's entries are sorted by level, lowest first; level l ends at local index level_end[l]; every
//             entry is preferred to every entry of a lower level. No pair is ever written down. level_rating[l] is by
//             how much its ratings exceed the user's lowest
//   pairs     (winner, loser) as local indices into the user's entries, with a weight or 1 and, for losses that ask
//             for it, the gap between their ratings
//   columns   the transpose: the entries of each item, in blocks of consecutive users so that the rows of U and the
//             scalars which a block touches stay in cache
//   shards    users may be in shards, and those here only some of all (shards.hpp): sums over users are then over all,
//             as are item_count, all_users and all_entries; everything else is of the users here
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "shards.hpp"

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
  std::vector<float> level_rating;

  std::vector<std::int64_t> pair_start;
  std::vector<std::uint32_t> winner, loser;
  std::vector<float> weight;  // empty: all 1
  std::vector<float> gap;     // empty: not known

  std::vector<std::int64_t> item_count;    // users who saw each item
  std::vector<std::int64_t> held_count;    // those here
  std::vector<std::int64_t> block_start;   // of users; every block is of one shard
  std::vector<std::int64_t> shard_block;   // where the blocks of each shard start
  std::vector<std::int64_t> column_start;  // n_blocks * n_items + 1
  std::vector<std::int32_t> column_user;
  std::vector<std::uint32_t> column_entry;  // relative to the first entry of the block

  Shards users{0}, entry_shards{0};
  bool sharded = false;  // whether others hold users too, or might
  std::int64_t first_shard = 0, all_users = 0, all_entries = 0;

  std::int64_t n_entries() const { return static_cast<std::int64_t>(item.size()); }
  std::int64_t n_blocks() const { return static_cast<std::int64_t>(block_start.size()) - 1; }
  std::int32_t entries(std::int64_t i) const { return static_cast<std::int32_t>(start[i + 1] - start[i]); }
};

namespace detail {

// Offsets of each key's run in n values in [0, n_keys) that are in order.
inline std::vector<std::int64_t> run_starts(const std::int32_t* key, std::int64_t n, std::int32_t n_keys) {
  std::vector<std::int64_t> start(n_keys + 1, 0);
  for (std::int64_t e = 0; e < n; ++e) ++start[key[e] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  return start;
}

// Lists that threads make for one user after another, joined in the order of users; start is where each user's begins.
template <class T>
class UserLists {
 public:
  static constexpr std::int64_t kUsers = 64;  // whose lists are one vector until they are joined

  explicit UserLists(std::int64_t n_users) : start(n_users + 1, 0), part_((n_users + kUsers - 1) / kUsers) {}

  // What a user's own is appended to, users in order; then end_of(user).
  std::vector<T>& of(std::int64_t user) { return part_[user / kUsers]; }
  void end_of(std::int64_t user) { start[user + 1] = static_cast<std::int64_t>(of(user).size()); }

  void join(int n_threads) {
    std::vector<std::int64_t> before(part_.size() + 1, 0);
    for (std::size_t k = 0; k < part_.size(); ++k)
      before[k + 1] = before[k] + static_cast<std::int64_t>(part_[k].size());
    joined.resize(before.back());
    for (std::size_t i = 1; i < start.size(); ++i) start[i] += before[(i - 1) / kUsers];
    for_ranges(n_threads, static_cast<std::int64_t>(part_.size()), 1, [&](int, std::int64_t k, std::int64_t) {
      std::copy(part_[k].begin(), part_[k].end(), joined.begin() + before[k]);
      std::vector<T>().swap(part_[k]);
    });
  }

  std::vector<std::int64_t> start;
  std::vector<T> joined;

 private:
  std::vector<std::vector<T>> part_;
};

// Calls make(thread, user) for every user, which appends to the lists; then joins them.
template <class Make, class... T>
void make_lists(std::int64_t n_users, int n_threads, Make&& make, UserLists<T>&... lists) {
  for_ranges(n_threads, n_users, UserLists<int>::kUsers, [&](int thread, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      make(thread, i);
      (lists.end_of(i), ...);
    }
  });
  (lists.join(n_threads), ...);
}

inline void build_columns(Store& s, int n_threads) {
  s.column_start.resize(static_cast<std::int64_t>(s.n_blocks()) * s.n_items + 1);
  s.column_start.back() = s.n_entries();
  s.column_user.resize(s.item.size());
  s.column_entry.resize(s.item.size());
  for_ranges(n_threads, s.n_blocks(), 1, [&](int, std::int64_t block, std::int64_t) {
    const std::int64_t first_user = s.block_start[block], last_user = s.block_start[block + 1];
    const std::int64_t first = s.start[first_user], last = s.start[last_user];
    std::vector<std::int64_t> next(s.n_items, 0);
    for (std::int64_t e = first; e < last; ++e) ++next[s.item[e]];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), first);
    std::copy(next.begin(), next.end(), s.column_start.begin() + block * s.n_items);
    for (std::int64_t i = first_user; i < last_user; ++i)
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e) {
        std::int64_t place = next[s.item[e]]++;
        s.column_user[place] = static_cast<std::int32_t>(i);
        s.column_entry[place] = static_cast<std::uint32_t>(e - first);
      }
  });
  s.held_count.assign(s.n_items, 0);
  for (std::int64_t block = 0, cell = 0; block < s.n_blocks(); ++block)
    for (std::int64_t j = 0; j < s.n_items; ++j, ++cell)
      s.held_count[j] += s.column_start[cell + 1] - s.column_start[cell];
}

// Where the blocks of a shard of users end.
inline void cut_blocks(Store& s, std::int64_t first_user, std::int64_t n_users) {
  // A block's scalars and rows of U (of typical length) fit in a core's cache, but a block is not worth its index where
  // it holds less than a few entries an item.
  constexpr std::int64_t kCache = 1 << 20, kRow = 256, kScalar = 4, kFew = 8;
  const std::int64_t n_entries = s.start[first_user + n_users] - s.start[first_user];
  const std::int64_t most = std::max<std::int64_t>(1, n_entries / (kFew * std::max(1, s.n_items)));
  const std::int64_t wanted = (kRow * n_users + kScalar * n_entries) / kCache + 1, n_blocks = std::min(most, wanted);
  const std::int64_t size = std::max<std::int64_t>(1, (n_users + n_blocks - 1) / n_blocks);
  for (std::int64_t i = 0; i < n_users; i += size) {
    const std::int64_t begin = first_user + i, end = first_user + std::min(n_users, i + size);
    if (s.start[end] - s.start[begin] > std::int64_t{0xFFFFFFFF})
      throw std::length_error("there are more than 4 billion (user, item) entries in a block of users");
    s.block_start.push_back(end);
  }
}

}  // namespace detail

// Puts the users into shards, of which there are others elsewhere.
inline void in_shards(Store& s, Shards users, int n_threads) {
  s.entry_shards = users.of_parts(s.start);
  s.block_start = {0};
  s.shard_block = {0};
  for (std::int64_t shard = 0; shard < users.count(); ++shard) {
    detail::cut_blocks(s, users.first(shard), users.size(shard));
    s.shard_block.push_back(s.n_blocks());
  }
  detail::build_columns(s, n_threads);
  std::vector<double> all(s.held_count.begin(), s.held_count.end());  // whole numbers, so exact in any order
  all.push_back(static_cast<double>(s.n_users));
  all.push_back(static_cast<double>(s.n_entries()));
  users.across(all.data(), static_cast<std::int64_t>(all.size()));
  s.item_count.assign(all.begin(), all.end() - 2);
  s.all_users = static_cast<std::int64_t>(all[s.n_items]);
  s.all_entries = static_cast<std::int64_t>(all[s.n_items + 1]);
  s.users = std::move(users);
}

namespace detail {

inline void finish(Store& s, int n_threads) {
  for (std::int64_t i = 0; i < s.n_users; ++i) s.longest = std::max(s.longest, s.entries(i));
  in_shards(s, Shards(s.n_users), n_threads);
}

}  // namespace detail

// Every pair of a user's items whose ratings differ; a user with no such pair has no entries. user and item are codes
// in range, users in order; ratings are finite.
inline Store store_from_ratings(std::int32_t n_users, std::int32_t n_items, std::int64_t n, const std::int32_t* user,
                                const std::int32_t* item, const double* rating, int n_threads) {
  Store s;
  s.n_users = n_users;
  s.n_items = n_items;
  s.by_level = true;
  struct Rated {
    double rating;
    std::int32_t item;
    bool operator<(const Rated& other) const {
      return rating != other.rating ? rating < other.rating : item < other.item;
    }
  };
  const std::vector<std::int64_t> row = detail::run_starts(user, n, n_users);
  detail::UserLists<std::int32_t> items(n_users), ends(n_users);
  detail::UserLists<float> ratings(n_users);
  std::vector<std::vector<Rated>> buffer(n_threads);
  auto sort_user = [&](int thread, std::int64_t i) {
    std::vector<Rated>& rated = buffer[thread];
    rated.clear();
    for (std::int64_t e = row[i]; e < row[i + 1]; ++e) rated.push_back({rating[e], item[e]});
    auto first = rated.begin(), last = rated.end();
    if (!std::is_sorted(first, last)) std::sort(first, last);
    if (first == last || first->rating == (last - 1)->rating) return;
    for (auto at = first; at != last; ++at) {
      items.of(i).push_back(at->item);
      if (at + 1 == last || at[1].rating != at->rating) {
        ends.of(i).push_back(static_cast<std::int32_t>(at + 1 - first));
        ratings.of(i).push_back(static_cast<float>(at->rating - first->rating));
      }
    }
  };
  detail::make_lists(n_users, n_threads, sort_user, items, ends, ratings);
  s.start = std::move(items.start);
  s.item = std::move(items.joined);
  s.level_start = std::move(ends.start);
  s.level_end = std::move(ends.joined);
  s.level_rating = std::move(ratings.joined);
  for (std::int64_t i = 0; i < n_users; ++i)
    for (std::int64_t l = s.level_start[i] + 1; l < s.level_start[i + 1]; ++l)
      s.n_comparisons += std::int64_t{s.level_end[l] - s.level_end[l - 1]} * s.level_end[l - 1];
  detail::finish(s, n_threads);
  return s;
}

// Comparisons (user, winner, loser) one by one, users in order; weight and gap may be null.
inline Store store_from_pairs(std::int32_t n_users, std::int32_t n_items, std::int64_t n, const std::int32_t* user,
                              const std::int32_t* winner, const std::int32_t* loser, const float* weight,
                              const float* gap, int n_threads) {
  Store s;
  s.n_users = n_users;
  s.n_items = n_items;
  s.n_comparisons = n;
  s.pair_start = detail::run_starts(user, n, n_users);
  s.winner.resize(n);
  s.loser.resize(n);
  if (weight) s.weight.assign(weight, weight + n);
  if (gap) s.gap.assign(gap, gap + n);
  constexpr std::uint32_t kUnseen = 0xFFFFFFFF;
  detail::UserLists<std::int32_t> items(n_users);
  std::vector<std::vector<std::uint32_t>> numbers(n_threads);
  auto number_user = [&](int thread, std::int64_t i) {
    std::vector<std::uint32_t>& local = numbers[thread];  // every item's number among the user's
    local.resize(n_items, kUnseen);
    std::vector<std::int32_t>& seen = items.of(i);
    const std::int64_t begin = s.pair_start[i], end = s.pair_start[i + 1];
    const std::size_t before = seen.size();
    for (const std::int32_t* side : {winner, loser})
      for (std::int64_t t = begin; t < end; ++t)
        if (local[side[t]] == kUnseen) {
          local[side[t]] = 0;
          seen.push_back(side[t]);
        }
    std::sort(seen.begin() + before, seen.end());
    for (std::size_t l = before; l < seen.size(); ++l) local[seen[l]] = static_cast<std::uint32_t>(l - before);
    for (std::int64_t t = begin; t < end; ++t) {
      s.winner[t] = local[winner[t]];
      s.loser[t] = local[loser[t]];
    }
    for (std::size_t l = before; l < seen.size(); ++l) local[seen[l]] = kUnseen;
  };
  detail::make_lists(n_users, n_threads, number_user, items);
  s.start = std::move(items.start);
  s.item = std::move(items.joined);
  detail::finish(s, n_threads);
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

// In how many comparisons every user and every item takes part, whatever their weights.
inline void count_comparisons(const Store& s, double* users, double* items) {
  std::fill_n(items, s.n_items, 0.0);
  for (std::int64_t i = 0; i < s.n_users; ++i) {
    double ends = 0;  // every comparison has two
    const std::int32_t* own = s.item.data() + s.start[i];
    auto count = [&](std::int64_t local, double n) { items[own[local]] += n, ends += n; };
    if (s.by_level) {
      std::int64_t e = 0;
      for (std::int64_t l = s.level_start[i]; l < s.level_start[i + 1]; ++l)
        for (std::int64_t below = e; e < s.level_end[l]; ++e)
          count(e, static_cast<double>(below + s.entries(i) - s.level_end[l]));
    } else {
      for (std::int64_t t = s.pair_start[i]; t < s.pair_start[i + 1]; ++t) count(s.winner[t], 1), count(s.loser[t], 1);
    }
    users[i] = ends / 2;
  }
}

}  // namespace rather
