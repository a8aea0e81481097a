"""Every estimator: parameters, fit, scores, lists, probabilities and files."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons, as_comparisons
from ..data.embedded import Embedded
from ..data.ids import Codes, Ids, Vocabulary, as_ids, read_only
from ..data.readers import checked_triples, signs
from ..data.rows import Pairs
from ..data.source import Source
from ..data.tables import Table
from ..errors import InputError, NotFittedError, number, one_of
from ..native import FloatArray, threads
from .calibration import Calibration, Slope, by_twins
from .exclusions import Rows, exclusions, is_in, select
from .files import save_model
from .lists import best_of_all, best_scores
from .parameters import Params, ReadThrough, allowed
from .state import Stateful, of_one_moment
from .unknown import check_unknown, left_out

REFIT = "items are learned from comparisons: fit again with some that involve it"
EVERYONE: Any = object()
BLOCK = 2**22  # scores at a time in lists


class Estimator(Stateful):
    """Personal scores for every user and item, learned from comparisons.

    The contract is scikit-learn's, without the dependency: parameters in ``__init__``, ``get_params``, ``set_params``,
    fitted attributes that end in an underscore, and ``fit(X, y)``, ``predict`` and ``score`` on integer triples.

    Parameters are read as attributes from ``params``, and setting one is ``set_params``. A class outside this package
    may have an ordinary ``__init__`` instead, which stores each argument as the attribute of its name. An estimator
    says how it scores pairs of codes in ``score_codes``; lists, probabilities and metrics follow. One that can be saved
    says what a file must hold of it, in ``_tensors``, ``_about`` and ``_restore``. ``fit`` calls
    ``_set_data(comparisons)``.

    Attributes
    ----------
    users_, items_ : arrays
        External ids, which cannot be written to; a code is a position in them.
    slope_ : float or None
        Of probabilities, once :meth:`calibrate` or :meth:`probability` has found it.
    """

    UNKNOWN_USER = "fit again with some of their answers"
    params: Params
    n_threads: int | None = None
    seed: int = 0
    whole_rows = False  # whether scores of some items take those of all

    _fitted_with: dict[str, Any]  # the parameters of the fit
    user_vocabulary_: Vocabulary
    item_vocabulary_: Vocabulary
    frame_kind_: str
    names_: dict[str, str]
    seen_: Rows
    _slope: Slope
    _fitted_to: Comparisons | None

    def _set_data(self, comparisons: Comparisons) -> None:
        """What a model keeps of the comparisons it is fitted to."""
        self.user_vocabulary_, self.item_vocabulary_ = comparisons.user_vocabulary, comparisons.item_vocabulary
        self.frame_kind_, self.names_ = comparisons.frame_kind, comparisons.names
        self.seen_ = comparisons.source.met()
        self._fitted_to, self._slope = comparisons, Slope()

    # -- parameters -----------------------------------------------------------------------------------------------

    @classmethod
    def _param_names(cls) -> list[str]:
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    @property
    def _rank(self) -> Any:
        return self.get_params()["rank"]  # model.rank is the method

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters given to ``__init__``."""
        held = self.__dict__.get("params", self)
        return {name: getattr(held, name) for name in self._param_names()}

    def set_params(self, **params: Any) -> Any:
        """Change parameters and return the estimator; an unknown name is an error."""
        names = self._param_names()
        for name in params:
            if name not in names:
                raise InputError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}")
        if "params" in self.__dict__:
            self.params = replace(self.params, **params)
        else:
            self.__dict__.update(params)
        return self

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in getattr(cls.__init__, "declared", ()):
            if not callable(getattr(cls, name, None)):  # rank is a method as well
                setattr(cls, name, ReadThrough(name))

    def _check_params(self) -> None:
        """Refuse parameters that are not what a fit takes."""
        if "params" in self.__dict__:
            self.params.check()

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
        params = self.__dict__.get("params")
        if not self._is_fitted() or params is None or "callback" not in type(params).__dataclass_fields__:
            return self.__dict__
        return {**self.__dict__, "params": replace(params, callback=None)}

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        made.__dict__ = dict(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(self, comparisons: Any, y: Any = None, item_features: Any = None, user_features: Any = None) -> Any:
        """Fit to :class:`Comparisons`, or to integer triples X = (i, j, k) with y = +-1.

        ``item_features`` and ``user_features`` are tables of what is known of items and people, one row each: see
        :meth:`Comparisons.with_features`. They are for :class:`AltSVM` and :class:`Convex`.

        A fit that is refused or fails leaves the model as it was. One that Ctrl-C ends keeps the rounds it has made.
        """

        def fitted(work: Estimator) -> bool:
            work._check_params()
            work._fitted_with = {name: value for name, value in work.get_params().items() if name != "callback"}
            given = as_comparisons(comparisons, y)
            if item_features is not None or user_features is not None:
                work._check_features("features are")
                given = given.with_features(item_features, user_features)
            elif given.item_features is not None or given.user_features is not None:
                work._check_features("features are")
            if isinstance(given.source, Embedded):
                work._check_features("choices of embeddings are")
            return work._fit(given.encoded())

        return self._built_apart("fit", fitted)

    def _check_features(self, what: str) -> None:
        """Refuse features where they cannot be learned from."""
        raise InputError(f"{what} for AltSVM and Convex: {type(self).__name__} does not learn from features")

    def update(self, comparisons: Any, old: Any = None, item_features: Any = None, user_features: Any = None) -> Any:
        """Take in newer comparisons; see :meth:`AltSVM.update`, which can."""
        raise InputError(f"{type(self).__name__} cannot be updated", remedy="fit all")

    def _built_apart(self, what: str, build: Callable[[Any], bool]) -> Any:
        """Let a state be built on an unfitted copy, put it in place, and return the model.

        ``build`` says whether it came to its end.
        """
        before, work = self.__dict__, self._unfitted()
        try:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # what comes of it is refused by name
                done = build(work)
            if done:
                self._adopt(work.__dict__)
        except BaseException as e:
            if not isinstance(e, KeyboardInterrupt) and self.__dict__ is work.__dict__.get("_placed"):
                self.__dict__ = before  # (after an interrupt the rounds that were made are the model's)
            raise
        if not done:  # said only now: where warnings are errors, the rounds are kept all the same
            rounds = len(work._placed["history_"])
            warnings.warn(f"{what} interrupted after {rounds} rounds; the model is the best so far", stacklevel=3)
        return self

    def _fit(self, comparisons: Comparisons) -> bool:
        """Fit this, which is not the model but what a fit works on (``_model`` is); whether it came to its end."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is fitted: it needs fit or _fit")

    def _publish(self) -> Any:
        """Make the state that a fit has come to the model's; returns the model."""
        self._placed = self._model._with(self._state())
        self._model.__dict__ = self._placed
        return self._model

    def _publish_interrupted(self) -> None:
        """Mark the state that was last published."""
        self._placed = {**self._placed, "interrupted_": True}
        self._model.__dict__ = self._placed

    # -- a twin, for what is found on held-out data ---------------------------------------------------------------

    def _twin(self) -> Any:
        """The same estimator with everything settled that the fit found, to be fitted quietly to other data.

        What ``set_params`` has changed since is not the fitted model's.
        """
        self.set_params(**self.__dict__.get("_fitted_with", {}))
        params = self.get_params()
        quiet = {"verbose": False, "callback": None, "on_interrupt": "raise"}
        settled = {**quiet, **self._settled()}
        return type(self)(**{**params, **{name: value for name, value in settled.items() if name in params}})

    def _settled(self) -> dict[str, Any]:
        """Parameters that stood for a rule, as the fit found them."""
        return {"reg": allowed(self.reg_)} if "reg_" in self.__dict__ else {}

    # -- scikit-learn, on integer triples ---------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """For integer triples X = (i, j, k): +1 where i prefers j to k by the scores, else -1.

        Users that the fit did not see are taken to rank like everyone, items that it did not see score 0.
        """
        now = self._frozen()
        now._require_fit()
        users, *items = (as_ids(column, "X") for column in checked_triples(X).T)
        u, j, k = now.user_vocabulary_.codes(users), *map(now.item_vocabulary_.codes, items)
        return np.where(now.score_any(u, j) > now.score_any(u, k), 1, -1)

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

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

    def score_codes(self, u: Codes, j: Codes) -> FloatArray:
        """Scores of pairs of codes."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it scores: it needs score_codes(u, j)")

    @of_one_moment
    def average_scores(self) -> FloatArray:
        """Everybody's score of every item: the ranking of someone nothing is known about. Here, the users' mean."""
        self._require_fit()
        total, items = np.zeros(len(self.items_)), np.arange(len(self.items_), dtype=np.int32)
        for _, u in self._in_blocks(np.arange(len(self.users_), dtype=np.int32)):
            total += self._score_block(u, items).sum(axis=0)
        return np.asarray(total / len(self.users_), np.float32)

    def _score_block(self, u: Codes, items: Codes) -> FloatArray:
        """Scores of some items (columns) for some users (rows): those of ``score_codes``."""
        return self.score_codes(np.repeat(u, len(items)), np.tile(items, len(u))).reshape(len(u), len(items))

    def _in_blocks(self, u: Codes, width: int | None = None) -> Iterator[tuple[slice, Codes]]:
        """Users cut so that a block of their scores of all items (or of so many) is not large; at least one block."""
        size = max(1, BLOCK // max(len(self.items_) if width is None else width, 1))
        for first in range(0, max(len(u), 1), size):
            some = slice(first, min(first + size, len(u)))
            yield some, u[some]

    def _best(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """(query, item, score, rank) of each user's k best of some items (in order), flat, none of those excluded."""
        parts = []
        for some, rows in self._in_blocks(u, None if self.whole_rows else len(items)):
            gone = None if excluded is None else select(excluded, np.arange(some.start, some.stop, dtype=np.int32))
            query, *rest = best_scores(self._score_block(rows, items), k, gone, items, threads(self.n_threads))
            parts.append((query + some.start, *rest))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def _best_shown(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """The same of what to show, which may be more than a matter of scores."""
        return self._best(u, k, excluded, items)

    def _everyone_shown(self) -> FloatArray:
        """The scores by which someone nothing is known about is shown items."""
        return self.average_scores()

    def _tensors(self) -> dict[str, Any]:
        """Arrays to save."""
        raise InputError(f"{type(self).__name__} does not say what a file must hold of it, and cannot be saved")

    def _about(self) -> dict[str, Any]:
        """What else to save, as JSON."""
        return {"reg": self.reg_} if "reg_" in self.__dict__ else {}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        """Take over what a file holds; ids are set already. False, or an exception, if its parts do not fit."""
        if "reg" in about:
            self.reg_ = float(about["reg"])
            return 0 < self.reg_ < np.inf
        return True

    # -- state --------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """The state that a fit has come to, with copies of what its next round will change and a slope of its own."""
        return {**self.__dict__, "_slope": Slope(self._slope.found, self._slope.own)}

    def _is_fitted(self) -> bool:
        return "user_vocabulary_" in self.__dict__

    def _require_fit(self) -> None:
        if not self._is_fitted():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(comparisons) first")

    def __getattr__(self, name: str) -> Any:
        # Only reached when an attribute is missing: the attributes of a fit get the sentence, not a bare name.
        if name.endswith("_") and not name.startswith("_") and "user_vocabulary_" not in self.__dict__:
            raise NotFittedError(f"{type(self).__name__} has no {name!r} before fit(comparisons)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def slope_(self) -> float | None:
        found = self._slope.found
        return None if found is None else found.slope

    @property
    def users_(self) -> Ids:
        return read_only(self.user_vocabulary_.ids)

    @property
    def items_(self) -> Ids:
        return read_only(self.item_vocabulary_.ids)

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
        return self._frozen()._scores_of_pairs(users, items)

    def _scores_of_pairs(self, users: Any, items: Any) -> FloatArray:
        u, j = self._user_codes(users), self._item_codes(items)
        return self.score_codes(*self._pair_up(u, j, "users", "items"))

    @of_one_moment
    def score_any(self, u: Codes, j: Codes) -> FloatArray:
        """Scores of pairs of codes of which some are -1: unknown users rank like everyone, unknown items score 0."""
        out, known = np.zeros(len(u), np.float32), (u >= 0) & (j >= 0)
        if known.all():
            return self.score_codes(u, j)
        out[known] = self.score_codes(u[known], j[known])
        strangers = (u < 0) & (j >= 0)
        if strangers.any():
            out[strangers] = self.average_scores()[j[strangers]]
        return out

    def calibrate(self) -> Any:
        """Find how sure to be, on comparisons put aside: costs about as much as another fit (of few answers, ten).

        Nothing is done where it is known: a fit that chose its regularisation on held-out answers found it then, and
        :meth:`probability` does where nobody else did. A file holds what was found before ``save``.
        """
        self._require_fit()
        now = self._frozen()
        if now._slope.found is not None:
            return self
        if now._fitted_to is None:
            raise InputError(
                "this model was saved before its probabilities were calibrated, and calibrating needs the comparisons "
                "it was fitted to; fit it again, call calibrate(), and save it then"
            )
        found = now._found_calibration(now._fitted_to)
        now._slope.own = now._reluctance(now._fitted_to, found)
        now._slope.found = found  # last: who finds it, finds all
        return self

    def _found_calibration(self, comparisons: Comparisons) -> Calibration:
        """From twins fitted to what is left when some is put aside."""
        return by_twins(self._twin(), comparisons, self._models_ties(comparisons.source))

    def _margins(self, pairs: Pairs) -> Any:
        """By how much the winners of comparisons are ahead."""
        return self.score_codes(pairs.user, pairs.winner) - self.score_codes(pairs.user, pairs.loser)

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
        now = self._calibrated()
        u, a, b = now._asked(users, left, right)
        margin = now.score_codes(u, a) - now.score_codes(u, b)
        unmet = sum(~is_in(now.seen_, u, item) for item in (a, b))
        found: Calibration = now._slope.found
        return found.probability(margin, np.diff(now.seen_[0])[u], unmet)

    def _asked(self, users: Any, left: Any, right: Any) -> tuple[Codes, Codes, Codes]:
        """Codes of equal length of users and pairs of items."""
        u, a, b = self._user_codes(users), self._item_codes(left), self._item_codes(right)
        a, b = self._pair_up(a, b, "left", "right")
        u, a = self._pair_up(u, a, "users", "items")
        return u, a, np.ascontiguousarray(np.broadcast_to(b, a.shape))

    def _calibrated(self) -> Any:
        """The model as it is now, calibrated."""
        self._require_fit()
        now = self._frozen()
        if now.slope_ is None:
            now.calibrate()
        return now

    # -- lists --------------------------------------------------------------------------------------------------

    @of_one_moment
    def rank(self, user: Any = EVERYONE, items: Any = None) -> Table:
        """All items for one user, best first: columns item, score, rank.

        Parameters
        ----------
        user : id, optional
            Nobody in particular by default: everybody's ranking, that of someone nothing is known about.
        items : list of ids, optional
            Rank only these.
        """
        self._require_fit()
        among = self._candidates(items)
        if user is EVERYONE:
            _, item, score, place = best_of_all(self.average_scores(), 1, len(among), None, among)
        else:
            u = self._user_codes(user)
            if len(u) != 1:
                raise InputError(f"rank takes one user, not {len(u)}; recommend takes several")
            _, item, score, place = self._best(u, len(among), None, among)
        return self._table({"item": self.items_[item], "score": score, "rank": place})

    @of_one_moment
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
        self._require_fit()
        check_unknown(unknown)
        one_of("by", by, ("interest", "score"))
        asked = as_ids(as_list(users), "the list of users")
        u = self.user_vocabulary_.codes(asked)
        if unknown == "error":
            self.user_vocabulary_.known(asked, self.UNKNOWN_USER)
        elif unknown == "skip" and (u < 0).any():
            left_out(int((u < 0).sum()), len(u), "users")
            asked, u = asked[u >= 0], u[u >= 0]
        among = self._candidates(items)
        k = self._checked_k(k, len(among), "items")
        excluded, among = exclusions(
            exclude, asked, among, people=self.user_vocabulary_, items=self.item_vocabulary_,
            seen=lambda: select(self.seen_, u), names=self.names_,
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
            return np.arange(len(self.items_), dtype=np.int32)
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
            raise InputError(f"k is {k}, but there are only {most} {what}; ask for at most {most}", "k")
        return int(k)

    def _table(self, columns: dict[str, Any], **about: Any) -> Table:
        """Return a result in the caller's kind of frame, with the caller's names of columns and the choices made."""
        named = {self.names_.get(role, role): column for role, column in columns.items()}
        return Table(named, self.frame_kind_, about)

    # -- files --------------------------------------------------------------------------------------------------

    @of_one_moment
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
        self._require_fit()
        save_model(self, path, comparisons)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _user_codes(self, users: Any) -> Codes:
        self._require_fit()
        return self.user_vocabulary_.known(as_list(users), self.UNKNOWN_USER)

    def _item_codes(self, items: Any) -> Codes:
        self._require_fit()
        return self.item_vocabulary_.known(as_list(items), REFIT)

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
