// Losses of a whole list of scores against ratings, with a subgradient: how far one user's ranking is from theirs.
//
//   ndcg     max over orders pi of [1 - NDCG@k(pi) + <c, f_pi> - <c', f>], with c_p = (p + 1)^-1/4 for place p,
//            and c'_j the mean of c over the places that the items rated like j share in the order of the ratings
//   ordinal  sum over y_j > y_l of (y_j - y_l) max(0, 1 - f_j + f_l), over the sum of (y_j - y_l)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "assignment.hpp"
#include "named.hpp"
#include "store.hpp"

namespace rather {

enum class ListKind { ndcg, ordinal };
inline constexpr Names<ListKind, 2> kLists{{{"ndcg", ListKind::ndcg}, {"ordinal", ListKind::ordinal}}};

// A store by level with the rating of every entry, and what depends on the place in a list alone.
struct RatedLists {
  RatedLists(const Store& store, ListKind loss, std::int32_t top, const double* ratings)
      : s(store), kind(loss), k(top), rating(ratings, ratings + store.n_entries()) {
    if (kind != ListKind::ndcg && kind != ListKind::ordinal) refuse("loss", kind, kLists);
    weight_before.push_back(0);
    for (std::int32_t p = 1; p <= s.longest; ++p) {
      weight.push_back(std::pow(p + 1.0, -0.25));
      weight_before.push_back(weight_before.back() + weight.back());
      discount.push_back(p <= k ? 1 / std::log2(p + 1.0) : 0);
    }
  }

  const Store& s;
  ListKind kind;
  std::int32_t k;
  std::vector<double> rating;
  std::vector<double> weight, weight_before, discount;  // c, its sums before each place, and the discounts of NDCG
};

// Evaluates lists with the buffers of one thread.
class ListLoss {
 public:
  explicit ListLoss(const RatedLists& lists)
      : lists_(lists),
        assignment_(lists.kind == ListKind::ndcg ? lists.s.longest : 0),
        f_(lists.s.longest + kWide),
        gain_(lists.s.longest + kWide),
        slope_(lists.s.longest),
        order_(lists.s.longest),
        level_(lists.s.longest) {}

  // The loss of user i's scores m; c becomes a subgradient.
  double operator()(std::int64_t i, const float* m, float* c) {
    n_ = lists_.s.entries(i);
    if (!n_) return 0;
    std::copy_n(m, n_, f_.begin());
    if (!std::isfinite(std::accumulate(m, m + n_, 0.0f))) return std::numeric_limits<double>::infinity();
    const double* y = lists_.rating.data() + lists_.s.start[i];
    std::span<const std::int32_t> ends(lists_.s.level_end.data() + lists_.s.level_start[i],
                                       lists_.s.level_end.data() + lists_.s.level_start[i + 1]);
    return lists_.kind == ListKind::ndcg ? ndcg(y, ends, c) : ordinal(y, ends, c);
  }

 private:
  void sort_by_score() {
    std::iota(order_.begin(), order_.begin() + n_, 0);
    std::sort(order_.begin(), order_.begin() + n_,
              [&](std::int32_t a, std::int32_t b) { return f_[a] != f_[b] ? f_[a] < f_[b] : a < b; });
  }

  double ndcg(const double* y, std::span<const std::int32_t> ends, float* c) {
    const double *weight = lists_.weight.data(), *before = lists_.weight_before.data(),
                 *discount = lists_.discount.data();
    double best = 0;
    for (std::int32_t e = 0; e < n_; ++e) gain_[e] = std::exp2(y[e]) - 1;
    for (std::int32_t p = 0; p < std::min(n_, lists_.k); ++p) best += discount[p] * gain_[n_ - 1 - p];
    for (std::int32_t e = 0; e < n_; ++e) gain_[e] = best > 0 ? gain_[e] / best : 0;  // ratings too small for a gain
    auto cost = [&](std::int32_t place) {
      return [w = weight[place], d = discount[place], f = f_.data(), g = gain_.data()](std::int32_t e) {
        return d * load_wide<Wide>(g + e) - w * load_wide<Wide>(f + e);
      };
    };
    // Without discounts the order of the scores is best, at prices in closed form. It stays so for the places from k
    // on, which have none: only the first k are left to place.
    sort_by_score();
    assignment_.begin(n_);
    double price = 0;
    for (std::int32_t p = 0; p < n_; ++p) {
      std::int32_t e = order_[n_ - 1 - p];
      if (p) price += 0.5 * (weight[p - 1] + weight[p]) * (f_[order_[n_ - p]] - f_[e]);
      assignment_.price(e) = price;
      if (p >= lists_.k) assignment_.hold(p, e);
    }
    for (std::int32_t p = 0; p < std::min(n_, lists_.k); ++p) assignment_.add(p, cost);
    double loss = 1;
    std::int32_t e = 0;
    for (std::int32_t end : ends) {
      double mean = (before[n_ - e] - before[n_ - end]) / (end - e);
      for (; e < end; ++e) {
        double slope = weight[assignment_.row(e)] - mean;
        loss += slope * f_[e] - discount[assignment_.row(e)] * gain_[e];
        c[e] = static_cast<float>(slope);
      }
    }
    return std::max(loss, 0.0);
  }

  // Counts and sums over entries, kept by level in a Fenwick tree: all lower levels are summed in logarithmic time.
  struct Sums {
    double count = 0, y = 0, f = 0, yf = 0;
    Sums& operator+=(const Sums& o) {
      count += o.count, y += o.y, f += o.f, yf += o.yf;
      return *this;
    }
  };

  void add(std::int32_t level, const Sums& one) {
    for (std::size_t t = level + 1; t < sums_.size(); t += t & -t) sums_[t] += one;
  }

  Sums below(std::int32_t level) const {
    Sums total;
    for (std::size_t t = level; t > 0; t -= t & -t) total += sums_[t];
    return total;
  }

  double ordinal(const double* y, std::span<const std::int32_t> ends, float* c) {
    const auto levels = static_cast<std::int32_t>(ends.size());
    double all = 0, sum = 0;  // all: y_j - y_l over all pairs
    for (std::int32_t e = 0; e < n_; ++e) all += y[e] * e - sum, sum += y[e];
    for (std::int32_t l = 0, e = 0; l < levels; ++l)
      for (; e < ends[l]; ++e) level_[e] = l;
    sort_by_score();
    double loss = 0;
    sums_.assign(levels + 1, Sums{});
    for (std::int32_t t = n_ - 1, next = n_ - 1; t >= 0; --t) {  // e is the better one of its pairs
      std::int32_t e = order_[t];
      for (; next >= 0 && f_[order_[next]] > f_[e] - 1; --next) {
        std::int32_t l = order_[next];
        add(level_[l], {1, y[l], f_[l], y[l] * f_[l]});
      }
      Sums worse = below(level_[e]);
      slope_[e] = worse.y - y[e] * worse.count;
      loss += slope_[e] * (f_[e] - 1) + y[e] * worse.f - worse.yf;
    }
    sums_.assign(levels + 1, Sums{});
    for (std::int32_t t = 0, next = 0; t < n_; ++t) {  // e is the worse one
      std::int32_t e = order_[t];
      for (; next < n_ && f_[order_[next]] - 1 < f_[e]; ++next) {
        std::int32_t j = order_[next];
        add(levels - 1 - level_[j], {1, y[j], 0, 0});
      }
      Sums better = below(levels - 1 - level_[e]);
      slope_[e] += better.y - y[e] * better.count;
    }
    for (std::int32_t e = 0; e < n_; ++e) c[e] = static_cast<float>(slope_[e] / all);
    return std::max(loss / all, 0.0);
  }

  const RatedLists& lists_;
  Assignment assignment_;
  std::int32_t n_ = 0;
  std::vector<double> f_, gain_, slope_;
  std::vector<std::int32_t> order_, level_;
  std::vector<Sums> sums_;
};

}  // namespace rather
