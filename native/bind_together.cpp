// Binds sums over what was clicked together.
#include "bindings.hpp"
#include "border.hpp"
#include "together.hpp"

namespace rather {

void bind_together(nb::module_& m) {
  m.def(
      "clicked_together",
      [](const In<std::int64_t>& row, const In<std::int32_t>& user, const In<std::int64_t>& start,
         const In<std::int32_t>& item, const In<float>& weight, std::int64_t n_items, const InOut<float>& out,
         Threads n_threads) {
        const std::int64_t n_users = size_of(weight, "weight"), n = size_of(item, "item");
        Starts at = starts(row, size_of(user, "user"), "row");
        clicked_together(at.data, coded(user, size_of(user, "user"), n_users, "user"), at.n_rows,
                         starts(start, n, "start", n_users).data, coded(item, n, n_items, "item"),
                         sized(weight, n_users, "weight"), at_least(n_items, 0, "n_items"),
                         sized(out, at.n_rows * n_items, "out"), n_threads);
      },
      "row"_a, "user"_a, "start"_a, "item"_a, "weight"_a, "n_items"_a, "out"_a, "n_threads"_a, Release());
  m.def(
      "sum_rows",
      [](const In<std::int64_t>& start, const In<std::int32_t>& code, const In<float>& B, std::int64_t width,
         const InOut<float>& out, Threads n_threads) {
        const std::int64_t n = size_of(code, "code"), size = size_of(B, "B");
        at_least(width, 1, "width");
        if (size % width) wrong("B", "has " + std::to_string(size) + " numbers", "have whole rows");
        Starts at = starts(start, n, "start");
        sum_rows(at.data, coded(code, n, size / width, "code"), at.n_rows, sized(B, size, "B"), width,
                 sized(out, at.n_rows * width, "out"), n_threads);
      },
      "start"_a, "code"_a, "B"_a, "width"_a, "out"_a, "n_threads"_a, Release());
}

}  // namespace rather
