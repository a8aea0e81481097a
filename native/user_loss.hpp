// A loss over one user's comparisons, in whichever way the store holds them: all that solvers ask of a loss.
//
// A call is for a whole user, so it may be virtual: user_loss.cpp compiles the loops over pairs for every loss, and the
// solvers are compiled once.
#pragma once

#include <memory>

#include "losses.hpp"
#include "store.hpp"

namespace rather {

// One user's comparisons: offsets are over written ones, and `order` holds a swept user's sorted order between calls.
struct Compared {
  const Store& s;
  std::int64_t i;
  const float* offset;
  std::uint32_t* order;
};

class PairLoss {
 public:
  virtual ~PairLoss() = default;
  virtual bool sees_gaps() const = 0;
  virtual bool swept(const Store& s, std::int64_t i) const = 0;
  virtual double slopes(const Compared& user, const float* m, float* c, float* d) const = 0;
  virtual void curvature(const Compared& user, const float* m, const float* x, float* h) const = 0;
  // The slope and the curvature of every written comparison's loss, times a factor.
  virtual void each(const Compared& user, const float* m, float factor, float* slope, float* curvature) const = 0;
};

std::unique_ptr<PairLoss> pair_loss(LossKind kind, float delta);
// What a comparison adds to the dual objective, as a loss.
std::unique_ptr<PairLoss> dual_loss(LossKind kind, float delta, float tau);

}  // namespace rather
