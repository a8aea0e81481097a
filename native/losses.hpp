// The losses L(x) of a margin x = s_j - s_k, as a table: value, slope L'(x) and curvature L''(x), lane by lane; and
// what a dual method needs of them: the conjugate, the coordinate step, and a comparison's share of the duality gap.
//
// Dual quantities are for one comparison of weight C in  min_z 1/2 |z|^2 + sum_t C_t L(b_t), b_t = z . x_t + offset_t:
// a is its dual variable in [0, C] (or [0, inf)), q = a / C, and xx = |x_t|^2.
#pragma once

#include <algorithm>
#include <cmath>

#include "named.hpp"
#include "simd.hpp"

namespace rather {

struct Slopes {
  Lanes value, slope, curvature;
};

// L(x) = max(0, 1 - x)^2
struct SquaredHinge {
  Slopes operator()(Lanes x) const {
    Lanes t = vmax(1.0f - x, Lanes{});
    return {t * t, -2.0f * t, t > 0.0f ? splat(2.0f) : Lanes{}};
  }
  Lanes curvature(Lanes x) const { return x < 1.0f ? splat(2.0f) : Lanes{}; }

  static double step(double a, double b, double xx, double C) {
    return std::max(0.0, a + (1 - b - a / (2 * C)) / (xx + 1 / (2 * C)));
  }
  static double conjugate_slope(double q) { return q / 2 - 1; }  // d/dq of L*(-q)
  static double gap(double a, double b, double C) {
    double q = a / C, t = std::max(0.0, 1 - b);
    return C * ((t - q / 2) * (t - q / 2) + q * std::max(0.0, b - 1));
  }
};

// L(x) = max(0, 1 - x), smoothed on 1 - delta < x < 1 to (1 - x)^2 / (2 delta); 0 <= L - L_delta <= delta / 2.
// delta = 0 is the hinge itself (its slope at the kink taken as 0, its curvature as 0).
struct Hinge {
  float delta = 0;

  Slopes operator()(Lanes x) const {
    Lanes t = vmax(1.0f - x, Lanes{});
    if (delta == 0) return {t, t > 0.0f ? splat(-1.0f) : Lanes{}, Lanes{}};
    Lanes s = vmin(t * (1 / delta), splat(1.0f));
    return {s * (t - 0.5f * delta * s), -s, curvature(x)};
  }
  Lanes curvature(Lanes x) const {
    if (delta == 0) return Lanes{};
    Lanes t = 1.0f - x;
    return t > 0.0f ? (t < delta ? splat(1 / delta) : Lanes{}) : Lanes{};
  }

  static double step(double a, double b, double xx, double C) {
    return xx > 0 ? std::clamp(a + (1 - b) / xx, 0.0, C) : (b < 1 ? C : 0.0);
  }
  static double conjugate_slope(double) { return -1; }
  static double gap(double a, double b, double C) { return C * std::max(0.0, 1 - b) - a * (1 - b); }
};

// L(x) = log(1 + e^-x)
struct Logistic {
  Slopes operator()(Lanes x) const {
    Lanes e = exp_nonpositive(x < 0.0f ? x : -x);  // e^-|x|
    Lanes s = 1.0f / (1.0f + e);                   // sigma(|x|)
    Lanes p = x < 0.0f ? s : e * s;                // sigma(-x)
    return {vmax(-x, Lanes{}) + log1p_unit(e), -p, e * s * s};
  }
  Lanes curvature(Lanes x) const {
    Lanes e = exp_nonpositive(x < 0.0f ? x : -x);
    Lanes s = 1.0f / (1.0f + e);
    return e * s * s;
  }

  // Solves s + b + xx C (sigma(s) - q) = 0 for s in a bracket and returns C sigma(s): Newton, with bisection whenever
  // a step leaves the bracket.
  static double step(double a, double b, double xx, double C) {
    double q = a / C, k = xx * C;
    double low = -b - k * (1 - q), high = -b + k * q, s = 0.5 * (low + high);
    for (int iteration = 0; iteration < 60 && high - low > 1e-12 * (1 + std::abs(s)); ++iteration) {
      double p = 1 / (1 + std::exp(-s)), f = s + b + k * (p - q);
      (f > 0 ? high : low) = s;
      double next = s - f / (1 + k * p * (1 - p));
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      if (std::abs(next - s) <= 1e-12 * (1 + std::abs(s))) {
        s = next;
        break;
      }
      s = next;
    }
    return C / (1 + std::exp(-s));
  }
  static double conjugate_slope(double q) { return q > 0 ? std::log(q / std::max(1e-12, 1 - q)) : 0; }
  static double gap(double a, double b, double C) {  // KL(q || sigma(-b))
    double q = std::clamp(a / C, 0.0, 1.0);
    double softplus_b = std::max(b, 0.0) + std::log1p(std::exp(-std::abs(b)));
    double softplus_minus_b = softplus_b - b;
    double negative_entropy = (q > 0 ? q * std::log(q) : 0) + (q < 1 ? (1 - q) * std::log1p(-q) : 0);
    return C * (negative_entropy + q * softplus_b + (1 - q) * softplus_minus_b);
  }
};

// What a comparison adds to the dual objective, -L*(-tau q) for q = -L'(x) and 0 <= tau <= 1; only the value is of use.
struct HingeDual {  // tau q
  float tau, delta;

  Slopes operator()(Lanes x) const { return {-tau * Hinge{delta}(x).slope, Lanes{}, Lanes{}}; }
  Lanes curvature(Lanes) const { return Lanes{}; }
};

struct LogisticDual {  // the entropy of tau q
  float tau;

  Slopes operator()(Lanes x) const {
    Lanes value{};
    for (int l = 0; l < kLanes; ++l) {
      float e = std::exp(-std::abs(x[l])), s = 1 / (1 + e);
      float q = tau * (x[l] < 0 ? s : e * s), rest = (1 - tau) + tau * (x[l] < 0 ? e * s : s);
      // -log(1 - q) by whichever of q and 1 - q is known to more digits.
      float other = q < 0.5f ? -std::log1p(-q) : rest > 0 ? -std::log(rest) : 0.0f;
      value[l] = (q > 0 ? -q * std::log(q) : 0) + rest * other;
    }
    return {value, Lanes{}, Lanes{}};
  }
  Lanes curvature(Lanes) const { return Lanes{}; }
};

// Losses that also see the gap g > 0 between the two ratings: L(x, g), and its derivatives with respect to x.

// L(x, g) = g log(1 + e^-x)
struct GapTimesLogistic {
  Slopes operator()(Lanes x, Lanes g) const {
    Slopes s = Logistic{}(x);
    return {g * s.value, g * s.slope, g * s.curvature};
  }
  Lanes curvature(Lanes x, Lanes g) const { return g * Logistic{}.curvature(x); }
};

// L(x, g) = log(1 + e^(g - x))
struct GapLogistic {
  Slopes operator()(Lanes x, Lanes g) const { return Logistic{}(x - g); }
  Lanes curvature(Lanes x, Lanes g) const { return Logistic{}.curvature(x - g); }
};

// L(x, g) = (x - g)^2
struct SquaredDifference {
  Slopes operator()(Lanes x, Lanes g) const {
    Lanes t = x - g;
    return {t * t, 2.0f * t, splat(2.0f)};
  }
  Lanes curvature(Lanes, Lanes) const { return splat(2.0f); }
};

template <class Loss>
inline constexpr bool kSeesGaps = requires(const Loss& loss, Lanes x) { loss(x, x); };

enum class LossKind { squared_hinge, hinge, logistic, gap_times_logistic, gap_logistic, squared_difference };

inline constexpr Names<LossKind, 3> kLosses{{
    {"squared_hinge", LossKind::squared_hinge},
    {"hinge", LossKind::hinge},
    {"logistic", LossKind::logistic},
}};
inline constexpr Names<LossKind, 3> kGapLosses{{
    {"gap_times_logistic", LossKind::gap_times_logistic},
    {"gap_logistic", LossKind::gap_logistic},
    {"squared_difference", LossKind::squared_difference},
}};

// Calls f with the loss object that (kind, delta) name.
template <class F>
auto with_loss(LossKind kind, float delta, F&& f) {
  switch (kind) {
    case LossKind::squared_hinge: return f(SquaredHinge{});
    case LossKind::hinge: return f(Hinge{delta});
    case LossKind::logistic: return f(Logistic{});
    default: refuse("loss", kind, kLosses);
  }
}

// The same with the losses that see gaps, which have no dual method.
template <class F>
auto with_primal_loss(LossKind kind, float delta, F&& f) {
  switch (kind) {
    case LossKind::squared_hinge: return f(SquaredHinge{});
    case LossKind::hinge: return f(Hinge{delta});
    case LossKind::logistic: return f(Logistic{});
    case LossKind::gap_times_logistic: return f(GapTimesLogistic{});
    case LossKind::gap_logistic: return f(GapLogistic{});
    case LossKind::squared_difference: return f(SquaredDifference{});
    default: refuse("loss", kind, kLosses, kGapLosses);
  }
}

// The same with what a comparison adds to the dual objective. Squares have a closed form of their own.
template <class F>
auto with_dual(LossKind kind, float delta, float tau, F&& f) {
  switch (kind) {
    case LossKind::hinge: return f(HingeDual{tau, delta});
    case LossKind::logistic: return f(LogisticDual{tau});
    default: refuse("loss", kind, Names<LossKind, 2>{kLosses[1], kLosses[2]});
  }
}

}  // namespace rather
