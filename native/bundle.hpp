// A bundle method with a certificate: minimises 1/2 |x|^2 + loss(x) for a convex loss that is never negative.
//
// Every evaluation at some x gives a plane below the loss, <a, .> + b. The least of 1/2 |x|^2 + the highest plane is a
// lower bound; it lies at x = -sum alpha_t a_t, where alpha maximises the dual D = <b, alpha> - 1/2 |sum alpha_t a_t|^2
// over the simplex. Any alpha there gives a valid bound, so the gap does not rest on how well D is maximised. The next
// evaluation is half way from the best point so far to that x: this takes about half the planes that x itself does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "parallel.hpp"
#include "passes.hpp"

namespace rather {

struct BundleOptions {
  int planes = 100;   // at most
  double gap = 1e-3;  // stop at this share of the objective
  int n_threads = 1;
};

struct BundleReport {
  double loss = 0, gap = 0;  // at the best point; the gap is how much less the minimum can be at most

  void operator+=(const BundleReport& other) { loss += other.loss, gap += other.gap; }
};

class Bundle {
 public:
  Bundle(std::int64_t size, const BundleOptions& options)
      : size_(size),
        options_(options),
        planes_((options.planes + 2) * size),
        trial_(size),
        gram_((options.planes + 1) * (options.planes + 1)),
        offset_(options.planes + 1),
        alpha_(options.planes + 1),
        slope_(options.planes + 1) {}

  // Improves x, of `size` floats. oracle(x, a) returns the loss at x and fills a with a subgradient.
  template <class Oracle>
  BundleReport minimise(float* x, Oracle&& oracle) {
    count_ = 0;
    add_plane(0);  // the loss is never negative
    alpha_[0] = 1;
    BundleReport best;
    double dual = 0, best_value = 0;
    std::copy_n(x, size_, trial_.data());
    while (true) {
      float* a = planes_.data() + count_ * size_;
      double loss = oracle(trial_.data(), a), ridge = 0.5 * dot(trial_.data(), trial_.data());
      if (count_ == 1 || loss + ridge < best_value) {
        best.loss = loss, best_value = loss + ridge;
        std::copy_n(trial_.data(), size_, x);
      }
      best.gap = best_value - dual;
      if (best.gap <= options_.gap * best_value || count_ > options_.planes) return best;
      add_plane(loss - dot(a, trial_.data()));
      dual = std::max(dual, solve());
      step_from(x);
    }
  }

 private:
  double dot(const float* a, const float* b) const {
    return sum_ranges(options_.n_threads, size_, kRange, [&](int, std::int64_t first, std::int64_t last) {
      return inner(a + first, b + first, last - first);
    });
  }

  // Takes over the plane whose slope stands in the next row.
  void add_plane(double offset) {
    const float* a = planes_.data() + count_ * size_;
    offset_[count_] = offset;
    alpha_[count_] = 0;
    for (int t = 0; t <= count_; ++t)
      gram(t, count_) = gram(count_, t) = count_ ? dot(planes_.data() + t * size_, a) : 0;
    ++count_;
  }

  // Maximises D over the simplex by moving weight between two planes at a time, from where it stands; returns D.
  double solve() {
    for (int t = 0; t < count_; ++t) {
      slope_[t] = offset_[t];
      for (int s = 0; s < count_; ++s) slope_[t] -= gram(t, s) * alpha_[s];
    }
    const double enough = 0.1 * options_.gap * std::max(value(), 1e-30);
    for (int step = 0; step < 20 * count_; ++step) {
      int to = static_cast<int>(std::max_element(slope_.begin(), slope_.begin() + count_) - slope_.begin()), from = -1;
      double most = 0, move = 0, left = 0;  // left: a bound on what there is to gain
      for (int t = 0; t < count_; ++t) {
        double rise = slope_[to] - slope_[t], bend = gram(to, to) + gram(t, t) - 2 * gram(to, t);
        if (alpha_[t] <= 0 || rise <= 0) continue;
        left += rise * alpha_[t];
        double best = rise >= alpha_[t] * bend ? alpha_[t] : rise / bend, gain = best * (rise - 0.5 * best * bend);
        if (gain > most) most = gain, move = best, from = t;
      }
      if (left <= enough || from < 0) break;
      alpha_[to] += move;
      alpha_[from] -= move;
      for (int t = 0; t < count_; ++t) slope_[t] += move * (gram(t, from) - gram(t, to));
    }
    return value();
  }

  double value() const {
    double total = 0;  // <b, alpha> - 1/2 alpha' G alpha, with G alpha = b - slope
    for (int t = 0; t < count_; ++t) total += 0.5 * alpha_[t] * (offset_[t] + slope_[t]);
    return total;
  }

  // trial <- half way from x to -sum alpha_t a_t
  void step_from(const float* x) {
    for_ranges(options_.n_threads, size_, kRange, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) trial_[k] = 0.5f * x[k];
      for (int t = 0; t < count_; ++t) {
        if (alpha_[t] == 0) continue;
        const float* a = planes_.data() + t * size_;
        const float half = static_cast<float>(0.5 * alpha_[t]);
        for (std::int64_t k = first; k < last; ++k) trial_[k] -= half * a[k];
      }
    });
  }

  double& gram(int t, int s) { return gram_[t * (options_.planes + 1) + s]; }

  static constexpr std::int64_t kRange = 1 << 14;
  std::int64_t size_;
  BundleOptions options_;
  int count_ = 0;
  Aligned<float> planes_, trial_;
  std::vector<double> gram_, offset_, alpha_, slope_;
};

}  // namespace rather
