// The passes over the data that every solver is made of.
//
// U and V have rows of r + 1 numbers, padded with zeros to ld: the bias is column r of V, against a column r of U that
// is fixed (1, or 0 for a model without bias). Scalars per (user, item seen) are arrays over the store's entries: the
// scores m = s_ij, c = dloss/dm and d = the diagonal of d2loss/dm2.
//
//   scores           m from U and V
//   evaluate         the loss at m, with c and d
//   user_products    for every user, a combination of the rows of the items seen
//   scaled           entries times a number per user and a number per item
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "aligned.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "user_loss.hpp"

namespace rather {

inline constexpr std::int64_t kUserChunk = 16, kItemChunk = 16;

struct Scalars {  // m, c, d and order are over the store's entries, weight over its users
  float *m, *c, *d;
  std::uint32_t* order;           // null when no user is swept
  const float* weight;            // a factor on all comparisons of a user
  const float* offset = nullptr;  // added to the margins of written comparisons, over them; null: none
};

// A loss over one user's comparisons, with the user's weight on all results.
class UserLoss {
 public:
  // `order` is where a swept user's sorted order is kept between calls.
  UserLoss(const PairLoss& loss, const Store& s, std::int64_t i, const Scalars& z, std::uint32_t* order)
      : loss_(loss), user_{s, i, z.offset, order}, weight_(z.weight[i]) {}

  double slopes(const float* m, float* c, float* d) const {
    double value = loss_.slopes(user_, m, c, d);
    for (std::int32_t k = 0; k < user_.s.entries(user_.i); ++k) c[k] *= weight_, d[k] *= weight_;
    return weight_ * value;
  }

  void curvature(const float* m, const float* x, float* h) const {
    loss_.curvature(user_, m, x, h);
    for (std::int32_t k = 0; k < user_.s.entries(user_.i); ++k) h[k] *= weight_;
  }

 private:
  const PairLoss& loss_;
  Compared user_;
  float weight_;
};

// Buffers of one thread, large enough for the user with most entries.
struct Scratch {
  Scratch(const Store& s, std::int64_t ld, bool with_rows)
      : n(s.longest + kLanes),
        W(with_rows ? s.longest * ld : 0),
        m(n),
        c(n),
        d(n),
        x(n),
        h(n),
        dm(n),
        trial(n),
        order(s.longest),
        g(ld),
        p(ld),
        Hp(ld),
        step(ld),
        next(ld),
        own(ld) {}
  std::int64_t n;
  Aligned<float> W, m, c, d, x, h, dm, trial;
  Aligned<std::uint32_t> order;
  Aligned<float> g, p, Hp, step, next, own;
};

// Those of all threads, each made by the thread that first uses it.
class Scratches {
 public:
  Scratches(const Store& s, std::int64_t ld, bool with_rows, int n_threads)
      : s_(s), ld_(ld), with_rows_(with_rows), all_(n_threads) {}
  Scratch& operator[](int thread) {
    if (!all_[thread]) all_[thread] = std::make_unique<Scratch>(s_, ld_, with_rows_);
    return *all_[thread];
  }

 private:
  const Store& s_;
  std::int64_t ld_;
  bool with_rows_;
  std::vector<std::unique_ptr<Scratch>> all_;
};

// a . b over n floats: lanes in single precision within kRun floats, runs in double.
inline double inner(const float* a, const float* b, std::int64_t n) {
  constexpr std::int64_t kRun = 256;
  double total = 0;
  std::int64_t k = 0;
  while (k + kLanes <= n) {
    Lanes part{};
    for (std::int64_t end = std::min(n, k + kRun); k + kLanes <= end; k += kLanes) part += load(a + k) * load(b + k);
    total += sum(part);
  }
  for (; k < n; ++k) total += double{a[k]} * b[k];
  return total;
}

// z.m <- scores of every entry.
void scores(const Store& s, const float* U, const float* V, std::int64_t ld, float* m, int n_threads);

// Evaluates the loss at scores z.m; fills z.c, z.d (and z.order) and returns the loss.
double evaluate(const PairLoss& loss, const Store& s, const Scalars& z, int n_threads);

// The sum of a number for every user.
double sum_users(const Store& s, const double* x, int n_threads);

// w.h <- the Hessian of one user's loss times w.x
void curve(const PairLoss& loss, const Store& s, std::int64_t i, const Scalars& z, Scratch& w);

// The derivative of the loss at z.m + t x along x.
double slope_along(const PairLoss& loss, const Store& s, const Scalars& z, const float* x, float t, int n_threads);

// A <- A with rows times `by_row` (none: 1) and columns times `by_column`.
void scale_rows(float* A, std::int64_t n, std::int64_t ld, const float* by_row, const float* by_column, int n_threads);

// The sum of the squares of numbers over the entries.
double square_sum(const Store& s, const float* x, int n_threads);

// to <- from, n numbers; returns whether all of them are between -largest and largest.
bool copy_within(const float* from, float* to, std::int64_t n, float largest, int n_threads);

// The slope and the curvature of every written comparison's loss at scores z.m, with its weight and the user's.
void pair_slopes(const PairLoss& loss, const Store& s, const Scalars& z, float* slope, float* curvature, int n_threads);

// out_i = sum over the items j that i saw of coefficient_ij A_j.
void user_products(const Store& s, const float* coefficient, const float* A, std::int64_t ld, float* out,
                   int n_threads);

// out_ij = left_i c_ij right_j; no c: all ones
void scaled(const Store& s, const float* c, const float* left, const float* right, float* out, int n_threads);

// The sum of every user's numbers.
void user_sums(const Store& s, const float* x, float* out, int n_threads);

// The mean squares of the columns of A (rows of ld floats), rows weighted.
std::vector<float> mean_squares(const float* A, std::int64_t ld, const std::vector<float>& weight, const Shards& rows,
                                int n_threads);

// Ridges of the item side: q_j for the first `free` columns of row j, beta_j for the bias column after them. The
// padding beyond is 0 in V and in every direction; its ridge only must not be 0.
struct ItemRidge {
  const float *q, *beta;
  std::int64_t free, ld;

  float at(std::int64_t j, std::int64_t k) const { return k < free ? q[j] : k == free ? beta[j] : 1.0f; }

  Aligned<float> rows(std::int64_t n_items) const {
    Aligned<float> all(n_items * ld);
    for (std::int64_t j = 0; j < n_items; ++j)
      for (std::int64_t k = 0; k < ld; ++k) all[j * ld + k] = at(j, k);
    return all;
  }

  // 1/2 sum of ridge * A * A
  double half_square(const float* A, std::int64_t n_items) const {
    double total = 0;
    for (std::int64_t j = 0; j < n_items; ++j) {
      const float* a = A + j * ld;
      total += 0.5 * (q[j] * inner(a, a, free) + double{beta[j]} * a[free] * a[free]);
    }
    return total;
  }
};

}  // namespace rather
