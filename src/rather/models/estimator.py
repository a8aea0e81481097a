"""Every estimator: parameters, fit, scores, lists, probabilities and files."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from contextlib import closing
from copy import copy, deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.comparisons import Comparisons, as_comparisons
from ..data.embedded import Embedded
from ..data.ids import Codes, Ids, as_ids, read_only
from ..data.readers import checked_triples, signs
from ..data.rows import Pairs
from ..data.source import Source
from ..data.tables import Table
from ..errors import InputError, NotFittedError, number, one_of
from ..native import FloatArray, threads
from .calibration import Calibration, by_twins
from .exclusions import Rows, exclusions, is_in, select
from .files import save_model
from .fitted import Fit, FittedModel, FromFit, Published
from .lists import best_of_all
from .parameters import allowed
from .progress import Progress
from .scorers import Scorer
from .unknown import check_unknown, left_out

if TYPE_CHECKING:
    from typing_extensions import Self

REFIT = "items are learned from comparisons: fit again with some that involve it"
EVERYONE: Any = object()

# ``rank`` is a parameter of factor models and also what they do: model.rank(user) is the method.
_ATTRIBUTE = {"rank": "_rank"}


class Estimator:
    """Personal scores for every user and item, learned from comparisons.

    The contract is scikit-learn's, without the dependency: parameters in ``__init__``, ``get_params``, ``set_params``,
    fitted attributes that end in an underscore, and ``fit(X, y)``, ``predict`` and ``score`` on integer triples.

    An estimator takes its parameters in ``__init__`` and does nothing there but ``self._store_params(locals())``. It
    says in :meth:`scorer` what scores it learns from data, or in ``_fit`` what models a fit goes through; lists,
    probabilities, metrics and files follow.

    The result of a fit is one value, which is never changed once it can be seen, but replaced by one assignment. So a
    fit that is refused or fails leaves the old model. A shallow copy keeps the model of its moment, whatever is fitted
    later: a method that looks at the model several times works on a copy, and a thread that asks while another one fits
    gets an answer from the old model or the new one.

    Attributes
    ----------
    users_, items_ : arrays
        External ids, which cannot be written to; a code is a position in them.
    slope_ : float or None
        Of probabilities, once :meth:`calibrate` or :meth:`probability` has found it.
    """

    UNKNOWN_USER = "fit again with some of their answers"
    n_threads: int | None = None
    seed: int = 0
    SCORER: type[Scorer] = Scorer  # what a file's tensors are made into

    _fitted: FittedModel | None = None

    seen_ = FromFit[Rows]()
    reg_ = FromFit[float]()
    bias_reg_ = FromFit[float]()
    loss_ = FromFit[str]()
    history_ = FromFit[list[dict[str, float]]]()
    converged_ = FromFit[bool]()
    interrupted_ = FromFit[bool]()
    cv_results_ = FromFit[list[dict[str, float]]]()

    @property
    def fitted(self) -> FittedModel:
        """The result of the last fit."""
        if self._fitted is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(comparisons) first")
        return self._fitted

    def _with(self, fitted: FittedModel | None) -> Self:
        """Return an estimator of the same parameters that holds another model."""
        made = copy(self)
        made._fitted = fitted
        return made

    # -- parameters -----------------------------------------------------------------------------------------------

    def _store_params(self, given: dict[str, Any]) -> None:
        for name in self._param_names():
            setattr(self, _ATTRIBUTE.get(name, name), given[name])

    @classmethod
    def _param_names(cls) -> list[str]:
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters given to ``__init__``."""
        return {name: getattr(self, _ATTRIBUTE.get(name, name)) for name in self._param_names()}

    def set_params(self, **params: Any) -> Any:
        """Change parameters; an unknown name is an error."""
        names = self._param_names()
        for name, value in params.items():
            if name not in names:
                raise InputError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}")
            setattr(self, _ATTRIBUTE.get(name, name), value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        values = self.get_params().items()
        changed = (f"{k}={v!r}" for k, v in values if type(v) is not type(d := defaults[k].default) or v != d)
        return f"{type(self).__name__}({', '.join(changed)})"

    # -- copies ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: of a fitted model everything but the callback, which a file leaves out as well.

        An estimator that is not fitted keeps its callback, because a worker process calls it in ``fit``.
        """
        callback = {"callback": None} if self._fitted is not None and "callback" in self.__dict__ else {}
        return {**self.__dict__, **callback}

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__.update(deepcopy(self.__dict__, memo))
        return made

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(self, comparisons: Any, y: Any = None, item_features: Any = None, user_features: Any = None) -> Any:
        """Fit to :class:`Comparisons`, or to integer triples X = (i, j, k) with y = +-1.

        ``item_features`` and ``user_features`` are tables of what is known of items and people, one row each: see
        :meth:`Comparisons.with_features`. They are for :class:`AltSVM` and :class:`Convex`.

        A fit that is refused or fails leaves the model as it was. One that Ctrl-C ends keeps the rounds it has made.
        """

        given = as_comparisons(comparisons, y)
        if item_features is not None or user_features is not None:
            self._check_features("features are")
            given = given.with_features(item_features, user_features)
        elif given.item_features is not None or given.user_features is not None:
            self._check_features("features are")
        if isinstance(given.source, Embedded):
            self._check_features("choices of embeddings are")
        return self._run("fit", copy(self)._fit(given.encoded()))

    def _check_features(self, what: str) -> None:
        """Refuse features where they cannot be learned from."""
        raise InputError(f"{what} for AltSVM and Convex: {type(self).__name__} does not learn from features")

    def update(self, comparisons: Any, old: Any = None, item_features: Any = None, user_features: Any = None) -> Any:
        """Take in newer comparisons; see :meth:`AltSVM.update`, which can."""
        raise InputError(f"{type(self).__name__} cannot be updated; fit it again, to old.extended(new)")

    def scorer(self, data: Comparisons) -> Scorer:
        """Return the scores that are learned from comparisons: all that an estimator without rounds defines."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is fitted: it needs scorer(data) or _fit")

    def _fit(self, data: Comparisons) -> Fit:
        """Yield the models that a fit goes through; the last one is its result.

        A fit works on a copy of the estimator, so its parameters stay as they were when it began.
        """
        scorer = self.scorer(data)
        scorer.check(data.n_users, data.n_items)
        yield Published(self._model_of(data, scorer))

    def _model_of(self, data: Comparisons, scorer: Scorer, **parts: Any) -> FittedModel:
        """Return a fitted model of some data."""
        return FittedModel(
            {name: value for name, value in self.get_params().items() if name != "callback"}, data.user_vocabulary,
            data.item_vocabulary, data.frame_kind, data.names, data.source.met(), scorer, data, **parts,
        )  # fmt: skip

    def _run(self, what: str, steps: Fit) -> Any:
        """Put the models that a fit goes through in place, one after the other, and return the estimator.

        An error puts the old model back. Ctrl-C keeps the last model, and is raised where there is none.
        """
        before = last = self._fitted
        callback, rounds = getattr(self, "callback", None), getattr(self, "max_iter", 0)
        shown = bool(rounds and getattr(self, "verbose", False))  # by what has no rounds of its own, parts show theirs
        quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")  # what comes of it is refused by name
        try:
            with closing(steps), quiet, Progress(shown, self._title(what), rounds) as progress:
                published = next(steps, None)
                while published is not None:
                    self._fitted = last = published.fitted
                    stop = False
                    if published.record is not None:
                        progress.show(published.record)
                        stop = callback is not None and bool(callback(self, published.record))
                    try:
                        published = steps.send(stop)
                    except StopIteration:
                        published = None
            return self
        except KeyboardInterrupt:
            if last is before or last is None:
                raise
            self._fitted = replace(last, interrupted=True)
            if getattr(self, "on_interrupt", "raise") == "raise":
                raise
        except BaseException:
            if self._fitted is last:
                self._fitted = before
            raise
        # Said only now: where warnings are errors, the rounds are kept all the same.
        done = len(last.history or ())
        warnings.warn(f"{what} interrupted after {done} rounds; the model is the best so far", stacklevel=3)
        return self

    def _title(self, what: str) -> str:
        """Return what a progress bar says."""
        return type(self).__name__ + ("" if what == "fit" else f" {what}")

    # -- a twin, for what is found on held-out data ---------------------------------------------------------------

    def _twin(self) -> Any:
        """The same estimator with everything settled that the fit found, to be fitted quietly to other data.

        What ``set_params`` has changed since is not the fitted model's.
        """
        now = self._as_fitted()
        params = now.get_params()
        quiet = {"verbose": False, "callback": None, "on_interrupt": "raise"}
        settled = {**quiet, **now._settled()}
        return type(self)(**{**params, **{name: value for name, value in settled.items() if name in params}})

    def _settled(self) -> dict[str, Any]:
        """Return the parameters that stood for a rule, as the fit found them."""
        reg = self.fitted.reg
        return {} if reg is None else {"reg": allowed(reg)}

    def _fitted_params(self) -> dict[str, Any]:
        """Return the parameters of the fit by their names today, whatever ``set_params`` has changed since."""
        return {name: value for name, value in self.fitted.params.items() if name in self._param_names()}

    def _as_fitted(self) -> Self:
        """Return an estimator of the same model with the parameters of its fit."""
        made = copy(self)
        made.set_params(**self._fitted_params())
        return made

    # -- scikit-learn, on integer triples ---------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """For integer triples X = (i, j, k): +1 where i prefers j to k by the scores, else -1.

        Users that the fit did not see are taken to rank like everyone, items that it did not see score 0.
        """
        now = copy(self)
        users, *items = (as_ids(column, "X") for column in checked_triples(X).T)
        u, j, k = now.fitted.users.codes(users), *map(now.fitted.items.codes, items)
        return np.where(now._scores_any(u, j) > now._scores_any(u, k), 1, -1)

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # which alone calls this

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=None,
            input_tags=InputTags(),
        )

    # -- what a kind of model says ------------------------------------------------------------------------------

    def average_scores(self) -> FloatArray:
        """Return everybody's score of every item: the ranking of someone nothing is known about."""
        fitted = self.fitted
        return fitted.scorer.average(fitted.seen, len(fitted.items), threads(self.n_threads))

    def _scores(self, u: Codes, j: Codes) -> FloatArray:
        """Return the scores of pairs of codes."""
        return self.fitted.scorer.scores(u, j, threads(self.n_threads))

    def _best(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """(query, item, score, rank) of each user's k best of some items (in order), flat, none of those excluded."""
        fitted = self.fitted
        return fitted.scorer.best(u, k, excluded, items, len(fitted.items), threads(self.n_threads))

    def _best_shown(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """The same of what to show, which may be more than a matter of scores."""
        return self._best(u, k, excluded, items)

    def _everyone_shown(self) -> FloatArray:
        """The scores by which someone nothing is known about is shown items."""
        return self.average_scores()

    # -- files --------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        """Arrays to save."""
        return self.fitted.scorer.tensors()

    def _about(self) -> dict[str, Any]:
        """What else to save, as JSON."""
        reg = self.fitted.reg
        return {**({} if reg is None else {"reg": reg}), **self.fitted.scorer.about()}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        """Complete a model by what a file holds. False, or an exception, if its parts do not fit together."""
        fitted.scorer = self.SCORER.restored(tensors, about, fitted)
        if "reg" in about:
            fitted.reg = float(about["reg"])
            return 0 < fitted.reg < np.inf
        return True

    # -- state --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Only reached when an attribute is missing: the attributes of a fit get the sentence, not a bare name.
        kind = type(self)
        if name.endswith("_") and not name.startswith("_") and self._fitted is None:
            raise NotFittedError(f"{kind.__name__} has no {name!r} before fit(comparisons)")
        if hasattr(kind, name) and self._fitted is None:  # a property that reads the fitted model
            raise NotFittedError(f"this {kind.__name__} is not fitted yet; call fit(comparisons) first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def slope_(self) -> float | None:
        found = self.fitted.slope.found
        return None if found is None else found.slope

    @property
    def users_(self) -> Ids:
        return read_only(self.fitted.users.ids)

    @property
    def items_(self) -> Ids:
        return read_only(self.fitted.items.ids)

    # -- scores -------------------------------------------------------------------------------------------------

    def score(self, users: Any, items: Any) -> Any:
        """Return the scores of pairs of a user and an item.

        Parameters
        ----------
        users, items : ids, or equally long lists of ids
            Either may be a single id. Given integer triples (i, j, k) and y = +-1, as scikit-learn gives them, the
            result is the share of triples that :meth:`predict` gets right.
        """
        if getattr(users, "shape", ())[1:] == (3,):
            return float(np.mean(self.predict(users) == signs(items, len(users))))
        now = copy(self)
        u, j = now._user_codes(users), now._item_codes(items)
        return now._scores(*now._pair_up(u, j, "users", "items"))

    def _scores_any(self, u: Codes, j: Codes) -> FloatArray:
        """Scores of pairs of codes of which some are -1: unknown users rank like everyone, unknown items score 0."""
        out, known = np.zeros(len(u), np.float32), (u >= 0) & (j >= 0)
        if known.all():
            return self._scores(u, j)
        out[known] = self._scores(u[known], j[known])
        strangers = (u < 0) & (j >= 0)
        if strangers.any():
            out[strangers] = self.average_scores()[j[strangers]]
        return out

    def calibrate(self) -> Any:
        """Find how sure to be, on comparisons put aside: costs about as much as another fit (of few answers, ten).

        Nothing is done where it is known: a fit that chose its regularisation on held-out answers found it then, and
        :meth:`probability` does where nobody else did. A file holds what was found before ``save``.
        """
        now = copy(self)
        fitted = now.fitted
        if fitted.slope.found is not None:
            return self
        if fitted.training is None:
            raise InputError(
                "this model was saved before its probabilities were calibrated, and calibrating needs the comparisons "
                "it was fitted to; fit it again, call calibrate(), and save it then"
            )
        found = now._found_calibration(fitted.training)
        fitted.slope.own = now._reluctance(fitted.training, found)
        fitted.slope.found = found  # last: who finds it, finds all
        return self

    def _found_calibration(self, comparisons: Comparisons) -> Calibration:
        """From twins fitted to what is left when some is put aside."""
        return by_twins(self._twin(), comparisons, self._as_fitted()._models_ties(comparisons.source))

    def _margins(self, pairs: Pairs) -> Any:
        """By how much the winners of comparisons are ahead."""
        return self._scores(pairs.user, pairs.winner) - self._scores(pairs.user, pairs.loser)

    def _models_ties(self, source: Source) -> bool:
        """Whether ties are outcomes of their own."""
        return False

    def _reluctance(self, comparisons: Comparisons, found: Calibration) -> FloatArray | None:
        """Each user's factor of reluctance to decide, where ties are outcomes of their own."""
        return None

    def probability(self, users: Any, left: Any, right: Any) -> FloatArray:
        """Probability that each user prefers ``left`` to ``right``: sigma(a (s_left - s_right)).

        The slope a is ``slope_`` for a typical user who has met both items; it depends on how many items a user is
        known to have met and on how many of the two are new to them (docs/mathematics.md), as held-out training
        comparisons say. Where the fit did not find it, the first call does; see :meth:`calibrate`.
        """
        return self._calibrated()._probability(users, left, right)

    def _probability(self, users: Any, left: Any, right: Any) -> FloatArray:
        u, a, b = self._asked(users, left, right)
        margin, seen = self._scores(u, a) - self._scores(u, b), self.fitted.seen
        unmet = sum(~is_in(seen, u, item) for item in (a, b))
        found = self.fitted.slope.found
        assert found is not None
        return found.probability(margin, np.diff(seen[0])[u], unmet)

    def _asked(self, users: Any, left: Any, right: Any) -> tuple[Codes, Codes, Codes]:
        """Codes of equal length of users and pairs of items."""
        u, a, b = self._user_codes(users), self._item_codes(left), self._item_codes(right)
        a, b = self._pair_up(a, b, "left", "right")
        u, a = self._pair_up(u, a, "users", "items")
        return u, a, np.ascontiguousarray(np.broadcast_to(b, a.shape))

    def _calibrated(self) -> Self:
        """The model as it is now, calibrated."""
        now = copy(self)
        if now.slope_ is None:
            now.calibrate()
        return now

    # -- lists --------------------------------------------------------------------------------------------------

    def rank(self, user: Any = EVERYONE, items: Any = None) -> Table:
        """All items for one user, best first: columns item, score, rank.

        Parameters
        ----------
        user : id, optional
            Nobody in particular by default: everybody's ranking, that of someone nothing is known about.
        items : list of ids, optional
            Rank only these.
        """
        return copy(self)._ranked(user, items)

    def _ranked(self, user: Any, items: Any) -> Table:
        among = self._candidates(items)
        if user is EVERYONE:
            _, item, score, place = best_of_all(self.average_scores(), 1, len(among), None, among)
        else:
            u = self._user_codes(user)
            if len(u) != 1:
                raise InputError(f"rank takes one user, not {len(u)}; recommend takes several")
            _, item, score, place = self._best(u, len(among), None, among)
        return self._table({"item": self.items_[item], "score": score, "rank": place})

    def recommend(
        self,
        users: Any,
        k: int | None = None,
        exclude: Any = None,
        items: Any = None,
        unknown: str = "error",
        by: str = "interest",
    ) -> Table:
        """The k best items to show each user: columns user, item, score, rank.

        Parameters
        ----------
        users : id or list of ids
        k : int, optional
            At most the number of items; 10 by default, or all where there are fewer. A list is shorter where exclusions
            leave fewer; it is never padded.
        exclude : None, "seen", list of items, Comparisons, or a table with user and item columns
            Items to leave out: none, those in the user's training comparisons, some for everybody, or those given for
            the user.
        items : list of ids, optional
            Recommend only from these.
        unknown : {"error", "everyone", "skip"}
            What users that the model does not know get: an error, everybody's ranking, or no list (and a warning says
            how many).
        by : {"interest", "score"}
            "interest": where the model learned it (from ratings that people chose to give), what they would take up and
            like, best first; the column score is then the sum of both, in standard deviations. Everywhere else, and
            with "score", lists are in the order of :meth:`score`: what they would rather have, if they had met it all.
        """
        return copy(self)._recommended(users, k, exclude, items, unknown, by)

    def _recommended(self, users: Any, k: int | None, exclude: Any, items: Any, unknown: str, by: str) -> Table:
        check_unknown(unknown)
        one_of("by", by, ("interest", "score"))
        asked = as_ids(as_list(users), "the list of users")
        u = self.fitted.users.codes(asked)
        if unknown == "error":
            self.fitted.users.known(asked, self.UNKNOWN_USER)
        elif unknown == "skip" and (u < 0).any():
            left_out(int((u < 0).sum()), len(u), "users")
            asked, u = asked[u >= 0], u[u >= 0]
        among = self._candidates(items)
        k = self._checked_k(k, len(among), "items")
        excluded, among = exclusions(
            exclude, asked, among, people=self.fitted.users, items=self.fitted.items,
            seen=lambda: select(self.fitted.seen, u), names=self.fitted.names,
        )  # fmt: skip
        query, item, score, place = self._best_any(u, k, excluded, among, by)
        columns = {"user": asked[query], "item": self.items_[item], "score": score, "rank": place}
        return self._table(columns, **self._scale(by))

    def _scale(self, by: str) -> dict[str, str]:
        """Return the scale of the scores in lists, where it is not that of ``score``."""
        return {}

    def _best_any(self, u: Codes, k: int, excluded: Rows | None, items: Codes, by: str = "interest") -> tuple[Any, ...]:
        """The same as ``_best`` or ``_best_shown`` where some users may be unknown (-1)."""
        best = self._best_shown if by == "interest" else self._best
        if (u >= 0).all():
            return best(u, k, excluded, items)
        known, strangers = (np.flatnonzero(mask).astype(np.int32) for mask in (u >= 0, u < 0))
        own = [None if excluded is None else select(excluded, rows) for rows in (known, strangers)]
        scores = self._everyone_shown() if by == "interest" else self.average_scores()
        found = best(u[known], k, own[0], items), best_of_all(scores, len(strangers), k, own[1], items)
        parts = ((rows[query], *rest) for rows, (query, *rest) in zip((known, strangers), found, strict=True))
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        return tuple(column[order] for column in joined)

    def _candidates(self, items: Any) -> Codes:
        """Codes of the items to choose from, in order."""
        if items is None:
            return np.arange(len(self.fitted.items), dtype=np.int32)
        codes = np.unique(self._item_codes(items))
        if not len(codes):
            raise InputError("the list of items is empty; name some, or leave it out for all")
        return codes

    def _checked_k(self, k: Any, most: int, what: str) -> int:
        """How long a list shall be: 10, or as many as there are, where nothing is said."""
        if k is None:
            return min(10, most)
        number("k", k, at_least=1, integer=True)
        if k > most:
            raise InputError(f"k is {k}, but there are only {most} {what}; ask for at most {most}")
        return int(k)

    def _table(self, columns: dict[str, Any], **about: Any) -> Table:
        """Return a result in the caller's kind of frame, with the caller's names of columns and the choices made."""
        fitted = self.fitted
        return Table(
            {fitted.names.get(role, role): column for role, column in columns.items()}, fitted.frame_kind, about
        )

    # -- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | Path, comparisons: bool = True) -> None:
        """Write the model to a file, whole or not at all. :func:`rather.load` reads it back.

        The same model gives the same bytes. A file that was written after :meth:`calibrate` has probabilities at once.

        Parameters
        ----------
        path : path
        comparisons : bool
            Whether the file also holds the comparisons that the model was fitted to, which are everybody's answers. The
            loaded model needs them for intervals of users, effects, :meth:`AltSVM.update` and
            :meth:`AltSVM.certificate`. A model that was loaded without them, or is of newcomers, is saved without them.
        """
        save_model(copy(self), path, comparisons)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _user_codes(self, users: Any) -> Codes:
        return self.fitted.users.known(as_list(users), self.UNKNOWN_USER)

    def _item_codes(self, items: Any) -> Codes:
        return self.fitted.items.known(as_list(items), REFIT)

    @staticmethod
    def _pair_up(a: Codes, b: Codes, left: str, right: str) -> tuple[Codes, Codes]:
        if len(a) == len(b):
            return a, b
        if len(a) == 1:
            return np.repeat(a, len(b)), b
        if len(b) == 1:
            return a, np.repeat(b, len(a))
        raise InputError(f"there are {len(a)} {left} and {len(b)} {right}; give equally many, or one of either")


def as_list(values: Any) -> Any:
    """Ids as given, one alone as a list."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    return values if hasattr(values, "__array__") else list(values)
