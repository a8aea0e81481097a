// The core as a Python module: plain functions on arrays. Only this, bind_*.cpp and border.hpp know Python.
#include "bindings.hpp"

#include "border.hpp"
#include "limits.hpp"
#include "lists.hpp"
#include "losses.hpp"

using namespace rather;

namespace {

// {name: number} of a table of choices.
template <class Table>
nb::dict numbers(const Table& table) {
  nb::dict out;
  for (auto [name, kind] : table) out[name] = static_cast<int>(kind);
  return out;
}

}  // namespace

NB_MODULE(RATHER_MODULE, m) {
  m.attr("ROW_PAD") = kRowPad;
  m.attr("LOSSES") = numbers(kLosses);
  m.attr("GAP_LOSSES") = numbers(kGapLosses);
  m.attr("LISTS") = numbers(kLists);
  m.def("most_flops", [](Threads n_threads) { return most_flops(n_threads); }, "n_threads"_a, Release());
  m.def(
      "most_bytes",
      [](Threads n_threads, std::int64_t bytes) { return most_bytes(n_threads, at_least(bytes, 1 << 10, "bytes")); },
      "n_threads"_a, "bytes"_a, Release());
  bind_store(m);
  bind_newton(m);
  bind_stochastic(m);
  bind_passes(m);
  bind_lists(m);
  bind_mixed(m);
  bind_serve(m);
  bind_tastes(m);
  bind_together(m);
}
