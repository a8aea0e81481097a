// RobiRank (Yun, Raman, Vishwanathan, NIPS 2014): clicks as high as possible in their users' lists, each counted by the
// logarithm of how far down it is.
//
//   minimise  sum_e log2(1 + T_e),   T_e = sum_{k != j} log2(1 + e^(s_ik - s_ij)) for the click e of user i on item j,
//
// by the bound log t <= xi t - log xi - 1, tight at xi_e = 1 / (1 + T_e): with xi fixed, a weighted sum over (e, k)
// whose terms are sampled. The slope of a term is sigma(s_ik - s_ij), so k is drawn with probability proportional to
// min(1, e^(s_ik - s_ij)), between that and twice that, and weighted accordingly. Drawn uniformly, one of the few items
// above a well-placed click would come up once in thousands of draws, with a weight of thousands.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "sgd.hpp"

namespace rather {

// e^(s_k - max s) of a user's items, padded with zeros to a whole number of blocks.
struct Odds {
  static constexpr std::int64_t kBlock = 4 * kLanes;

  explicit Odds(std::int64_t n_items)
      : n(n_items), padded((n + kBlock - 1) / kBlock * kBlock), score(padded), odds(padded), up_to(padded / kBlock) {}

  void refresh(const float* V, const float* u, std::int64_t ld) {
    dots(V, Direct{}, n, ld, u, score.data());
    best = *std::max_element(score.begin(), score.begin() + n);
    for (std::int64_t k = 0; k < padded; k += kLanes)
      store(odds.data() + k, exp_nonpositive(load(score.data() + k) - best));
    std::fill(odds.begin() + n, odds.end(), 0.0f);
  }

  std::int64_t n, padded;
  Aligned<float> score, odds;
  std::vector<float> up_to;  // the draw's weights summed over the blocks up to and with each
  float best = 0;
};

struct Seen {
  double above;         // T of a click
  std::int32_t k;       // an item drawn from the others
  float weight, total;  // what it was drawn in proportion to, min(1, odds), and the sum of that over all of them
};

// Takes the exponents off a product, so that it stays within single precision.
inline void take_exponents(Lanes& product, IntLanes& exponents) {
  IntLanes bits;
  std::memcpy(&bits, &product, sizeof bits);
  exponents += (bits >> 23) - 127;
  bits = (bits & 0x007FFFFF) | 0x3F800000;
  std::memcpy(&product, &bits, sizeof bits);
}

// Looks from a click on item j at the other items. T is the logarithm of a product of 1 + odds; an item e^40 times
// likelier than j is treated as no likelier than that, so that two factors stay within single precision.
inline Seen look(Odds& list, std::int32_t j, Draws& draws) {
  float scale = std::exp(std::min(40.0f, list.best - list.score[j])), own = std::exchange(list.odds[j], 0.0f);
  Lanes product = splat(1.0f), weights{};
  IntLanes exponents{};
  for (std::int64_t block = 0; block < list.padded / Odds::kBlock; ++block) {
    for (int v = 0; v < 4; ++v) {
      Lanes odds = load(list.odds.data() + block * Odds::kBlock + v * kLanes) * scale;
      product *= odds + 1.0f;
      weights += vmin(odds, splat(1.0f));
      if (v % 2) take_exponents(product, exponents);
    }
    list.up_to[block] = sum(weights);
  }
  double above = 0;
  for (int l = 0; l < kLanes; ++l) above += exponents[l] + std::log2(double{product[l]});

  float total = list.up_to.back(), target = total * static_cast<float>(draws.unit());
  std::int64_t block = std::upper_bound(list.up_to.begin(), list.up_to.end() - 1, target) - list.up_to.begin();
  std::int64_t k = block * Odds::kBlock, last = std::min(list.n, k + Odds::kBlock) - 1;
  float left = target - (block ? list.up_to[block - 1] : 0.0f);
  while (k < last && (k == j || (left -= std::min(1.0f, list.odds[k] * scale)) >= 0)) ++k;
  float weight = std::min(1.0f, list.odds[k] * scale);
  list.odds[j] = own;
  return {above, static_cast<std::int32_t>(k), weight, total};
}

// Steps on the clicks of one user; returns the sum of log2(1 + T) before them. A slope is at most what k was drawn for:
// the user's earlier steps may have moved it since the scores were computed.
inline double robirank_steps(const ClickRows& clicks, std::int64_t i, const Descent& d, float eta, Odds& list,
                             Draws& draws) {
  constexpr std::int64_t kFresh = 64;  // clicks for which scores are fresh enough
  constexpr double kScale = 1 / (std::numbers::ln2 * std::numbers::ln2);
  double total = 0;
  for (std::int64_t e = clicks.start[i]; e < clicks.start[i + 1]; ++e) {
    if ((e - clicks.start[i]) % kFresh == 0) list.refresh(d.V, d.U + i * d.ld, d.ld);
    Seen seen = look(list, clicks.item[e], draws);
    total += std::log2(1 + seen.above);
    if (!(seen.weight > 0)) continue;
    Drawn t{i, clicks.item[e], seen.k, 1.0f};
    float slope = std::max(-1.0f, Logistic{}(splat(margin(d, t))).slope[0] / seen.weight);
    take_step<false>(d, t, eta, static_cast<float>(kScale * seen.total * slope / (1 + seen.above)));
  }
  return total;
}

// A pass over all clicks, users in the given order; the mean over the clicks of log2(1 + T) when it was their turn.
inline double robirank_pass(const ClickRows& clicks, const std::int32_t* order, std::int64_t n_users, const Descent& d,
                            std::uint64_t seed, int n_threads) {
  constexpr std::int64_t kChunk = 16;
  return sum_ranges(n_threads, n_users, kChunk,
                    [&](int, std::int64_t first, std::int64_t last) {
                      Odds list(clicks.n_items);
                      Draws draws(seed, first);
                      float eta = d.eta(static_cast<double>(first) / static_cast<double>(n_users));
                      double total = 0;
                      for (std::int64_t at = first; at < last; ++at)
                        total += robirank_steps(clicks, order[at], d, eta, list, draws);
                      return total;
                    }) /
         static_cast<double>(clicks.n);
}

}  // namespace rather
