// Threads whose number never shows in a result: work is cut into chunks by the data alone, threads take chunks as
// they come free, and sums are kept per chunk and added in chunk order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace rather {

// Refers to a body of work while it is called. The loops over chunks are thereby compiled once, not once a body.
template <class Signature>
class Body;

template <class Result, class... Given>
class Body<Result(Given...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Body>)
  Body(F&& body)
      : body_(const_cast<void*>(static_cast<const void*>(&body))), call_([](void* what, Given... given) -> Result {
          return static_cast<Result>((*static_cast<std::remove_reference_t<F>*>(what))(given...));
        }) {}
  Result operator()(Given... given) const { return call_(body_, given...); }

 private:
  void* body_;
  Result (*call_)(void*, Given...);
};

// Calls body(thread, chunk) once for every chunk in [0, n_chunks), on up to n_threads threads.
void for_chunks(int n_threads, std::int64_t n_chunks, Body<void(int, std::int64_t)> body);

// Calls body(thread, begin, end) over [0, n) in chunks of `size`.
void for_ranges(int n_threads, std::int64_t n, std::int64_t size, Body<void(int, std::int64_t, std::int64_t)> body);

// The sum over [0, n) of what body(thread, begin, end) returns for each chunk of `size`, added in chunk order.
double sum_ranges(int n_threads, std::int64_t n, std::int64_t size, Body<double(int, std::int64_t, std::int64_t)> body);

}  // namespace rather
