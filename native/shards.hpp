// Rows in shards, whose sums are added in a fixed binary tree: the same bits whichever process holds which shards.
//
// Rows in one shard that no other process has part in, which is what they are unless someone says otherwise, are an
// ordinary range.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "parallel.hpp"

namespace rather {

// Adds up arrays of several processes, in place and to the same bits in all of them: by a binary tree over processes.
class Across {
 public:
  virtual ~Across() = default;
  virtual void sum(float* x, std::int64_t n) const = 0;
  virtual void sum(double* x, std::int64_t n) const = 0;
};

// Shard k is the rows start[k] .. start[k + 1]. Every process has neighbouring shards, as many of them as every other
// and a power of two: their tree is a branch of that over all.
class Shards {
 public:
  explicit Shards(std::int64_t n) : start_{0, n} {}
  Shards(std::vector<std::int64_t> start, std::shared_ptr<const Across> across)
      : start_(std::move(start)), across_(std::move(across)) {}

  const std::vector<std::int64_t>& start() const { return start_; }
  std::int64_t n() const { return start_.back(); }
  bool whole() const { return count() == 1 && !across_; }  // all rows, here, as one range
  std::int64_t count() const { return static_cast<std::int64_t>(start_.size()) - 1; }
  std::int64_t first(std::int64_t shard) const { return start_[shard]; }
  std::int64_t size(std::int64_t shard) const { return start_[shard + 1] - start_[shard]; }

  // The same shards of what the rows consist of: row i of the parts from[i] .. from[i + 1].
  Shards of_parts(const std::vector<std::int64_t>& from) const {
    std::vector<std::int64_t> start;
    for (std::int64_t row : start_) start.push_back(from[row]);
    return {std::move(start), across_};
  }

  // The sum over all rows of what body(thread, begin, end) returns for each chunk of `size` of a shard's rows, added in
  // chunk order.
  double sum(int n_threads, std::int64_t size, Body<double(int, std::int64_t, std::int64_t)> body) const {
    std::vector<std::int64_t> before{0};  // chunks before each shard
    for (std::int64_t k = 0; k < count(); ++k) before.push_back(before[k] + (this->size(k) + size - 1) / size);
    std::vector<double> part(before.back()), total(count(), 0.0);
    for_chunks(n_threads, before.back(), [&](int thread, std::int64_t chunk) {
      const std::int64_t k = std::upper_bound(before.begin(), before.end(), chunk) - before.begin() - 1;
      const std::int64_t begin = start_[k] + (chunk - before[k]) * size;
      part[chunk] = body(thread, begin, std::min(start_[k + 1], begin + size));
    });
    for (std::int64_t k = 0; k < count(); ++k)
      for (std::int64_t chunk = before[k]; chunk < before[k + 1]; ++chunk) total[k] += part[chunk];
    for (std::int64_t apart = 1; apart < count(); apart *= 2)
      for (std::int64_t k = 0; k + apart < count(); k += 2 * apart) total[k] += total[k + apart];
    across(&total[0], 1);
    return total[0];
  }

  // out (n numbers) <- the sum over all shards of what make(shard, to) writes to its n numbers.
  template <class T>
  void sum_arrays(T* out, std::int64_t n, int n_threads,
                  Body<void(std::int64_t, std::type_identity_t<T>*)> make) const {
    if (count() == 1) {
      make(0, out);
    } else {
      std::vector<Aligned<T>> branch, spare;  // sums of ever smaller subtrees that wait for the other half
      for (std::int64_t k = 0; k < count(); ++k) {
        Aligned<T> next = spare.empty() ? Aligned<T>(n, kUnfilled) : std::move(spare.back());
        if (!spare.empty()) spare.pop_back();
        make(k, next.data());
        for (std::int64_t done = k; done % 2; done /= 2) {
          Aligned<T>& half = branch.back();
          for_ranges(n_threads, n, 1 << 14, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c) next[c] = half[c] + next[c];
          });
          spare.push_back(std::move(half));
          branch.pop_back();
        }
        branch.push_back(std::move(next));
      }
      std::copy_n(branch.back().data(), n, out);
    }
    across(out, n);
  }

  // x <- its sum over all processes, where x is already the sum over the shards of each.
  template <class T>
  void across(T* x, std::int64_t n) const {
    if (across_) across_->sum(x, n);
  }

 private:
  std::vector<std::int64_t> start_;
  std::shared_ptr<const Across> across_;  // null: there is only this process
};

}  // namespace rather
