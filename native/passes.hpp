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
#include "pairs.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "sweep.hpp"

namespace rather {

inline constexpr std::int64_t kUserChunk = 16, kItemChunk = 16;

struct Scalars {  // m, c, d and order are over the store's entries, weight over its users
  float *m, *c, *d;
  std::uint32_t* order;           // null when no user is swept
  const float* weight;            // a factor on all comparisons of a user
  const float* offset = nullptr;  // added to the margins of written comparisons, over them; null: none
};

// One user's comparisons and the scores they are evaluated at, in padded buffers.
template <class Loss>
class UserLoss {
 public:
  static constexpr bool kSwept = std::is_same_v<Loss, SquaredHinge> || std::is_same_v<Loss, Hinge>;

  // All results are multiplied by the user's weight; `order` is where a swept user's sorted order is kept between calls.
  UserLoss(const Loss& loss, const Store& s, std::int64_t i, const Scalars& z, std::uint32_t* order)
      : loss_(loss), s_(s), i_(i), weight_(z.weight[i]), offset_(z.offset), order_(order) {}

  static bool swept(const Store& s, std::int64_t i) { return kSwept && s.by_level && s.entries(i) >= Sweep::kFrom; }

  double slopes(const float* m, float* c, float* d) const {
    double value = unweighted_slopes(m, c, d);
    for (std::int32_t k = 0; k < s_.entries(i_); ++k) c[k] *= weight_, d[k] *= weight_;
    return weight_ * value;
  }

  void curvature(const float* m, const float* x, float* h) const {
    unweighted_curvature(m, x, h);
    for (std::int32_t k = 0; k < s_.entries(i_); ++k) h[k] *= weight_;
  }

 private:
  double unweighted_slopes(const float* m, float* c, float* d) const {
    if (!s_.by_level) return Pairs(s_, i_, offset_).slopes(loss_, m, c, d);
    if constexpr (kSwept)
      if (swept(s_, i_)) {
        Sweep sweep(s_, i_);
        sweep.sort(m, order_);
        return sweep.slopes(loss_, m, order_, c, d);
      }
    return Levels(s_, i_).slopes(loss_, m, c, d);
  }

  void unweighted_curvature(const float* m, const float* x, float* h) const {
    if (!s_.by_level) return Pairs(s_, i_, offset_).curvature(loss_, m, x, h);
    if constexpr (kSwept)
      if (swept(s_, i_)) return Sweep(s_, i_).curvature(loss_, m, order_, x, h);
    Levels(s_, i_).curvature(loss_, m, x, h);
  }

  const Loss& loss_;
  const Store& s_;
  std::int64_t i_;
  float weight_;
  const float* offset_;
  std::uint32_t* order_;
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
inline void scores(const Store& s, const float* U, const float* V, std::int64_t ld, float* m, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      dots(V, s.item.data() + s.start[i], s.entries(i), ld, U + i * ld, m + s.start[i]);
  });
}

// Evaluates the loss at scores z.m; fills z.c, z.d (and z.order) and returns the loss.
template <class Loss>
double evaluate(const Loss& loss, const Store& s, const Scalars& z, int n_threads) {
  Scratches work(s, kRowPad, false, n_threads);
  return s.users.sum(n_threads, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    Scratch& w = work[thread];
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t e = s.start[i], n = s.entries(i);
      std::copy_n(z.m + e, n, w.m.data());
      total += UserLoss<Loss>(loss, s, i, z, z.order ? z.order + e : w.order.data())
                   .slopes(w.m.data(), w.c.data(), w.d.data());
      std::copy_n(w.c.data(), n, z.c + e);
      std::copy_n(w.d.data(), n, z.d + e);
    }
    return total;
  });
}

// The sum of a number for every user.
inline double sum_users(const Store& s, const double* x, int n_threads) {
  return s.users.sum(n_threads, 1 << 12, [&](int, std::int64_t first, std::int64_t last) {
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) total += x[i];
    return total;
  });
}

// w.h <- the Hessian of one user's loss times w.x
template <class Loss>
void curve(const Loss& loss, const Store& s, std::int64_t i, const Scalars& z, Scratch& w) {
  const std::int64_t e = s.start[i];
  std::copy_n(z.m + e, s.entries(i), w.m.data());
  UserLoss<Loss>(loss, s, i, z, z.order ? z.order + e : nullptr).curvature(w.m.data(), w.x.data(), w.h.data());
}

// The derivative of the loss at z.m + t x along x.
template <class Loss>
double slope_along(const Loss& loss, const Store& s, const Scalars& z, const float* x, float t, int n_threads) {
  Scratches work(s, kRowPad, false, n_threads);
  return s.users.sum(n_threads, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    Scratch& w = work[thread];
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t e = s.start[i], n = s.entries(i);
      for (std::int64_t k = 0; k < n; ++k) w.m[k] = z.m[e + k] + t * x[e + k];
      UserLoss<Loss>(loss, s, i, z, w.order.data()).slopes(w.m.data(), w.c.data(), w.d.data());
      total += inner(w.c.data(), x + e, n);
    }
    return total;
  });
}

// A <- A with rows times `by_row` (none: 1) and columns times `by_column`.
inline void scale_rows(float* A, std::int64_t n, std::int64_t ld, const float* by_row, const float* by_column,
                       int n_threads) {
  for_ranges(n_threads, n, 256, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Lanes row = splat(by_row ? by_row[i] : 1.0f);
      for (std::int64_t c = 0; c < ld; c += kLanes)
        store(A + i * ld + c, row * load(by_column + c) * load(A + i * ld + c));
    }
  });
}

// The sum of the squares of numbers over the entries.
inline double square_sum(const Store& s, const float* x, int n_threads) {
  return s.entry_shards.sum(n_threads, 1 << 14, [&](int, std::int64_t first, std::int64_t last) {
    return inner(x + first, x + first, last - first);
  });
}

// to <- from, n numbers; returns whether all of them are between -largest and largest.
inline bool copy_within(const float* from, float* to, std::int64_t n, float largest, int n_threads) {
  return 0 == sum_ranges(n_threads, n, 1 << 16, [&](int, std::int64_t first, std::int64_t last) {
           std::int64_t outside = 0;
           for (std::int64_t k = first; k < last; ++k) {
             to[k] = from[k];
             outside += !(std::abs(from[k]) < largest);  // also what is no number
           }
           return static_cast<double>(outside);
         });
}

// The slope and the curvature of every written comparison's loss at scores z.m, with its weight and the user's.
template <class Loss>
void pair_slopes(const Loss& loss, const Store& s, const Scalars& z, float* slope, float* curvature, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      Pairs(s, i, z.offset)
          .each(loss, z.m + s.start[i], z.weight[i], slope + s.pair_start[i], curvature + s.pair_start[i]);
  });
}

// out_i = sum over the items j that i saw of coefficient_ij A_j.
inline void user_products(const Store& s, const float* coefficient, const float* A, std::int64_t ld, float* out,
                          int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::fill_n(out + i * ld, ld, 0.0f);
      combine(A, s.item.data() + s.start[i], coefficient + s.start[i], s.entries(i), ld, out + i * ld);
    }
  });
}

// out_ij = left_i c_ij right_j; no c: all ones
inline void scaled(const Store& s, const float* c, const float* left, const float* right, float* out, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e)
        out[e] = left[i] * (c ? c[e] : 1.0f) * right[s.item[e]];
  });
}

// The sum of every user's numbers.
inline void user_sums(const Store& s, const float* x, float* out, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      double total = 0;
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e) total += x[e];
      out[i] = static_cast<float>(total);
    }
  });
}

// The mean squares of the columns of A (rows of ld floats), rows weighted.
inline std::vector<float> mean_squares(const float* A, std::int64_t ld, const std::vector<float>& weight,
                                       const Shards& rows, int n_threads) {
  std::vector<double> total(ld + 1);  // of the columns, and of the weights
  rows.sum_arrays(total.data(), ld + 1, n_threads, [&](std::int64_t shard, double* to) {
    const std::int64_t start = rows.first(shard), n = rows.size(shard),
                       size = std::max<std::int64_t>(256, (n + 63) / 64);
    Aligned<double> part((n + size - 1) / size * (ld + 1));
    for_ranges(n_threads, n, size, [&](int, std::int64_t first, std::int64_t last) {
      double* sums = part.data() + first / size * (ld + 1);
      for (std::int64_t i = start + first; i < start + last; ++i) {
        for (std::int64_t c = 0; c < ld; ++c) sums[c] += weight[i] * (A[i * ld + c] * A[i * ld + c]);
        sums[ld] += weight[i];
      }
    });
    std::fill_n(to, ld + 1, 0.0);
    for (std::int64_t k = 0; k < n; k += size)
      for (std::int64_t c = 0; c <= ld; ++c) to[c] += part[k / size * (ld + 1) + c];
  });
  std::vector<float> mean(ld, 0.0f);
  for (std::int64_t c = 0; c < ld && total[ld] > 0; ++c) mean[c] = static_cast<float>(total[c] / total[ld]);
  return mean;
}

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
