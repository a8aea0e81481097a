"""What of the core depends on the compiler and on the processor."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rather import native

NATIVE = Path(__file__).parents[1] / "native"
FLAGS = {"baseline": [], "avx2": ["-march=x86-64-v3"], "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}
PROGRAM = """
#include <cinttypes>
#include <cstdio>
#include "draws.hpp"
#include "rows.hpp"
#if defined(RATHER_PORTABLE) && (defined(RATHER_SHUFFLES) || defined(RATHER_PREFETCHES) || defined(RATHER_INT128))
#error the fallbacks are not in use
#endif
int main() {
  using namespace rather;
  Draws draws(1, 2);
  std::uint64_t edges[] = {0, 1, 0xFFFFFFFF, 0x100000000, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF};
  for (std::uint64_t a : edges)
    for (std::uint64_t b : edges) std::printf("%" PRIu64 "\\n", high_product(a, b));
  for (int k = 0; k < 2000; ++k)
    std::printf("%" PRIu64 " %" PRId64 "\\n", high_product(draws.next(), draws.next()), draws.below(1 + 37 * k));
  for (int k = 0; k < 200; ++k) {
    float x[4 * kLanes];
    for (float& one : x) one = static_cast<float>(draws.unit() - 0.5) * static_cast<float>(draws.below(1000));
    Quad q = sums(load(x), load(x + kLanes), load(x + 2 * kLanes), load(x + 3 * kLanes));
    std::printf("%a %a %a %a %a\\n", q[0], q[1], q[2], q[3], sum(load(x)));
    if (q[0] != sum(load(x)) || q[3] != sum(load(x + 3 * kLanes))) return 1;
    fetch_row<true>(x, kRowPad), pause();
  }
}
"""


@pytest.mark.parametrize("level", native.LEVELS)
def test_fallbacks_have_the_bits_of_the_builtins(level, tmp_path):
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    if native.LEVELS.index(level) > native.LEVELS.index(native.best):
        pytest.skip(f"this processor offers {native.best} at most")
    (tmp_path / "program.cpp").write_text(PROGRAM)
    said = []
    for defined in ([], ["-DRATHER_PORTABLE"]):
        flags = ["-std=gnu++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}", *FLAGS[level], *defined]
        subprocess.run([compiler, *flags, tmp_path / "program.cpp", "-o", tmp_path / "program"], check=True)
        said.append(subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout)
    assert said[0].count("\n") == 2236 and said[0] == said[1]


def bits(*places):
    return sum(1 << place for place in places)


NEW = {  # a processor that has all, under a system that saves all
    "basic": bits(0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29),
    "extended": bits(3, 5, 8, 16, 17, 28, 30, 31),
    "long_mode": bits(0, 5),
    "saved": bits(0, 1, 2, 5, 6, 7),
}
FOR_AVX512 = {("extended", place) for place in (16, 17, 28, 30, 31)} | {("saved", place) for place in (5, 6, 7)}


def best(**changed):
    return native._processor.best_instruction_set(**{**NEW, **changed})


def test_each_missing_feature_makes_a_processor_older():
    assert best() == "avx512"
    for leaf, has in NEW.items():
        for place in range(32):
            if has >> place & 1 and (leaf, place) != ("saved", 0):
                without = best(**{leaf: has & ~(1 << place)})
                assert without == ("avx2" if (leaf, place) in FOR_AVX512 else "baseline"), (leaf, place)


def test_old_processors_and_systems():
    assert best(basic=0, extended=0, long_mode=0, saved=0) == "baseline"
    assert best(extended=bits(3, 5, 8), saved=bits(0, 1, 2)) == "avx2"  # Haswell
    assert best(saved=bits(0, 1, 2)) == "avx2"  # a system that does not save what AVX-512 needs
    assert best(saved=bits(0, 1)) == best(extended=bits(3, 8)) == "baseline"  # not even for AVX; no AVX2


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="there is no /proc/cpuinfo to compare with")
def test_this_processor_is_what_the_system_says():
    words = Path("/proc/cpuinfo").read_text().split()
    assert (native.best != "baseline") == {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"}.issubset(words)
    assert (native.best == "avx512") == {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")}.issubset(words)


def test_instruction_sets_that_cannot_be_had_are_refused():
    same_paths = ["-S"] if sys.flags.no_site else []  # scripts/clang runs without the .pth files of the ordinary build
    for level in (*native.LEVELS, "mmx"):
        run = subprocess.run(
            [sys.executable, *same_paths, "-c", "import rather.native as n; print(n.simd)"],
            env={**os.environ, "RATHER_SIMD": level}, capture_output=True, text=True,
        )  # fmt: skip
        built = importlib.util.find_spec(f"rather._core_{level}") is not None
        if built and native.LEVELS.index(level) <= native.LEVELS.index(native.best):
            assert run.stdout.split() == [level]
        else:
            assert run.returncode and f"{level!r}" in run.stderr.splitlines()[-1]
