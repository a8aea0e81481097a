// A number for every comparison of a store, written down or not: what random methods draw, and keep duals by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "store.hpp"

namespace rather {

struct Comparison {
  std::int64_t user;
  std::int32_t winner, loser;  // entries of the user, from 0
};

// Numbers every comparison of a store, written down or not, from 0 to n_comparisons - 1, users in order.
class Numbering {
 public:
  Numbering(const Store& s, const float* user_weight) : s_(s), user_weight_(user_weight), first_(s.n_users + 1, 0) {
    if (s.by_level) {
      before_level_.resize(s.level_end.size());
      for (std::int64_t i = 0; i < s.n_users; ++i) {
        std::int64_t total = 0, below = 0;
        for (std::int64_t l = s.level_start[i]; l < s.level_start[i + 1]; ++l) {
          before_level_[l] = total;
          total += (s.level_end[l] - below) * below;
          below = s.level_end[l];
        }
        first_[i + 1] = first_[i] + total;
      }
    } else {
      first_ = s.pair_start;
    }
    guide_.resize(s.n_users + 1);
    per_comparison_ = s.n_comparisons ? s.n_users / static_cast<double>(s.n_comparisons) : 0;
    std::int64_t user = 0;
    for (std::int64_t g = 0; g <= s.n_users; ++g) {
      while (user + 1 < s.n_users && static_cast<double>(first_[user + 1]) * per_comparison_ <= static_cast<double>(g))
        ++user;
      guide_[g] = static_cast<std::int32_t>(user);
    }
  }

  Comparison operator[](std::int64_t t) const {
    std::int64_t user = guide_[static_cast<std::int64_t>(static_cast<double>(t) * per_comparison_)];  // or near it
    while (first_[user] > t) --user;
    while (first_[user + 1] <= t) ++user;
    std::int64_t local = t - first_[user];
    if (!s_.by_level) return {user, static_cast<std::int32_t>(s_.winner[t]), static_cast<std::int32_t>(s_.loser[t])};
    std::int64_t begin = s_.level_start[user], end = s_.level_start[user + 1];
    std::int64_t l =
        std::upper_bound(before_level_.begin() + begin, before_level_.begin() + end, local) - before_level_.begin() - 1;
    std::int64_t below = s_.level_end[l - 1], rest = local - before_level_[l];
    return {user, static_cast<std::int32_t>(below + rest / below), static_cast<std::int32_t>(rest % below)};
  }

  float weight(std::int64_t user, std::int64_t t) const {
    return s_.weight.empty() ? user_weight_[user] : user_weight_[user] * s_.weight[t];
  }

  // Calls f(t, winner, loser) for every comparison of a user, t ascending.
  template <class F>
  void each(std::int64_t user, F&& f) const {
    std::int64_t t = first_[user];
    if (!s_.by_level) {
      for (; t < first_[user + 1]; ++t) f(t, s_.winner[t], s_.loser[t]);
      return;
    }
    for (std::int64_t l = s_.level_start[user] + 1; l < s_.level_start[user + 1]; ++l)
      for (std::int32_t a = s_.level_end[l - 1]; a < s_.level_end[l]; ++a)
        for (std::int32_t b = 0; b < s_.level_end[l - 1]; ++b) f(t++, a, b);
  }

 private:
  const Store& s_;
  const float* user_weight_;
  std::vector<std::int64_t> first_, before_level_;
  double per_comparison_;            // users
  std::vector<std::int32_t> guide_;  // a user near every such share of the comparisons
};

}  // namespace rather
