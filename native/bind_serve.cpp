// Binds what a fitted model is asked for: scores, best items, and orders within rows.
#include "bindings.hpp"
#include "border.hpp"
#include "serve.hpp"

namespace rather {

namespace {

void best_items_(const In<float>& A, const In<std::int32_t>& query, const In<float>& B, std::int64_t k,
                 const std::optional<In<std::int64_t>>& start, const std::optional<In<std::int32_t>>& excluded,
                 const InOut<std::int32_t>& item, const InOut<float>& score, Threads n_threads) {
  auto a = rows(A, kAny, "A");
  auto b = rows(B, kAny, "B", a.ld);
  const std::int64_t n = size_of(query, "query"), *first = nullptr;
  const std::int32_t* gone = nullptr;
  at_least(k, 1, "k");
  if (start || excluded) {
    if (!start || !excluded) wrong(start ? "excluded" : "start", "is missing", "go with the other");
    const std::int64_t n_gone = size_of(*excluded, "excluded");
    first = starts(*start, n_gone, "start", n).data;
    gone = coded(*excluded, n_gone, b.n, "excluded");
  }
  best_items(a.data, coded(query, n, a.n, "query"), n, b.data, b.n, a.ld, k, first, gone, sized(item, n * k, "item"),
             sized(score, n * k, "score"), n_threads);
}

}  // namespace

void bind_serve(nb::module_& m) {
  m.def(
      "score_pairs",
      [](const In<float>& A, const In<std::int32_t>& left, const In<float>& B, const In<std::int32_t>& right,
         const InOut<float>& out, Threads n_threads) {
        auto a = rows(A, kAny, "A");
        auto b = rows(B, kAny, "B", a.ld);
        const std::int64_t n = size_of(left, "left");
        score_pairs(a.data, coded(left, n, a.n, "left", kOrUnknown), b.data, coded(right, n, b.n, "right", kOrUnknown),
                    n, a.ld, sized(out, n, "out"), n_threads);
      },
      "A"_a, "left"_a, "B"_a, "right"_a, "out"_a, "n_threads"_a, Release());
  m.def("best_items", &best_items_, "A"_a, "query"_a, "B"_a, "k"_a, "start"_a.none(), "excluded"_a.none(), "item"_a,
        "score"_a, "n_threads"_a, Release());
  m.def(
      "order_rows",
      [](const In<std::int64_t>& start, const In<float>& key, const InOut<std::int64_t>& order, Threads n_threads) {
        const std::int64_t n = size_of(key, "key");
        Starts at = starts(start, n, "start");
        order_rows(at.data, at.n_rows, sized(key, n, "key"), sized(order, n, "order"), n_threads);
      },
      "start"_a, "key"_a, "order"_a, "n_threads"_a, Release());
  m.def(
      "count_ordered",
      [](const In<std::int64_t>& start, const In<double>& value, const In<float>& key, double min_gap,
         const InOut<std::int64_t>& ordered, const InOut<std::int64_t>& total, Threads n_threads) {
        const std::int64_t n = size_of(value, "value");
        Starts at = starts(start, n, "start");
        count_ordered(at.data, at.n_rows, sized(value, n, "value"), sized(key, n, "key"), min_gap,
                      sized(ordered, at.n_rows, "ordered"), sized(total, at.n_rows, "total"), n_threads);
      },
      "start"_a, "value"_a, "key"_a, "min_gap"_a, "ordered"_a, "total"_a, "n_threads"_a, Release());
}

}  // namespace rather
