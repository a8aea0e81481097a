"""Random parts of rows: how many of every row, and which."""

import numpy as np
import pytest

from rather.data.rows import random_places, share_of_each_row, some


@pytest.mark.parametrize(
    ("size", "share", "wanted"),
    [(1, 0.2, 0), (2, 0.2, 0), (3, 0.2, 1), (4, 0.2, 1), (5, 0.2, 2), (9, 0.2, 2), (13, 0.2, 3), (20, 0.5, 10)],
)
def test_a_share_of_each_row(size, share, wanted):
    """The share is rounded, and of five or more at least two are picked; rows do not change each other."""
    row = np.repeat(np.arange(3), [4, size, 6])
    mask = share_of_each_row(row, 3, share, np.random.default_rng(0))
    assert mask[row == 1].sum() == wanted
    assert mask[row == 0].sum() == round(4 * share) and mask[row == 2].sum() == max(round(6 * share), 2)


def test_every_entry_is_picked_as_often():
    """Over many draws each entry of a row is picked in its share of them."""
    row, rng = np.repeat([0, 1], [10, 5]), np.random.default_rng(0)
    picked = np.mean([share_of_each_row(row, 2, 0.4, rng) for _ in range(2000)], axis=0)
    np.testing.assert_allclose(picked, 0.4, atol=0.05)
    assert some(7, 0.5, rng).sum() == 4 and some(1, 0.1, rng).sum() == 0


def test_random_places():
    """Places of a row are 0, 1, 2 ... in random order, and sizes are the rows'."""
    row = np.array([2, 0, 2, 2, 0])
    place, size = random_places(row, 4, np.random.default_rng(0))
    assert size.tolist() == [2, 0, 3, 0]
    assert sorted(place[row == 2]) == [0, 1, 2] and sorted(place[row == 0]) == [0, 1]
