// What the two kinds of steps of alternating truncated Newton share (newton.hpp, joint.hpp).
#pragma once

namespace rather {

// A line search gives up at a step this short, and is not begun where the slope promises less than this share of F.
inline constexpr double kShortest = 1e-9, kNegligible = 1e-8;

struct StepOptions {
  int newton_steps = 1;  // of users one by one
  int cg_steps = 5;      // at most
  double cg_tol = 0.1;   // stop CG at this fraction of the gradient norm
  double grad_tol = 0;   // a user whose gradient is below this fraction of |p_i u_i| + |W^T c| is left alone
  int n_threads = 1;
};

// After a step, the loss and the ridges' part of the objective; from before it the Newton decrement 1/2 g . H^-1 g, which
// is how much the quadratic model of the half says there was to gain.
struct StepReport {
  double loss = 0, decrement = 0, penalty = 0;
};

}  // namespace rather
