// Alternating truncated Newton on the primal.
//
//   min over U, V, b    sum_t w_t L(s_ij - s_ik) + 1/2 sum_i p_i |u_i|^2 + 1/2 sum_j (q_j |v_j|^2 + beta_j b_j^2)
//   with                s_ij = u_i . v_j + b_j
//
// user step:  for every user, Newton-CG on  p_i/2 |u - c_i|^2 + sum_t w_t L(u . (v_j - v_k) + b_j - b_k),  V fixed,
//             where the centre c_i is 0 unless centres are given
// item step:  one Newton-CG step on all of (V, b), U fixed, preconditioned by the diagonal of the Hessian
// Both solve the Newton system only roughly and then search along the direction: the loss is followed in the scalars
// m + t (dm), so a trial costs no product with a factor. The last trial leaves c ready for the other half.
#pragma once

#include <cmath>
#include <vector>

#include "passes.hpp"

namespace rather {

// A line search gives up at a step this short, and is not begun where the slope promises less than this share of F.
inline constexpr double kShortest = 1e-9, kNegligible = 1e-8;

struct StepOptions {
  int newton_steps = 1;  // user step only
  int cg_steps = 5;      // at most
  double cg_tol = 0.1;   // stop CG at this fraction of the gradient norm
  double grad_tol = 0;   // a user whose gradient is below this fraction of |p_i u_i| + |W^T c| is left alone
  int n_threads = 1;
};

// The loss after a step, and from before it the Newton decrement 1/2 g . H^-1 g, which is how much the quadratic model
// of the half says there was to gain.
struct StepReport {
  double loss = 0, decrement = 0;

  void operator+=(const StepReport& other) { loss += other.loss, decrement += other.decrement; }
};

// Minimises over one user's u from where it stands; leaves m, c, d of the final u in the scratch. The ridge pulls to
// `centre`, if one is given. `free` is the number of leading coordinates that may move.
template <class Loss>
StepReport solve_user(const Loss& loss, const Store& s, std::int64_t i, const Scalars& z, double p_i,
                      const float* centre, const float* V, std::int64_t ld, std::int64_t free, float* u,
                      const StepOptions& options, Scratch& w) {
  const std::int32_t n = s.entries(i);
  const std::int32_t* items = s.item.data() + s.start[i];
  for (std::int32_t k = 0; k < n; ++k) std::copy_n(V + items[k] * ld, ld, w.W.data() + k * ld);
  const float* W = w.W.data();
  UserLoss<Loss> user(loss, s, i, z, w.order.data());
  StepReport report;

  dots(W, Direct{}, n, ld, u, w.m.data());
  report.loss = user.slopes(w.m.data(), w.c.data(), w.d.data());
  const float* own = centre ? w.own.data() : u;  // u - centre
  auto square = [&] {
    if (centre)
      for (std::int64_t k = 0; k < free; ++k) w.own[k] = u[k] - centre[k];
    return inner(own, own, free);
  };
  double uu = square();
  for (int newton = 0;; ++newton) {
    float* g = w.g.data();
    std::fill_n(g, ld, 0.0f);
    combine(W, Direct{}, w.c.data(), n, ld, g);
    double slope_sq = inner(g, g, free);
    for (std::int64_t k = 0; k < free; ++k) g[k] += static_cast<float>(p_i * own[k]);
    std::fill(g + free, g + ld, 0.0f);
    double gg = inner(g, g, free);
    if (newton == options.newton_steps) break;
    if (gg == 0 || gg <= options.grad_tol * options.grad_tol * (slope_sq + p_i * p_i * uu)) break;

    // CG on (p_i I + W^T H W) step = -g, with dm = W step carried along.
    float *step = w.step.data(), *p = w.p.data(), *Hp = w.Hp.data();
    std::fill_n(step, ld, 0.0f);
    std::fill_n(w.dm.data(), n, 0.0f);
    for (std::int64_t k = 0; k < ld; ++k) p[k] = -g[k];
    float* residual = w.next.data();
    std::copy_n(p, ld, residual);
    double rr = gg;
    for (int cg = 0; cg < options.cg_steps; ++cg) {
      dots(W, Direct{}, n, ld, p, w.x.data());
      user.curvature(w.m.data(), w.x.data(), w.h.data());
      std::fill_n(Hp, ld, 0.0f);
      combine(W, Direct{}, w.h.data(), n, ld, Hp);
      for (std::int64_t k = 0; k < free; ++k) Hp[k] += static_cast<float>(p_i * p[k]);
      double pHp = inner(p, Hp, free);
      if (!(pHp > 0)) break;
      float alpha = static_cast<float>(rr / pHp);
      for (std::int64_t k = 0; k < free; ++k) step[k] += alpha * p[k], residual[k] -= alpha * Hp[k];
      for (std::int32_t k = 0; k < n; ++k) w.dm[k] += alpha * w.x[k];
      double next_rr = inner(residual, residual, free);
      if (next_rr <= options.cg_tol * options.cg_tol * gg) break;
      float beta = static_cast<float>(next_rr / rr);
      for (std::int64_t k = 0; k < free; ++k) p[k] = residual[k] + beta * p[k];
      rr = next_rr;
    }

    // Backtracking: F(u + t step) must fall by a fixed share of what the slope promises.
    double slope = inner(g, step, free), us = inner(own, step, free), ss = inner(step, step, free);
    if (newton == 0) report.decrement = -0.5 * slope;
    double before = report.loss + 0.5 * p_i * uu;
    if (-slope <= kNegligible * before) break;
    bool moved = false;
    for (double t = 1; t > kShortest; t *= 0.5) {
      for (std::int32_t k = 0; k < n; ++k) w.trial[k] = w.m[k] + static_cast<float>(t) * w.dm[k];
      double trial_uu = uu + 2 * t * us + t * t * ss;
      double value = user.slopes(w.trial.data(), w.c.data(), w.d.data());
      if (value + 0.5 * p_i * trial_uu <= before + 1e-4 * t * slope) {
        for (std::int64_t k = 0; k < free; ++k) u[k] += static_cast<float>(t) * step[k];
        std::swap(w.m, w.trial);
        report.loss = value;
        uu = square();
        moved = true;
        break;
      }
    }
    if (!moved) {  // at the accuracy of float32: nothing left to gain
      report.loss = user.slopes(w.m.data(), w.c.data(), w.d.data());
      break;
    }
  }
  return report;
}

// Solves every user in place; fills z with the scalars at the new U.
template <class Loss>
StepReport user_step(const Loss& loss, const Store& s, const float* p, const float* centre, const float* V, float* U,
                     std::int64_t ld, std::int64_t free, const Scalars& z, const StepOptions& options) {
  auto work = scratches(s, ld, true, options.n_threads);
  std::int64_t n_chunks = (s.n_users + kUserChunk - 1) / kUserChunk;
  std::vector<StepReport> part(n_chunks);
  for_chunks(options.n_threads, n_chunks, [&](int thread, std::int64_t chunk) {
    Scratch& w = work[thread];
    std::int64_t last = std::min<std::int64_t>(s.n_users, (chunk + 1) * kUserChunk);
    for (std::int64_t i = chunk * kUserChunk; i < last; ++i) {
      StepReport one =
          solve_user(loss, s, i, z, p[i], centre ? centre + i * ld : nullptr, V, ld, free, U + i * ld, options, w);
      std::copy_n(w.m.data(), s.entries(i), z.m + s.start[i]);
      std::copy_n(w.c.data(), s.entries(i), z.c + s.start[i]);
      std::copy_n(w.d.data(), s.entries(i), z.d + s.start[i]);
      if (z.order && UserLoss<Loss>::swept(s, i)) std::copy_n(w.order.data(), s.entries(i), z.order + s.start[i]);
      part[chunk] += one;
    }
  });
  StepReport total;
  for (const StepReport& one : part) total += one;
  return total;
}

// One Newton-CG step on (V, b). On entry z holds the scalars at (U, V) and `loss_before` their loss; on return those
// at (U, new V).
template <class Loss>
StepReport item_step(const Loss& loss, const Store& s, const ItemRidge& ridge, const float* U, float* V,
                     double loss_before, const Scalars& z, const StepOptions& options) {
  constexpr std::int64_t kManyRows = 4096, kManyEntries = 1 << 18;  // below these, one thread is faster
  const std::int64_t ld = ridge.ld, size = s.n_items * ld;
  const int n_threads = options.n_threads;
  auto work = scratches(s, kRowPad, false, n_threads);
  const Aligned<float> R = ridge.rows(s.n_items);
  Aligned<float> residual(size), inverse(size), p(size), Hp(size), step(size);
  std::vector<float> dm(s.n_entries(), 0.0f), x(s.n_entries()), h(s.n_entries());

  // residual = -gradient, inverse = 1 / diagonal of the Hessian, p = inverse * residual
  over_columns(
      s, n_threads,
      [&](std::int64_t j, const std::int32_t* users, std::int64_t n, const float* c, const float* d) {
        combine(U, users, c, n, ld, residual.data() + j * ld);
        combine_squares(U, users, d, n, ld, inverse.data() + j * ld);
      },
      z.c, z.d);
  double rz = sum_ranges(n_threads, s.n_items, kItemChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first * ld; k < last * ld; ++k) {
      residual[k] = -(residual[k] + R[k] * V[k]);
      inverse[k] = 1.0f / (inverse[k] + R[k]);
      p[k] = inverse[k] * residual[k];
    }
    return inner(residual.data() + first * ld, p.data() + first * ld, (last - first) * ld);
  });

  StepReport report;
  report.loss = loss_before;
  if (rz == 0) return report;

  const double rz0 = rz;
  double slope = 0;  // gradient . step: for CG from zero, minus the sum of alpha * r . z
  for (int cg = 0; cg < options.cg_steps; ++cg) {
    for_ranges(n_threads, s.n_users, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
      Scratch& w = work[thread];
      for (std::int64_t i = first; i < last; ++i) {
        std::int64_t e = s.start[i], n = s.entries(i);
        std::copy_n(z.m + e, n, w.m.data());
        dots(p.data(), s.item.data() + e, n, ld, U + i * ld, w.x.data());
        UserLoss<Loss>(loss, s, i, z, z.order ? z.order + e : nullptr).curvature(w.m.data(), w.x.data(), w.h.data());
        std::copy_n(w.x.data(), n, x.data() + e);
        std::copy_n(w.h.data(), n, h.data() + e);
      }
    });
    item_products(s, h.data(), U, ld, Hp.data(), n_threads);
    double pHp = sum_ranges(n_threads, s.n_items, kItemChunk, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first * ld; k < last * ld; ++k) Hp[k] += R[k] * p[k];
      return inner(p.data() + first * ld, Hp.data() + first * ld, (last - first) * ld);
    });
    if (!(pHp > 0)) break;
    const float alpha = static_cast<float>(rz / pHp);
    slope -= alpha * rz;
    for_ranges(n_threads, s.n_entries(), kManyEntries, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t e = first; e < last; ++e) dm[e] += alpha * x[e];
    });
    double next_rz = sum_ranges(n_threads, s.n_items, kManyRows, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first * ld; k < last * ld; ++k) {
        step[k] += alpha * p[k];
        residual[k] -= alpha * Hp[k];
        Hp[k] = inverse[k] * residual[k];
      }
      return inner(residual.data() + first * ld, Hp.data() + first * ld, (last - first) * ld);
    });
    if (next_rz <= options.cg_tol * options.cg_tol * rz0) break;
    const float beta = static_cast<float>(next_rz / rz);
    for_ranges(n_threads, s.n_items, kManyRows, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first * ld; k < last * ld; ++k) p[k] = Hp[k] + beta * p[k];
    });
    rz = next_rz;
  }
  report.decrement = -0.5 * slope;

  // Backtracking on t, with the ridge along the step a parabola: ridge(t) = ridge(V) + t (R V . step) + t^2 ridge(step)
  double linear = sum_ranges(n_threads, s.n_items, kManyRows, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first * ld; k < last * ld; ++k) p[k] = R[k] * V[k];
    return inner(p.data() + first * ld, step.data() + first * ld, (last - first) * ld);
  });
  double constant = ridge.half_square(V, s.n_items), quadratic = ridge.half_square(step.data(), s.n_items);
  double before = loss_before + constant;
  if (-slope <= kNegligible * before) return report;
  std::copy_n(z.m, s.n_entries(), x.data());
  for (double t = 1; t > kShortest; t *= 0.5) {
    float ft = static_cast<float>(t);
    for_ranges(n_threads, s.n_entries(), kManyEntries, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t e = first; e < last; ++e) z.m[e] = x[e] + ft * dm[e];
    });
    double value = evaluate(loss, s, z, n_threads);
    if (value + constant + t * linear + t * t * quadratic <= before + 1e-4 * t * slope) {
      for_ranges(n_threads, s.n_items, kManyRows, [&](int, std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first * ld; k < last * ld; ++k) V[k] += ft * step[k];
      });
      report.loss = value;
      return report;
    }
  }
  std::copy_n(x.data(), s.n_entries(), z.m);
  report.loss = evaluate(loss, s, z, n_threads);
  return report;
}

}  // namespace rather
