// Hands out chunks to the threads of a team.
#include "parallel.hpp"

#include <atomic>
#include <exception>
#include <mutex>

#include "team.hpp"

namespace rather {

void for_chunks(int n_threads, std::int64_t n_chunks, Body<void(int, std::int64_t)> body) {
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

void for_ranges(int n_threads, std::int64_t n, std::int64_t size, Body<void(int, std::int64_t, std::int64_t)> body) {
  for_chunks(n_threads, (n + size - 1) / size,
             [&](int thread, std::int64_t chunk) { body(thread, chunk * size, std::min(n, (chunk + 1) * size)); });
}

double sum_ranges(int n_threads, std::int64_t n, std::int64_t size,
                  Body<double(int, std::int64_t, std::int64_t)> body) {
  std::vector<double> part((n + size - 1) / size);
  for_chunks(n_threads, static_cast<std::int64_t>(part.size()), [&](int thread, std::int64_t chunk) {
    part[chunk] = body(thread, chunk * size, std::min(n, (chunk + 1) * size));
  });
  double total = 0;
  for (double p : part) total += p;
  return total;
}

}  // namespace rather
