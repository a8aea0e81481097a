// A prior as Python holds it: with the features it refers to.
#pragma once

#include <vector>

#include "border.hpp"
#include "prior.hpp"

namespace rather {

struct FeaturePrior {
  In<float> features;
  Rows<const float> f;
  Prior prior;

  // Of the users of a store, if one is given.
  FeaturePrior(In<float> F, std::int64_t k, In<float> weight, double ridge, Threads n_threads, const Store* store)
      : features(F),
        f(rows(F, store ? store->n_users : kAny, "features")),
        prior(f.data, f.ld, between(k, 0, f.ld, "k"), weights(weight, f.n), store ? store->users : Shards(f.n), ridge,
              n_threads) {}

  // Of so many rows, or it is refused by name.
  const Prior& of(std::int64_t n, const char* name) const {
    rows(features, n, name);
    return prior;
  }

 private:
  static std::vector<float> weights(const In<float>& weight, std::int64_t n) {
    const float* w = sized(weight, n, "weight");
    return {w, w + n};
  }
};

}  // namespace rather
