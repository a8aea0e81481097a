"""Pairs within rows, counted and chosen without holding or visiting more than needed: against visiting them all."""

import numpy as np
import pytest

from rather.native import core


def starts(sizes):
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def count_ordered(start, value, key, min_gap, n_threads):
    ordered, total = (np.empty(len(start) - 1, np.int64) for _ in range(2))
    core.count_ordered(start, value, key, min_gap, ordered, total, n_threads)
    return ordered, total


@pytest.mark.parametrize("levels", [2, 7, 1000])
@pytest.mark.parametrize("min_gap", [0.0, 0.3, 1.0])
def test_ordered_pairs_are_counted_row_by_row(levels, min_gap):
    """With ties in value and in key, in rows short enough to visit and long enough to sort."""
    rng = np.random.default_rng(levels)
    sizes = [0, 1, 2, 17, 31, 32, 100, 700, 3]
    start = starts(sizes)
    value = rng.integers(0, levels, start[-1]) / 10
    key = rng.integers(0, 40, start[-1]).astype(np.float32) - 20
    key[rng.integers(0, len(key), 200)] = -0.0
    expected = np.zeros((2, len(sizes)), np.int64)
    for i, row in enumerate(map(slice, start[:-1], start[1:])):
        above = value[row][:, None] > value[row]
        counts = above & (value[row][:, None] - value[row] >= min_gap)
        expected[:, i] = (counts & (key[row][:, None] > key[row])).sum(), counts.sum()
    for n_threads in (1, 3):
        np.testing.assert_array_equal(count_ordered(start, value, key, min_gap, n_threads), expected)


def test_rows_with_unordered_numbers_are_counted_too():
    """NaN is neither above nor below anything, however long the row."""
    value, key = np.arange(60.0), np.arange(60, dtype=np.float32)
    key[7], value[9] = np.nan, np.nan
    ordered, total = count_ordered(starts([60]), value, key, 0.0, 1)
    assert (ordered[0], total[0]) == (58 * 57 // 2, 59 * 58 // 2)


def test_a_long_row_is_counted_fast():
    n = 200_000  # visiting its 2 * 10^10 pairs would take minutes
    value = np.arange(n, dtype=float)
    ordered, total = count_ordered(starts([n]), value, -value.astype(np.float32), 1.0, 1)
    assert (ordered[0], total[0]) == (0, n * (n - 1) // 2)


def splitmix(seed, stream, n):
    """The first n draws of one of the core's random streams."""

    def mix(x):
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
        return x ^ (x >> 31)

    state, step = (seed * 0x9E3779B97F4A7C15 ^ mix(stream + 1)) % 2**64, 0x9E3779B97F4A7C15
    return [mix((state + (t + 1) * step) % 2**64) for t in range(n)]


@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_largest_gaps_are_the_first_of_all_pairs_sorted(levels):
    """The n pairs of a row of n that come first by gap, ties by the number each pair drew in the order of the rows."""
    sizes, seed = [0, 1, 2, 5, 30], 123
    start = starts(sizes)
    rating = np.random.default_rng(levels).integers(0, levels, start[-1]) / 4
    expected = np.full((2, start[-1]), -1)
    for i, row in enumerate(map(slice, start[:-1], start[1:])):
        pairs = np.argwhere(rating[row][:, None] > rating[row]) + row.start
        draws = splitmix(seed, i, len(pairs))
        first = sorted(
            (rating[loser] - rating[winner], draw, winner, loser)
            for draw, (winner, loser) in zip(draws, pairs, strict=True)
        )
        for t, (*_, winner, loser) in enumerate(first[: sizes[i]]):
            expected[:, row.start + t] = winner, loser
    for n_threads in (1, 3):
        winner, loser = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
        core.largest_gaps(start, rating, seed, winner, loser, n_threads)
        np.testing.assert_array_equal((winner, loser), expected)


def test_largest_gaps_hold_few_pairs():
    """A row of 4000 ratings has 8 million pairs, 256 MB of them at once; memory grows by a small part of that."""
    resource = pytest.importorskip("resource")
    n = 4000
    rating = np.random.default_rng(0).permutation(n).astype(float)
    winner, loser = np.empty(n, np.int64), np.empty(n, np.int64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    core.largest_gaps(starts([n]), rating, 1, winner, loser, 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes
    gap = rating[winner] - rating[loser]
    assert (np.diff(gap) <= 0).all() and gap[0] == n - 1 and gap[-1] == n - np.ceil((np.sqrt(8 * n + 1) - 1) / 2)
