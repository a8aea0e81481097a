// Where Python's arguments come in. An array gives its data only to a check that names it, and is never converted: a
// copy would cost memory and, of an output, lose the result.
//
//   sized      so many numbers
//   rows       a factor: so many rows, each a whole number of cache lines
//   coded      so many codes, each of one of n things
//   in_order   codes that never fall
//   starts     where rows begin in a column: from 0 to its end, never falling
//   between    a number within limits
//
// An array of another type, or that is strided, or an output that is read-only, is a TypeError; a code out of range is
// an IndexError; all else is a ValueError. Every message is one sentence with the argument's name, what it is and what
// it must be. Nothing here needs the interpreter once the arguments are read.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "simd.hpp"

namespace rather {

namespace nb = nanobind;
using namespace nb::literals;
using Release = nb::call_guard<nb::gil_scoped_release>;

[[noreturn]] inline void wrong(const std::string& name, const std::string& is, const std::string& must) {
  throw std::invalid_argument(name + " " + is + "; it must " + must);
}

template <class T>
class Array {
 public:
  using Held = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

  Array() = default;
  explicit Array(Held held) : held_(std::move(held)) {}
  explicit Array(std::string other) : other_(std::move(other)) {}

  const Held& checked(const char* name) const {
    if (held_.is_valid()) return held_;
    std::string kind = (std::is_floating_point_v<T> ? "float" : "int") + std::to_string(8 * sizeof(T));
    std::string wanted = (std::is_const_v<T> ? "a contiguous array of " : "a contiguous, writable array of ") + kind;
    throw nb::type_error((std::string(name) + " is " + other_ + "; it must be " + wanted).c_str());
  }

 private:
  Held held_;
  std::string other_;  // what was given, if it is no such array
};

template <class T>
using In = Array<const T>;
template <class T>
using InOut = Array<T>;

// What an argument is that is not the array it should be.
inline std::string described(nb::handle given) noexcept {
  try {
    nb::object kind = given.attr("dtype"), flags = given.attr("flags");
    bool contiguous = nb::cast<bool>(flags.attr("c_contiguous")), writable = nb::cast<bool>(flags.attr("writeable"));
    std::string what = std::string(contiguous ? "" : "strided ") + (writable ? "" : "read-only ");
    return (what.empty() ? "an " : "a ") + what + "array of " + nb::str(kind).c_str();
  } catch (const std::exception&) {
    return std::string("of type ") + nb::inst_name(given).c_str();
  }
}

struct Threads {  // a number of threads, at least one
  int n = 1;
  operator int() const {
    if (n < 1) wrong("n_threads", "is " + std::to_string(n), "be at least 1");
    return n;
  }
};

// The name of a number, or of one number of an array.
inline std::string named(const char* name, std::int64_t index) {
  return index < 0 ? name : std::string(name) + "[" + std::to_string(index) + "]";
}

template <class Number>
Number between(Number value, std::type_identity_t<Number> low, std::type_identity_t<Number> high, const char* name,
               std::int64_t index = -1) {
  if (!(value >= low && value <= high))  // a NaN is refused too
    wrong(named(name, index), "is " + std::to_string(value),
          "be from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

template <class Number>
Number at_least(Number value, std::type_identity_t<Number> low, const char* name) {
  if (value < low) wrong(name, "is " + std::to_string(value), "be at least " + std::to_string(low));
  return value;
}

template <class T>
std::int64_t size_of(const Array<T>& array, const char* name) {
  return static_cast<std::int64_t>(array.checked(name).size());
}

template <class T>
T* sized(const Array<T>& array, std::int64_t n, const char* name) {
  if (std::int64_t size = size_of(array, name); size != n)
    wrong(name, "has " + std::to_string(size) + " numbers", "have " + std::to_string(n));
  return array.checked(name).data();
}

template <class T>
T* sized(const std::optional<Array<T>>& array, std::int64_t n, const char* name) {
  return array ? sized(*array, n, name) : nullptr;
}

template <class T>
struct Rows {
  T* data;
  std::int64_t n, ld;
};

inline constexpr std::int64_t kAny = -1;  // of rows, or of floats in a row

template <class T>
Rows<T> rows(const Array<T>& array, std::int64_t n, const char* name, std::int64_t ld = kAny) {
  const auto& held = array.checked(name);
  const bool matrix = held.ndim() == 2;
  Rows<T> found{held.data(), matrix ? held.shape_ptr()[0] : 0, matrix ? held.shape_ptr()[1] : 0};
  if (!matrix || (n != kAny && found.n != n) || found.ld == 0 || found.ld % kRowPad || (ld != kAny && found.ld != ld)) {
    std::string shape, floats = ld == kAny ? "a multiple of " + std::to_string(kRowPad) : std::to_string(ld);
    for (std::size_t k = 0; k < held.ndim(); ++k) shape += (k ? " x " : "") + std::to_string(held.shape(k));
    wrong(name, "is " + shape,
          "be " + (n == kAny ? "any number of" : std::to_string(n)) + " rows of " + floats + " floats");
  }
  return found;
}

inline const std::int32_t* coded(const In<std::int32_t>& array, std::int64_t size, std::int64_t n, const char* name,
                                 std::int32_t lowest = 0) {
  const std::int32_t* codes = sized(array, size, name);
  std::int32_t least = std::numeric_limits<std::int32_t>::max(), most = std::numeric_limits<std::int32_t>::min();
  for (std::int64_t e = 0; e < size; ++e) least = std::min(least, codes[e]), most = std::max(most, codes[e]);
  if (size && (least < lowest || most >= n)) {
    std::int64_t e = std::find_if(codes, codes + size, [&](auto code) { return code < lowest || code >= n; }) - codes;
    std::string limits = lowest ? "" : "at least 0 and ";
    throw std::out_of_range(named(name, e) + " is " + std::to_string(codes[e]) + "; it must be " + limits + "below " +
                            std::to_string(n));
  }
  return codes;
}

// The lowest code where any negative one stands for something unknown.
inline constexpr std::int32_t kOrUnknown = std::numeric_limits<std::int32_t>::min();

inline const std::int32_t* in_order(const std::int32_t* codes, std::int64_t size, const char* name) {
  std::int64_t falls = 0;
  for (std::int64_t e = 1; e < size; ++e) falls += codes[e] < codes[e - 1];
  if (falls) wrong(name, "is not in order", "never fall");
  return codes;
}

struct Starts {
  const std::int64_t* data;
  std::int64_t n_rows;
};

inline Starts starts(const In<std::int64_t>& array, std::int64_t size, const char* name, std::int64_t n_rows = kAny) {
  if (n_rows == kAny) n_rows = size_of(array, name) - 1;
  const std::int64_t* start = sized(array, n_rows + 1, name);
  if (n_rows < 0 || start[0] != 0 || start[n_rows] != size || !std::is_sorted(start, start + n_rows + 1))
    wrong(name, "does not say where rows begin", "rise from 0 to " + std::to_string(size));
  return {start, n_rows};
}

}  // namespace rather

namespace nanobind::detail {

template <class T>
struct type_caster<rather::Array<T>> {
  using Held = typename rather::Array<T>::Held;
  NB_TYPE_CASTER(rather::Array<T>, make_caster<Held>::Name)

  bool from_python(handle given, std::uint32_t, cleanup_list* cleanup) noexcept {
    make_caster<Held> held;
    bool fits = held.from_python(given, 0, cleanup);
    value = fits ? rather::Array<T>(std::move(held.value)) : rather::Array<T>(rather::described(given));
    return true;
  }
};

template <>
struct type_caster<rather::Threads> {
  NB_TYPE_CASTER(rather::Threads, make_caster<int>::Name)

  bool from_python(handle given, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int> number;
    if (!number.from_python(given, flags, cleanup)) return false;
    value.n = number.value;
    return true;
  }
};

}  // namespace nanobind::detail
