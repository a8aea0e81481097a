"""Users in shards: sums over all of them are one binary tree, whichever process holds which shards."""

import threading

import numpy as np
import pytest

from rather import Comparisons
from rather.native import LOSSES, core
from rather.solving import start
from rather.solving.described import Known, priors
from rather.solving.exposure import exposure_features
from rather.solving.newton import Newton
from rather.solving.problem import Problem
from rather.solving.reg import reg_scales
from rather.solving.scales import scales

N_USERS, N_ITEMS, SHARDS = 90, 40, 8


class Together:
    """Threads that add arrays up as processes would: in a binary tree, to the same bits in all of them."""

    def __init__(self, size):
        self.given, self.met = [None] * size, threading.Barrier(size)

    def of(self, rank):
        def total(x):
            self.given[rank] = x
            self.met.wait(30)
            parts = [part.copy() for part in self.given]
            while len(parts) > 1:
                parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
            self.met.wait(30)
            x[:] = parts[0]

        return total


def data(kind):
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(N_USERS), 9)
    item = np.concatenate([rng.permutation(N_ITEMS)[:9] for _ in range(N_USERS)])
    if kind == "ratings":
        return Comparisons.from_ratings({"user": user, "item": item, "rating": rng.integers(1, 6, len(user))})
    other = (item + rng.integers(1, N_ITEMS, len(item))) % N_ITEMS
    return Comparisons.from_frame({"user": user, "winner": item, "loser": other})


def bounds():
    """Shards of uneven sizes, one of them empty."""
    return np.array([0, 20, 21, 21, 40, 55, 60, 80, N_USERS])


def fitted(source, loss, exposed, n_threads=1):
    """A few rounds, from the rule of reg to the factors."""
    store = source.store
    scaled, _ = scales(store, user_power=0.3, item_power=0.5, balance=0.5)
    found = exposure_features(source, wanted=exposed, seed=0, n_threads=n_threads)
    problem = Problem(
        store, rank=6, loss=loss, bias=True, scales=scaled, n_threads=n_threads,
        priors=priors(store, scaled, found, Known(), n_threads),
    )  # fmt: skip
    reg, bias = reg_scales(store, loss=loss, scales=scaled, n_threads=n_threads)
    problem.set_reg(0.5 * reg, bias)
    start.spectral(problem, 0)
    begun = problem.objective()
    solver = Newton(problem, 0)
    records = [solver.round() for _ in range(4)]
    return problem, [begun, reg, bias, *(number for record in records for number in record.values())]


def in_processes(kind, size, loss="squared_hinge", exposed=False, n_threads=1):
    """The rows of U in the order of users, V and all numbers, where so many processes hold as many shards each."""
    whole, cut, each = data(kind).source, bounds(), SHARDS // size
    together, made = Together(size), [None] * size

    def work(rank):
        first, last = cut[rank * each], cut[(rank + 1) * each]
        users = np.zeros(whole.n_users, bool)
        users[first:last] = True
        some = whole.of_users(users)
        source = type(some).__new__(type(some))
        source.__dict__ = dict(some.__dict__)
        rows = some.levels if kind == "ratings" else some.pairs()
        rows = type(rows)(**{**rows.__dict__, "user": rows.user - np.int32(first)})
        source.n_users, source._store = int(last - first), None
        setattr(source, "levels" if kind == "ratings" else "_pairs", rows)
        source.store.in_shards(
            cut[rank * each : (rank + 1) * each + 1] - first, rank * each, together.of(rank), n_threads
        )
        made[rank] = fitted(source, loss, exposed, n_threads)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    U = np.concatenate([problem.U for problem, _ in made])
    for problem, numbers in made[1:]:
        np.testing.assert_array_equal(problem.V, made[0][0].V)
        assert numbers == made[0][1]
    return U, made[0][0].V, made[0][1]


@pytest.mark.parametrize("kind", ["ratings", "votes"])
@pytest.mark.parametrize("exposed", [False, True])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_the_same_bits_whoever_holds_the_shards(kind, exposed, loss):
    one, *others = (in_processes(kind, size, loss, exposed) for size in (1, 2, 8))
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(one, in_processes(kind, 2, loss, exposed, n_threads=3), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("exposed", [False, True])
def test_in_shards_it_is_the_same_problem(exposed):
    """Only the order of sums differs from that of one range."""
    _, V, numbers = in_processes("ratings", 2, exposed=exposed)
    problem, expected = fitted(data("ratings").source, "squared_hinge", exposed)
    np.testing.assert_allclose(numbers, expected, rtol=2e-5)
    np.testing.assert_allclose(V, problem.V, atol=2e-3)


def test_sums_over_users():
    store, x = data("ratings").source.store, np.arange(float(N_USERS))
    assert core.sum_users(store, x, 2) == x.sum()
    store.in_shards(bounds(), 0, None, 2)
    assert core.sum_users(store, x, 2) == x.sum()
    assert store.all_users == N_USERS and store.all_entries == store.n_entries
    assert set(LOSSES) == {"squared_hinge", "hinge", "logistic"}


def test_bad_shards():
    store = data("ratings").source.store
    for cut, word in ((np.array([0, 10, 20, N_USERS]), "power of two"), (np.array([0, 5]), "rise")):
        with pytest.raises(ValueError, match=word):
            store.in_shards(cut, 0, None, 1)


def test_a_failing_sum_is_the_callers_error():
    def fails(x):
        raise ConnectionError("lost")

    with pytest.raises(ConnectionError, match="lost"):
        data("ratings").source.store.in_shards(bounds(), 0, fails, 1)
