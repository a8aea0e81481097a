// The passes that sum over users, by blocks of the transposed store.
#include "columns.hpp"

#include <tuple>
#include <vector>

namespace rather {

namespace {

// Calls f(j, users, n, coefficients...) for the entries of every item in a shard of users, with the entries' numbers from
// each of the given arrays. A thread has items of its own and goes through the blocks of users one by one: an item's
// entries come in the order of users, so its sum is the same whichever thread forms it.
template <class F, class... Coefficients>
void over_columns(const Store& s, std::int64_t shard, int n_threads, F&& f, const Coefficients*... coefficient) {
  constexpr int kShares = 4;  // for each thread, of about as many entries each
  std::vector<std::int64_t> bound{0};
  std::int64_t n_shares = n_threads == 1 ? 1 : std::int64_t{kShares} * n_threads, reached = 0;
  for (std::int64_t j = 0; j < s.n_items; ++j) {
    reached += s.held_count[j];
    if (reached * n_shares >= s.n_entries() * static_cast<std::int64_t>(bound.size())) bound.push_back(j + 1);
  }
  bound.back() = s.n_items;
  for_chunks(n_threads, static_cast<std::int64_t>(bound.size()) - 1, [&](int, std::int64_t share) {
    std::vector<float> buffer;
    for (std::int64_t block = s.shard_block[shard]; block < s.shard_block[shard + 1]; ++block) {
      const std::int64_t base = s.start[s.block_start[block]], *column = &s.column_start[block * s.n_items];
      for (std::int64_t j = bound[share]; j < bound[share + 1]; ++j) {
        const std::int64_t begin = column[j], n = column[j + 1] - begin;
        if (n == 0) continue;
        buffer.resize(sizeof...(coefficient) * n);
        float* next = buffer.data();
        auto gathered = [&](const float* from) {
          float* to = next;
          for (std::int64_t k = 0; k < n; ++k) to[k] = from[base + s.column_entry[begin + k]];
          next += n;
          return static_cast<const float*>(to);
        };
        std::tuple<std::int64_t, const std::int32_t*, std::int64_t> place{j, s.column_user.data() + begin, n};
        std::apply(f, std::tuple_cat(place, std::tuple{gathered(coefficient)...}));
      }
    }
  });
}

}  // namespace

void item_products(const Store& s, const float* coefficient, const float* A, std::int64_t ld, float* out,
                   int n_threads) {
  s.users.sum_arrays(out, s.n_items * ld, n_threads, [&](std::int64_t shard, float* to) {
    std::fill_n(to, s.n_items * ld, 0.0f);
    over_columns(
        s, shard, n_threads,
        [&](std::int64_t j, const std::int32_t* users, std::int64_t n, const float* c) {
          combine(A, users, c, n, ld, to + j * ld);
        },
        coefficient);
  });
}

void item_sums(const Store& s, const float* x, float* out, int n_threads) {
  std::vector<double> total(s.n_items);
  s.users.sum_arrays(total.data(), s.n_items, n_threads, [&](std::int64_t shard, double* to) {
    std::fill_n(to, s.n_items, 0.0);
    over_columns(
        s, shard, n_threads,
        [&](std::int64_t j, const std::int32_t*, std::int64_t n, const float* column) {
          for (std::int64_t k = 0; k < n; ++k) to[j] += column[k];
        },
        x);
  });
  std::copy(total.begin(), total.end(), out);
}

void row_and_column_sums(const Store& s, const float* x, double* row_absolute, double* row_square,
                         double* column_square, int n_threads) {
  for_ranges(n_threads, s.n_users, kUserChunk, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      row_absolute[i] = row_square[i] = 0;
      for (std::int64_t e = s.start[i]; e < s.start[i + 1]; ++e)
        row_absolute[i] += std::abs(x[e]), row_square[i] += double{x[e]} * x[e];
    }
  });
  s.users.sum_arrays(column_square, s.n_items, n_threads, [&](std::int64_t shard, double* to) {
    std::fill_n(to, s.n_items, 0.0);
    over_columns(
        s, shard, n_threads,
        [&](std::int64_t j, const std::int32_t*, std::int64_t n, const float* column) {
          to[j] += inner(column, column, n);
        },
        x);
  });
}

}  // namespace rather
