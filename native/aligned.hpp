// A zero-filled buffer on a cache-line boundary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace rather {

template <class T>
class Aligned {
 public:
  explicit Aligned(std::size_t size)
      : size_(size), data_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64}))) {
    std::fill_n(data_.get(), size, T{});
  }
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
