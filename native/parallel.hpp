// Threads whose number never shows in a result: work is cut into chunks by the data alone, threads take chunks as
// they come free, and sums are kept per chunk and added in chunk order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "team.hpp"

namespace rather {

// Calls body(thread, chunk) once for every chunk in [0, n_chunks), on up to n_threads threads.
template <class Body>
void for_chunks(int n_threads, std::int64_t n_chunks, Body&& body) {
  n_threads = static_cast<int>(std::min<std::int64_t>(n_threads, n_chunks));
  if (n_threads <= 1) {
    for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk) body(0, chunk);
    return;
  }
  Team::Lease team;
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  team->run(n_threads, [&](int thread) {
    try {
      for (std::int64_t chunk; (chunk = next.fetch_add(1)) < n_chunks;) body(thread, chunk);
    } catch (...) {
      std::lock_guard<std::mutex> hold(failure_lock);
      if (!failure) failure = std::current_exception();
      next.store(n_chunks);
    }
  });
  if (failure) std::rethrow_exception(failure);
}

// Calls body(thread, begin, end) over [0, n) in chunks of `size`.
template <class Body>
void for_ranges(int n_threads, std::int64_t n, std::int64_t size, Body&& body) {
  for_chunks(n_threads, (n + size - 1) / size,
             [&](int thread, std::int64_t chunk) { body(thread, chunk * size, std::min(n, (chunk + 1) * size)); });
}

// The sum over [0, n) of what body(thread, begin, end) returns for each chunk of `size`, added in chunk order.
template <class Body>
double sum_ranges(int n_threads, std::int64_t n, std::int64_t size, Body&& body) {
  std::vector<double> part((n + size - 1) / size);
  for_chunks(n_threads, static_cast<std::int64_t>(part.size()), [&](int thread, std::int64_t chunk) {
    part[chunk] = body(thread, chunk * size, std::min(n, (chunk + 1) * size));
  });
  double total = 0;
  for (double p : part) total += p;
  return total;
}

}  // namespace rather
