// The loops over pairs, for every loss.
#include "user_loss.hpp"

#include <type_traits>

#include "pairs.hpp"
#include "sweep.hpp"

namespace rather {

namespace {

template <class Loss>
class Over final : public PairLoss {
 public:
  static constexpr bool kSwept = std::is_same_v<Loss, SquaredHinge> || std::is_same_v<Loss, Hinge>;

  explicit Over(Loss loss) : loss_(loss) {}

  bool sees_gaps() const override { return kSeesGaps<Loss>; }

  bool swept(const Store& s, std::int64_t i) const override {
    return kSwept && s.by_level && s.entries(i) >= Sweep::kFrom;
  }

  double slopes(const Compared& user, const float* m, float* c, float* d) const override {
    const auto& [s, i, offset, order] = user;
    if (!s.by_level) return Pairs(s, i, offset).slopes(loss_, m, c, d);
    if constexpr (kSwept)
      if (swept(s, i)) {
        Sweep sweep(s, i);
        sweep.sort(m, order);
        return sweep.slopes(loss_, m, order, c, d);
      }
    return Levels(s, i).slopes(loss_, m, c, d);
  }

  void curvature(const Compared& user, const float* m, const float* x, float* h) const override {
    const auto& [s, i, offset, order] = user;
    if (!s.by_level) return Pairs(s, i, offset).curvature(loss_, m, x, h);
    if constexpr (kSwept)
      if (swept(s, i)) return Sweep(s, i).curvature(loss_, m, order, x, h);
    Levels(s, i).curvature(loss_, m, x, h);
  }

  void each(const Compared& user, const float* m, float factor, float* slope, float* curvature) const override {
    Pairs(user.s, user.i, user.offset).each(loss_, m, factor, slope, curvature);
  }

 private:
  Loss loss_;
};

constexpr auto over = [](auto loss) -> std::unique_ptr<PairLoss> {
  return std::make_unique<Over<decltype(loss)>>(loss);
};

}  // namespace

std::unique_ptr<PairLoss> pair_loss(LossKind kind, float delta) { return with_primal_loss(kind, delta, over); }

std::unique_ptr<PairLoss> dual_loss(LossKind kind, float delta, float tau) { return with_dual(kind, delta, tau, over); }

}  // namespace rather
