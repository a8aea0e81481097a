// The parts of the module, by topic; each binds its functions to it.
#pragma once

#include <nanobind/nanobind.h>

namespace rather {

void bind_store(nanobind::module_& m);       // comparisons, and how they are drawn
void bind_newton(nanobind::module_& m);      // steps of Newton's method
void bind_stochastic(nanobind::module_& m);  // dual and stochastic descent
void bind_passes(nanobind::module_& m);      // products with the entries, their spectrum, prior means
void bind_lists(nanobind::module_& m);       // losses of whole lists, and least squares
void bind_mixed(nanobind::module_& m);       // how people answer, given the items
void bind_serve(nanobind::module_& m);       // scores and orders of a fitted model
void bind_tastes(nanobind::module_& m);      // a sampler of everyone's tastes
void bind_together(nanobind::module_& m);    // what was clicked together with what

}  // namespace rather
