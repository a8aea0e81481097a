// Ridge regression of every user, or every item, on the rows of the other side: one half of alternating least squares.
//
//   f_ij = u_i . v_j + o_i + b_j, where U = [u | o] and V = [v | b]
//
// One side minimises 1/2 sum (f_ij - y_ij)^2 + ridge/2 |row|^2 + last_ridge/2 (last column)^2, row by row. Offsets of
// users have no ridge.
#pragma once

#include <cmath>
#include <vector>

#include "dense.hpp"
#include "passes.hpp"

namespace rather {

struct Regression {
  std::int64_t rank, columns, ld;  // columns to solve for: the rank, or one more
};

// The regressions of one thread.
class RowRegression {
 public:
  explicit RowRegression(const Regression& r)
      : r_(r), gram_(r.columns * r.columns), w_(r.columns), x_(r.columns, 1.0) {}

  // Solves for one row from n rows of B and the values there; returns 1/2 the sum of squared errors.
  double operator()(const float* B, const std::int32_t* rows, const float* y, std::int64_t n, double ridge,
                    double last_ridge, float* out) {
    const std::int64_t p = r_.columns;
    std::fill(gram_.begin(), gram_.end(), 0.0);
    std::fill(w_.begin(), w_.end(), 0.0);
    for (std::int64_t k = 0; k < p; ++k) gram_[k * p + k] = k < r_.rank ? ridge : last_ridge;
    for (std::int64_t e = 0; e < n; ++e) {
      const float* b = B + rows[e] * r_.ld;
      std::copy_n(b, r_.rank, x_.begin());
      double target = double{y[e]} - b[r_.rank];
      for (std::int64_t k = 0; k < p; ++k) {
        w_[k] += target * x_[k];
        for (std::int64_t l = 0; l <= k; ++l) gram_[k * p + l] += x_[k] * x_[l];
      }
    }
    solve();
    for (std::int64_t k = 0; k < p; ++k) out[k] = static_cast<float>(w_[k]);
    double loss = 0;
    for (std::int64_t e = 0; e < n; ++e) {
      const float* b = B + rows[e] * r_.ld;
      double error = double{b[r_.rank]} + out[r_.rank] - y[e] + inner(b, out, r_.rank);
      loss += 0.5 * error * error;
    }
    return loss;
  }

 private:
  // w <- gram^-1 w by Cholesky's method.
  void solve() {
    const std::int64_t p = r_.columns;
    cholesky(gram_.data(), p, [](std::int64_t, double, double rest) { return std::sqrt(rest); });
    for (std::int64_t k = 0; k < p; ++k) {
      for (std::int64_t t = 0; t < k; ++t) w_[k] -= gram_[k * p + t] * w_[t];
      w_[k] /= gram_[k * p + k];
    }
    for (std::int64_t k = p; k-- > 0;) {
      for (std::int64_t t = k + 1; t < p; ++t) w_[k] -= gram_[t * p + k] * w_[t];
      w_[k] /= gram_[k * p + k];
    }
  }

  Regression r_;
  std::vector<double> gram_, w_, x_;
};

// Solves every user who has entries; y is over the store's entries. Returns the loss.
inline double regress_users(const Store& s, const float* y, const float* V, float* U, const Regression& r, double reg,
                            int n_threads) {
  std::vector<RowRegression> solve(n_threads, RowRegression(r));
  return sum_ranges(n_threads, s.n_users, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    double total = 0;
    for (std::int64_t i = first; i < last; ++i)
      if (s.entries(i))
        total += solve[thread](V, s.item.data() + s.start[i], y + s.start[i], s.entries(i), reg, 0, U + i * r.ld);
    return total;
  });
}

// Solves every item; one that nobody rated becomes zero. Returns the loss.
inline double regress_items(const Store& s, const float* y, const float* U, float* V, const Regression& r,
                            const float* q, const float* beta, int n_threads) {
  std::vector<RowRegression> solve(n_threads, RowRegression(r));
  return sum_ranges(n_threads, s.n_items, kItemChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    std::vector<float> values;
    std::vector<std::int32_t> users;
    double total = 0;
    for (std::int64_t j = first; j < last; ++j) {
      users.clear(), values.clear();
      for (std::int64_t block = 0; block < s.n_blocks(); ++block)
        for (std::int64_t e = s.column_start[block * s.n_items + j]; e < s.column_start[block * s.n_items + j + 1];
             ++e) {
          users.push_back(s.column_user[e]);
          values.push_back(y[s.start[s.block_start[block]] + s.column_entry[e]]);
        }
      total += solve[thread](U, users.data(), values.data(), static_cast<std::int64_t>(users.size()), q[j], beta[j],
                             V + j * r.ld);
    }
    return total;
  });
}

}  // namespace rather
