"""Global beside Bradley-Terry as other libraries fit it: their published examples, and votes held out."""

import numpy as np
import pytest
from scipy.special import expit

from rather import Comparisons, Global

GRID = 2.0 * np.logspace(-2, 1, 7)
FOLDS, MOST_TEST = 5, 5000
EIGHT = [
    (7, 3), (2, 0), (5, 2), (4, 2), (2, 1), (4, 5), (6, 3), (5, 4), (7, 0), (2, 3),
    (4, 0), (0, 4), (6, 5), (3, 2), (3, 4), (3, 4), (5, 2), (7, 3), (7, 6), (6, 5),
]  # fmt: skip


def scores(winner, loser, reg, n=None, user=None):
    """Return the scores of n items; those without votes have 0."""
    votes = {"winner": winner, "loser": loser, **({} if user is None else {"user": user})}
    model = Global(reg=reg).fit(Comparisons.from_frame(votes, user=None if user is None else "user"))
    found = np.zeros(n or len(model.items_))
    found[model.items_] = model.item_bias_
    return found


def strengths(left, right, outcome):
    """Return each item's Bradley-Terry strength, as a share of all strengths; a tie is half a win for both."""
    model = Global(reg=1e-7).fit(Comparisons.from_arena({"left": left, "right": right, "outcome": outcome}, user=None))
    strength = np.exp(model.item_bias_.astype(float))
    return dict(zip(model.items_, strength / strength.sum(), strict=True))


@pytest.mark.parametrize(
    ("votes", "reg", "expected"),
    [
        # its tutorial on pairwise comparisons, by choix.opt_pairwise
        ([(1, 0), (0, 4), (3, 1), (0, 2), (2, 4), (4, 3)], 1e-9, [0.58281357, 0.19427119, 0, -0.19427119, -0.58281357]),
        # testcase-pairwise-2.json
        ([(0, 1), (0, 1), (1, 2), (2, 0)], 1e-9, np.log([1.43586088, 0.62035049, 0.94378863])),
        # the data of its test_opt.py, by choix.opt_pairwise(8, data, alpha=0.5)
        (EIGHT, 1.0, [
            -0.51974039, -0.46280878, -0.31376862, -0.06854694, -0.3185146, -0.00346107, 0.63032783, 1.05651257,
        ]),
    ],
)  # fmt: skip
def test_examples_of_choix(votes, reg, expected):
    found, expected = scores(*np.transpose(votes), reg), np.asarray(expected) - np.mean(expected)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "01t 02r 02t 04t 10l 12t 12t 13t 24t 30l 31l 32l 34t 34t 40l 43l",  # simple.csv
            {"4": 0.34947527, "3": 0.33688868, "2": 0.13168568, "1": 0.13115069, "0": 0.05079967},
        ),
        (
            "PSl BAr TPl STr BPl ASr TBl PAt SBr ATl BSr TPl SAt BTl PBr ATr BSr TAl PTr SBl APr BSr TAl PSl SBr ATr "
            "TPl BAr STl PBr",  # food.csv: Pizza, Sushi, Burger, pAsta, Tacos
            {"T": 0.43428983, "S": 0.19060028, "B": 0.14797666, "A": 0.12815341, "P": 0.09897983},
        ),
    ],
)
def test_examples_of_evalica(rows, expected):
    """The scores that evalica's golden files hold."""
    left, right, outcome = zip(*rows.split(), strict=True)
    found = strengths(left, right, [{"l": "left", "r": "right", "t": "tie"}[one] for one in outcome])
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.data
def test_llmfao_of_evalica(data):
    """Six of the 59 scores of evalica's llmfao-golden.csv; all of them add up to 1."""
    import pyarrow.parquet as pq

    table = pq.read_table(data / "llmfao" / "judgements.parquet").to_pydict()
    found = strengths(table["left"], table["right"], table["winner"])
    golden = {
        "GPT 4": 0.041217874, "Platypus-2 Instruct (70B)": 0.029233178, "command": 0.028852056,
        "Dolly v2 (7B)": 0.006342952, "Vicuna-FastChat-T5 (3B)": 0.006303592, "Dolly v2 (3B)": 0.006293635,
    }  # fmt: skip
    assert len(found) == 59
    assert {name: found[name] for name in golden} == pytest.approx(golden, abs=1e-6)


def by_folds(winner, loser, n, rng):
    """Return the scores with the ridge that does best on folds of these votes."""
    fold, losses = rng.permutation(len(winner)) % FOLDS, np.zeros(len(GRID))
    for at in range(FOLDS):
        rest, held = fold != at, fold == at
        for i, ridge in enumerate(GRID):
            losses[i] += log_loss(scores(winner[rest], loser[rest], ridge, n), winner[held], loser[held]) * held.sum()
    return scores(winner, loser, GRID[losses.argmin()], n)


def log_loss(found, winner, loser):
    return np.logaddexp(0, found[loser] - found[winner]).mean()


def held_out(user, winner, loser, size, seed):
    """Return the log losses of Global without and with users, of Bradley-Terry and of a ridge by folds."""
    rng = np.random.default_rng(seed)
    n, order = int(max(winner.max(), loser.max())) + 1, rng.permutation(len(winner))
    train, test = order[:size], order[size : size + MOST_TEST]
    w, x = winner[train], loser[train]
    made = scores(w, x, None, n), scores(w, x, None, n, user[train]), scores(w, x, 1e-6, n), by_folds(w, x, n, rng)
    return [log_loss(found, winner[test], loser[test]) for found in made]


def world(seed):
    rng, size = np.random.default_rng(seed), 10_000
    worth = rng.standard_normal(20)
    j = rng.integers(0, 20, size)
    k = (j + rng.integers(1, 20, size)) % 20
    won = rng.random(size) < expit(worth[j] - worth[k])
    return rng.integers(0, 100, size), np.where(won, j, k), np.where(won, k, j)


def codes_of(data, name):
    """Return the users, winners and losers of a set of votes, in codes."""
    import pyarrow.parquet as pq

    if name == "llmfao":
        table = pq.read_table(data / name / "comparisons.parquet").to_pydict()
        user, winner, loser = (np.array(table[column]) for column in ("user", "winner", "loser"))
    else:
        table = pq.read_table(data / name / "judgements.parquet").to_pydict()
        user, left, right, outcome = (np.array(table[column]) for column in ("user", "left", "right", "outcome"))
        first, decided = outcome == "left", outcome != "tie"
        user, winner, loser = (
            user[decided],
            np.where(first, left, right)[decided],
            np.where(first, right, left)[decided],
        )
    item = np.unique(np.concatenate((winner, loser)), return_inverse=True)[1]
    return user, *np.split(item, 2)


def check_held_out(votes_of, size, draws):
    """At most .001 above the better of the others, on average over draws."""
    without, users, plain, folds = np.mean([held_out(*votes_of(seed), size, seed) for seed in range(draws)], axis=0)
    assert max(without, users) <= min(plain, folds) + 0.001


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "draws"), [(10, 40), (100, 12), (1000, 4)])
def test_held_out_votes_of_worlds(size, draws):
    check_held_out(world, size, draws)


@pytest.mark.thorough
@pytest.mark.data
@pytest.mark.parametrize(("name", "size", "draws"), [("llmfao", 100, 12), ("llmfao", 1000, 4), ("convarg", 1000, 1)])
def test_held_out_votes(data, name, size, draws):
    """Items of convarg have two votes each, where an evidence by Laplace's approximation alone shrinks too much."""
    votes = codes_of(data, name)
    check_held_out(lambda seed: votes, size, draws)
