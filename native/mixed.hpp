// How people answer, given the items: a mixed logistic model of written comparisons.
//
//   x_t = g . z_t + a (b_j - b_k) + (mu + u_i) . (v_j - v_k) -+ e^(l + e_i)        P(answer t) = sigma(x_t)
//
// The last term, a person's reluctance, is there with ties (Rao and Kupper): it is taken from the margin of a decided
// comparison and added to that of a tie's two halves, one each way, whose product is the tie's probability but for
// 1 - e^(-2 reluctance). The fixed coefficients are (g, l, a, mu); a person has the random ones (u_i, e_i), which are
// normal with mean 0 and a given precision. What the answers say of them is approximated by a normal distribution
// whose mean and precision solve the equations of the variational bound, with E sigma(x) ~ sigma(x / sqrt(1 + pi v / 8)).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "dense.hpp"
#include "store.hpp"

namespace rather {

struct MixedModel {
  const Store& s;
  const float* V;  // rows of v_j and then b_j
  std::int64_t ld, rank;
  const std::uint8_t* tied;  // whether a comparison is half of a tie; null: no ties
  const float* Z;            // d numbers for every comparison, winner's less loser's
  std::int64_t d;
  const double *fixed, *precision;

  std::int64_t random() const { return rank + (tied ? 1 : 0); }
  std::int64_t n_fixed() const { return d + (tied ? 1 : 0) + 1 + rank; }
};

// Sums over people, each counted as often as `count` says.
struct MixedSums {
  std::vector<double> moments, gradient, information, squares;

  MixedSums(std::int64_t random, std::int64_t fixed)
      : moments(random * random), gradient(fixed), information(fixed * fixed), squares(fixed * fixed) {}

  void operator+=(const MixedSums& other) {
    auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (std::size_t k = 0; k < to.size(); ++k) to[k] += from[k];
    };
    add(moments, other.moments), add(gradient, other.gradient);
    add(information, other.information), add(squares, other.squares);
  }
};

// One person's answers.
class MixedPerson {
 public:
  MixedPerson(const MixedModel& model, std::int64_t i) : m_(model), begin_(model.s.pair_start[i]) {
    const Store& s = m_.s;
    n_ = s.pair_start[i + 1] - begin_;
    const std::int64_t R = m_.random(), f = m_.n_fixed(), r = m_.rank;
    X_.assign(n_ * R, 0.0), F_.assign(n_ * f, 0.0), weight_.resize(n_), mean_.resize(n_), curvature_.resize(n_);
    const std::int32_t* items = s.item.data() + s.start[i];
    for (std::int64_t t = 0; t < n_; ++t) {
      const float *v = m_.V + items[s.winner[begin_ + t]] * m_.ld, *w = m_.V + items[s.loser[begin_ + t]] * m_.ld;
      double *x = X_.data() + t * R, *row = F_.data() + t * f;
      for (std::int64_t k = 0; k < m_.d; ++k) row[k] = m_.Z[(begin_ + t) * m_.d + k];
      row[f - r - 1] = double{v[r]} - w[r];
      for (std::int64_t k = 0; k < r; ++k) x[k] = row[f - r + k] = double{v[k]} - w[k];
      // A tie's halves count half each way elsewhere; here their product is the tie's probability.
      weight_[t] = (s.weight.empty() ? 1.0 : s.weight[begin_ + t]) * (half(t) ? 2.0 : 1.0);
      if (half(t)) ties_ += 0.5 * weight_[t];
    }
  }

  // Newton steps on the mean `u`, after which stands the variance of its last number; `variance` is that of the
  // margins. Both are from the step before, and then of the last one.
  void solve(double* u, float* variance, int steps) {
    const std::int64_t R = m_.random();
    std::vector<double> g(R), step(R);
    H_.resize(R * R);
    for (int k = 0; k < steps; ++k) {
      slopes(u, variance);
      for (std::int64_t a = 0; a < R; ++a) {
        g[a] = 0;
        for (std::int64_t b = 0; b < R; ++b) g[a] -= m_.precision[a * R + b] * u[b];
      }
      std::copy_n(m_.precision, R * R, H_.begin());
      for (std::int64_t t = 0; t < n_; ++t) {
        const double *x = X_.data() + t * R, slope = mean_[t], curve = curvature_[t];
        for (std::int64_t a = 0; a < R; ++a) {
          g[a] += slope * x[a];
          for (std::int64_t b = 0; b <= a; ++b) H_[a * R + b] += curve * x[a] * x[b];
        }
      }
      if (m_.tied) g[R - 1] += tie_slope_, H_[R * R - 1] += tie_curvature_;
      factorise();
      step = g;
      forward(step.data()), backward(step.data());
      double length = 0;
      for (std::int64_t a = 0; a < R; ++a) length += step[a] * g[a];
      double scale = length > kLongest ? std::sqrt(kLongest / length) : 1.0;
      if (m_.tied && std::abs(step[R - 1]) * scale > 1) scale = 1 / std::abs(step[R - 1]);
      for (std::int64_t a = 0; a < R; ++a) u[a] += scale * step[a];
      if (R) u[R] = 1 / (H_[R * R - 1] * H_[R * R - 1]);
      for (std::int64_t t = 0; t < n_; ++t) {
        std::copy_n(X_.data() + t * R, R, step.begin());
        forward(step.data());
        double v = 0;
        for (double y : step) v += y * y;
        variance[t] = static_cast<float>(v);
      }
    }
    slopes(u, variance);
  }

  // Adds what the fixed coefficients and the prior are found from; returns the bound on the log-likelihood.
  double sums(const double* u, const float* variance, double count, MixedSums& out) const {
    const std::int64_t R = m_.random(), f = m_.n_fixed(), at = m_.d;
    std::vector<double> g(f, 0.0), information(f * f, 0.0), C(f * R, 0.0), S(R * R, 0.0);
    for (std::int64_t t = 0; t < n_; ++t) {
      const double *x = X_.data() + t * R, *row = F_.data() + t * f, slope = mean_[t], curve = curvature_[t];
      for (std::int64_t a = 0; a < f; ++a) {
        g[a] += slope * row[a];
        for (std::int64_t b = 0; b < f; ++b) information[a * f + b] += curve * row[a] * row[b];
        for (std::int64_t b = 0; b < R; ++b) C[a * R + b] += curve * row[a] * x[b];
      }
    }
    if (m_.tied) {
      g[at] += tie_slope_, information[at * f + at] += tie_curvature_, C[at * R + R - 1] += tie_curvature_;
    }
    for (std::int64_t a = 0; a < f; ++a) forward(C.data() + a * R);  // so that C C' is what the random ones take away
    for (std::int64_t a = 0; a < R; ++a) {
      double* column = S.data() + a * R;
      column[a] = 1;
      forward(column), backward(column);
    }
    for (std::int64_t a = 0; a < R; ++a)
      for (std::int64_t b = 0; b < R; ++b) out.moments[a * R + b] += count * (u[a] * u[b] + S[a * R + b]);
    for (std::int64_t a = 0; a < f; ++a) {
      out.gradient[a] += count * g[a];
      for (std::int64_t b = 0; b < f; ++b) {
        double taken = 0;
        for (std::int64_t k = 0; k < R; ++k) taken += C[a * R + k] * C[b * R + k];
        out.information[a * f + b] += count * (information[a * f + b] - taken);
        out.squares[a * f + b] += count * count * g[a] * g[b];
      }
    }
    double bound = 0.5 * static_cast<double>(R) + tie_value_;
    for (std::int64_t a = 0; a < R; ++a) {
      bound -= std::log(H_[a * R + a]);
      for (std::int64_t b = 0; b < R; ++b) bound -= 0.5 * m_.precision[a * R + b] * (u[a] * u[b] + S[a * R + b]);
    }
    const double far = std::sqrt(3.0);
    for (std::int64_t t = 0; t < n_; ++t) {
      double x = margin_[t], spread = far * std::sqrt(static_cast<double>(variance[t]));
      bound += weight_[t] * (4 * log_sigma(x) + log_sigma(x - spread) + log_sigma(x + spread)) / 6;
    }
    return bound;
  }

 private:
  static constexpr double kLongest = 25.0, kReluctance = 30.0;

  bool half(std::int64_t t) const { return m_.tied && m_.tied[begin_ + t]; }
  static double log_sigma(double x) { return x > 0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x)); }

  // At the mean: the expected slopes and curvatures of the rows, and what a tie's normalisation adds.
  void slopes(const double* u, const float* variance) {
    const std::int64_t R = m_.random(), f = m_.n_fixed(), r = m_.rank;
    // The reluctance at three points stands for its distribution, whose logarithm is normal; without ties it is 0.
    constexpr double kWeight[] = {2.0 / 3, 1.0 / 6, 1.0 / 6};
    double at[3] = {}, mean = 0;
    if (m_.tied)
      for (int k = 0; k < 3; ++k) {
        double off = (k == 0 ? 0 : k == 1 ? 1 : -1) * std::sqrt(3 * u[R]);
        at[k] = std::min(std::exp(m_.fixed[m_.d] + u[R - 1] + off), kReluctance);
        mean += kWeight[k] * at[k];
      }
    const double own = m_.tied ? mean * mean * u[R] : 0;  // its part of a margin's variance
    margin_.resize(n_);
    tie_slope_ = tie_curvature_ = tie_value_ = 0;
    for (std::int64_t t = 0; t < n_; ++t) {
      double *x = X_.data() + t * R, *row = F_.data() + t * f, m = 0, sign = half(t) ? 1 : -1;
      if (m_.tied) x[R - 1] = row[m_.d] = sign * mean;
      for (std::int64_t k = 0; k < m_.d; ++k) m += m_.fixed[k] * row[k];
      for (std::int64_t k = f - r - 1; k < f; ++k) m += m_.fixed[k] * row[k];
      for (std::int64_t k = 0; k < r; ++k) m += u[k] * x[k];
      margin_[t] = m + sign * mean;
      double q = 1 / std::sqrt(1 + std::numbers::pi / 8 * std::max(static_cast<double>(variance[t]) - own, 0.0));
      mean_[t] = curvature_[t] = 0;
      for (int k = 0; k < (m_.tied ? 3 : 1); ++k) {
        double y = q * (m + sign * at[k]), e = std::exp(-std::abs(y)), p = y > 0 ? e / (1 + e) : 1 / (1 + e);
        double w = weight_[t] * (m_.tied ? kWeight[k] : 1.0);
        mean_[t] += w * p;
        curvature_[t] += w * q * p * (1 - p);
        tie_slope_ += w * p * sign * (at[k] - mean);  // what the product of the means lacks
      }
    }
    for (int k = 0; k < (ties_ > 0 ? 3 : 0); ++k) {
      double e = std::exp(-2 * at[k]), rest = -std::expm1(-2 * at[k]), w = kWeight[k] * ties_;
      tie_slope_ += w * 2 * e / rest * at[k];
      tie_curvature_ += w * 4 * e / (rest * rest) * at[k] * at[k];
      tie_value_ += w * std::log(rest);
    }
  }

  // H = L L', L in its lower triangle.
  void factorise() {
    cholesky(H_.data(), m_.random(),
             [](std::int64_t, double full, double rest) { return std::sqrt(std::max(rest, 1e-12 * full)); });
  }
  void forward(double* y) const {
    const std::int64_t R = m_.random();
    for (std::int64_t a = 0; a < R; ++a) {
      for (std::int64_t b = 0; b < a; ++b) y[a] -= H_[a * R + b] * y[b];
      y[a] /= H_[a * R + a];
    }
  }
  void backward(double* y) const {
    const std::int64_t R = m_.random();
    for (std::int64_t a = R - 1; a >= 0; --a) {
      y[a] /= H_[a * R + a];
      for (std::int64_t b = 0; b < a; ++b) y[b] -= H_[a * R + b] * y[a];
    }
  }

  const MixedModel& m_;
  std::int64_t begin_, n_;
  double ties_ = 0, tie_slope_ = 0, tie_curvature_ = 0, tie_value_ = 0;
  std::vector<double> X_, F_, weight_, margin_, mean_, curvature_, H_;
};

// Solves every person in place (`people` has a row each, as solve takes it, `variance` one number a comparison) and
// returns the sums; `bound` gets each person's, which lacks half the log-determinant of the prior's precision.
inline MixedSums mixed_pass(const MixedModel& model, double* people, float* variance, const double* count, int steps,
                            double* bound, int n_threads) {
  const std::int64_t n = model.s.n_users, R = model.random();
  const std::int64_t size = std::max<std::int64_t>(16, (n + 255) / 256), n_chunks = (n + size - 1) / size;
  std::vector<MixedSums> part(n_chunks, MixedSums(R, model.n_fixed()));
  for_ranges(n_threads, n, size, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      MixedPerson person(model, i);
      float* v = variance + model.s.pair_start[i];
      person.solve(people + i * (R + 1), v, steps);
      bound[i] = person.sums(people + i * (R + 1), v, count[i], part[first / size]);
    }
  });
  MixedSums total(R, model.n_fixed());
  for (const MixedSums& one : part) total += one;
  return total;
}

}  // namespace rather
