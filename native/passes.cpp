// The passes over the data, user by user.
#include "passes.hpp"

#include <cmath>

namespace rather {

void scores(const Store& s, const float* U, const float* V, std::int64_t ld, float* m, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      dots(V, s.item.data() + s.start[i], s.entries(i), ld, U + i * ld, m + s.start[i]);
  });
}

double evaluate(const PairLoss& loss, const Store& s, const Scalars& z, int n_threads) {
  Scratches work(s, kRowPad, false, n_threads);
  return s.users.sum(n_threads, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    Scratch& w = work[thread];
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t e = s.start[i], n = s.entries(i);
      std::copy_n(z.m + e, n, w.m.data());
      total +=
          UserLoss(loss, s, i, z, z.order ? z.order + e : w.order.data()).slopes(w.m.data(), w.c.data(), w.d.data());
      std::copy_n(w.c.data(), n, z.c + e);
      std::copy_n(w.d.data(), n, z.d + e);
    }
    return total;
  });
}

double sum_users(const Store& s, const double* x, int n_threads) {
  return s.users.sum(n_threads, 1 << 12, [&](int, std::int64_t first, std::int64_t last) {
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) total += x[i];
    return total;
  });
}

void curve(const PairLoss& loss, const Store& s, std::int64_t i, const Scalars& z, Scratch& w) {
  const std::int64_t e = s.start[i];
  std::copy_n(z.m + e, s.entries(i), w.m.data());
  UserLoss(loss, s, i, z, z.order ? z.order + e : nullptr).curvature(w.m.data(), w.x.data(), w.h.data());
}

double slope_along(const PairLoss& loss, const Store& s, const Scalars& z, const float* x, float t, int n_threads) {
  Scratches work(s, kRowPad, false, n_threads);
  return s.users.sum(n_threads, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    Scratch& w = work[thread];
    double total = 0;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t e = s.start[i], n = s.entries(i);
      for (std::int64_t k = 0; k < n; ++k) w.m[k] = z.m[e + k] + t * x[e + k];
      UserLoss(loss, s, i, z, w.order.data()).slopes(w.m.data(), w.c.data(), w.d.data());
      total += inner(w.c.data(), x + e, n);
    }
    return total;
  });
}

void scale_rows(float* A, std::int64_t n, std::int64_t ld, const float* by_row, const float* by_column, int n_threads) {
  for_ranges(n_threads, n, 256, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Lanes row = splat(by_row ? by_row[i] : 1.0f);
      for (std::int64_t c = 0; c < ld; c += kLanes)
        store(A + i * ld + c, row * load(by_column + c) * load(A + i * ld + c));
    }
  });
}

double square_sum(const Store& s, const float* x, int n_threads) {
  return s.entry_shards.sum(n_threads, 1 << 14, [&](int, std::int64_t first, std::int64_t last) {
    return inner(x + first, x + first, last - first);
  });
}

bool copy_within(const float* from, float* to, std::int64_t n, float largest, int n_threads) {
  return 0 == sum_ranges(n_threads, n, 1 << 16, [&](int, std::int64_t first, std::int64_t last) {
           std::int64_t outside = 0;
           for (std::int64_t k = first; k < last; ++k) {
             to[k] = from[k];
             outside += !(std::abs(from[k]) < largest);  // also what is no number
           }
           return static_cast<double>(outside);
         });
}

void pair_slopes(const PairLoss& loss, const Store& s, const Scalars& z, float* slope, float* curvature,
                 int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      loss.each({s, i, z.offset, nullptr}, z.m + s.start[i], z.weight[i], slope + s.pair_start[i],
                curvature + s.pair_start[i]);
  });
}

void user_products(const Store& s, const float* coefficient, const float* A, std::int64_t ld, float* out,
                   int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::fill_n(out + i * ld, ld, 0.0f);
      combine(A, s.item.data() + s.start[i], coefficient + s.start[i], s.entries(i), ld, out + i * ld);
    }
  });
}

void scaled(const Store& s, const float* c, const float* left, const float* right, float* out, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e)
        out[e] = left[i] * (c ? c[e] : 1.0f) * right[s.item[e]];
  });
}

void user_sums(const Store& s, const float* x, float* out, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      double total = 0;
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e) total += x[e];
      out[i] = static_cast<float>(total);
    }
  });
}

std::vector<float> mean_squares(const float* A, std::int64_t ld, const std::vector<float>& weight, const Shards& rows,
                                int n_threads) {
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

}  // namespace rather
