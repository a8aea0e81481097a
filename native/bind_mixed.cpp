// Binds the mixed logistic model of how people answer.
#include "bindings.hpp"
#include "border.hpp"
#include "mixed.hpp"

namespace rather {

namespace {

void mixed_pass_(const Store& s, const In<float>& V, std::int64_t rank, const std::optional<In<std::uint8_t>>& tied,
                 const In<float>& Z, const In<double>& fixed, const In<double>& precision, const InOut<double>& people,
                 const InOut<float>& variance, const In<double>& count, int steps, const InOut<double>& moments,
                 const InOut<double>& gradient, const InOut<double>& information, const InOut<double>& squares,
                 const InOut<double>& bound, Threads n_threads) {
  if (s.by_level) wrong("store", "holds items on levels", "hold comparisons one by one");
  auto v = rows(V, s.n_items, "V");
  MixedModel model{
      s, v.data,  v.ld,   between(rank, 0, v.ld - 1, "rank"), sized(tied, s.n_comparisons, "tied"), nullptr,
      0, nullptr, nullptr};
  const std::int64_t numbers = size_of(Z, "Z");
  model.d = s.n_comparisons ? numbers / s.n_comparisons : 0;
  model.Z = sized(Z, model.d * s.n_comparisons, "Z");
  const std::int64_t R = model.random(), f = model.n_fixed();
  model.fixed = sized(fixed, f, "fixed");
  model.precision = sized(precision, R * R, "precision");
  double *mean = sized(people, s.n_users * (R + 1), "people"), *each = sized(bound, s.n_users, "bound");
  float* spread = sized(variance, s.n_comparisons, "variance");
  const double* times = sized(count, s.n_users, "count");
  MixedSums sums = mixed_pass(model, mean, spread, times, at_least(steps, 1, "steps"), each, n_threads);
  std::copy(sums.moments.begin(), sums.moments.end(), sized(moments, R * R, "moments"));
  std::copy(sums.gradient.begin(), sums.gradient.end(), sized(gradient, f, "gradient"));
  std::copy(sums.information.begin(), sums.information.end(), sized(information, f * f, "information"));
  std::copy(sums.squares.begin(), sums.squares.end(), sized(squares, f * f, "squares"));
}

}  // namespace

void bind_mixed(nb::module_& m) {
  m.def("mixed_pass", &mixed_pass_, "store"_a, "V"_a, "rank"_a, "tied"_a.none(), "Z"_a, "fixed"_a, "precision"_a,
        "people"_a, "variance"_a, "count"_a, "steps"_a, "moments"_a, "gradient"_a, "information"_a, "squares"_a,
        "bound"_a, "n_threads"_a, Release());
}

}  // namespace rather
