// Items that are nothing but their features: V = F C, where C has a row for every feature. With U fixed,
//
//   min over C    loss(scores of U and F C) + 1/2 sum_c reg_c |c_c|^2,    c_c the columns of C
//
// is the problem of joint.hpp in the rows of C, by the passes that are here. Such items occur once, or seldom: so a user's
// scores are taken as F_j . (C u_i) and never as (F_j C) . u_i, which would cost as many times more as C has columns; the
// slopes come back the same way, as (sum over the items j that i saw of c_ij F_j) u_i'.
//
// The preconditioner takes F' diag(h) F to be diagonal, which it nearly is if the features are in their principal axes.
#pragma once

#include <vector>

#include "joint.hpp"

namespace rather {

struct TiedItems {
  const Store& s;
  const float* other;  // U
  const Prior& described;

  const Shards features{described.k()};
  mutable Aligned<float> wanted{static_cast<std::size_t>(s.n_users * described.ldf()),
                                kUnfilled};  // a row of features a user

  const Shards& mine() const { return features; }
  const Shards& theirs() const { return s.users; }

  void products(const float* coefficient, std::int64_t ld, float* out, int n_threads) const {
    user_products(s, coefficient, described.features(), described.ldf(), wanted.data(), n_threads);
    std::vector<double> all =
        cross(wanted.data(), described.ldf(), described.k(), other, ld, nullptr, s.users, n_threads);
    std::copy(all.begin(), all.end(), out);
  }
  void sums(const float* x, float* mine, float* theirs, int n_threads) const {
    user_sums(s, x, theirs, n_threads);
    std::vector<float> h(s.n_items);
    item_sums(s, x, h.data(), n_threads);
    for_ranges(n_threads, described.k(), 16, [&](int, std::int64_t first, std::int64_t last) {
      std::vector<double> total(last - first, 0.0);
      for (std::int64_t j = 0; j < s.n_items; ++j)
        for (std::int64_t a = first; a < last; ++a) {
          const double f = described.features()[j * described.ldf() + a];
          total[a - first] += h[j] * f * f;
        }
      std::copy(total.begin(), total.end(), mine + first);
    });
  }
  // x <- the scores of U and F P
  void scores(const float* P, std::int64_t ld, float* x, int n_threads) const {
    const std::int64_t k = described.k(), ldf = described.ldf();
    Aligned<float> across(ld * ldf);  // P', which U is multiplied by
    for (std::int64_t a = 0; a < k; ++a)
      for (std::int64_t c = 0; c < ld; ++c) across[c * ldf + a] = P[a * ld + c];
    multiply(other, ld, ld, across.data(), ldf, wanted.data(), s.n_users, n_threads);
    rather::scores(s, wanted.data(), described.features(), ldf, x, n_threads);
  }
  void curvature(const PairLoss& loss, const Scalars& z, const float* P, std::int64_t ld, float* h, float* out,
                 Scratches& work, int n_threads) const {
    scores(P, ld, h, n_threads);
    for_ranges(n_threads, s.n_users, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
      Scratch& w = work[thread];
      for (std::int64_t i = first; i < last; ++i) {
        std::copy_n(h + s.start[i], s.entries(i), w.x.data());
        curve(loss, s, i, z, w);
        std::copy_n(w.h.data(), s.entries(i), h + s.start[i]);
      }
    });
    products(h, ld, out, n_threads);
  }
};

// The leading singular triples of L' C F, where C has the given entries: as singular_expanded (prior.hpp), of items that
// have no part of their own, with the sums of every user's features formed once.
inline std::vector<double> singular_tied(const Store& s, const float* coefficient, const Expansion& users,
                                         const Prior& described, float* left, float* right, std::int64_t ld,
                                         std::int64_t l, int iterations, int n_threads) {
  const std::int64_t k = described.k(), ldf = described.ldf();
  Aligned<float> sums(s.n_users * ldf, kUnfilled), x(users.size() * ld), y(k * ld);
  user_products(s, coefficient, described.features(), ldf, sums.data(), n_threads);
  std::copy_n(right, std::min<std::int64_t>(s.n_items, k) * ld, y.data());
  std::vector<double> values = singular(
      users.prior.rows(), users.prior.k(), k,
      [&](const float* from, float* to) {
        multiply(sums.data(), ldf, k, from, ld, left, s.n_users, n_threads);
        users.contract(left, to, ld, n_threads);
      },
      [&](const float* from, float* to) {
        users.rows(from, left, ld, n_threads);
        std::vector<double> all = cross(sums.data(), ldf, k, left, ld, nullptr, s.users, n_threads);
        std::copy(all.begin(), all.end(), to);
      },
      x.data(), y.data(), ld, l, iterations, n_threads);
  users.rows(x.data(), left, ld, n_threads);
  multiply(described.features(), ldf, k, y.data(), ld, right, s.n_items, n_threads);
  return values;
}

}  // namespace rather
