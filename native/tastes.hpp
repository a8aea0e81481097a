// Everyone's tastes from everyone's votes: a sampler of the joint posterior, and what follows from its draws.
//
//   x_ij = m_j + l_j . z_i + e_ij        z ~ N(0, I), e ~ N(0, s), m ~ N(0, t), l_jc ~ N(0, a_c), h ~ N(0, 1)
//
// sqrt t, sqrt s and sqrt a_c are half normal with given scales. A sweep draws (Gibbs) Polya-Gamma variables and every
// person's (z, e), every item's (m, l), the effects h of contexts, common factors of all m, of all l, of all e and of
// all three (Metropolis, with the Polya-Gamma variables integrated out), and the variances. Random numbers depend on
// the seed, the sweep, and the person or item alone, and sums are added in the order of the data.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "taste_user.hpp"

namespace rather {

struct TasteState {
  double *rows, *z, *e, *effect;
  double* variance;  // t, s, a_1 ... a_r
};

struct TasteIndex {
  const std::int32_t* user;   // of each pair
  const std::int64_t* start;  // where each item's pairs begin in
  const std::int64_t* pair;   // twice the number of the pair, and 1 more where the item is the loser
};

class TasteSampler {
 public:
  TasteSampler(const TasteVotes& votes, const TasteIndex& index, const TasteState& state, const double* scale,
               std::uint64_t seed, std::uint64_t sweep, int n_threads)
      : v_(votes),
        s_(votes.s),
        index_(index),
        state_(state),
        scale_(scale),
        r_(votes.rank),
        k_(votes.rank + 1),
        n_threads_(n_threads),
        seed_(Draws(seed, sweep).next()),
        omega_(votes.s.n_comparisons) {}

  // Returns the log-likelihood of the votes.
  double sweep() {
    draw_users();
    for (std::int64_t j = 0; j < s_.n_items; ++j) draw_item(j);
    Variates draws(seed_, 0);
    draw_effects(draws);
    const double likelihood = rescale(draws);
    draw_variances(draws);
    return likelihood;
  }

 private:
  static constexpr std::int64_t kUsers = 16, kPairs = 1024;
  static constexpr int kMoves = 4;

  TasteItems items() const { return {state_.rows, state_.effect, state_.variance[1]}; }

  void draw_users() {
    for_ranges(n_threads_, s_.n_users, kUsers, [&](int, std::int64_t first, std::int64_t last) {
      TasteUser user(v_);
      for (std::int64_t i = first; i < last; ++i) {
        user.take_up(i);
        user.given(items());
        Variates draws(seed_, 1 + static_cast<std::uint64_t>(i));
        user.draw(state_.z + i * r_, state_.e + s_.start[i], omega_.data() + s_.pair_start[i], draws);
      }
    });
  }

  double context(std::int64_t t) const {
    double x = 0;
    for (std::int64_t c = 0; c < v_.d; ++c) x += state_.effect[c] * v_.context[t * v_.d + c];
    return x;
  }

  double own(std::int64_t t) const {
    const std::int64_t begin = s_.start[index_.user[t]];
    return state_.e[begin + s_.winner[t]] - state_.e[begin + s_.loser[t]];
  }

  std::int32_t winner(std::int64_t t) const { return s_.item[s_.start[index_.user[t]] + s_.winner[t]]; }
  std::int32_t loser(std::int64_t t) const { return s_.item[s_.start[index_.user[t]] + s_.loser[t]]; }

  double by_taste(std::int64_t t) const {
    const double *z = state_.z + index_.user[t] * r_, *a = state_.rows + winner(t) * k_,
                 *b = state_.rows + loser(t) * k_;
    double x = 0;
    for (std::int64_t c = 0; c < r_; ++c) x += (a[c + 1] - b[c + 1]) * z[c];
    return x;
  }

  double by_mean(std::int64_t t) const { return state_.rows[winner(t) * k_] - state_.rows[loser(t) * k_]; }

  // Adds what n pairs of an item say of its row: the precision H (upper triangle) and g, H times the mean.
  void add_pairs(const std::int64_t* pair, std::int64_t n, double* H, double* g) const {
    std::vector<double> y(k_, 1.0);
    for (std::int64_t q = 0; q < n; ++q) {
      const std::int64_t t = pair[q] / 2;
      const bool lost = pair[q] % 2;
      const double *z = state_.z + index_.user[t] * r_, *other = state_.rows + (lost ? winner(t) : loser(t)) * k_;
      std::copy_n(z, r_, y.begin() + 1);
      double rest = v_.lead[t] - omega_[t] * (own(t) + context(t)), theirs = 0;
      for (std::int64_t c = 0; c < k_; ++c) theirs += other[c] * y[c];
      add((lost ? -rest : rest) + omega_[t] * theirs, y.data(), g, k_);
      for (std::int64_t c = 0; c < k_; ++c) add(omega_[t] * y[c], y.data() + c, H + c * k_ + c, k_ - c);
    }
  }

  void draw_item(std::int64_t j) {
    const std::int64_t first = index_.start[j], n = index_.start[j + 1] - first, size = k_ * k_ + k_;
    const std::int64_t n_parts = std::max<std::int64_t>(1, (n + kPairs - 1) / kPairs);
    std::vector<double> part(n_parts * size, 0.0);
    for_ranges(n_threads_, n, kPairs, [&](int, std::int64_t from, std::int64_t to) {
      double* H = part.data() + from / kPairs * size;
      add_pairs(index_.pair + first + from, to - from, H, H + k_ * k_);
    });
    for (std::int64_t p = 1; p < n_parts; ++p) add(1.0, part.data() + p * size, part.data(), size);
    double *H = part.data(), *g = H + k_ * k_;
    H[0] += 1 / state_.variance[0];
    for (std::int64_t c = 0; c < r_; ++c) H[(c + 1) * (k_ + 1)] += 1 / state_.variance[2 + c];
    Variates draws(seed_, 1 + static_cast<std::uint64_t>(s_.n_users + j));
    draw_normal(H, g, k_, draws);
    std::copy_n(g, k_, state_.rows + j * k_);
  }

  // g <- a draw from the normal distribution with the precision H and the mean H^-1 g.
  static void draw_normal(double* H, double* g, std::int64_t n, Variates& draws) {
    upper_root(H, n);
    solve_lower(H, n, g);
    for (std::int64_t c = 0; c < n; ++c) g[c] += draws.normal();
    solve_upper(H, n, g);
  }

  void draw_effects(Variates& draws) {
    const std::int64_t d = v_.d, size = d * d + d;
    if (!d) return;
    std::vector<double> part((s_.n_comparisons + kPairs - 1) / kPairs * size, 0.0), sum(size, 0.0);
    for_ranges(n_threads_, s_.n_comparisons, kPairs, [&](int, std::int64_t first, std::int64_t last) {
      double *H = part.data() + first / kPairs * size, *g = H + d * d;
      for (std::int64_t t = first; t < last; ++t) {
        const float* c = v_.context + t * d;
        const double rest = v_.lead[t] - omega_[t] * (by_mean(t) + by_taste(t) + own(t));
        for (std::int64_t a = 0; a < d; ++a) {
          g[a] += rest * c[a];
          for (std::int64_t b = a; b < d; ++b) H[a * d + b] += omega_[t] * c[a] * c[b];
        }
      }
    });
    for (std::size_t p = 0; p < part.size(); ++p) sum[p % size] += part[p];
    for (std::int64_t a = 0; a < d; ++a) sum[a * (d + 1)] += 1;
    draw_normal(sum.data(), sum.data() + d * d, d, draws);
    std::copy_n(sum.data() + d * d, d, state_.effect);
  }

  // Common factors of m, of l, of e, and of all three: each keeps its prior, so that only the likelihood and the prior
  // of the standard deviations, which take the same factor, decide.
  double rescale(Variates& draws) {
    const std::int64_t T = s_.n_comparisons;
    std::vector<double> part(4 * T);
    for_ranges(n_threads_, T, kPairs, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t t = first; t < last; ++t) {
        double* p = part.data() + 4 * t;
        p[0] = by_mean(t), p[1] = by_taste(t), p[2] = own(t), p[3] = context(t);
      }
    });
    auto likelihood = [&](const double* factor) {
      return sum_ranges(n_threads_, T, kPairs, [&](int, std::int64_t first, std::int64_t last) {
        double sum = 0;
        for (std::int64_t t = first; t < last; ++t) {
          const double* p = part.data() + 4 * t;
          const double x = factor[0] * p[0] + factor[1] * p[1] + factor[2] * p[2] + p[3], far = std::abs(x);
          sum += v_.lead[t] * x - v_.count[t] * (0.5 * far + std::log1p(std::exp(-far)));
        }
        return sum;
      });
    };
    double factor[3] = {1, 1, 1}, present = likelihood(factor);
    for (int move = 0; move < kMoves; ++move) {
      const double far = draws.normal() * (move == 3 ? 0.3 : 0.15), by = std::exp(far);
      double other[3], prior = 0;
      for (int kind = 0; kind < 3; ++kind) {
        const bool moves = move == 3 || move == kind;
        other[kind] = factor[kind] * (moves ? by : 1.0);
        if (!moves) continue;
        const auto [first, last] = variances_of(kind);
        const double square = factor[kind] * factor[kind] / (scale_[kind] * scale_[kind]);
        for (std::int64_t c = first; c < last; ++c) prior += far - 0.5 * state_.variance[c] * square * (by * by - 1);
      }
      const double proposed = likelihood(other);
      if (std::log(draws.unit()) < proposed - present + prior) {
        std::copy_n(other, 3, factor);
        present = proposed;
      }
    }
    for (std::int64_t j = 0; j < s_.n_items; ++j) {
      state_.rows[j * k_] *= factor[0];
      for (std::int64_t c = 1; c < k_; ++c) state_.rows[j * k_ + c] *= factor[1];
    }
    for (std::int64_t e = 0; e < s_.n_entries(); ++e) state_.e[e] *= factor[2];
    for (int kind = 0; kind < 3; ++kind) {
      const auto [first, last] = variances_of(kind);
      for (std::int64_t c = first; c < last; ++c) state_.variance[c] *= factor[kind] * factor[kind];
    }
    return present;
  }

  // Where in `variance` those of m, of l and of e are.
  std::pair<std::int64_t, std::int64_t> variances_of(int kind) const {
    if (kind == 1) return {2, 2 + r_};
    return kind == 0 ? std::pair<std::int64_t, std::int64_t>{0, 1} : std::pair<std::int64_t, std::int64_t>{1, 2};
  }

  void draw_variances(Variates& draws) {
    std::vector<double> square(k_, 0.0);
    for (std::int64_t j = 0; j < s_.n_items; ++j)
      for (std::int64_t c = 0; c < k_; ++c) square[c] += state_.rows[j * k_ + c] * state_.rows[j * k_ + c];
    const double of_own =
        sum_ranges(n_threads_, s_.n_entries(), kPairs, [&](int, std::int64_t first, std::int64_t last) {
          double sum = 0;
          for (std::int64_t e = first; e < last; ++e) sum += state_.e[e] * state_.e[e];
          return sum;
        });
    double* variance = state_.variance;
    variance[0] = draw_variance(variance[0], s_.n_items, square[0], scale_[0], draws);
    variance[1] = draw_variance(variance[1], s_.n_entries(), of_own, scale_[2], draws);
    for (std::int64_t c = 0; c < r_; ++c)
      variance[2 + c] = draw_variance(variance[2 + c], s_.n_items, square[c + 1], scale_[1], draws);
  }

  // A variance v of n numbers with this sum of squares, whose root is half normal. The density of y = log v,
  //   -(n - 1) y / 2 - square e^-y / 2 - e^y / (2 scale^2),
  // is log-concave; the slice sampler (R. Neal, 2003) takes steps of its width at the mode.
  static double draw_variance(double now, std::int64_t n, double square, double scale, Variates& draws) {
    constexpr double kLeast = -25, kMost = 25;
    const double more = static_cast<double>(n) - 1, own = scale * scale;
    auto density = [&](double y) {
      if (y < kLeast || y > kMost) return -std::numeric_limits<double>::infinity();
      return -0.5 * (more * y + square * std::exp(-y) + std::exp(y) / own);
    };
    const double mode = std::max(2 * square / (more + std::sqrt(more * more + 4 * square / own) + 1e-300), 1e-10);
    const double width = std::min(2 / std::sqrt(0.5 * (square / mode + mode / own)), 5.0);
    const double y = std::clamp(std::log(now), kLeast, kMost), level = density(y) - draws.exponential();
    double low = y - width * draws.unit(), high = low + width;
    while (density(low) > level) low -= width;
    while (density(high) > level) high += width;
    for (int tries = 0; tries < 200; ++tries) {
      const double x = low + (high - low) * draws.unit();
      if (density(x) >= level) return std::exp(x);
      (x < y ? low : high) = x;
    }
    return now;
  }

  const TasteVotes& v_;
  const Store& s_;
  TasteIndex index_;
  TasteState state_;
  const double* scale_;  // of the roots of t, a and s
  const std::int64_t r_, k_;
  const int n_threads_;
  const std::uint64_t seed_;
  std::vector<double> omega_;
};

// -- given draws of the items -------------------------------------------------------------------------------------

// A user's numbers that the search for the posterior begins with, from one draw to the next.
struct TasteBegin {
  std::vector<double> slope, curvature, variance;
  bool afresh = true;

  explicit TasteBegin(std::int64_t n_votes) : slope(n_votes), curvature(n_votes), variance(n_votes) {}
  void solve(TasteUser& user, const TasteItems& items) {
    user.given(items);
    user.solve(slope.data(), curvature.data(), variance.data(), afresh);
    afresh = false;
  }
};

// The means of everyone's z (rows of ld floats) and e, given one draw.
inline void taste_means(const TasteVotes& votes, const TasteItems& items, float* z, std::int64_t ld, float* e,
                        int n_threads) {
  for_ranges(n_threads, votes.s.n_users, 16, [&](int, std::int64_t first, std::int64_t last) {
    TasteUser user(votes);
    for (std::int64_t i = first; i < last; ++i) {
      user.take_up(i);
      TasteBegin(user.n_votes()).solve(user, items);
      std::copy(user.z().begin(), user.z().end(), z + i * ld);
      std::copy(user.e().begin(), user.e().end(), e + votes.s.start[i]);
    }
  });
}

// The mean and the variance of x_ij - x_ik for questions about some users, averaged over n draws. Question q of the
// p-th of them, q in [start[p], start[p + 1]), is about left[q] and right[q].
inline void taste_margins(const TasteVotes& votes, const TasteItems* draw, std::int64_t n, const std::int32_t* users,
                          const std::int64_t* start, std::int64_t n_asked, const std::int32_t* left,
                          const std::int32_t* right, double* mean, double* variance, int n_threads) {
  const Store& s = votes.s;
  for_ranges(n_threads, n_asked, 4, [&](int, std::int64_t first, std::int64_t last) {
    std::vector<std::int32_t> place(s.n_items, -1);
    TasteUser user(votes);
    for (std::int64_t p = first; p < last; ++p) {
      const std::int64_t i = users[p];
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e)
        place[s.item[e]] = static_cast<std::int32_t>(e - s.start[i]);
      user.take_up(i);
      TasteBegin begin(user.n_votes());
      std::fill(mean + start[p], mean + start[p + 1], 0.0),
          std::fill(variance + start[p], variance + start[p + 1], 0.0);
      std::vector<double> squares(start[p + 1] - start[p], 0.0);
      for (std::int64_t k = 0; k < n; ++k) {
        begin.solve(user, draw[k]);
        for (std::int64_t q = start[p]; q < start[p + 1]; ++q) {
          double m, v;
          user.difference(left[q], place[left[q]], right[q], place[right[q]], m, v);
          mean[q] += m / n, variance[q] += v / n, squares[q - start[p]] += m * m / n;
        }
      }
      for (std::int64_t q = start[p]; q < start[p + 1]; ++q)
        variance[q] += std::max(squares[q - start[p]] - mean[q] * mean[q], 0.0);
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e) place[s.item[e]] = -1;
    }
  });
}

// The weight of each row in the mean of one user's w, and each vote's curvature, given each of n draws.
inline void taste_answers(const TasteVotes& votes, const TasteItems* draw, std::int64_t n, std::int64_t i,
                          double* slope, double* curvature) {
  TasteUser user(votes);
  user.take_up(i);
  TasteBegin begin(user.n_votes());
  for (std::int64_t k = 0; k < n; ++k) {
    begin.solve(user, draw[k]);
    std::copy(begin.slope.begin(), begin.slope.end(), slope + k * user.n_votes());
    std::copy(begin.curvature.begin(), begin.curvature.end(), curvature + k * user.n_votes());
  }
}

}  // namespace rather
