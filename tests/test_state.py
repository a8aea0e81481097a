"""A fitted model is one state: refused, failed and interrupted fits, newcomers and threads never see half of one."""

import gc
import threading
import warnings
import weakref
from copy import copy

import numpy as np
import pytest

import rather
from rather import ESTIMATORS, AltSVM, Comparisons, Convex, Global, InputError
from rather.models import fitted
from rather.models.estimator import Estimator
from rather.testing import small_data

SEES = {"Global": "ratings", "Differences": "ratings", "CofiRank": "ratings", "LCR": "ratings", "RobiRank": "clicks"}
ROUNDS = [name for name, kind in ESTIMATORS.items() if "max_iter" in kind._param_names()]  # and ItemMean has none
pytestmark = pytest.mark.filterwarnings("ignore:the gap of Convex is")  # fits of few rounds
SMALL = {"rank": 3, "max_iter": 4, "anchors": 2, "n_threads": 1}


def small(name, **params):
    known = ESTIMATORS[name]._param_names()
    return ESTIMATORS[name](**{k: v for k, v in {**SMALL, **params}.items() if k in known})


def answers(model):
    """What a model says, to the last bit."""
    users, items = np.repeat(model.users_, len(model.items_)), np.tile(model.items_, len(model.users_))
    said = [
        model.users_.tolist(),
        model.items_.tolist(),
        model.score(users, items).tobytes(),
        model.average_scores().tobytes(),
    ]
    said += [model.recommend(model.users_, k=3, exclude="seen")["item"].tolist(), len(model.history_)]
    if hasattr(model, "fold_in"):
        said.append(model.fold_in([tuple(model.items_[:2])]).score(model.items_).tobytes())
    return said


def other_ids(comparisons, n=17):
    """Data of the same kind about other people and things, and fewer of both."""
    keep = {"user": comparisons.users[:n]}
    frame = comparisons.to_frame("dict")
    rows = np.isin(frame["user"], keep["user"])
    return Comparisons.from_frame({name: [f"other {v}" for v in column[rows]] for name, column in frame.items()})


def press_in_round(monkeypatch, n):
    """Ctrl-C when the n-th round is about to be published."""
    real = fitted.Published

    def press(model, record=None):
        if record is not None and record["round"] == n:
            raise KeyboardInterrupt
        return real(model, record)

    monkeypatch.setattr(fitted, "Published", press)


class Boom(Exception):
    pass


@pytest.mark.parametrize("name", ROUNDS)
def test_a_fit_that_fails_leaves_the_old_model(name):
    """Whether it is refused before it begins or fails in the third round, nothing of the old model changes."""
    data = small_data(SEES.get(name, "votes"))
    model = small(name, tol=0.0).fit(data)
    model.probability(model.users_[0], *model.items_[:2])
    before, slope = answers(model), model.slope_

    def fail(_, record):
        if record["round"] == 2:
            raise Boom

    model.set_params(callback=fail, seed=5)
    with pytest.raises(Boom):
        model.fit(data)
    assert answers(model) == before and model.slope_ == slope
    model.set_params(callback=None, max_iter=0)
    with pytest.raises(InputError, match="max_iter"):
        model.fit(data)
    with pytest.raises(InputError):
        model.fit("nothing")
    assert answers(model) == before and model.slope_ == slope


def test_a_refused_warm_start_changes_nothing():
    """warm_start with other ids is refused; probabilities, certificate and lists are those of the old fit."""
    votes = small_data("votes")
    model = AltSVM(rank=3, warm_start=True).fit(votes)
    said = answers(model), model.probability(model.users_[0], *model.items_[:2])[0], model.certificate()
    with pytest.raises(InputError, match="same users"):
        model.fit(other_ids(votes))
    assert (answers(model), model.probability(model.users_[0], *model.items_[:2])[0], model.certificate()) == said


@pytest.mark.parametrize("name", ROUNDS)
def test_an_interrupt_keeps_whole_rounds(name, monkeypatch):
    """Ctrl-C at the end of round three, before it is the model's, leaves the bits of two rounds; or raises as well."""
    data = small_data(SEES.get(name, "votes"))
    states = {}
    small(name, tol=0.0, callback=lambda model, record: states.update({record["round"]: answers(model)})).fit(data)
    press_in_round(monkeypatch, 3)  # whose factors are there by then
    model = small(name, tol=0.0)
    with pytest.warns(UserWarning, match="after 2 rounds"):
        model.fit(data)
    assert answers(model) == states[2] and model.interrupted_ and len(model.history_) == 2
    model = small(name, tol=0.0, on_interrupt="raise")
    with pytest.raises(KeyboardInterrupt):
        model.fit(data)
    assert answers(model) == states[2] and model.interrupted_


@pytest.mark.parametrize("name", ROUNDS)
def test_later_rounds_do_not_change_what_was_published(name):
    """What a callback sees after a round is the same after all rounds: nothing in it is written to again."""
    kept = []
    never = {"tol": 0.0} if "tol" in ESTIMATORS[name]._param_names() else {}
    see = lambda model, record: kept.append((copy(model), answers(model)))  # noqa: E731
    small(name, callback=see, **never).fit(small_data(SEES.get(name, "votes")))
    assert len(kept) >= 3 and all(answers(state) == said for state, said in kept)
    assert kept[0][1] != kept[-1][1]


@pytest.mark.parametrize("reg", [2.0, None], ids=["first round", "choice"])
@pytest.mark.parametrize("kind", [AltSVM, Convex])
def test_an_interrupt_before_the_end_of_the_first_round_leaves_the_old_model(kind, reg, monkeypatch):
    """There is nothing to keep yet: KeyboardInterrupt goes on, and the model is what it was, certificate and all."""
    votes = small_data("votes")
    model = kind(n_threads=1, max_iter=3, reg=reg).fit(votes)
    before, proof = answers(model), model.certificate()
    real = rather.solving.problem.Problem.user_step

    def press(self, **how):
        real(self, **how)
        raise KeyboardInterrupt

    monkeypatch.setattr("rather.solving.problem.Problem.user_step", press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(other_ids(votes))
    monkeypatch.undo()
    assert answers(model) == before and model.certificate() == proof


def test_an_interrupt_while_calibrating_is_raised_and_caches_nothing(monkeypatch):
    """The slope is found or it is not: an interrupt goes on, and the next question finds the same slope."""
    model = AltSVM(rank=3, reg=2.0).fit(small_data("votes"))
    slope = AltSVM(rank=3, reg=2.0).fit(small_data("votes")).calibrate().slope_
    assert model.slope_ is None
    real, calls = rather.solving.newton.Newton.round, []

    def press(self):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr("rather.solving.newton.Newton.round", press)
    with pytest.raises(KeyboardInterrupt):
        model.probability(model.users_[0], *model.items_[:2])
    assert model.slope_ is None
    monkeypatch.undo()
    assert model.calibrate().slope_ == slope


def test_an_interrupt_while_cross_validating_is_raised(monkeypatch):
    """Nothing is fitted yet: the model is not."""
    real, calls = rather.solving.newton.Newton.round, []

    def press(self):
        calls.append(1)
        if len(calls) == 7:  # at the second value of the path
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr("rather.solving.newton.Newton.round", press)
    model = AltSVM(rank=3, reg="cv")
    with pytest.raises(KeyboardInterrupt):
        model.fit(small_data("votes"))
    assert not hasattr(model, "users_") and not hasattr(model, "reg_")


def test_a_newcomer_keeps_the_state_they_came_from():
    """fold_in, then a fit of another rank to other data: the newcomer's ranking stays what it was."""
    votes = small_data("votes")
    model = AltSVM(rank=8).fit(votes)
    person = model.fold_in([tuple(model.items_[:2])])
    before = person.rank().columns
    chance = person.probability(*model.items_[:2].tolist())
    model.set_params(rank=1).fit(other_ids(votes))
    after = person.rank().columns
    assert all((before[name] == after[name]).all() for name in before)
    assert person.probability(*votes.items[:2].tolist()) == chance
    assert set(model.items_) != set(before["item"])


def test_threads_that_ask_while_another_fits():
    """Every answer is of the one state or of the other: ids of one never go with numbers of the other."""
    votes = small_data("votes")
    both = [votes, other_ids(votes)]
    want = {}
    for data in both:
        fitted = Global(max_iter=1).fit(data)
        want[tuple(fitted.items_)] = dict(zip(*(fitted.rank()[c].tolist() for c in ("item", "score")), strict=True))
    model, wrong, stop = Global(max_iter=1).fit(votes), [], threading.Event()

    def ask():
        while not stop.is_set():
            try:
                table = model.rank()
                said = dict(zip(table["item"].tolist(), table["score"].tolist(), strict=True))
                user = model.users_[0]
                table = model.recommend([user], k=2, exclude="seen", unknown="everyone")
                if said != want.get(tuple(sorted(said))) or len({str(i)[:5] for i in table["item"]}) != 1:
                    wrong.append(said)
            except Exception as e:
                wrong.append(e)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(150):
        model.fit(both[n % 2])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_newcomers_share_one_calibration(monkeypatch):
    """The slope is found once for a state, whoever asks first."""
    calls, real = [], Estimator._found_calibration
    monkeypatch.setattr(Estimator, "_found_calibration", lambda *given: calls.append(1) or real(*given))
    model = AltSVM(rank=3, reg=2.0).fit(small_data("votes"))
    pair = tuple(model.items_[:2])
    assert len({model.fold_in([pair]).probability(*pair) for _ in range(3)}) == 1
    assert len(calls) == 1 and model.slope_ is not None
    model.probability(model.users_[0], *pair)
    assert len(calls) == 1
    chose = AltSVM(rank=3).fit(small_data("votes"))  # and knows it since then
    assert chose.slope_ is not None and chose.fold_in([pair]).probability(*pair) > 0.5
    assert chose.calibrate() is chose and len(calls) == 1


def test_parameters_changed_since_are_not_the_models():
    """A slope asked for after set_params is that of the model that was fitted, and the parameters stay as set."""
    model = AltSVM(rank=3, reg=2.0).fit(small_data("votes"))
    slope = AltSVM(rank=3, reg=2.0).fit(small_data("votes")).calibrate().slope_
    assert model.slope_ is None
    model.set_params(rank=8, loss="logistic", seed=9, bias=False)
    assert model.calibrate().slope_ == slope and model.get_params()["rank"] == 8 and model.loss == "logistic"


def test_what_others_hang_on_a_model_stays():
    """Attributes that are not ours survive a fit; what an earlier fit had and this one has not does not."""
    model = AltSVM(rank=2, reg="cv").fit(small_data("ratings"))
    model._note, model.note = 1, 2
    assert model.cv_results_
    model.set_params(reg=5.0).fit(small_data("votes"))
    assert model._note == 1 and model.note == 2 and model.cv_results_ == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.reg_ == 5.0


def test_every_round_has_a_slope_of_its_own():
    """A callback that asks for a probability in round one does not settle the slope of the rounds to come."""
    votes = small_data("votes")
    want = small("AltSVM", tol=0.0).fit(votes).calibrate().slope_
    slopes = []

    def ask(model, record):
        model.probability(model.users_[0], *model.items_[:2])
        slopes.append(model.slope_)

    model = small("AltSVM", tol=0.0, callback=ask).fit(votes)
    assert model.slope_ is None and model.calibrate().slope_ == want and len(slopes) == 4


@pytest.mark.parametrize("name", ["AltSVM", "Global"])
def test_models_do_not_hold_their_predecessors(name, monkeypatch):
    """The model that a warm start begins from is gone after the fit, or after an interrupt: models form no chain."""
    model = small(name, tol=0.0, max_iter=3)
    if name == "AltSVM":
        model.set_params(warm_start=True)
    gone = []
    model.set_params(callback=lambda now, _: gone.append(weakref.ref(now.fitted)))
    model.fit(small_data("votes"))
    first = [*gone]
    model.fit(small_data("votes"))
    press_in_round(monkeypatch, 2)
    with pytest.warns(UserWarning, match="after 1 round"):
        model.fit(small_data("votes"))
    gc.collect()
    assert len(first) == 3 and not any(ref() for ref in first) and model.interrupted_


@pytest.mark.parametrize("kind", [lambda **how: AltSVM(rank="auto", **how), Convex])
def test_an_interrupt_after_the_last_round_keeps_it(kind, monkeypatch):
    """Ctrl-C while the columns that hold nothing are dropped ends the fit with the rounds it has made, or raises."""
    votes = small_data("votes")

    def press(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("rather.solving.growth.Growing.trim", press)
    with pytest.warns(UserWarning, match="after 2 rounds"):
        model = kind(max_iter=2, tol=0.0, n_threads=1).fit(votes)
    assert model.interrupted_ and len(model.history_) == 2 and np.isfinite(model.certificate().objective)
    model = kind(max_iter=2, tol=0.0, n_threads=1, on_interrupt="raise")
    with pytest.raises(KeyboardInterrupt):
        model.fit(votes)
    assert model.interrupted_ and len(model.history_) == 2


def test_warnings_as_errors_keep_the_rounds_of_an_interrupted_fit(monkeypatch):
    """The warning is then an error, and the rounds that it is about are the model's all the same."""
    press_in_round(monkeypatch, 3)
    model = small("AltSVM", tol=0.0)
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="after 2 rounds"):
        warnings.simplefilter("error")
        model.fit(small_data("votes"))
    assert model.interrupted_ and len(model.history_) == 2


def test_an_interrupt_of_a_resumed_fit_keeps_what_was_resumed(tmp_path, monkeypatch):
    """Ctrl-C in the first round after a checkpoint leaves the model of the checkpoint, and says how many rounds it is.

    Where the checkpoint has more rounds than are asked for, a warning says so.
    """
    votes = small_data("votes")
    path = tmp_path / "checkpoint"
    want = answers(small("AltSVM", tol=0.0, max_iter=2, checkpoint=path).fit(votes))
    monkeypatch.setattr("rather.solving.newton.Newton.round", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    model = small("AltSVM", tol=0.0, checkpoint=path)
    with pytest.warns(UserWarning, match="after 2 rounds"):
        model.fit(votes)
    assert answers(model) == want and model.interrupted_
    with pytest.warns(UserWarning, match="has 2 rounds already, more than max_iter=1"):
        assert answers(small("AltSVM", max_iter=1, tol=0.0, checkpoint=path).fit(votes)) == want


def test_a_copy_keeps_the_model_of_its_moment():
    """A shallow copy shares the fitted model with the estimator, until that is fitted again."""
    votes = small_data("votes")
    model = small("AltSVM").fit(votes)
    now, said = copy(model), answers(model)
    assert now.fitted is model.fitted
    model.fit(other_ids(votes))
    assert answers(now) == said != answers(model) and now.fitted is not model.fitted


def test_parameters_that_are_set_during_a_fit_are_for_the_next(monkeypatch):
    """A callback that changes parameters changes no round of the fit that calls it."""
    votes = small_data("votes")
    want = answers(small("AltSVM", tol=0.0).fit(votes))
    model = small("AltSVM", tol=0.0, callback=lambda now, _: now.set_params(max_iter=1, loss="hinge") is None)
    assert answers(model.fit(votes)) == want and model.get_params()["max_iter"] == 1


def test_what_a_fit_found_cannot_be_set():
    model = small("AltSVM").fit(small_data("votes"))
    with pytest.raises(AttributeError, match="reg_"):
        model.reg_ = 3.0
    assert not hasattr(rather.ItemMean().fit(small_data("ratings")), "reg_")
