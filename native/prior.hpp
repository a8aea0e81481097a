// Means of the rows of a factor that are linear in features of the rows: the prior of a hierarchical model.
//
//   row x_n ~ C' f_n,  where C minimises  sum_n w_n |x_n - C' f_n|^2 + lambda |C|^2
//
// With C at its best the ridges are a quadratic form of the rows alone, x' K x with K = W - W F (F'WF + lambda)^-1 F'W,
// whose product with rows is W (x - F C). Rows without any features (k = 0) have the mean 0.
#pragma once

#include <cmath>
#include <vector>

#include "spectral.hpp"

namespace rather {

class Prior {
 public:
  // F: rows of ldf floats of which the first k are features. It must outlive this.
  Prior(const float* F, std::int64_t ldf, std::int64_t k, std::vector<float> weight, Shards rows, double lambda,
        int n_threads)
      : F_(F), ldf_(ldf), k_(k), weight_(std::move(weight)), rows_(std::move(rows)), lambda_(lambda) {
    inverse_ = inverted(gram(F_, rows_, ldf_, k_, n_threads, weight_.data()), n_threads);
  }

  double lambda() const { return lambda_; }
  std::int64_t k() const { return k_; }
  std::int64_t n() const { return rows_.n(); }
  const Shards& rows() const { return rows_; }
  const float* features() const { return F_; }
  std::int64_t ldf() const { return ldf_; }

  // F'WX: k x ld numbers.
  std::vector<float> sums(const float* X, std::int64_t ld, int n_threads) const {
    std::vector<double> all = cross(F_, ldf_, k_, X, ld, weight_.data(), rows_, n_threads);
    return {all.begin(), all.end()};
  }

  // The inverse of F' diag(w) F + lambda, for other weights; of many features about that, by some of the rows.
  std::vector<float> inverse_for(const std::vector<float>& w, int n_threads) const {
    return inverted(
        k_ > kMany && rows_.whole() ? sampled_gram(w, n_threads) : gram(F_, rows_, ldf_, k_, n_threads, w.data()),
        n_threads);
  }

  // C (k x ld) from sums, by the inverse for the rows' own weights or one that is given.
  void coefficients(const std::vector<float>& sums, std::int64_t ld, float* C, int n_threads,
                    const std::vector<float>* by = nullptr) const {
    multiply((by ? *by : inverse_).data(), k_, k_, sums.data(), ld, C, k_, n_threads);
  }

  // Calls each(n, mean of row n) for the means F C, and returns the sum of what that returns.
  double for_means(const float* C, std::int64_t ld, int n_threads, Body<double(std::int64_t, float*)> each) const {
    return multiply_each(F_, ldf_, k_, C, ld, rows_, n_threads, each);
  }

  // C (k x ld) and, if they are wanted, the means (n x ld) for rows X (n x ld).
  void regress(const float* X, std::int64_t ld, float* C, float* mean, int n_threads) const {
    coefficients(sums(X, ld, n_threads), ld, C, n_threads);
    if (mean) multiply(F_, ldf_, k_, C, ld, mean, n(), n_threads);
  }

 private:
  static constexpr std::int64_t kMany = 256, kRowsEach = 8;  // features, and rows for each of them

  // F' diag(w) F by every so-manieth row, as many times as heavy.
  Small sampled_gram(const std::vector<float>& w, int n_threads) const {
    const std::int64_t step = std::max<std::int64_t>(1, n() / (kRowsEach * k_)), m = (n() + step - 1) / step;
    if (step == 1) return gram(F_, rows_, ldf_, k_, n_threads, w.data());
    Aligned<float> some(m * ldf_, kUnfilled);
    std::vector<float> heavier(m);
    for (std::int64_t i = 0; i < m; ++i) {
      std::copy_n(F_ + i * step * ldf_, ldf_, some.data() + i * ldf_);
      heavier[i] = static_cast<float>(step) * w[i * step];
    }
    return gram(some.data(), Shards(m), ldf_, k_, n_threads, heavier.data());
  }

  std::vector<float> inverted(Small G, int n_threads) const {
    for (std::int64_t a = 0; a < k_; ++a) G(a, a) += lambda_;
    Small found = inverse(std::move(G), n_threads);
    return {found.a.begin(), found.a.end()};
  }

  const float* F_;
  std::int64_t ldf_, k_;
  std::vector<float> weight_, inverse_;
  Shards rows_;
  double lambda_;
};

// One side of a factor model with prior means: its rows are L x, where x has a row for every row and one for every
// feature, and L = [diag(root)^-1, F / root_lambda].
struct Expansion {
  const float* inverse_root;  // of the shapes of the ridges
  const Prior& prior;
  float inverse_root_lambda;

  Expansion(const float* inverse_root, const Prior& prior)
      : inverse_root(inverse_root),
        prior(prior),
        inverse_root_lambda(static_cast<float>(1 / std::sqrt(prior.lambda()))) {}

  std::int64_t n() const { return prior.n(); }
  std::int64_t size() const { return prior.n() + prior.k(); }

  void rows(const float* x, float* out, std::int64_t ld, int n_threads) const {
    multiply(prior.features(), prior.ldf(), prior.k(), x + n() * ld, ld, out, n(), n_threads);
    for_ranges(n_threads, n(), 64, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t c = 0; c < ld; ++c)
          out[i * ld + c] = inverse_root_lambda * out[i * ld + c] + inverse_root[i] * x[i * ld + c];
    });
  }

  // x <- L' rows
  void contract(const float* rows, float* x, std::int64_t ld, int n_threads) const {
    for_ranges(n_threads, n(), 64, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t c = 0; c < ld; ++c) x[i * ld + c] = inverse_root[i] * rows[i * ld + c];
    });
    std::vector<double> shared =
        cross(prior.features(), prior.ldf(), prior.k(), rows, ld, nullptr, prior.rows(), n_threads);
    for (std::size_t c = 0; c < shared.size(); ++c)
      x[n() * ld + c] = inverse_root_lambda * static_cast<float>(shared[c]);
  }
};

// The leading singular triples of L' C M, where C has the given entries. On entry right (n_items x ld) holds a random
// block, which the features' part follows; on return left and right hold the rows of U and V that the singular vectors
// stand for.
inline std::vector<double> singular_expanded(const Store& s, const float* coefficient, const Expansion& users,
                                             const Expansion& items, float* left, float* right, std::int64_t ld,
                                             std::int64_t l, int iterations, int n_threads) {
  Aligned<float> x(users.size() * ld), y(items.size() * ld);
  std::copy_n(right, items.n() * ld, y.data());
  std::vector<double> values = singular(
      users.prior.rows(), users.prior.k(), items.size(),
      [&](const float* from, float* to) {
        items.rows(from, right, ld, n_threads);
        user_products(s, coefficient, right, ld, left, n_threads);
        users.contract(left, to, ld, n_threads);
      },
      [&](const float* from, float* to) {
        users.rows(from, left, ld, n_threads);
        item_products(s, coefficient, left, ld, right, n_threads);
        items.contract(right, to, ld, n_threads);
      },
      x.data(), y.data(), ld, l, iterations, n_threads);
  users.rows(x.data(), left, ld, n_threads);
  items.rows(y.data(), right, ld, n_threads);
  return values;
}

}  // namespace rather
