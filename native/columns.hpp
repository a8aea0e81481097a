// The passes over the data that sum over users, item by item.
//
//   item_products    for every item, a combination of the rows of the users who saw it
//   item_sums        for every item, the sum of its entries
#pragma once

#include "passes.hpp"

namespace rather {

// out_j = sum over the users i that saw j of coefficient_ij A_i.
void item_products(const Store& s, const float* coefficient, const float* A, std::int64_t ld, float* out,
                   int n_threads);

// The sum of every item's numbers.
void item_sums(const Store& s, const float* x, float* out, int n_threads);

// For numbers over the entries: the sums of a row's absolute values and squares, and of a column's squares.
void row_and_column_sums(const Store& s, const float* x, double* row_absolute, double* row_square,
                         double* column_square, int n_threads);

}  // namespace rather
