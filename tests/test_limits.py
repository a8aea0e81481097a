"""Numbers that are accepted and refused: the limits themselves pass, what lies beyond is refused by name."""

import re
from functools import cache

import pytest

import rather
from rather import Comparisons, InputError, simulate

SEED = [0, 2**63 - 1], [-1, 0.5, 2**63]
SEED_OF_NUMPY = [0, 2**70], [-1, 0.5]
COUNT = [1], [0, 1.5]
MANY = [1], [0, 1.5, 2**31]  # of what the core counts in 32 bits
SHARE = [0.2], [0, 1, -0.1]

RATINGS = {"user": [1, 1, 1, 1, 2, 2, 2, 2], "item": [1, 2, 3, 4] * 2, "rating": [0, 500, 3, 4, 5, 1, 2, 2]}
CLICKS = {"user": [1, 1, 2, 2, 3], "item": [1, 2, 2, 3, 4]}
TIMED = {"user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3, 1, 2, 3], "timestamp": [1, 2, 3, 4, 5, 6]}


@cache
def votes():
    return simulate(12, 6, rank=2, per_user=12, seed=0)


@cache
def ratings():
    return Comparisons.from_ratings(RATINGS)


@cache
def clicks():
    return Comparisons.from_clicks(CLICKS)


@cache
def model():
    return rather.AltSVM(rank=2, reg=1.0).fit(votes().comparisons)


def fitted(kind, data, **usual):
    """A fit of one round at most, to tiny data, with one parameter of its own."""
    return lambda **given: kind(**{**usual, **given}).fit(data())


SPLIT = {"per_user": 1, "min_test": 0}
ROUNDS = {"rank": 2, "max_iter": 1}
REG = [1e-30, 1e30], [1e-31, 2e30, -1]
POWER = [0, 2], [-0.1, 2.1]
STEP, DECAY = ([1e-9], [0, -1, 2e30]), ([0, 1e30], [-0.1, 2e30])

LIMITS = {
    "from_ratings": (lambda **k: Comparisons.from_ratings(RATINGS, **k), {"seed": SEED}),
    "from_clicks": (lambda **k: Comparisons.from_clicks(CLICKS, **k),
                    {"seed": SEED, "per_user": MANY, "unseen": MANY}),
    "split": (lambda **k: votes().comparisons.split(**k), {"test": SHARE, "seed": SEED}),
    "sample": (lambda **k: votes().comparisons.sample(**{"per_user": 1, **k}), {"per_user": MANY, "seed": SEED}),
    "answers_needed": (lambda **k: rather.answers_needed(**{"n_users": 5, "n_items": 4, "rank": 1, **k}),
               {"n_users": COUNT, "n_items": ([2], [1, 2.5]), "rank": COUNT, "share": SHARE,
                "noise": ([1e-9, 1e6], [0, 1e6 + 1])}),
    "simulate": (lambda **k: simulate(**{"n_users": 2, "n_items": 2, "per_user": 1, **k}),
                 {"n_users": COUNT, "n_items": ([2], [1, 2.5]), "rank": COUNT, "per_user": COUNT,
                  "noise": ([1e-3], [0, -1]), "seed": SEED_OF_NUMPY, "ties": ([0, 30], [-0.1, 31]),
                  "careless": ([0, 1], [-0.1, 1.1]), "side": ([-30, 30], [-31, 31])}),
    "simulated ratings": (lambda **k: simulate(**{"n_users": 2, "n_items": 3, "per_user": 2, "levels": 3, **k}),
                          {"levels": ([2], [1, 2.5]), "per_user": ([1, 3], [0, 4])}),
    "simulated test": (lambda **k: votes().test(**{"n": 1, **k}), {"n": COUNT, "seed": SEED_OF_NUMPY}),
    "split_ratings": (lambda **k: rather.split_ratings(RATINGS, **{**SPLIT, **k}),
                      {"per_user": COUNT, "min_test": ([0, 3], [-1, 0.5]), "seed": SEED_OF_NUMPY}),
    "split_clicks": (lambda **k: rather.split_clicks(CLICKS, **k), {"test": SHARE, "seed": SEED_OF_NUMPY}),
    "split_time": (lambda **k: rather.split_time(TIMED, item="item", **k), {"test": SHARE}),
    "ndcg": (lambda **k: rather.ndcg(rather.ItemMean().fit(ratings()), RATINGS, **k), {"k": COUNT}),
    "precision": (lambda **k: rather.precision(rather.Popularity().fit(clicks()), CLICKS, **k), {"k": COUNT}),
    "accuracy": (lambda **k: rather.pairwise_accuracy(rather.ItemMean().fit(ratings()), ratings(), **k),
                 {"min_gap": ([0, 1], [-0.1])}),
    "next_question": (lambda **k: rather.next_question(model(), **k),
                      {"explore": ([0, 1], [-0.1, 1.1]), "n_best": COUNT, "seed": SEED_OF_NUMPY}),
    "questionnaire": (lambda **k: rather.questionnaire(model(), **{"n": 1, **k}), {"n": COUNT, "each": COUNT}),
    "top_certainty": (lambda **k: rather.top_certainty(model(), **{"most": 1, **k}),
                {"top": ([1, 6], [0, 1.5, 7]), "target": SHARE, "most": ([0, 1], [-1, 1.5]), "seed": SEED_OF_NUMPY}),
    "ItemMean": (fitted(rather.ItemMean, ratings), {"shrink": ([0, 1e15], [-1, 2e15]), "seed": SEED}),
    "Popularity": (fitted(rather.Popularity, clicks), {"seed": SEED}),
    "EASE": (fitted(rather.EASE, clicks), {"reg": ([1e-3], [0, -1, 1e31]), "balance": ([0, 1], [-0.1, 1.1])}),
    "RP3beta": (fitted(rather.RP3beta, clicks),
                {"alpha": POWER, "beta": POWER, "neighbours": COUNT, "seed": SEED}),
    "BPR": (fitted(rather.BPR, clicks, **ROUNDS),
            {"step": STEP, "decay": DECAY, "reg": ([1e-30, None], [1e-31, -1, 2e30]), "rank": ([1], [0, 4097])}),
    "RobiRank": (fitted(rather.RobiRank, clicks, **ROUNDS), {"step": STEP, "decay": DECAY, "reg": ([0.1], [None])}),
    "SGD": (fitted(rather.SGD, ratings, **ROUNDS), {"step": STEP, "decay": DECAY, "reg": ([1e-3, None], [-1, 2e30])}),
    "CofiRank": (fitted(rather.CofiRank, ratings, **ROUNDS),
                 {"item_power": POWER, "k": MANY, "gap": ([0.5], [0, 1]), "rank": ([1], [0, 4097])}),
    "LCR": (fitted(rather.LCR, ratings, **ROUNDS),
            {"anchors": ([1, 4096], [0, 4097, 1.5]), "bandwidth": ([0.01, 100], [0.009, 101])}),
    "Global": (fitted(rather.Global, ratings, max_iter=1),
               {"item_power": POWER, "balance": ([0, 1, None], [-0.1, 1.1]), "tol": ([0], [-1]), "reg": REG}),
}  # fmt: skip


@pytest.mark.parametrize(("act", "name"), [(act, name) for act, (_, limits) in LIMITS.items() for name in limits])
def test_limits(act, name):
    call, (accepted, refused) = LIMITS[act][0], LIMITS[act][1][name]
    for value in accepted:
        call(**{name: value})
    for value in refused:
        with pytest.raises(InputError, match=re.escape(f"{name} is {value}")):
            call(**{name: value})


def test_what_gains_take():
    """The gains of NDCG are 2^rating - 1: CofiRank's loss takes ratings from 0 to 500."""
    fit = rather.CofiRank(loss="ndcg", rank=1, max_iter=1).fit
    fit(ratings())
    for rating in (-0.5, 500.5):
        with pytest.raises(InputError, match=f"the ratings are from .*{rating}"):
            fit(Comparisons.from_ratings({**RATINGS, "rating": [rating, 1, 2, 3, 4, 5, 6, 7]}))
