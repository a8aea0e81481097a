// A module of its own, which any processor can run: it says which build of the core suits this one.
#include "processor.hpp"

#include <nanobind/nanobind.h>

using namespace nanobind::literals;
using rather::Processor;

NB_MODULE(_core_processor, m) {
  m.def("processor", [] {
    const Processor p = rather::this_processor();
    return nanobind::make_tuple(p.basic, p.extended, p.long_mode, p.saved);
  });
  m.def(
      "best_instruction_set",
      [](std::uint32_t basic, std::uint32_t extended, std::uint32_t long_mode, std::uint32_t saved) {
        return rather::best_instruction_set({basic, extended, long_mode, saved});
      },
      "basic"_a, "extended"_a, "long_mode"_a, "saved"_a);
}
