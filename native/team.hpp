// Threads that stay between one piece of work and the next: a pass takes microseconds to hand out, and a fit has
// hundreds of them.
//
// A caller leases a team for one piece of work; callers at the same time have teams of their own. A member that is idle
// spins for some microseconds, because the next piece is mostly at hand, and then sleeps. Work never waits for a member
// that has not woken up: whoever comes too late finds the door closed. Teams are never destroyed: a process that has worked
// on several threads keeps them, asleep. A forked child has none of its parent's, and begins with no teams.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "portable.hpp"

namespace rather {

class Team {
 public:
  // Calls work(0) here and work(1), work(2), ... on up to n_threads - 1 members, each at most once; returns when all
  // that were begun have ended. `work` must not throw.
  template <class Work>
  void run(int n_threads, const Work& work) {
    while (static_cast<int>(size_) < n_threads - 1 && grow()) {
    }
    call_ = [](const void* what, int thread) { (*static_cast<const Work*>(what))(thread); };
    what_ = &work;
    ended_.store(0, std::memory_order_relaxed);
    const std::uint64_t places = static_cast<std::uint64_t>(std::min<std::int64_t>(size_, n_threads - 1));
    const std::uint64_t piece = (door_.load(std::memory_order_relaxed) >> 32) + 1;
    door_.store(piece << 32 | places, std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst)) door_.notify_all();
    work(0);
    const std::uint64_t left = door_.fetch_and(~kPlaces, std::memory_order_acq_rel) & kPlaces;  // closed
    const auto begun = static_cast<std::uint32_t>(places - left);
    for (int turn = 0; ended_.load(std::memory_order_acquire) != begun; ++turn) rest(turn);
  }

  // A team that nobody else has, until the lease ends.
  class Lease {
   public:
    Lease() {
      std::lock_guard<std::mutex> hold(idle().lock);
      if (idle().teams.empty()) idle().teams.push_back(new Team);
      team_ = idle().teams.back();
      idle().teams.pop_back();
    }
    ~Lease() {
      std::lock_guard<std::mutex> hold(idle().lock);
      idle().teams.push_back(team_);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Team* operator->() { return team_; }

   private:
    Team* team_;
  };

 private:
  static constexpr std::uint64_t kPlaces = 0xffffffff;
  static constexpr int kSpins = 1000;  // 30 to 50 microseconds

  struct Idle {
    std::mutex lock;
    std::vector<Team*> teams;
  };

  static Idle*& idle_place() {
    static Idle* place = [] {
#if defined(__unix__) || defined(__APPLE__)
      pthread_atfork(nullptr, nullptr, [] { idle_place() = new Idle; });
#endif
      return new Idle;
    }();
    return place;
  }
  static Idle& idle() { return *idle_place(); }

  static void rest(int turn) {
    if (turn > kSpins) return std::this_thread::yield();
    pause();
  }

  bool grow() {
    try {
      std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      return false;  // the system grants no more threads: those that there are do the work
    }
    ++size_;
    return true;
  }

  [[noreturn]] void serve() {
    std::uint64_t seen = door_.load(std::memory_order_acquire);
    for (;;) {
      // Take a place, if there is one left.
      while (seen & kPlaces) {
        if (!door_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) continue;
        call_(what_, static_cast<int>(seen & kPlaces));
        ended_.fetch_add(1, std::memory_order_release);
        break;
      }
      seen = next_after(seen >> 32);
    }
  }

  // The door once it is that of another piece of work.
  std::uint64_t next_after(std::uint64_t piece) {
    std::uint64_t now = door_.load(std::memory_order_acquire);
    for (int turn = 0; turn < kSpins && now >> 32 == piece; ++turn) {
      rest(turn);
      now = door_.load(std::memory_order_acquire);
    }
    if (now >> 32 != piece) return now;
    asleep_.fetch_add(1, std::memory_order_seq_cst);
    while ((now = door_.load(std::memory_order_seq_cst)) >> 32 == piece) door_.wait(now, std::memory_order_seq_cst);
    asleep_.fetch_sub(1, std::memory_order_relaxed);
    return now;
  }

  alignas(64) std::atomic<std::uint64_t> door_{0};  // which piece of work, and how many places it has left
  alignas(64) std::atomic<std::uint32_t> ended_{0};
  std::atomic<int> asleep_{0};
  std::int64_t size_ = 0;
  void (*call_)(const void*, int) = nullptr;
  const void* what_ = nullptr;
};

}  // namespace rather
