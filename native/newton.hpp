// Users one by one, V fixed: Newton-CG on every user's
//
//   p_i/2 |u - c_i|^2 + sum_t w_t L(u . (v_j - v_k) + b_j - b_k)
//
// where the centre c_i is 0 unless centres are given. The Newton system is solved only roughly and then searched along,
// as for all rows together (joint.hpp).
#pragma once

#include <cmath>
#include <vector>

#include "passes.hpp"
#include "steps.hpp"

namespace rather {

// Minimises over one user's u from where it stands; leaves m, c, d of the final u in the scratch. The ridge pulls to
// `centre`, if one is given. `free` is the number of leading coordinates that may move.
inline StepReport solve_user(const PairLoss& loss, const Store& s, std::int64_t i, const Scalars& z, double p_i,
                             const float* centre, const float* V, std::int64_t ld, std::int64_t free, float* u,
                             const StepOptions& options, Scratch& w) {
  const std::int32_t n = s.entries(i);
  const std::int32_t* items = s.item.data() + s.start[i];
  for (std::int32_t k = 0; k < n; ++k) std::copy_n(V + items[k] * ld, ld, w.W.data() + k * ld);
  const float* W = w.W.data();
  UserLoss user(loss, s, i, z, w.order.data());
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
  report.penalty = 0.5 * p_i * uu;
  return report;
}

// Solves every user in place; fills z with the scalars at the new U.
inline StepReport user_step(const PairLoss& loss, const Store& s, const float* p, const float* centre, const float* V,
                            float* U, std::int64_t ld, std::int64_t free, const Scalars& z,
                            const StepOptions& options) {
  Scratches work(s, ld, true, options.n_threads);
  std::vector<double> decrement(s.n_users), penalty(s.n_users);
  StepReport total;
  total.loss = s.users.sum(options.n_threads, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
    Scratch& w = work[thread];
    double loss_here = 0;
    for (std::int64_t i = first; i < last; ++i) {
      StepReport one =
          solve_user(loss, s, i, z, p[i], centre ? centre + i * ld : nullptr, V, ld, free, U + i * ld, options, w);
      std::copy_n(w.m.data(), s.entries(i), z.m + s.start[i]);
      std::copy_n(w.c.data(), s.entries(i), z.c + s.start[i]);
      std::copy_n(w.d.data(), s.entries(i), z.d + s.start[i]);
      if (z.order && loss.swept(s, i)) std::copy_n(w.order.data(), s.entries(i), z.order + s.start[i]);
      loss_here += one.loss, decrement[i] = one.decrement, penalty[i] = one.penalty;
    }
    return loss_here;
  });
  total.decrement = sum_users(s, decrement.data(), options.n_threads);
  total.penalty = sum_users(s, penalty.data(), options.n_threads);
  return total;
}

}  // namespace rather
