// Which of the core's builds a processor can run, by what cpuid says of it and which registers the system saves.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rather {

struct Processor {
  std::uint32_t basic = 0;      // cpuid leaf 1, ecx
  std::uint32_t extended = 0;   // leaf 7, ebx
  std::uint32_t long_mode = 0;  // leaf 0x80000001, ecx
  std::uint32_t saved = 0;      // the low half of xcr0: the registers that the system saves
};

inline Processor this_processor() {
  Processor found;
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) found.basic = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) found.extended = b;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) found.long_mode = c;
  if (found.basic >> 27 & 1) {  // else xgetbv is no instruction
    asm volatile("xgetbv" : "=a"(found.saved), "=d"(d) : "c"(0));
  }
#endif
  return found;
}

// The last of x86-64-v3 and x86-64-v4 that it has whole, by the names of the builds.
inline const char* best_instruction_set(const Processor& p) {
  auto all = [](std::uint32_t bits, auto... places) { return ((bits >> places & 1) && ...); };
  // SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LAHF, LZCNT
  const bool v3 = all(p.basic, 0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29) && all(p.extended, 3, 5, 8) &&
                  all(p.long_mode, 0, 5) && all(p.saved, 1, 2);
  // AVX-512 F, DQ, CD, BW, VL; their masks and both halves of their registers
  const bool v4 = v3 && all(p.extended, 16, 17, 28, 30, 31) && all(p.saved, 5, 6, 7);
  return v4 ? "avx512" : v3 ? "avx2" : "baseline";
}

}  // namespace rather
