"""The conformance suite: the contract of every estimator, as checks for ours and for yours.

Call ``rather.testing.check_estimator(MyEstimator())``. An estimator is anything with ``fit(comparisons)``, which
returns it, and ``score(users, items)``. A subclass of :class:`rather.Estimator` is also checked for lists,
probabilities, files and new users. With pytest, one test for each claim::

    @pytest.mark.parametrize("check", rather.testing.checks(MyEstimator()), ids=str)
    def test_conformance(check):
        check()
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .data.comparisons import Comparisons
from .data.simulate import simulate
from .errors import FileError, InputError, NotFittedError
from .estimators import load
from .judging.metrics import ndcg, pairwise_accuracy, precision
from .models.estimator import Estimator
from .models.scorers import Scorer

N_USERS, N_ITEMS, STARS = 30, 20, 5
Claim = Callable[[Any, Comparisons], None]


class Check:
    """Check one claim about one estimator on one kind of data, when called.

    Parameters
    ----------
    claim : callable
        The claim, such as ``rather.testing.fitting``.
    estimator : object
        The estimator. It is copied before each check.
    source : {"votes", "ratings", "clicks"}
        The kind of data.

    See Also
    --------
    rather.testing.checks : Return all checks of an estimator.
    """

    def __init__(self, claim: Claim, estimator: Any, source: str) -> None:
        self.claim, self.estimator, self.source = claim, estimator, source

    def __call__(self) -> None:
        try:
            self.claim(_clone(self.estimator), small_data(self.source))
        except AssertionError as e:
            said = (inspect.getdoc(self.claim) or "").partition("\n")[0]
            raise AssertionError(f"{self}: {said} {e}".rstrip()) from e

    def __str__(self) -> str:
        return f"{type(self.estimator).__name__}-{self.source}-{self.claim.__name__}"


def check_estimator(estimator: Any) -> None:
    """Raise an AssertionError unless an estimator keeps the whole contract.

    The error names the claim that failed. Use :func:`rather.testing.checks` for one test for each claim.

    Parameters
    ----------
    estimator : object
        An estimator with ``fit(comparisons)`` and ``score(users, items)``.

    See Also
    --------
    rather.testing.checks : Return all checks of an estimator.

    Examples
    --------
    >>> import rather
    >>> rather.testing.check_estimator(rather.ItemMean())
    """
    for check in checks(estimator):
        check()


def checks(estimator: Any) -> list[Check]:
    """Return all checks of an estimator, on every kind of data that it accepts.

    Parameters
    ----------
    estimator : object
        An estimator with ``fit(comparisons)`` and ``score(users, items)``.

    Returns
    -------
    list of Check
        Call each one; it raises an AssertionError if its claim does not hold.

    Raises
    ------
    AssertionError
        If the estimator refuses votes, ratings and clicks.

    See Also
    --------
    rather.testing.check_estimator : Run all checks.
    """
    found = [
        Check(claim, estimator, source)
        for source in _taken(estimator)
        for claim in CLAIMS
        if isinstance(estimator, Estimator) or claim not in OF_MODELS
    ]
    assert found, f"{type(estimator).__name__} takes neither votes nor ratings nor clicks: fit refused them all"
    return found


def small_data(source: str, seed: int = 0) -> Comparisons:
    """Return comparisons of 30 users over 20 items, with text ids.

    Parameters
    ----------
    source : {"votes", "ratings", "clicks"}
        The kind of data. Ratings have five stars.
    seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    Comparisons
        The comparisons.

    See Also
    --------
    rather.simulate : Simulate comparisons with a known truth.
    """
    world = simulate(n_users=N_USERS, n_items=N_ITEMS, rank=2, per_user=12, levels=STARS, seed=seed)
    r, users, items = world.comparisons.ratings, world.comparisons.users, world.comparisons.items
    assert r is not None
    frame = {"user": users[r.user], "item": items[r.item], "rating": r.rating}
    if source == "ratings":
        return Comparisons.from_ratings(frame)
    if source == "clicks":
        high = r.rating >= 3
        return Comparisons.from_clicks({"user": frame["user"][high], "item": frame["item"][high]})
    return Comparisons.from_frame(world.comparisons.to_frame("dict"))


def _taken(estimator: Any) -> Iterator[str]:
    """The kinds of data that an estimator does not refuse."""
    for source in ("votes", "ratings", "clicks"):
        with contextlib.suppress(InputError):
            _clone(estimator).fit(small_data(source))
            yield source


def _clone(estimator: Any) -> Any:
    """Return an unfitted copy with the same parameters, on one thread if there is such a parameter."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    params = estimator.get_params()
    return type(estimator)(**{**params, **({"n_threads": 1} if "n_threads" in params else {})})


@contextlib.contextmanager
def _refused(kind: type[Exception], what: str) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(f"{what} was accepted")


# -- of every estimator -----------------------------------------------------------------------------------------------


def parameters(estimator: Any, comparisons: Comparisons) -> None:
    """Check that parameters are those of __init__ and that nothing is computed before fit."""
    if hasattr(estimator, "get_params"):
        names = [p for p in inspect.signature(type(estimator).__init__).parameters if p != "self"]
        params = estimator.get_params()
        assert list(params) == names, f"get_params gives {list(params)}, __init__ takes {names}"
        assert type(estimator)(**params).get_params() == params
        assert estimator.set_params(**params) is estimator and estimator.get_params() == params
        with _refused(ValueError, "set_params of a name that is none"):
            estimator.set_params(colour="red")
    if isinstance(estimator, Estimator):
        with _refused(NotFittedError, "score before fit"):
            estimator.score("a", "b")
        with _refused(NotFittedError, "users_ before fit"):
            _ = estimator.users_


def fitting(estimator: Any, comparisons: Comparisons) -> None:
    """Check that fit returns the estimator and changes neither parameters nor data."""
    before = estimator.get_params() if hasattr(estimator, "get_params") else None
    data = pickle.dumps(comparisons.source.columns())
    assert estimator.fit(comparisons) is estimator, "fit did not return the estimator"
    assert before is None or estimator.get_params() == before
    assert pickle.dumps(comparisons.source.columns()) == data, "fit changed the comparisons"


def scores(estimator: Any, comparisons: Comparisons) -> None:
    """Check that score gives one finite number for each pair, in any order of the pairs."""
    fitted = estimator.fit(comparisons)
    users, items = np.repeat(comparisons.users, N_ITEMS), np.tile(comparisons.items, N_USERS)
    got = np.asarray(fitted.score(users, items))
    assert got.shape == (N_USERS * N_ITEMS,) and np.isfinite(got).all()
    back = np.asarray(fitted.score(users[::-1].copy(), items[::-1].copy()))
    assert (back[::-1] == got).all(), "a score depends on what else was asked"


def seed(estimator: Any, comparisons: Comparisons) -> None:
    """Check that two fits with equal parameters, on one thread, agree to the bit."""
    users, items = np.repeat(comparisons.users, N_ITEMS), np.tile(comparisons.items, N_USERS)
    first, second = (np.asarray(_clone(estimator).fit(comparisons).score(users, items)) for _ in range(2))
    assert (first == second).all()


def learning(estimator: Any, comparisons: Comparisons) -> None:
    """Check that training comparisons are predicted better than by chance, and that metrics take the model."""
    fitted = estimator.fit(comparisons)
    accuracy = pairwise_accuracy(fitted, comparisons)
    assert accuracy > 0.55, f"accuracy is {accuracy:.3f}"
    stars = {"user": comparisons.users[[0, 0]], "item": comparisons.items[:2], "rating": [1, 2]}
    assert 0 <= ndcg(fitted, stars) <= 1
    assert 0 <= precision(fitted, stars, k=3, items=comparisons.items) <= 1


def refusals(estimator: Any, comparisons: Comparisons) -> None:
    """Check that invalid data and unknown ids are refused with a ValueError or a KeyError."""
    for wrong in ({"user": [1]}, np.zeros((3, 2), int), "votes.csv"):
        with _refused((ValueError, TypeError), f"fit({wrong!r})"):  # type: ignore[arg-type]
            _clone(estimator).fit(wrong)
    fitted = estimator.fit(comparisons)
    for user, item in (("nobody", comparisons.items[0]), (comparisons.users[0], "nothing")):
        with _refused((ValueError, KeyError), f"score({user!r}, {item!r})"):  # type: ignore[arg-type]
            fitted.score([user], [item])


# -- of models --------------------------------------------------------------------------------------------------------


def lists(estimator: Any, comparisons: Comparisons) -> None:
    """Check that rank and recommend follow the scores and leave out what was excluded."""
    model = estimator.fit(comparisons)
    assert model.users_.tolist() == comparisons.users.tolist() and model.items_.tolist() == comparisons.items.tolist()
    for user in model.users_[:4]:
        ranking = model.rank(user)
        assert sorted(ranking["item"].tolist()) == sorted(model.items_.tolist())
        assert (model.score(user, ranking["item"]) == ranking["score"]).all(), "rank and score disagree"
        assert (np.diff(ranking["score"]) <= 0).all() and ranking["rank"].tolist() == list(range(1, N_ITEMS + 1))
        assert model.recommend(user, k=5)["item"].tolist() == ranking["item"].tolist()[:5]
        some = set(model.items_[::3].tolist())
        among = [item for item in ranking["item"].tolist() if item in some]
        assert model.rank(user, items=sorted(some))["item"].tolist() == among
        assert model.recommend(user, k=2, items=sorted(some))["item"].tolist() == among[:2]
        left = model.recommend(user, k=N_ITEMS, exclude=sorted(some))["item"].tolist()
        assert left == [item for item in ranking["item"].tolist() if item not in some]
    shown = {(row.user, row.item) for row in model.recommend(model.users_, k=N_ITEMS, exclude="seen")}
    start, item = comparisons.source.met()
    met = {(model.users_[i], model.items_[j]) for i in range(N_USERS) for j in item[start[i] : start[i + 1]]}
    assert not shown & met and len(shown) + len(met) == N_USERS * N_ITEMS, "exclude='seen' is not what was met"
    assert len(model.recommend([], k=2)) == 0


def questions(estimator: Any, comparisons: Comparisons) -> None:
    """Check that impossible lengths and exclusions are refused with a sentence."""
    model = estimator.fit(comparisons)
    user, items = model.users_[0], model.items_
    for ask in (
        lambda: model.recommend(user, k=N_ITEMS + 1),
        lambda: model.recommend(user, k=0),
        lambda: model.recommend(user, exclude="everything"),
        lambda: model.recommend(user, unknown="nonsense"),
        lambda: model.probability(user, items[:2], items[:3]),
    ):
        with _refused(InputError, "an impossible question"):
            ask()  # type: ignore[no-untyped-call]


def strangers(estimator: Any, comparisons: Comparisons) -> None:
    """Check that unknown users are refused, given the shared ranking or skipped, as asked."""
    model = estimator.fit(comparisons)
    both = [model.users_[0], "nobody", model.users_[1]]
    known = model.recommend(model.users_[:2], k=3)
    everyone = model.rank()["item"].tolist()
    assert sorted(everyone) == sorted(model.items_.tolist()) and np.isfinite(model.average_scores()).all()
    with _refused(InputError, "an unknown user"):
        model.recommend(both, k=3)
    got = model.recommend(both, k=3, unknown="everyone")
    assert got["item"].tolist() == known["item"].tolist()[:3] + everyone[:3] + known["item"].tolist()[3:]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert model.recommend(both, k=3, unknown="skip")["item"].tolist() == known["item"].tolist()
    assert any("1 of 3 users" in str(one.message) for one in said), "nothing said how many were skipped"


def probabilities(estimator: Any, comparisons: Comparisons) -> None:
    """Check that the probabilities of two sides add up to one and follow the scores."""
    model = estimator.fit(comparisons)
    a, b = model.items_[:2]
    left, right = model.probability(model.users_, a, b), model.probability(model.users_, b, a)
    assert np.allclose(left + right, 1, atol=1e-6)
    assert ((left > 0.5) <= (model.score(model.users_, a) > model.score(model.users_, b))).all()


def files(estimator: Any, comparisons: Comparisons) -> None:
    """Check that a loaded model equals the saved one, comparisons included.

    An estimator that cannot be saved passes.
    """
    model = estimator.fit(comparisons)
    if type(model.fitted.scorer).tensors is Scorer.tensors:
        return
    one = model.users_[0], model.items_
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        before = model.slope_
        model.save(path)
        assert load(path, type(model)).slope_ == model.slope_ == before, "saving calibrated"
        model.calibrate().save(path)
        written = path.read_bytes()
        loaded = load(path, type(model))
        for _ in range(3):  # by chance alone, the order of what is not in order would be the same now and then
            loaded.save(path)
            assert path.read_bytes() == written, "a second file of the same model has other bytes"
        model.save(path, comparisons=False)
        assert len(path.read_bytes()) < len(written), "comparisons=False left nothing out"
        without = load(path, type(model))
        assert without.fitted.training is None and (without.score(*one) == model.score(*one)).all()
        path.write_bytes(written[: len(written) // 2])
        with _refused(FileError, "half a file"):
            load(path, type(model))
    assert type(loaded) is type(model) and loaded.get_params() == model.get_params()
    assert getattr(loaded, "history_", None) == getattr(model, "history_", None)
    assert len(loaded.fitted.training) == len(comparisons), "the file does not hold the comparisons"
    for kept, given in zip(loaded.fitted.training.source.columns(), comparisons.source.columns(), strict=True):
        assert (kept is None and given is None) or np.array_equal(kept, given)
    user, items = model.users_[3], model.items_
    assert (loaded.score(user, items) == model.score(user, items)).all()
    unseen = {"k": 4, "exclude": "seen"}
    assert loaded.recommend(user, **unseen)["item"].tolist() == model.recommend(user, **unseen)["item"].tolist()
    assert loaded.rank()["item"].tolist() == model.rank()["item"].tolist()
    assert (loaded.probability(user, items[0], items[1:]) == model.probability(user, items[0], items[1:])).all()


def copies(estimator: Any, comparisons: Comparisons) -> None:
    """Check that a copy answers as before, and that a new fit keeps nothing of the old one."""
    model = estimator.fit(comparisons)
    again = copy.deepcopy(model)
    assert (again.score(model.users_[0], model.items_) == model.score(model.users_[0], model.items_)).all()
    other = comparisons.split(0.5, seed=1, by="items" if comparisons.source.name else "pairs")[0]
    assert (again.fit(other).average_scores() == _clone(estimator).fit(other).average_scores()).all()


def pickles(estimator: Any, comparisons: Comparisons) -> None:
    """Check that a pickled model answers as before, in every state and with any callback."""
    kind = type(estimator)
    if getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is not kind:
        return  # pickle finds classes by name; a class that was defined in a function has none
    unfitted = pickle.loads(pickle.dumps(estimator))
    assert unfitted._fitted is None and unfitted.get_params() == estimator.get_params()
    if "callback" in estimator.get_params():
        estimator.set_params(callback=lambda model, record: False)
    states = [estimator.fit(comparisons), _clone(estimator).fit(comparisons).calibrate()]
    if hasattr(states[1], "difference"):  # it says how sure it is
        states[1].rank(states[1].users_[0], interval=0.9)
    with contextlib.suppress(InputError):  # of those that do not learn from features
        states.append(_clone(estimator).fit(comparisons, **_features(comparisons)))
    if hasattr(estimator, "fold_in"):
        a, b = estimator.items_[:2]
        states.append(estimator.fold_in_many({"user": ["x"], "winner": [a], "loser": [b]}))
        person = estimator.fold_in([(a, b)])
        assert (pickle.loads(pickle.dumps(person)).score(estimator.items_) == person.score(estimator.items_)).all()
    for model in states:
        again, user, items = pickle.loads(pickle.dumps(model)), model.users_[0], model.items_
        assert type(again) is type(model) and again.get_params() == {**model.get_params(), **_without_callback(model)}
        assert copy.deepcopy(model).get_params() == copy.copy(model).get_params() == model.get_params()
        assert (again.score(user, items) == model.score(user, items)).all()
        assert (again.probability(user, items[0], items[1]) == model.probability(user, items[0], items[1])).all()


def _without_callback(model: Any) -> dict[str, None]:
    return {"callback": None} if "callback" in model.get_params() else {}


def _features(comparisons: Comparisons) -> dict[str, Any]:
    """Numbers, a category, lists and vectors known of every item, and a number of every user."""
    n = len(comparisons.items)
    return {
        "item_features": {
            "item": comparisons.items, "size": np.arange(n) % 5.0, "kind": [("a", "b", "c")[k % 3] for k in range(n)],
            "tags": [("x|y", "y", "z|x")[k % 3] for k in range(n)],
            "vector": [[float(k % 7), float(k % 2)] for k in range(n)],
        },
        "user_features": {"user": comparisons.users, "age": np.arange(len(comparisons.users)) % 7.0},
    }  # fmt: skip


def newcomers(estimator: Any, comparisons: Comparisons) -> None:
    """Check that new users get a whole ranking, with no answers and with several."""
    model = estimator.fit(comparisons)
    with _refused(InputError, "an unknown user"):
        model.rank("nobody")
    if not hasattr(type(model), "fold_in"):
        return
    a, b, c = model.items_[:3]
    for answers in ([], [(a, b), (c, b)]):
        person = model.fold_in(answers)
        assert sorted(person.rank()["item"].tolist()) == sorted(model.items_.tolist())
        assert np.isfinite(person.score(model.items_)).all() and 0 <= person.probability(a, b) <= 1
        assert len(person.rank(items=[a, b])) == 2
    many = model.fold_in_many({"user": ["x", "x", "y"], "winner": [a, c, b], "loser": [b, b, c]})
    assert type(many) is type(model) and many.users_.tolist() == ["x", "y"]
    assert (many.score("x", model.items_) == person.score(model.items_)).all(), "at once they are others than alone"
    assert many.recommend(["x", "y"], k=2)["user"].tolist() == ["x", "x", "y", "y"]


def updates(estimator: Any, comparisons: Comparisons) -> None:
    """Check that a model takes in newer comparisons, or refuses and stays as it was."""
    model = estimator.fit(comparisons)
    r, c = comparisons.ratings, comparisons.clicks
    if comparisons.source.name == "":
        new = Comparisons.from_frame({"user": ["zoe"], "winner": ["new"], "loser": [model.items_[0]]})
    elif c is None and r is not None:
        table = {"user": ["zoe", "zoe"], "item": ["new", model.items_[0]], "rating": [STARS, 1]}
        new = Comparisons.from_ratings(table)
    else:
        new = Comparisons.from_clicks({"user": ["zoe"], "item": ["new"]}, allow_empty=True)
    before = model.score(model.users_[0], model.items_)
    try:
        assert model.update(new) is model, "update does not return the model"
    except InputError:
        assert (model.score(model.users_[0], model.items_) == before).all(), "a refused update changed the model"
        return
    assert model.users_.tolist() == sorted([*comparisons.users, "zoe"])
    assert model.items_.tolist() == sorted([*comparisons.items, "new"])
    assert np.isfinite(model.score("zoe", model.items_)).all() and len(model.recommend("zoe", k=3)) == 3


def history(estimator: Any, comparisons: Comparisons) -> None:
    """Check that every round leaves a record, and that a callback sees it and can stop the fit."""
    params = estimator.get_params()
    if not {"callback", "max_iter"} <= set(params):
        return
    told: list[dict[str, float]] = []

    def listen(_: Any, record: dict[str, float]) -> bool:
        told.append(record)
        return len(told) == 2

    never = {"tol": 0.0} if "tol" in params else {}
    estimator.set_params(max_iter=5, **never, callback=listen)
    estimator.fit(comparisons)
    assert estimator.history_ == told and [record["round"] for record in told] == [1, 2]
    assert all({"seconds", "objective", "gap"} <= set(record) for record in told) and not estimator.interrupted_


OF_MODELS = (lists, questions, strangers, probabilities, files, copies, pickles, newcomers, updates, history)
CLAIMS: tuple[Claim, ...] = (parameters, fitting, scores, seed, learning, refusals, *OF_MODELS)
