// One person's votes, given the items: what the person's tastes can then be.
//
//   x_j = m_j + l_j . z + e_j      z ~ N(0, I)      e_j ~ N(0, s)      P(j over k) = sigma(x_j - x_k + c . h)
//
// A margin is linear in w = (z, e): its row is l_j - l_k, and 1 and -1 at the items' own parts. Given Polya-Gamma
// variables w_t a draw of the rest is normal; the normal distribution nearest to the posterior solves the equations of
// `solving/variational.py`. Either needs a system of as many unknowns as the person has votes, or as w has numbers,
// whichever is fewer. Where both are more than kDense, own parts are updated one after the other, and what votes say of
// an item's own part is taken to be independent of what they say of other items'.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "polya_gamma.hpp"
#include "store.hpp"
#include "upper.hpp"
#include "variates.hpp"

namespace rather {

struct TasteVotes {
  const Store& s;        // pairs; a person's votes about two items are one of them
  const double* count;   // votes of each pair
  const double* lead;    // half of what the winner has more
  const float* context;  // d numbers of each pair
  std::int64_t d, rank;
};

struct TasteItems {
  const double* rows;    // m_j, then l_j
  const double* effect;  // h
  double own;            // s
};

class TasteUser {
 public:
  static constexpr std::int64_t kDense = 320;

  explicit TasteUser(const TasteVotes& votes) : v_(votes), s_(votes.s), r_(votes.rank) {}

  // Takes up the i-th person, in the memory of the one before.
  void take_up(std::int64_t i) {
    begin_ = s_.pair_start[i], n_votes_ = s_.pair_start[i + 1] - begin_;
    item_ = s_.item.data() + s_.start[i], n_items_ = s_.start[i + 1] - s_.start[i];
    size_ = r_ + n_items_;
    by_ = std::min(n_votes_, size_) > kDense ? By::parts : n_votes_ < size_ ? By::votes : By::numbers;
    if (by_ == By::parts) list_votes();
  }

  std::int64_t n_votes() const { return n_votes_; }
  std::int64_t n_items() const { return n_items_; }

  void given(const TasteItems& items) {
    items_ = items;
    X_.resize(n_votes_ * r_), offset_.resize(n_votes_);
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      const double *a = row(winner(t)), *b = row(loser(t));
      offset_[t] = a[0] - b[0];
      for (std::int64_t c = 0; c < v_.d; ++c) offset_[t] += items.effect[c] * v_.context[(begin_ + t) * v_.d + c];
      for (std::int64_t c = 0; c < r_; ++c) X_[t * r_ + c] = a[c + 1] - b[c + 1];
    }
  }

  // A draw of the Polya-Gamma variables given z and e, and then of these.
  void draw(double* z, double* e, double* omega, Variates& draws) {
    margins(z, e);
    weight_.resize(n_votes_);
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      if (!(std::abs(margin_[t]) < kMostMargin)) throw std::overflow_error("the margins of the sampler are not finite");
      omega[t] = weight_[t] = std::max(draw_polya_gamma(count(t), margin_[t], draws), kLeast);
    }
    if (by_ == By::votes) {
      draw_by_votes(z, e, draws);
    } else if (by_ == By::numbers) {
      draw_by_numbers(z, e, draws);
    } else {
      slope_.resize(n_votes_);
      for (std::int64_t t = 0; t < n_votes_; ++t) slope_[t] = lead(t) - weight_[t] * margin_[t];
      pass(z, e, &draws);
    }
  }

  // The posterior of a person: its mean, and what the variances of margins follow from. `slope` and the others, a
  // number for each vote, are where it begins unless `afresh`: those of a draw of the items that is nearby.
  void solve(double* slope, double* curvature, double* variance, bool afresh) {
    if (afresh) z_.assign(r_, 0.0), e_.assign(n_items_, 0.0);
    slope_.assign(slope, slope + n_votes_), weight_.assign(curvature, curvature + n_votes_);
    variance_.assign(variance, variance + n_votes_);
    if (afresh) std::fill(slope_.begin(), slope_.end(), 0.0);
    begin(afresh);
    for (int round = 0; round < kRounds; ++round) {
      expect(afresh && round == 0);
      before_ = margin_, spread_ = variance_;
      improve();
      if (settled()) break;
    }
    expect(false);
    if (by_ == By::votes) mean_of(dual_);
    std::copy(slope_.begin(), slope_.end(), slope);
    std::copy(weight_.begin(), weight_.end(), curvature);
    std::copy(variance_.begin(), variance_.end(), variance);
  }

  const std::vector<double>& z() const { return z_; }
  const std::vector<double>& e() const { return e_; }

  // The mean and the variance of x_j - x_k after solve; `at` is each item's place among those met, or -1.
  void difference(std::int32_t j, std::int32_t at_j, std::int32_t k, std::int32_t at_k, double& mean,
                  double& variance) const {
    if (j == k) {  // own parts of one item, not of two
      mean = variance = 0;
      return;
    }
    const double *a = row(j), *b = row(k);
    mean = a[0] - b[0] + (at_j < 0 ? 0 : e_[at_j]) - (at_k < 0 ? 0 : e_[at_k]);
    for (std::int64_t c = 0; c < r_; ++c) mean += z_[c] * (a[c + 1] - b[c + 1]);
    variance = variance_of(a + 1, at_j, b + 1, at_k);
  }

 private:
  enum class By { votes, numbers, parts };
  static constexpr int kRounds = 30, kPasses = 3;
  static constexpr double kLeast = 1e-100;      // of a Polya-Gamma variable, so that minute weights have a root
  static constexpr double kMostMargin = 1e100;  // of which a Polya-Gamma variable can still be drawn
  static constexpr double kTolerance = 1e-3, kKept = 0.5;

  std::int64_t local(std::uint32_t at) const { return static_cast<std::int64_t>(at); }
  std::int64_t winner_at(std::int64_t t) const { return local(s_.winner[begin_ + t]); }
  std::int64_t loser_at(std::int64_t t) const { return local(s_.loser[begin_ + t]); }
  std::int32_t winner(std::int64_t t) const { return item_[winner_at(t)]; }
  std::int32_t loser(std::int64_t t) const { return item_[loser_at(t)]; }
  double count(std::int64_t t) const { return v_.count[begin_ + t]; }
  double lead(std::int64_t t) const { return v_.lead[begin_ + t]; }
  const double* row(std::int64_t j) const { return items_.rows + j * (r_ + 1); }
  double sd() const { return std::sqrt(items_.own); }

  void margins(const double* z, const double* e) {
    margin_.resize(n_votes_);
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      double x = offset_[t] + e[winner_at(t)] - e[loser_at(t)];
      for (std::int64_t c = 0; c < r_; ++c) x += X_[t * r_ + c] * z[c];
      margin_[t] = x;
    }
  }

  // -- systems ------------------------------------------------------------------------------------------------

  // The covariance of margins before the votes.
  void covariance() {
    const std::int64_t T = n_votes_;
    K_.resize(T * T);
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t u = 0; u <= t; ++u) {
        double x = items_.own * ((winner_at(t) == winner_at(u)) - (winner_at(t) == loser_at(u)) -
                                 (loser_at(t) == winner_at(u)) + (loser_at(t) == loser_at(u)));
        for (std::int64_t c = 0; c < r_; ++c) x += X_[t * r_ + c] * X_[u * r_ + c];
        K_[t * T + u] = K_[u * T + t] = x;
      }
  }

  // R'R = I + w^1/2 K w^1/2
  void root_by_votes() {
    const std::int64_t T = n_votes_;
    root_weight_.resize(T), R_.resize(T * T);
    for (std::int64_t t = 0; t < T; ++t) root_weight_[t] = std::sqrt(weight_[t]);
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t u = t; u < T; ++u) R_[t * T + u] = root_weight_[t] * root_weight_[u] * K_[t * T + u];
      R_[t * T + t] += 1;
    }
    upper_root(R_.data(), T);
  }

  // R'R = I + sum_t w_t x_t x_t', with own parts in units of their standard deviation.
  void root_by_numbers() {
    const std::int64_t S = size_;
    const double unit = sd();
    R_.assign(S * S, 0.0);
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      const double* x = X_.data() + t * r_;
      const std::int64_t a = r_ + winner_at(t), b = r_ + loser_at(t);
      for (std::int64_t c = 0; c < r_; ++c) {
        double f = weight_[t] * x[c], *to = R_.data() + c * S;
        add(f, x + c, to + c, r_ - c);
        to[a] += f * unit, to[b] -= f * unit;
      }
      const double own = weight_[t] * items_.own;
      R_[a * S + a] += own, R_[b * S + b] += own, R_[std::min(a, b) * S + std::max(a, b)] -= own;
    }
    for (std::int64_t k = 0; k < S; ++k) R_[k * S + k] += 1;
    upper_root(R_.data(), S);
  }

  // out <- sum_t y_t x_t
  void weighted_rows(const double* y, std::vector<double>& out) const {
    const double unit = sd();
    out.assign(size_, 0.0);
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      add(y[t], X_.data() + t * r_, out.data(), r_);
      out[r_ + winner_at(t)] += unit * y[t], out[r_ + loser_at(t)] -= unit * y[t];
    }
  }

  double along(std::int64_t t, const double* w) const {
    double x = sd() * (w[r_ + winner_at(t)] - w[r_ + loser_at(t)]);
    for (std::int64_t c = 0; c < r_; ++c) x += X_[t * r_ + c] * w[c];
    return x;
  }

  void take(const std::vector<double>& w, double* z, double* e) const {
    std::copy_n(w.begin(), r_, z);
    const double unit = sd();
    for (std::int64_t j = 0; j < n_items_; ++j) e[j] = unit * w[r_ + j];
  }

  // -- draws --------------------------------------------------------------------------------------------------

  // The mean solves (I + X'wX) w = X'(lead - w offset); R^-1 of standard normal numbers is added.
  void draw_by_numbers(double* z, double* e, Variates& draws) {
    root_by_numbers();
    rest_.resize(n_votes_);
    for (std::int64_t t = 0; t < n_votes_; ++t) rest_[t] = lead(t) - weight_[t] * offset_[t];
    weighted_rows(rest_.data(), w_);
    solve_lower(R_.data(), size_, w_.data());
    for (double& x : w_) x += draws.normal();
    solve_upper(R_.data(), size_, w_.data());
    take(w_, z, e);
  }

  // A draw from the prior, moved by what the votes say of how far it is from them (A. Bhattacharya, A. Chakraborty,
  // B. Mallick: Fast sampling with Gaussian scale mixture priors in high-dimensional regression, 2016).
  void draw_by_votes(double* z, double* e, Variates& draws) {
    covariance(), root_by_votes();
    prior_.resize(size_), rest_.resize(n_votes_);
    for (double& x : prior_) x = draws.normal();
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      const double root = root_weight_[t];
      rest_[t] = lead(t) / root - root * (offset_[t] + along(t, prior_.data())) - draws.normal();
    }
    solve_lower(R_.data(), n_votes_, rest_.data()), solve_upper(R_.data(), n_votes_, rest_.data());
    for (std::int64_t t = 0; t < n_votes_; ++t) rest_[t] *= root_weight_[t];
    weighted_rows(rest_.data(), w_);
    add(1.0, prior_.data(), w_.data(), size_);
    take(w_, z, e);
  }

  // z given e, and then each own part given all else: their means, or draws. slope_ is lead - w margin before and
  // after.
  void pass(double* z, double* e, Variates* draws) {
    R_.assign(r_ * r_, 0.0), w_.assign(r_, 0.0);
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      const double* x = X_.data() + t * r_;
      double own = slope_[t];
      for (std::int64_t c = 0; c < r_; ++c) own += weight_[t] * x[c] * z[c];
      add(own, x, w_.data(), r_);
      for (std::int64_t c = 0; c < r_; ++c) add(weight_[t] * x[c], x + c, R_.data() + c * r_ + c, r_ - c);
    }
    for (std::int64_t c = 0; c < r_; ++c) R_[c * r_ + c] += 1;
    upper_root(R_.data(), r_);
    solve_lower(R_.data(), r_, w_.data());
    if (draws)
      for (double& x : w_) x += draws->normal();
    solve_upper(R_.data(), r_, w_.data());
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      double moved = 0;
      for (std::int64_t c = 0; c < r_; ++c) moved += X_[t * r_ + c] * (w_[c] - z[c]);
      slope_[t] -= weight_[t] * moved;
    }
    std::copy_n(w_.begin(), r_, z);
    for (std::int64_t j = 0; j < n_items_; ++j) {
      double precision = 1 / items_.own, force = -e[j] / items_.own;
      for (std::int64_t q = first_[j]; q < first_[j + 1]; ++q) {
        const std::int64_t t = votes_of_[q];
        precision += weight_[t], force += winner_at(t) == j ? slope_[t] : -slope_[t];
      }
      const double step = force / precision + (draws ? draws->normal() / std::sqrt(precision) : 0.0);
      e[j] += step;
      for (std::int64_t q = first_[j]; q < first_[j + 1]; ++q) {
        const std::int64_t t = votes_of_[q];
        slope_[t] -= weight_[t] * (winner_at(t) == j ? step : -step);
      }
    }
  }

  void list_votes() {
    first_.assign(n_items_ + 1, 0), votes_of_.resize(2 * n_votes_);
    for (std::int64_t t = 0; t < n_votes_; ++t) ++first_[winner_at(t) + 1], ++first_[loser_at(t) + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
    for (std::int64_t t = 0; t < n_votes_; ++t) votes_of_[next[winner_at(t)]++] = t, votes_of_[next[loser_at(t)]++] = t;
  }

  // -- the posterior ------------------------------------------------------------------------------------------

  // The margins where the search begins: at a sum of rows by slope_, or at z and e of the draw before.
  void begin(bool afresh) {
    if (by_ == By::votes) {
      dual_ = slope_;
      covariance();
      mean_of(dual_);
    } else if (by_ == By::numbers) {
      mean_ = z_;
      for (double x : e_) mean_.push_back(x / sd());
    }
    margins(z_.data(), e_.data());
    if (!afresh) return;
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      double x = 2 * items_.own;
      for (std::int64_t c = 0; c < r_; ++c) x += X_[t * r_ + c] * X_[t * r_ + c];
      variance_[t] = x;
    }
  }

  void mean_of(const std::vector<double>& dual) {
    weighted_rows(dual.data(), w_);
    z_.resize(r_), e_.resize(n_items_);
    take(w_, z_.data(), e_.data());
  }

  // E of each vote's slope and curvature at the present margins; curvatures move half way.
  void expect(bool first) {
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      const double q = 1 / std::sqrt(1 + std::numbers::pi / 8 * variance_[t]),
                   p = 0.5 * (1 + std::tanh(0.5 * q * margin_[t]));
      const double curve = count(t) * q * p * (1 - p);
      slope_[t] = lead(t) + count(t) * (0.5 - p);
      weight_[t] = first ? curve : (1 - kKept) * curve + kKept * weight_[t];
    }
  }

  void improve() {
    if (by_ == By::votes)
      improve_by_votes();
    else if (by_ == By::numbers)
      improve_by_numbers();
    else
      improve_by_parts();
  }

  // Newton's step of the mean, a sum of rows by dual_.
  void improve_by_votes() {
    const std::int64_t T = n_votes_;
    root_by_votes();
    step_.resize(T), rest_.assign(T, 0.0);
    for (std::int64_t t = 0; t < T; ++t) step_[t] = slope_[t] - dual_[t];
    for (std::int64_t t = 0; t < T; ++t) add(step_[t], K_.data() + t * T, rest_.data(), T);
    for (std::int64_t t = 0; t < T; ++t) rest_[t] *= root_weight_[t];
    solve_lower(R_.data(), T, rest_.data()), solve_upper(R_.data(), T, rest_.data());
    for (std::int64_t t = 0; t < T; ++t) step_[t] -= root_weight_[t] * rest_[t];
    rest_.assign(T, 0.0);
    for (std::int64_t t = 0; t < T; ++t) add(step_[t], K_.data() + t * T, rest_.data(), T);
    const double part = damped(rest_);
    add(part, step_.data(), dual_.data(), T), add(part, rest_.data(), margin_.data(), T);
    columns_.resize(T * T);
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t u = 0; u < T; ++u) columns_[t * T + u] = root_weight_[t] * K_[t * T + u];
    solve_lower_columns(R_.data(), T, columns_.data(), T);
    for (std::int64_t t = 0; t < T; ++t) variance_[t] = K_[t * T + t];
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t u = 0; u < T; ++u) variance_[u] -= columns_[t * T + u] * columns_[t * T + u];
    for (double& x : variance_) x = std::max(x, 0.0);
  }

  void improve_by_numbers() {
    const std::int64_t T = n_votes_, S = size_;
    root_by_numbers();
    weighted_rows(slope_.data(), step_);
    for (std::int64_t k = 0; k < S; ++k) step_[k] -= mean_[k];
    solve_lower(R_.data(), S, step_.data()), solve_upper(R_.data(), S, step_.data());
    rest_.resize(T);
    for (std::int64_t t = 0; t < T; ++t) rest_[t] = along(t, step_.data());
    const double part = damped(rest_), unit = sd();
    add(part, step_.data(), mean_.data(), S), add(part, rest_.data(), margin_.data(), T);
    take(mean_, z_.data(), e_.data());
    columns_.assign(S * T, 0.0);
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t c = 0; c < r_; ++c) columns_[c * T + t] = X_[t * r_ + c];
      columns_[(r_ + winner_at(t)) * T + t] = unit, columns_[(r_ + loser_at(t)) * T + t] = -unit;
    }
    solve_lower_columns(R_.data(), S, columns_.data(), T);
    std::fill(variance_.begin(), variance_.end(), 0.0);
    for (std::int64_t k = 0; k < S; ++k)
      for (std::int64_t t = 0; t < T; ++t) variance_[t] += columns_[k * T + t] * columns_[k * T + t];
  }

  void improve_by_parts() {
    const std::vector<double> z = z_, e = e_;
    for (int k = 0; k < kPasses; ++k) pass(z_.data(), e_.data(), nullptr);
    margins(z_.data(), e_.data());
    rest_ = margin_;
    for (std::int64_t t = 0; t < n_votes_; ++t) rest_[t] -= before_[t];
    const double rest = 1 - damped(rest_);
    for (std::int64_t c = 0; c < r_; ++c) z_[c] += rest * (z[c] - z_[c]);
    for (std::int64_t j = 0; j < n_items_; ++j) e_[j] += rest * (e[j] - e_[j]);
    margins(z_.data(), e_.data());
    spread_by_parts();
    for (std::int64_t t = 0; t < n_votes_; ++t)
      variance_[t] = variance_of(row(winner(t)) + 1, winner_at(t), row(loser(t)) + 1, loser_at(t));
  }

  // Given z the votes leave an own part the share kept_ of its variance; R'R is the precision of z, to which items
  // count by how far they are from the mean of those met.
  void spread_by_parts() {
    kept_.assign(n_items_, 0.0);
    for (std::int64_t t = 0; t < n_votes_; ++t) kept_[winner_at(t)] += weight_[t], kept_[loser_at(t)] += weight_[t];
    std::vector<double> mean(r_, 0.0), apart(r_);
    double total = 0;
    for (std::int64_t j = 0; j < n_items_; ++j) {
      kept_[j] = 1 / (1 + items_.own * kept_[j]);
      const double said = (1 - kept_[j]) / items_.own;
      add(said, row(item_[j]) + 1, mean.data(), r_), total += said;
    }
    R_.assign(r_ * r_, 0.0);
    for (std::int64_t j = 0; j < n_items_; ++j) {
      for (std::int64_t c = 0; c < r_; ++c) apart[c] = row(item_[j])[c + 1] - mean[c] / total;
      const double said = (1 - kept_[j]) / items_.own;
      for (std::int64_t c = 0; c < r_; ++c) add(said * apart[c], apart.data() + c, R_.data() + c * r_ + c, r_ - c);
    }
    for (std::int64_t c = 0; c < r_; ++c) R_[c * r_ + c] += 1;
    upper_root(R_.data(), r_);
  }

  double variance_of(const double* l, std::int64_t at_l, const double* k, std::int64_t at_k) const {
    std::vector<double> y;
    double prior = 0;
    if (by_ == By::votes) {
      y.resize(n_votes_);
      prior = 2 * items_.own;
      for (std::int64_t c = 0; c < r_; ++c) prior += (l[c] - k[c]) * (l[c] - k[c]);
      for (std::int64_t t = 0; t < n_votes_; ++t) {
        const std::int64_t a = winner_at(t), b = loser_at(t);
        double x = items_.own * ((at_l == a) - (at_l == b) - (at_k == a) + (at_k == b));
        for (std::int64_t c = 0; c < r_; ++c) x += (l[c] - k[c]) * X_[t * r_ + c];
        y[t] = root_weight_[t] * x;
      }
    } else if (by_ == By::numbers) {
      y.assign(size_, 0.0);
      for (std::int64_t c = 0; c < r_; ++c) y[c] = l[c] - k[c];
      (at_l < 0 ? prior : y[r_ + at_l]) += at_l < 0 ? items_.own : sd();
      (at_k < 0 ? prior : y[r_ + at_k]) += at_k < 0 ? items_.own : -sd();
    } else {
      y.resize(r_);
      const double of_l = at_l < 0 ? 1.0 : kept_[at_l], of_k = at_k < 0 ? 1.0 : kept_[at_k];
      for (std::int64_t c = 0; c < r_; ++c) y[c] = of_l * l[c] - of_k * k[c];
      prior = items_.own * (of_l + of_k);
    }
    if (n_votes_) solve_lower(R_.data(), static_cast<std::int64_t>(y.size()), y.data());
    double known = 0;
    for (double x : y) known += x * x;
    return by_ == By::votes ? std::max(prior - known, 0.0) : prior + known;
  }

  // How much of a step of the margins is made; see _damped in solving/variational.py.
  double damped(const std::vector<double>& step) const {
    double far = 0;
    for (std::int64_t t = 0; t < n_votes_; ++t)
      far = std::max(far, std::abs(step[t]) / std::sqrt(1 + std::numbers::pi / 8 * variance_[t]));
    return far > 1e-9 ? std::log1p(far) / far : 1.0;
  }

  bool settled() const {
    double moved = 0, largest = 0;
    for (std::int64_t t = 0; t < n_votes_; ++t) {
      moved = std::max(
          {moved, std::abs(margin_[t] - before_[t]), std::abs(std::sqrt(variance_[t]) - std::sqrt(spread_[t]))});
      largest = std::max(largest, std::abs(margin_[t]));
    }
    return moved <= kTolerance * (1 + largest);
  }

  const TasteVotes& v_;
  const Store& s_;
  const std::int64_t r_;
  std::int64_t begin_ = 0, n_votes_ = 0, n_items_ = 0, size_ = 0;
  const std::int32_t* item_ = nullptr;
  By by_ = By::votes;
  TasteItems items_{};
  std::vector<double> X_, offset_, margin_, weight_, slope_, variance_, dual_, mean_, z_, e_;
  std::vector<double> K_, R_, root_weight_, rest_, step_, columns_, prior_, w_, kept_, before_, spread_;
  std::vector<std::int64_t> first_, votes_of_;
};

}  // namespace rather
