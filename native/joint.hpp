// One Newton-CG step on all rows of one factor together, the other factor fixed:
//
//   min over X    loss(scores) + 1/2 sum_c reg_c x_c' K x_c,    x_c the columns of X
//
// where K is diag(w), the shapes of the rows' ridges, or what is left of that where the rows have prior means that are at
// their best for them (prior.hpp): rows and means move at once. This is how items move, and users who have prior means;
// users without are problems of their own (newton.hpp).
//
// The Newton system is solved only roughly, by conjugate gradients, and then searched along: the loss is followed in the
// scalars m + t (dm), so a trial costs no product with a factor. The last trial leaves c ready for the other half.
//
// The preconditioner takes the Hessian of the loss to be diagonal, h_n g_c at column c of row n: h_n is the sum of the
// row's second derivatives, g_c the mean square of the other factor's column, weighted by its rows' sums. With T = h g +
// reg w that diagonal and the ridges', the inverse of T - reg W F G^-1 F'W is, by Woodbury's identity,
//
//   T^-1 + reg T^-1 W F S^-1 F'W T^-1    with S = lambda + F' diag(w h g / (h g + reg w)) F
//
// S is one for all columns: with the mean over them of what stands in its middle.
#pragma once

#include <vector>

#include "prior.hpp"
#include "steps.hpp"

namespace rather {

// The ridges of a factor's rows: shape_n reg on the first `rank` columns of row n, shape_n bias_reg on the next one.
struct Ridges {
  const float* shape;
  const Shards& rows;
  std::int64_t rank, ld;
  float reg, bias_reg;
  const Prior* prior;  // null: no prior means
  bool bias_moves;     // else the column after the first `rank` is fixed

  std::int64_t free() const { return rank + bias_moves; }
  // By column; the padding is 0 in every direction, and its ridge only must not be 0.
  std::vector<float> by_column() const {
    std::vector<float> all(ld, 1.0f);
    std::fill_n(all.begin(), rank, reg);
    if (bias_moves) all[rank] = bias_reg;
    return all;
  }
};

// The rows of one side, users or items, and how they meet those of the other: the passes over the data that are of both.
template <bool kUsers>
struct OneSide {
  const Store& s;
  const float* other;  // V where these are the users, else U

  const Shards items{s.n_items};

  const Shards& mine() const { return kUsers ? s.users : items; }
  const Shards& theirs() const { return kUsers ? items : s.users; }

  // U and V where rows P are those of this side
  const float* U(const float* P) const { return kUsers ? P : other; }
  const float* V(const float* P) const { return kUsers ? other : P; }

  void products(const float* coefficient, std::int64_t ld, float* out, int n_threads) const {
    (kUsers ? user_products : item_products)(s, coefficient, other, ld, out, n_threads);
  }
  void sums(const float* x, float* mine, float* theirs, int n_threads) const {
    user_sums(s, x, kUsers ? mine : theirs, n_threads);
    item_sums(s, x, kUsers ? theirs : mine, n_threads);
  }
  // x <- the scores of rows P
  void scores(const float* P, std::int64_t ld, float* x, int n_threads) const {
    rather::scores(s, U(P), V(P), ld, x, n_threads);
  }
  // out <- the Hessian of the loss times P; h is room for numbers over the entries.
  void curvature(const PairLoss& loss, const Scalars& z, const float* P, std::int64_t ld, float* h, float* out,
                 Scratches& work, int n_threads) const {
    for_ranges(n_threads, s.n_users, kUserChunk, [&](int thread, std::int64_t first, std::int64_t last) {
      Scratch& w = work[thread];
      for (std::int64_t i = first; i < last; ++i) {
        const std::int32_t* items = s.item.data() + s.start[i];
        dots(V(P), items, s.entries(i), ld, U(P) + i * ld, w.x.data());
        curve(loss, s, i, z, w);
        if constexpr (kUsers) {
          std::fill_n(out + i * ld, ld, 0.0f);
          combine(other, items, w.h.data(), s.entries(i), ld, out + i * ld);
        } else {
          std::copy_n(w.h.data(), s.entries(i), h + s.start[i]);
        }
      }
    });
    if constexpr (!kUsers) products(h, ld, out, n_threads);
  }
};

// The quadratic form of the ridges, and a preconditioner for it with the loss's Hessian.
class Form {
 public:
  static constexpr std::int64_t kRows = 64;  // a chunk of rows

  Form(const Ridges& ridges, int n_threads)
      : r_(ridges),
        reg_(ridges.by_column()),
        C_(ridges.prior ? ridges.prior->k() * ridges.ld : 0),
        n_threads_(n_threads) {}

  // Calls each(n, row n of K X) and returns the sum of what that returns.
  template <class Each>
  double product(const float* X, Each&& each) {
    const std::int64_t ld = r_.ld;
    const float* reg = reg_.data();
    auto pull = [&](std::int64_t n, float* mean) {  // mean <- W (x - mean)
      const Lanes shape = splat(r_.shape[n]);
      for (std::int64_t c = 0; c < ld; c += kLanes)
        store(mean + c, shape * load(reg + c) * (load(X + n * ld + c) - load(mean + c)));
      std::fill(mean + r_.free(), mean + ld, 0.0f);
      return each(n, static_cast<const float*>(mean));
    };
    if (!r_.prior)
      return r_.rows.sum(n_threads_, kRows, [&](int, std::int64_t first, std::int64_t last) {
        Aligned<float> none(ld);
        double total = 0;
        for (std::int64_t n = first; n < last; ++n) {
          std::fill(none.begin(), none.end(), 0.0f);
          total += pull(n, none.data());
        }
        return total;
      });
    r_.prior->coefficients(r_.prior->sums(X, ld, n_threads_), ld, C_.data(), n_threads_);
    return r_.prior->for_means(C_.data(), ld, n_threads_, pull);
  }

  // What is known of the Hessian of the loss.
  void precondition(std::vector<float> h, std::vector<float> g) {
    h_ = std::move(h), g_ = std::move(g);
    if (!r_.prior) return;
    std::vector<float> w(r_.rows.n());
    for_ranges(n_threads_, r_.rows.n(), kRows, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        const Lanes h = splat(h_[n]), own = splat(r_.shape[n] * r_.reg);
        Lanes share{};  // over the columns of the factor; the padding, and the bias, count for 0
        for (std::int64_t c = 0; c < r_.rank; c += kLanes) {
          const Lanes bend = h * keep_first(load(g_.data() + c), static_cast<int>(r_.rank - c), 0.0f);
          share += bend / (own + bend);
        }
        w[n] = r_.shape[n] * sum(share) / static_cast<float>(std::max<std::int64_t>(r_.rank, 1));
      }
    });
    S_ = r_.prior->inverse_for(w, n_threads_);
  }

  // out <- M^-1 residual; returns residual . out
  double solve(const float* residual, float* out) {
    const std::int64_t ld = r_.ld;
    const float *g = g_.data(), *reg = reg_.data();
    auto divide = [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        const Lanes h = splat(h_[n]), shape = splat(r_.shape[n]);
        for (std::int64_t c = 0; c < ld; c += kLanes)
          store(out + n * ld + c, load(residual + n * ld + c) / (h * load(g + c) + shape * load(reg + c)));
      }
      return inner(residual + first * ld, out + first * ld, (last - first) * ld);
    };
    if (!r_.prior) return r_.rows.sum(n_threads_, kRows, divide);
    for_ranges(n_threads_, r_.rows.n(), kRows, divide);
    std::vector<float> sums = r_.prior->sums(out, ld, n_threads_);
    r_.prior->coefficients(sums, ld, C_.data(), n_threads_, &S_);
    return r_.prior->for_means(C_.data(), ld, n_threads_, [&](std::int64_t n, const float* mean) {
      const Lanes h = splat(h_[n]), shape = splat(r_.shape[n]);
      for (std::int64_t c = 0; c < ld; c += kLanes) {
        const Lanes own = shape * load(reg + c);
        float* z = out + n * ld + c;
        store(z, load(z) + own / (h * load(g + c) + own) * load(mean + c));
      }
      return inner(residual + n * ld, out + n * ld, ld);
    });
  }

 private:
  const Ridges& r_;
  std::vector<float> reg_, h_, g_, S_;
  Aligned<float> C_;
  int n_threads_;
};

// On entry z holds the scalars at X and the other factor, and loss_before their loss; on return those at the new X. `over`
// is room for numbers over the entries: curvatures, then the step's scores.
template <class Side>
StepReport joint_step(const PairLoss& loss, const Side& side, const Ridges& ridges, float* X, double loss_before,
                      const Scalars& z, float* over, const StepOptions& options) {
  constexpr std::int64_t kEntries = 1 << 14, kRows = Form::kRows;  // chunks
  const Store& s = side.s;
  const std::int64_t ld = ridges.ld, size = ridges.rows.n() * ld;
  const int n_threads = options.n_threads;
  Scratches work(s, kRowPad, false, n_threads);
  Form form(ridges, n_threads);
  Aligned<float> residual(size, kUnfilled), p(size, kUnfilled), Hp(size, kUnfilled), step(size, kUnfilled);
  auto over_rows = [&](auto&& body) {
    for_ranges(n_threads, ridges.rows.n(), kRows,
               [&](int, std::int64_t first, std::int64_t last) { body(first * ld, last * ld); });
  };

  // residual = -gradient; twice the ridges' part of the objective comes with it
  side.products(z.c, ld, residual.data(), n_threads);
  const double constant = 0.5 * form.product(X, [&](std::int64_t n, const float* pull) {
    float* row = residual.data() + n * ld;
    for (std::int64_t c = 0; c < ridges.free(); ++c) row[c] = -(row[c] + pull[c]);
    std::fill(row + ridges.free(), row + ld, 0.0f);
    return inner(X + n * ld, pull, ld);
  });
  StepReport report{loss_before, 0, constant};
  {
    std::vector<float> mine(side.mine().n()), theirs(side.theirs().n());
    side.sums(z.d, mine.data(), theirs.data(), n_threads);
    form.precondition(std::move(mine), mean_squares(side.other, ld, theirs, side.theirs(), n_threads));
  }
  double rz = form.solve(residual.data(), p.data());
  if (!(rz > 0)) return report;

  const double rz0 = rz;
  double slope = 0;  // gradient . step: for CG from zero, minus the sum of alpha * r . z
  for (int cg = 0; cg < options.cg_steps; ++cg) {
    side.curvature(loss, z, p.data(), ld, over, Hp.data(), work, n_threads);
    double pHp = form.product(p.data(), [&](std::int64_t n, const float* pull) {
      float* row = Hp.data() + n * ld;
      for (std::int64_t c = 0; c < ridges.free(); ++c) row[c] += pull[c];
      std::fill(row + ridges.free(), row + ld, 0.0f);
      return inner(p.data() + n * ld, row, ld);
    });
    if (!(pHp > 0)) break;
    const float alpha = static_cast<float>(rz / pHp);
    slope -= alpha * rz;
    over_rows([&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        step[k] = (cg ? step[k] : 0.0f) + alpha * p[k];
        residual[k] -= alpha * Hp[k];
      }
    });
    if (cg + 1 == options.cg_steps) break;
    const double next_rz = form.solve(residual.data(), Hp.data());
    if (next_rz <= options.cg_tol * options.cg_tol * rz0) break;
    const float beta = static_cast<float>(next_rz / rz);
    over_rows([&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) p[k] = Hp[k] + beta * p[k];
    });
    rz = next_rz;
  }
  report.decrement = -0.5 * slope;
  if (-slope <= kNegligible * (loss_before + constant)) return report;

  // Backtracking on t, with the ridges along the step a parabola: constant + t linear + t^2 quadratic. What the slope is
  // more than the loss's is theirs.
  const float* dm = over;
  side.scores(step.data(), ld, over, n_threads);
  const double linear =
      slope - s.entry_shards.sum(n_threads, kEntries, [&](int, std::int64_t first, std::int64_t last) {
        return inner(z.c + first, dm + first, last - first);
      });
  const double quadratic = 0.5 * form.product(step.data(), [&](std::int64_t n, const float* pull) {
    return inner(step.data() + n * ld, pull, ld);
  });
  auto move = [&](double by) {
    for_ranges(n_threads, s.n_entries(), kEntries, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t e = first; e < last; ++e) z.m[e] += static_cast<float>(by) * dm[e];
    });
  };
  double t = 1;
  for (move(t); t > kShortest; t *= 0.5, move(-t)) {
    const double value = evaluate(loss, s, z, n_threads), ridge = constant + t * linear + t * t * quadratic;
    if (value + ridge <= loss_before + constant + 1e-4 * t * slope) {
      over_rows([&](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k < last; ++k) X[k] += static_cast<float>(t) * step[k];
      });
      report.loss = value, report.penalty = ridge;
      return report;
    }
  }
  move(-t);
  report.loss = evaluate(loss, s, z, n_threads);
  return report;
}

}  // namespace rather
