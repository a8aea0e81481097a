"""What can be interrupted: how to begin each again, do it, and see that nothing of it is left half done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rather
from rather import AltSVM, Comparisons, PaperAltSVM
from rather.data.table_files import read_file, write_table
from rather.models.calibration import Slope
from rather.testing import small_data

from .models import data_for, fingerprint, other_ids, small

CHOOSES: dict[str, Any] = {"rank": None, "max_iter": 30, "tol": None}


class Action:
    """Something to interrupt. ``begin`` makes all as it was, ``act`` does it, ``check`` says whether all is whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "interrupted"
        self.folder.mkdir(exist_ok=True)

    def begin(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()

    def act(self) -> None:
        raise NotImplementedError

    def check(self, struck: bool) -> None:
        raise NotImplementedError

    def leftovers(self) -> list[str]:
        """Temporary files that nobody will remove."""
        return [path.name for path in self.folder.iterdir() if path.name.startswith(".")]


class Fit(Action):
    """A fit to data with other ids of a model that was fitted before."""

    def __init__(self, folder: Path, estimator: Any, old: Comparisons, new: Comparisons, keep: str = "keep") -> None:
        super().__init__(folder)
        self.estimator, self.new, self.keep = estimator, new, keep
        self.before = estimator.fit(old)
        self.old = estimator.fitted
        self.was = fingerprint(estimator)
        self.rounds: list[Any] = []
        again = type(estimator)(**{**estimator.get_params(), "callback": self._listen})
        again.fit(new)
        self.end, self.slope = fingerprint(again), again.slope_

    def _listen(self, model: Any, record: Any) -> None:
        self.rounds.append(fingerprint(model))

    def begin(self) -> None:
        super().begin()
        self.model = type(self.estimator)(**{**self.estimator.get_params(), "on_interrupt": self.keep})
        self.model._fitted = self.old

    def act(self) -> None:
        self.model.fit(self.new)

    def check(self, struck: bool) -> None:
        got = fingerprint(self.model)
        if got == self.was:
            assert struck, "the interrupt was swallowed: no round was kept, and nothing was raised"
            assert not self.model.interrupted_, "the old model says that it was interrupted"
            return
        assert got in self.rounds or got == self.end, "the model is neither the old one nor a whole round of the new"
        assert self.model.slope_ in (None, self.slope), "the new model has another slope, maybe the old one's"
        assert self.model.interrupted_ or self.model.slope_ == self.slope, "a whole fit does not know its slope"
        whole = got == self.end or len(self.model.history_) == len(self.rounds)
        assert whole or self.model.interrupted_, "an interrupted fit does not say so"
        certificate = getattr(self.model, "certificate", None)
        if certificate is not None:
            assert np.isfinite(certificate().objective)


class Search(Action):
    """A first fit that chooses on held-out answers."""

    def __init__(self, folder: Path, params: dict[str, Any], kind: type[Any] = AltSVM) -> None:
        super().__init__(folder)
        self.votes, self.kind = small_data("votes"), kind
        self.params: dict[str, Any] = {"n_threads": 1, **params}
        self.rounds: list[Any] = []
        listening = AltSVM(**self.params, callback=lambda model, _: self.rounds.append(fingerprint(model)))
        self.end, self.slope = fingerprint(listening.fit(self.votes)), listening.slope_

    def begin(self) -> None:
        super().begin()
        self.model = AltSVM(**self.params)

    def act(self) -> None:
        self.model.fit(self.votes)

    def check(self, struck: bool) -> None:
        if not hasattr(self.model, "users_"):
            assert struck, "nothing is fitted, and nothing was raised"
            assert not hasattr(self.model, "reg_") and not hasattr(self.model, "cv_results_")
            return
        assert fingerprint(self.model) in [*self.rounds, self.end]
        assert self.model.slope_ == (None if self.model.interrupted_ else self.slope)


class Resumed(Action):
    """A fit with a checkpoint, interrupted and then fitted again by another model."""

    def __init__(self, folder: Path, params: dict[str, Any], kind: type[Any] = AltSVM) -> None:
        super().__init__(folder)
        self.votes, self.kind = small_data("votes"), kind
        self.params = {"rank": 3, "max_iter": 4, "tol": 0.0, "n_threads": 1, **params}
        whole = kind(**self.params).fit(self.votes)
        self.end = fingerprint(whole), whole.slope_

    def _estimator(self) -> Any:
        return self.kind(**self.params, checkpoint=self.folder / "checkpoint", on_interrupt="raise")

    def act(self) -> None:
        self._estimator().fit(self.votes)

    def check(self, struck: bool) -> None:
        model = self._estimator().fit(self.votes)
        assert (fingerprint(model), model.slope_) == self.end, "resumed, it is another fit"


class Calibration(Action):
    """Finding the slope of probabilities."""

    def __init__(self, folder: Path, ask: Callable[[Any], Any]) -> None:
        super().__init__(folder)
        params: dict[str, Any] = {"rank": 3, "reg": 2.0, "max_iter": 3, "n_threads": 1}
        self.ask, self.fitted = ask, AltSVM(**params).fit(small_data("votes"))
        self.was = fingerprint(self.fitted)
        self.slope = AltSVM(**params).fit(small_data("votes")).calibrate().slope_

    def begin(self) -> None:
        super().begin()
        self.model = AltSVM()
        self.model._fitted = replace(self.fitted.fitted, slope=Slope())

    def act(self) -> None:
        self.ask(self.model)

    def check(self, struck: bool) -> None:
        assert self.model.slope_ in (None, self.slope), f"slope_ is {self.model.slope_}, not {self.slope}"
        assert struck or self.model.slope_ is not None, "there is no slope, and nothing was raised"
        assert fingerprint(self.model) == self.was
        assert self.model.calibrate().slope_ == self.slope, "calibrated again, the slope is another"


class Judging(Action):
    """Metrics of a model: they must not touch it, and give the same again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.data = small_data("ratings")
        self.model = AltSVM(rank=3, max_iter=3, n_threads=1).fit(self.data)
        r = self.data.ratings
        assert r is not None
        self.table = {"user": self.data.users[r.user], "item": self.data.items[r.item], "rating": r.rating}
        self.was, self.said = fingerprint(self.model), self._judge()

    def _judge(self) -> list[float]:
        model = self.model
        return [
            float(rather.pairwise_accuracy(model, self.data)),
            float(rather.ndcg(model, self.table)),
            float(rather.precision(model, self.table, k=3, items=self.data.items)),
        ]

    def act(self) -> None:
        self._judge()

    def check(self, struck: bool) -> None:
        assert fingerprint(self.model) == self.was and self._judge() == self.said


class Saving(Action):
    """Saving over another model's file, or where there is none."""

    def __init__(self, folder: Path, over: bool) -> None:
        super().__init__(folder)
        self.path, self.over = self.folder / "model", over
        self.old = small("Global").fit(small_data("votes"))
        self.new = AltSVM(rank=3, max_iter=3, n_threads=1).fit(small_data("ratings"))
        self.said = [fingerprint(model) for model in (self.old, self.new)]

    def begin(self) -> None:
        super().begin()
        if self.over:
            self.old.save(self.path)

    def act(self) -> None:
        self.new.save(self.path)

    def check(self, struck: bool) -> None:
        if not self.path.exists():
            assert struck and not self.over, "the file is gone"
            return
        assert fingerprint(rather.load(self.path)) in self.said[not self.over :], "the file is neither"


class Loading(Action):
    """Loading a model; the next load must be right."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "loaded"
        self.model = AltSVM(rank=3, max_iter=3, n_threads=1).fit(small_data("ratings")).calibrate()
        self.model.save(self.path)
        self.said = fingerprint(self.model)

    def act(self) -> None:
        rather.load(self.path)

    def check(self, struck: bool) -> None:
        assert fingerprint(rather.load(self.path)) == self.said


class Reading(Action):
    """Reading a CSV file long enough for either reader, and writing it."""

    def __init__(self, folder: Path, rows: int) -> None:
        super().__init__(folder)
        self.path, self.copy = folder / f"{rows}.csv", self.folder / "copy.csv"
        names = np.array([f"item {k}" for k in range(100)], dtype=object)
        rng = np.random.default_rng(0)
        winner = rng.integers(100, size=rows)
        self.table = {"user": rng.integers(50, size=rows), "winner": names[winner], "loser": names[(winner + 1) % 100]}
        write_table(self.path, self.table)
        self.size = self.path.stat().st_size

    def act(self) -> None:
        table = read_file(self.path)
        Comparisons.from_frame(table)
        write_table(self.copy, table)

    def check(self, struck: bool) -> None:
        table = read_file(self.path)
        assert all(table[c].tolist() == column.tolist() for c, column in self.table.items())
        assert struck or self.copy.exists()
        assert not self.copy.exists() or self.copy.stat().st_size == self.size, "half a file was written"


def _fit(name: str, keep: str = "keep", **params: Any) -> Callable[[Path], Action]:
    def make(folder: Path) -> Action:
        data = data_for(name)
        new = data.split(0.3, by="items")[0] if data.source.name else other_ids(data)
        return Fit(folder, small(name, **{"tol": 0.0, **params}), data, new, keep)

    return make


ACTIONS: dict[str, Callable[[Path], Action]] = {
    "fit AltSVM": _fit("AltSVM", reg=2.0),
    "fit AltSVM, raise": _fit("AltSVM", "raise", reg=2.0),
    "fit AltSVM that chooses": _fit("AltSVM", **CHOOSES),
    "fit hinge": _fit("AltSVM", loss="hinge", max_iter=9),
    "fit paper": _fit("PaperAltSVM"),
    "fit auto": _fit("AltSVM", rank="auto"),
    "fit exposed": _fit("AltSVM", exposure=True),
    **{f"fit {name}": _fit(name, keep) for name, keep in (
        ("Convex", "keep"), ("Global", "raise"), ("BPR", "keep"), ("SGD", "keep"), ("Differences", "keep"),
        ("CofiRank", "keep"), ("LCR", "raise"), ("RobiRank", "keep"),
    )},
    "cv": lambda folder: Search(folder, {"rank": 3, "reg": "cv", "max_iter": 3, "tol": 0.0}),
    "choice": lambda folder: Search(folder, CHOOSES),
    "resume newton": lambda folder: Resumed(folder, {"reg": 2.0}),
    "resume choice": lambda folder: Resumed(folder, CHOOSES),
    "resume paper": lambda folder: Resumed(folder, {}, PaperAltSVM),
    "resume auto": lambda folder: Resumed(folder, {"rank": "auto"}),
    "calibrate": lambda folder: Calibration(folder, lambda model: model.calibrate()),
    "probability": lambda folder: Calibration(
        folder, lambda model: model.probability(model.users_[0], *model.items_[:2])
    ),
    "evaluate": Judging,
    "save": lambda folder: Saving(folder, over=False),
    "save over": lambda folder: Saving(folder, over=True),
    "load": Loading,
    "read a short CSV": lambda folder: Reading(folder, 2_000),
    "read a long CSV": lambda folder: Reading(folder, 60_000),
}  # fmt: skip
