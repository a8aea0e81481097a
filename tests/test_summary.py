"""The repr of a fitted model says what was fitted and chosen; that of an unfitted one is its constructor call."""

import copy
import pickle
import re
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import rather
from rather import ESTIMATORS, AltSVM, Comparisons, Convex, FactorEstimator, Global, InputError
from rather.models.summary import ranked


@pytest.fixture(scope="module")
def votes():
    return rather.simulate(30, 12, rank=2, per_user=15, seed=0).comparisons


def clicks():
    rng = np.random.default_rng(0)
    return Comparisons.from_clicks({"user": np.repeat(np.arange(20), 5), "item": rng.integers(0, 12, 100)})


def ratings():
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((20, 12)) < 0.6)
    return Comparisons.from_ratings({"user": user, "item": item, "rating": rng.integers(1, 6, len(user))})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_says_what_it_was_fitted_to(name, votes):
    """One line of words names the estimator, the number and kind of answers, the users and the items."""
    assert repr(ESTIMATORS[name]()) == f"{name}()"
    fitted = 0
    for data, comparisons in {"votes": votes, "ratings": ratings(), "clicks": clicks()}.items():
        with warnings.catch_warnings(), suppress(InputError):  # of those that do not learn from such data
            warnings.simplefilter("ignore")  # of those that have not converged
            model = ESTIMATORS[name]().fit(comparisons)
            known = rf"{name} fitted to [\d,]+ {data} of {comparisons.n_users} users on {comparisons.n_items} items"
            assert re.fullmatch(rf"{known}(: .+)?", repr(model))
            assert repr(pickle.loads(pickle.dumps(model))) == repr(copy.deepcopy(model)) == repr(model)
            fitted += 1
    assert fitted


def test_what_was_chosen_is_said(votes):
    """A rank and a regularisation that held-out answers chose are said to be chosen; given ones are not."""
    model = AltSVM().fit(votes)
    size = f"AltSVM fitted to {len(votes)} votes of 30 users on 12 items"
    said = f"rank {model.rank_}, the largest possible" if model.rank_ == 12 else f"rank {model.rank_}"
    assert repr(model) == f"{size}: {said}, reg {model.reg_:.3g} (both chosen on held-out votes)"
    assert repr(AltSVM(rank=2).fit(votes)).endswith(" (chosen on held-out votes)")
    assert ranked(12, 30, 12) == ranked(12, 12, 30) == "rank 12, the largest possible" and ranked(3, 4, 9) == "rank 3"
    given = AltSVM(rank=2, reg=1.0)
    assert repr(given) == "AltSVM(rank=2, reg=1.0)"
    assert repr(given.fit(votes)) == f"{size}: rank 2, reg 1"
    given.set_params(rank=7)
    assert "rank 2, reg 1" in repr(given)  # of the fit, whatever is set for the next
    assert repr(AltSVM(rank="auto", reg=5.0).fit(votes)).split(": ")[1].endswith(" (grown until no more helped), reg 5")


def test_other_choices_are_said(votes):
    """The exposure, features, trust, marginal likelihood and missing convergence have words of their own."""
    items = {"item": votes.items, "size": np.arange(12), "kind": list("abcd") * 3}
    fixed = {"rank": 2, "reg": 1.0}
    assert re.search(
        r", [012] of 2 blocks of item features used", repr(AltSVM(**fixed).fit(votes, item_features=items))
    )
    assert "users weighted by trust" in repr(AltSVM(**fixed, trust=True).fit(votes))
    assert "with exposure" in repr(AltSVM(**fixed, exposure=True).fit(ratings()))
    assert repr(AltSVM(**fixed, max_iter=1, tol=1e-9).fit(votes)).endswith("not converged in 1 round")
    assert repr(Global().fit(votes)).endswith(", chosen by marginal likelihood")
    assert repr(Global(reg=2.0).fit(votes)).endswith(": reg 2")
    assert "likelihood" not in repr(Global().fit(ratings()))
    assert "rank" in repr(Convex(reg=30.0).fit(votes))


def test_ties_anonymous_votes_and_embeddings():
    """Ties are counted, votes that name nobody are said to, and embeddings have no items to count."""
    table = {"user": ["ann", "bob", "ann"], "winner": list("AAB"), "loser": list("BCC"), "tie": [False, True, False]}
    assert "fitted to 3 votes (1 tie) of 2 users on 3 items" in repr(
        Global().fit(Comparisons.from_frame(table, tie="tie"))
    )
    del table["tie"]
    anonymous = rather.fit(Comparisons.from_frame(table, user=None))
    assert repr(anonymous).startswith("Global fitted to 3 votes that name nobody, on 3 items: reg ")
    one = Comparisons.from_frame({"user": ["ann"], "winner": ["A"], "loser": ["B"]})
    assert "fitted to 1 vote of 1 user on 2 items" in repr(Global().fit(one))
    sides = np.random.default_rng(0).standard_normal((2, 20, 3))
    told = repr(AltSVM(rank=1, reg=1.0).fit(Comparisons.from_embeddings(["ann", "bob"] * 10, *sides)))
    assert told.startswith("AltSVM fitted to 20 choices of 2 users between embeddings: ")


def test_files_and_newcomers(votes, tmp_path):
    """A file gives the same words back; without the votes it gives those it can, and newcomers are said to be such."""
    model = AltSVM().fit(votes)
    model.save(tmp_path / "whole.rather")
    assert repr(rather.load(tmp_path / "whole.rather")) == repr(model)
    model.save(tmp_path / "slim.rather", comparisons=False)
    slim = repr(rather.load(tmp_path / "slim.rather"))
    assert slim.startswith("AltSVM fitted to answers of 30 users on 12 items: rank ")
    assert slim.endswith("(both chosen on held-out answers)")
    few = {"user": ["x", "y"], "winner": ["item 1", "item 2"], "loser": ["item 2", "item 3"]}
    assert repr(model.fold_in_many(few)).startswith("AltSVM of 2 users who joined by fold_in, on 12 items: rank ")


def test_repr_never_fails(votes):
    """While a fit is under way, after an interruption, and for classes with a state of their own, there are words."""
    seen = []

    def stop(model, record):
        seen.append(repr(model))
        raise KeyboardInterrupt

    model = AltSVM(rank=2, reg=1.0, callback=stop)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(votes)
    assert seen[0].startswith("AltSVM fitted to ") and repr(model).endswith("interrupted after 1 round")

    class Own(FactorEstimator):
        def __init__(self, power: int = 1) -> None:
            self.power = power

        def scorer(self, data):
            return rather.Factors.of_items(np.zeros(data.n_items), data.n_users)

    own = Own(power=2)
    assert repr(own) == "Own(power=2)"
    assert repr(own.fit(votes)) == f"Own fitted to {len(votes)} votes of 30 users on 12 items"
    own._fitted = replace(own.fitted, training="nothing that can be described")
    assert repr(own) == "Own(power=2)"


def test_repr_builds_nothing(tmp_path):
    """The words about ratings read from a file do not build the store that fits use."""
    AltSVM(rank=2, reg=1.0).fit(ratings()).save(tmp_path / "m.rather")
    model = rather.load(tmp_path / "m.rather")
    assert "ratings of 20 users" in repr(model) and model.fitted.training.source._store is None
