// A buffer on a cache-line boundary, filled with zeros unless it is asked for as it comes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace rather {

inline constexpr struct Unfilled {
} kUnfilled;

template <class T>
class Aligned {
 public:
  Aligned(std::size_t size, Unfilled)
      : size_(size), data_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64}))) {}
  explicit Aligned(std::size_t size) : Aligned(size, kUnfilled) { std::fill_n(data_.get(), size, T{}); }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  T& operator[](std::size_t k) { return data_.get()[k]; }
  const T& operator[](std::size_t k) const { return data_.get()[k]; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::size_t size_;
  std::unique_ptr<T, Free> data_;
};

}  // namespace rather
