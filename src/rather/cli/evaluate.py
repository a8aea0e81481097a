"""rather evaluate: how well a model predicts data it has not seen."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.frames import columns as frame_columns
from ..data.frames import names_in
from ..data.ids import as_ids
from ..data.table_files import write_table
from ..data.vote_readers import EVERYONE
from ..errors import InputError
from ..estimators import load
from ..judging.metrics import ndcg, pairwise_accuracy, precision
from .answer import Document, facts
from .ids import different
from .inputs import Source, about, as_read, read_source, read_table, shown
from .outputs import check_different, check_table
from .roles import the_column
from .strangers import counted, find

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

METRICS = ("ndcg", "precision", "accuracy")
ADVICE = "judge such users by everybody's ranking with --unknown everyone, or leave them out with --unknown skip"


def evaluate(options: argparse.Namespace) -> Answer:
    if options.per_user is not None:
        files = options.model, options.file, options.exclude, options.per_user
        check_different("the model, the data, the exclusions and the users' values", files)
        check_table(options.per_user, options.force)
    model = load(options.model)
    source = read_source(options)
    metrics = _metrics(options, source)
    user = source.columns["user"]
    everybody = np.array([EVERYONE], dtype=object) if user is None else different(source.frame, user)
    strangers = find(model, everybody, options.unknown, ADVICE)
    if strangers.unknown == strangers.of:
        raise InputError("the model knows none of the test users; is it the model for these data?")
    judge = Judge(model, source, options)
    with counted():
        means = {judge.name_of(metric): judge.value(metric) for metric in metrics}
        if options.per_user is not None:
            _write_values(options.per_user, user or "user", {judge.name_of(m): judge.table(m) for m in metrics})
    strangers.say()
    return {
        "model": options.model, **source.about,
        "metrics": {name: float(mean) for name, mean in means.items()},
        "standard_errors": {name: mean.standard_error for name, mean in means.items()},
        "users": {name: mean.n_users for name, mean in means.items()},
        "unknown_items": max(mean.unknown_items for mean in means.values()),
        **strangers.about,
        **({} if options.per_user is None else {"per_user": options.per_user}),
    }, _show  # fmt: skip


def _metrics(options: argparse.Namespace, source: Source) -> tuple[str, ...]:
    """The metrics that were asked for, or those that suit the data; options that none of them has are refused."""
    accepted, format = source.format.metrics, source.about["format"]
    metrics = tuple(dict.fromkeys(options.metric or accepted))
    for metric in metrics:
        if metric not in accepted:
            raise InputError(f"{metric} does not go with {format}; use {' or '.join(accepted)}")
    for option, given, metric in (
        ("--exclude", options.exclude, "precision"),
        ("--min-gap", options.min_gap, "accuracy"),
    ):
        if given is not None and metric not in metrics:
            raise InputError(f"{option} is for {metric}, which is not asked for; leave it out")
    return metrics


class Judge:
    """The metrics of one model on one table."""

    def __init__(self, model: Any, source: Source, options: argparse.Namespace) -> None:
        self.model, self.source, self.options = model, source, options
        self._comparisons: Comparisons | None = None
        self._exclude: Any = "seen"
        if options.exclude is not None:
            frame, file = read_table(options.exclude, options), shown(options.exclude)
            present, given = names_in(frame), {role: source.columns[role] for role in ("user", "item")}
            told = {role: name if name in present else None for role, name in given.items()}
            columns = {role: the_column(role, present, told, file) for role in given}
            with about("exclude"):
                for role, name in columns.items():
                    as_ids(frame_columns(frame, {role: name})[role], f"the {role} (column {name!r})")
            self._exclude = {given[role]: frame[name] for role, name in columns.items()}

    def name_of(self, metric: str) -> str:
        if metric != "accuracy":
            return f"{metric}@{self.options.k}"
        gap = self.options.min_gap
        return metric if gap is None else f"accuracy (gap at least {gap:g})"

    def value(self, metric: str, per_user: bool = False) -> Any:
        """The mean over users, with its standard error."""
        asked: dict[str, Any] = {"per_user": per_user, "unknown": self.options.unknown}
        columns: dict[str, Any] = self.source.columns
        if metric == "ndcg":
            return ndcg(self.model, self.source.frame, self.options.k, **columns, **asked)
        if metric == "precision":
            return precision(self.model, self.source.frame, self.options.k, self._exclude, **columns, **asked)
        if self._comparisons is None:
            self._comparisons = self.source.comparisons()
        return pairwise_accuracy(self.model, self._comparisons, min_gap=self.options.min_gap, **asked)

    def table(self, metric: str) -> dict[Any, float]:
        """Every user's value."""
        users, values, *_ = self.value(metric, per_user=True).columns.values()
        return dict(zip(users.tolist(), values.tolist(), strict=True))


def _write_values(path: str, user: str, values: dict[str, dict[Any, float]]) -> None:
    """Every user's values, one row a user; empty where a metric does not count a user."""
    users = sorted(set().union(*values.values()))
    table = {user: np.array(users, dtype=object)}
    for name, of in values.items():
        table[f"{name}_" if name == user else name] = np.array([of.get(who) for who in users], dtype=object)
    write_table(path, table)


def _show(document: Document, console: Console) -> None:
    judged = {}
    for name, value in document["metrics"].items():
        error, n = document["standard_errors"][name], document["users"][name]
        sure = "" if error != error else f" ± {error:.4f}"
        judged[name] = f"{value:.4f}{sure} ({n:,} {'user' if n == 1 else 'users'})"
    if document["as_everyone"]:
        judged["unknown"] = f"{document['as_everyone']:,} users judged by everybody's ranking"
    if document["skipped"]:
        judged["skipped"] = f"{document['skipped']:,} users that the model does not know"
    if n := document["unknown_items"]:
        judged["unknown items"] = f"{n:,} of the test items are not known to the model and score 0"
    if "per_user" in document:
        judged["saved"] = f"every user's values to {document['per_user']}"
    facts(console, {"data": as_read(document), **judged})
