"""The base class of all estimators: parameters, fit, scores, lists, probabilities and files."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from contextlib import closing, suppress
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
from ..warned import warn
from .calibration import Calibration, by_twins
from .exclusions import Rows, exclusions, is_in, select
from .files import save_model
from .fitted import Fit, FittedModel, FromFit, Published
from .lists import best_of_all
from .parameters import Params, ReadThrough, allowed, no_parameter
from .places import refuse_places
from .progress import Progress
from .scorers import Scorer
from .summary import summary
from .unknown import check_unknown, left_out

if TYPE_CHECKING:
    from typing_extensions import Self


class _Everyone:
    """The default user of :meth:`Estimator.rank`: nobody in particular. Its ``repr`` keeps signatures readable."""

    def __repr__(self) -> str:
        return "EVERYONE"


EVERYONE: Any = _Everyone()
OF_ALTSVM = {  # methods and attributes that AltSVM has and some estimators have not
    "add_items": "add_items for new items",
    "certificate": "certificate",
    "difference": "ranges of places",
    "effects": "effects of context",
    "fold_in": "fold_in for new users",
    "fold_in_many": "fold_in_many for new users",
    "item_bias_": "vectors of items",
    "item_factors_": "vectors of items",
    "probability_interval": "intervals of probabilities",
    "similar_items": "vectors of items",
    "to_json": "JSON file",
    "user_factors_": "vectors of users",
}


class Estimator:
    """Learn personal scores for every user and item; the base of all estimators.

    Use one of its subclasses, such as :class:`AltSVM`. The interface is scikit-learn's, without the dependency:
    parameters in ``__init__``, ``get_params``, ``set_params``, fitted attributes that end in an underscore, and
    ``fit``, ``predict`` and ``score`` on integer triples.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items of the training data, read-only. The position of an id is its code.
    slope_ : float or None
        Slope of the probabilities, once :meth:`calibrate` or :meth:`probability` has estimated it.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user from comparisons.
    testing.check_estimator : Check that an estimator of your own keeps the contract.

    Notes
    -----
    Parameters are read as attributes from ``params``, and setting one is ``set_params``. A class outside this package
    may have an ordinary ``__init__`` instead, which stores each argument as the attribute of its name. A subclass
    defines :meth:`scorer`, the scores that it learns from data, or ``_fit``, the models that a fit goes through. Lists,
    probabilities, metrics and files follow.

    The result of a fit is one value. It never changes once it can be seen; a fit replaces it by one assignment. A fit
    that fails leaves the old model. A shallow copy keeps the model of its moment, so a thread that asks while another
    one fits gets an answer from the old model or from the new one.

    Examples
    --------
    >>> import rather
    >>> class Alphabetical(rather.FactorEstimator):
    ...     def scorer(self, comparisons):
    ...         places = list(range(len(comparisons.items)))
    ...         return rather.Factors([[]] * len(comparisons.users), [[]] * len(places), [-float(j) for j in places])
    >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "B"], "loser": ["B", "C"]})
    >>> Alphabetical().fit(votes).rank()["item"].tolist()
    ['A', 'B', 'C']
    """

    UNKNOWN_USER, UNKNOWN_ITEM = "fit user", "fit item"  # remedies
    params: Params
    n_threads: int | None = None
    seed: int = 0
    _estimator_type = "classifier"  # it classifies triples; scikit-learn before 1.6 reads this
    SCORER: type[Scorer] = Scorer  # the class that reads a file's tensors

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

    @classmethod
    def _param_names(cls) -> list[str]:
        if cls.__init__ is object.__init__:  # whose signature takes anything
            return []
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    @property
    def _rank(self) -> Any:
        return self.get_params()["rank"]  # model.rank is the method

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters given to the constructor.

        Parameters
        ----------
        deep : bool, default True
            Ignored; scikit-learn's tools pass it.

        Returns
        -------
        dict
            Values by parameter name.

        See Also
        --------
        Estimator.set_params : Change parameters.

        Examples
        --------
        >>> import rather
        >>> rather.ItemMean(shrink=3).get_params()
        {'shrink': 3, 'n_threads': None, 'seed': 0}
        """
        held = self.__dict__.get("params", self)
        return {name: getattr(held, name) for name in self._param_names()}

    def set_params(self, **params: Any) -> Any:
        """Change parameters; the next fit uses them.

        Parameters
        ----------
        **params
            New values by parameter name.

        Returns
        -------
        Estimator
            The estimator itself.

        Raises
        ------
        InputError
            If the estimator has no such parameter.

        See Also
        --------
        Estimator.get_params : Return the parameters.

        Examples
        --------
        >>> import rather
        >>> rather.ItemMean().set_params(shrink=3)
        ItemMean(shrink=3)
        """
        names = self._param_names()
        for name in params:
            if name not in names:
                raise InputError(no_parameter(self, name, names))
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
        """Raise an error if a fit does not accept the parameters."""
        if "params" in self.__dict__:
            self.params.check()

    def __repr__(self) -> str:
        if self._fitted is not None:
            with suppress(Exception):  # the model may be incomplete, or made by a class outside this package
                return summary(type(self).__name__, self.fitted, copy(self)._facts())
        defaults = inspect.signature(type(self).__init__).parameters
        values = self.get_params().items()
        changed = (f"{k}={v!r}" for k, v in values if type(v) is not type(d := defaults[k].default) or v != d)
        return f"{type(self).__name__}({', '.join(changed)})"

    def _facts(self) -> list[str]:
        """Return sentences for ``repr`` about what the fit chose, beyond the rank and the regularisation."""
        return []

    # -- copies ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds.

        The callback is left out of a fitted estimator, as in a saved file. An estimator that is not fitted keeps it,
        because a worker process calls it in ``fit``. If that callback is a lambda, pickle refuses the estimator.
        """
        params = self.__dict__.get("params")
        if self._fitted is None or params is None or "callback" not in type(params).__dataclass_fields__:
            return self.__dict__
        return {**self.__dict__, "params": replace(params, callback=None)}

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__.update(deepcopy(self.__dict__, memo))
        return made

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(
        self,
        comparisons: Any,
        y: Any = None,
        item_features: Any = None,
        user_features: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Fit the model to comparisons.

        An error leaves an earlier fit in place. Ctrl-C ends a fit and keeps the rounds made so far.

        Parameters
        ----------
        comparisons : Comparisons or array of shape (n, 3)
            The preferences to learn from. An integer array of (user, item, item) is for scikit-learn's tools.
        y : array of shape (n,), optional
            +1 or -1 for each row of an integer array; not for Comparisons.
        item_features : pandas, polars or pyarrow table, Table, or dict of columns, optional
            One row for each item, with its id, as in :meth:`Comparisons.with_features`. For AltSVM and Convex.
        user_features : pandas, polars or pyarrow table, Table, or dict of columns, optional
            The same for users.
        sample_weight : array of shape (n,), optional
            Weight of each row of an integer array.

        Returns
        -------
        Estimator
            The estimator itself.

        Raises
        ------
        InputError
            If data or parameters are invalid.

        See Also
        --------
        AltSVM.update : Add newer comparisons to a fitted model.
        Comparisons.from_frame : Read votes.

        Examples
        --------
        >>> import rather
        >>> votes = {"user": ["ann", "bob", "cat"], "winner": ["A", "A", "B"], "loser": ["B", "C", "C"]}
        >>> model = rather.Global().fit(rather.Comparisons.from_frame(votes))
        >>> model.rank()["item"].tolist()
        ['A', 'B', 'C']
        """
        self._check_params()
        given = as_comparisons(comparisons, y, sample_weight)
        if item_features is not None or user_features is not None:
            self._check_features("features are")
            given = given.with_features(item_features, user_features)
        elif given.item_features is not None or given.user_features is not None:
            self._check_features("features are")
        if isinstance(given.source, Embedded):
            self._check_features("choices of embeddings are")
        return self._run("fit", copy(self)._fit(given.encoded()))

    def _check_features(self, what: str) -> None:
        """Raise an error: this estimator does not learn from features. Those that do override this."""
        raise InputError(f"{what} for AltSVM and Convex: {type(self).__name__} does not learn from features")

    def update(self, comparisons: Any, old: Any = None, item_features: Any = None, user_features: Any = None) -> Any:
        """Raise an error: this estimator cannot be updated.

        Fit it again to ``old.extended(new)``, or use :class:`AltSVM`, which can be updated.

        Parameters
        ----------
        comparisons : Comparisons
            Newer comparisons.
        old : Comparisons, optional
            The earlier comparisons.
        item_features, user_features : table, optional
            Features of new items and users.

        Returns
        -------
        Estimator
            Never; an error is raised.

        Raises
        ------
        InputError
            Always.

        See Also
        --------
        AltSVM.update : Add newer comparisons to a fitted model.
        Comparisons.extended : Join newer comparisons to earlier ones.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann"], "winner": ["A"], "loser": ["B"]})
        >>> rather.BPR(rank=2, n_threads=1).fit(votes).update(votes)
        Traceback (most recent call last):
        rather.errors.InputError: BPR cannot be updated; ...
        """
        raise InputError(f"{type(self).__name__} cannot be updated", remedy="fit all")

    def scorer(self, data: Comparisons) -> Scorer:
        """Learn scores from comparisons; a subclass without rounds defines this.

        :meth:`fit` calls it. A subclass with rounds defines ``_fit`` instead.

        Parameters
        ----------
        data : Comparisons
            The comparisons to learn from.

        Returns
        -------
        Scorer
            The scores of all users and items of the comparisons.

        Raises
        ------
        NotImplementedError
            If the subclass does not define it.

        See Also
        --------
        Scorer : Score pairs of users and items.
        Factors : Score by products of vectors.

        Examples
        --------
        >>> import numpy as np, rather
        >>> class Wins(rather.FactorEstimator):
        ...     def __init__(self): pass  # no parameters
        ...     def scorer(self, data):
        ...         won = np.bincount(data.pairs().winner, minlength=data.n_items)
        ...         return rather.Factors.of_items(won, data.n_users)
        >>> Wins().fit(np.array([[0, 5, 6], [1, 5, 7]]), [1, 1]).predict([[0, 6, 5], [0, 5, 7]]).tolist()
        [-1, 1]
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it is fitted: it needs scorer(data) or _fit")

    def _fit(self, data: Comparisons) -> Fit:
        """Yield the models that a fit goes through, of which the last one is its result.

        ``self`` is a copy that belongs to the fit. :meth:`_run` puts the models in place in the user's estimator.
        """
        scorer = self.scorer(data)
        scorer.check(data.n_users, data.n_items)
        yield Published(self._model_of(data, scorer))

    def _model_of(self, data: Comparisons, scorer: Scorer, **parts: Any) -> FittedModel:
        """Return a fitted model of the data with these scores; ``parts`` are other fields of :class:`FittedModel`."""
        return FittedModel(
            {name: value for name, value in self.get_params().items() if name != "callback"}, data.user_vocabulary,
            data.item_vocabulary, data.frame_kind, data.names, data.source.met(), scorer, data, **parts,
        )  # fmt: skip

    def _run(self, what: str, steps: Fit) -> Any:
        """Put each model that a fit or an update yields in place, and return the estimator.

        An error puts the old model back. Ctrl-C keeps the last model that was yielded; without one it is raised.
        """
        before = last = self._fitted  # the old model, and the newest one
        callback, rounds = getattr(self, "callback", None), self._planned_rounds()
        shown = bool(rounds and getattr(self, "verbose", False))  # without rounds of its own, its parts show theirs
        quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")  # results are checked for overflow
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
            if self._fitted is last:  # no other thread has fitted it meanwhile
                self._fitted = before
            raise
        # The warning is outside the try block, so the model stays even where warnings are errors.
        done = len(last.history or ())
        text = f"{what} interrupted after {done} rounds; the model is the best so far"
        warn(text, "interrupted")
        return self

    def _planned_rounds(self) -> int:
        """Return the largest number of rounds; 0 for a fit without rounds."""
        return getattr(self, "max_iter", 0)

    def _title(self, what: str) -> str:
        """Return the title of the progress bar."""
        return type(self).__name__ + ("" if what == "fit" else f" {what}")

    # -- a twin, which is fitted to part of the data ---------------------------------------------------------------

    def _twin(self) -> Any:
        """Return an estimator to fit to other data, with the parameters of this fit and the values that it chose.

        Later changes by ``set_params`` do not count. The twin shows no progress and calls no callback.
        """
        now = self._as_fitted()
        params = now.get_params()
        quiet = {"verbose": False, "callback": None, "on_interrupt": "raise"}
        settled = {**quiet, **now._settled()}
        return type(self)(**{**params, **{name: value for name, value in settled.items() if name in params}})

    def _settled(self) -> dict[str, Any]:
        """Return values in place of parameters that left a choice to the fit, such as ``reg=None``."""
        reg = self.fitted.reg
        return {} if reg is None else {"reg": allowed(reg)}

    def _fitted_params(self) -> dict[str, Any]:
        """Return the parameters of the fit, without later changes by ``set_params``.

        A model from an older file may have parameters that no longer exist. These are left out.
        """
        return {name: value for name, value in self.fitted.params.items() if name in self._param_names()}

    def _as_fitted(self) -> Self:
        """Return an estimator of the same model with the parameters of its fit."""
        made = copy(self)
        made.set_params(**self._fitted_params())
        return made

    # -- scikit-learn, on integer triples ---------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Predict the preferred item of integer triples, for scikit-learn's tools.

        Unknown users get the ranking shared by all users. Unknown items score 0.

        Parameters
        ----------
        X : array of shape (n, 3)
            Integer ids of a user and two items.

        Returns
        -------
        array of shape (n,)
            +1 where the user's score of the first item is higher, else -1.

        See Also
        --------
        Estimator.probability : Return probabilities, for ids of any kind.

        Examples
        --------
        >>> import numpy as np, rather
        >>> X, y = np.array([[0, 0, 1], [1, 0, 2], [2, 1, 2]]), np.array([1, 1, 1])
        >>> rather.Global().fit(X, y).predict(X).tolist()
        [1, 1, 1]
        """
        now = copy(self)
        u, j, k = now._codes_of(X)
        return np.where(now._scores_any(u, j) > now._scores_any(u, k), 1, -1)

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import (
            ClassifierTags,
            InputTags,
            Tags,
            TargetTags,
        )  # scikit-learn, which calls this, is installed

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(),
        )

    @property
    def classes_(self) -> Any:
        """Values of :meth:`predict`, in the order of :meth:`predict_proba`'s columns."""
        _ = self.fitted
        return np.array([-1, 1])

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of -1 and +1 for integer triples.

        The probabilities are those of :meth:`probability`. Unknown users get the ranking shared by all users. Unknown
        items score 0.

        Parameters
        ----------
        X : array of shape (n, 3)
            Integer ids of a user and two items.

        Returns
        -------
        array of shape (n, 2)
            Probability that the user prefers the second item, and probability that the user prefers the first.

        See Also
        --------
        Estimator.predict : Predict the preferred item.
        Estimator.probability : Return probabilities, for ids of any kind.

        Examples
        --------
        >>> import numpy as np, rather
        >>> X = np.array([[user, item, 3] for user in range(40) for item in range(3)])
        >>> rather.Global().fit(X, np.ones(len(X))).predict_proba(X[:5]).shape
        (5, 2)
        """
        now = self._calibrated()
        u, j, k = now._codes_of(X)
        unmet = sum((item < 0) | ~is_in(now.seen_, u, item) for item in (j, k))
        margin = now._scores_any(u, j) - now._scores_any(u, k)
        found = now.fitted.slope.found
        assert found is not None
        p = found.probability(margin, np.where(u < 0, 0, np.diff(now.seen_[0])[u]), unmet)
        return np.column_stack((1 - p, p))

    def _codes_of(self, X: Any) -> tuple[Codes, Codes, Codes]:
        """Return the codes of integer triples; -1 for users and items that are not in the model."""
        users, *items = (as_ids(column, "X") for column in checked_triples(X).T)
        j, k = map(self.fitted.items.codes, items)
        return self.fitted.users.codes(users), j, k

    # -- scores by codes ----------------------------------------------------------------------------------------

    def average_scores(self) -> FloatArray:
        """Return the scores of the ranking shared by all users.

        Users about whom nothing is known get this ranking. It is the mean of all users' scores.

        Returns
        -------
        array of shape (n_items,)
            One score for each item, in the order of ``items_``.

        See Also
        --------
        Estimator.rank : Rank all items, by default with these scores.

        Examples
        --------
        >>> import rather
        >>> model = rather.Global().fit(rather.simulate(n_users=50, n_items=20).comparisons)
        >>> len(model.average_scores())
        20
        """
        fitted = self.fitted
        return fitted.scorer.average(fitted.seen, len(fitted.items), threads(self.n_threads))

    def _scores(self, u: Codes, j: Codes) -> FloatArray:
        """Return the scores of pairs of codes."""
        return self.fitted.scorer.scores(u, j, threads(self.n_threads))

    def _best(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """Return flat arrays (query, item, score, rank) of each user's k best among ``items``, without excluded ones.

        ``query`` is the position of the user in ``u``. ``items`` are in increasing order.
        """
        fitted = self.fitted
        return fitted.scorer.best(u, k, excluded, items, len(fitted.items), threads(self.n_threads))

    def _best_shown(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """Return the same for lists by interest, whose order may depend on more than scores."""
        return self._best(u, k, excluded, items)

    def _everyone_shown(self) -> FloatArray:
        """Return the scores by which lists by interest order items for unknown users."""
        return self.average_scores()

    # -- files --------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        """Return the arrays to save, by name."""
        return self.fitted.scorer.tensors()

    def _about(self) -> dict[str, Any]:
        """Return what else to save, as JSON."""
        reg = self.fitted.reg
        return {**({} if reg is None else {"reg": reg}), **self.fitted.scorer.about()}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        """Set the parts of ``fitted`` that a file holds, except ids, which it has already.

        Returns False, or raises any exception, if the parts do not fit together.
        """
        fitted.scorer = self.SCORER.restored(tensors, about, fitted)
        if "reg" in about:
            fitted.reg = float(about["reg"])
            return 0 < fitted.reg < np.inf
        return True

    # -- state --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for a missing attribute. If a fit or another estimator has it, the error says so.
        kind = type(self)
        if name in OF_ALTSVM and not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__} has no {OF_ALTSVM[name]}; fit AltSVM")
        if name.endswith("_") and not name.startswith("_") and self._fitted is None:
            raise NotFittedError(f"{kind.__name__} has no {name!r} before fit(comparisons)")
        if hasattr(kind, name) and self._fitted is None:  # a property that needs a fitted model failed
            raise NotFittedError(f"this {kind.__name__} is not fitted yet; call fit(comparisons) first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def slope_(self) -> float | None:
        """Slope of the probabilities of a typical user, or None before :meth:`calibrate`."""
        found = self.fitted.slope.found
        return None if found is None else found.slope

    @property
    def users_(self) -> Ids:
        """User ids of the training data, read-only."""
        return read_only(self.fitted.users.ids)

    @property
    def items_(self) -> Ids:
        """Item ids of the training data, read-only."""
        return read_only(self.fitted.items.ids)

    # -- scores -------------------------------------------------------------------------------------------------

    def score(self, users: Any, items: Any, sample_weight: Any = None) -> Any:
        """Return scores of pairs of a user and an item.

        A user prefers items with higher scores. Scores have no scale of their own, so compare them within one user and
        one model only. Use :meth:`probability` for probabilities.

        Parameters
        ----------
        users : id or list of id
            One user, or one for each item. For scikit-learn's tools, an integer array of (user, item, item).
        items : id or list of id
            One item, or one for each user. For scikit-learn's tools, y with +1 or -1.
        sample_weight : array, optional
            Weight of each triple in the share that :meth:`predict` gets right.

        Returns
        -------
        array of float
            One score for each pair. For an integer array, the share of triples that :meth:`predict` gets right.

        Raises
        ------
        InputError
            If a user or an item is not in the model.

        See Also
        --------
        Estimator.rank : Rank all items for one user.
        Estimator.probability : Predict which of two items a user prefers.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=50, n_items=20, per_user=10).comparisons)
        >>> model.score("user 7", ["item 1", "item 2"]).shape
        (2,)
        """
        if getattr(users, "shape", ())[1:] == (3,):
            return float(np.average(self.predict(users) == signs(items, len(users)), weights=sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight goes with integer triples X and y")
        now = copy(self)
        u, j = now._user_codes(users), now._item_codes(items)
        return now._scores(*now._pair_up(u, j, "users", "items"))

    def _scores_any(self, u: Codes, j: Codes) -> FloatArray:
        """Return the scores of pairs of codes, of which some may be -1.

        Unknown users get the average scores, and unknown items score 0.
        """
        out, known = np.zeros(len(u), np.float32), (u >= 0) & (j >= 0)
        if known.all():
            return self._scores(u, j)
        out[known] = self._scores(u[known], j[known])
        strangers = (u < 0) & (j >= 0)
        if strangers.any():
            out[strangers] = self.average_scores()[j[strangers]]
        return out

    def calibrate(self) -> Any:
        """Calibrate probabilities on held-out comparisons.

        :meth:`probability` does this on its first call. Call it yourself before :meth:`save`, so that the loaded model
        has probabilities at once. It takes about as long as another fit, or as ten fits for few answers. Nothing is
        done if the fit has calibrated probabilities already.

        Returns
        -------
        Estimator
            The estimator itself.

        Raises
        ------
        InputError
            If the model was loaded from a file without its comparisons.

        See Also
        --------
        Estimator.probability : Predict which of two items a user prefers.
        plot.calibration : Draw how often predicted probabilities come true.

        Examples
        --------
        >>> import rather
        >>> model = rather.Global().fit(rather.simulate(n_users=50, n_items=20).comparisons)
        >>> model.calibrate().slope_ > 0
        True
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
        fitted.slope.found = found  # set last: another thread that sees it may use all parts
        return self

    def _found_calibration(self, comparisons: Comparisons) -> Calibration:
        """Return the calibration of twins, each fitted without some comparisons, on those comparisons."""
        return by_twins(self._twin(), comparisons, self._as_fitted()._models_ties(comparisons.source))

    def _margins(self, pairs: Pairs) -> Any:
        """Return the lead of the winner over the loser in each comparison."""
        return self._scores(pairs.user, pairs.winner) - self._scores(pairs.user, pairs.loser)

    def _models_ties(self, source: Source) -> bool:
        """Return whether ties are a third outcome."""
        return False

    def _reluctance(self, comparisons: Comparisons, found: Calibration) -> FloatArray | None:
        """Return each user's factor of reluctance to decide; None where ties are no outcome."""
        return None

    def probability(self, users: Any, left: Any, right: Any) -> FloatArray:
        """Predict which of two items a user prefers.

        Probabilities are calibrated on held-out comparisons; the first call does this if the fit did not.

        Parameters
        ----------
        users : id or list of id
            One user, or one for each pair.
        left : id or list of id
            The first item of each pair.
        right : id or list of id
            The second item of each pair.

        Returns
        -------
        array of float
            Probability that the user prefers the left item, for each pair.

        Raises
        ------
        InputError
            If a user or an item is not in the model, or the lists differ in length.

        See Also
        --------
        AltSVM.probability_interval : Add an interval to each probability.
        Estimator.calibrate : Calibrate probabilities before saving.

        Notes
        -----
        The probability is the logistic function of a slope times the difference of the scores. The slope depends on how
        many items the user has seen in training and on how many of the two items the user has not seen. The page
        "Uncertainty" of the site has details.

        Examples
        --------
        >>> import rather
        >>> votes = {"user": ["ann", "bob", "cat"] * 9, "item": ["A", "A", "B"] * 9}
        >>> clicks = rather.Comparisons.from_clicks(votes)
        >>> rather.Popularity().fit(clicks).probability("cat", "A", "B").shape
        (1,)
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
        """Return the codes of users and of pairs of items, all of one length."""
        u, a, b = self._user_codes(users), self._item_codes(left), self._item_codes(right)
        a, b = self._pair_up(a, b, "left", "right")
        u, a = self._pair_up(u, a, "users", "items")
        return u, a, np.ascontiguousarray(np.broadcast_to(b, a.shape))

    def _calibrated(self) -> Self:
        """Return a copy with the present model, whose probabilities are calibrated."""
        now = copy(self)
        if now.slope_ is None:
            now.calibrate()
        return now

    # -- lists --------------------------------------------------------------------------------------------------

    def rank(self, user: Any = EVERYONE, items: Any = None, interval: float | None = None, top: Any = None) -> Table:
        """Rank all items for one user, best first.

        Use :meth:`recommend` for lists for many users, or to leave out items that a user has seen.

        Parameters
        ----------
        user : id, optional
            The user. Default: nobody in particular, which gives the ranking shared by all users.
        items : list of id, optional
            Items to rank. Default: all items.
        interval : None
            Refused: :meth:`AltSVM.rank` has ranges of places.
        top : None
            Refused, as is ``interval``.

        Returns
        -------
        Table
            Columns item, score, rank.

        Raises
        ------
        InputError
            If the user or an item is not in the model, or ``interval`` or ``top`` is given.

        See Also
        --------
        Estimator.recommend : Recommend the best items to several users.
        AltSVM.rank : The same with a range of places for each item.

        Examples
        --------
        >>> import rather
        >>> stars = {"user": ["ann", "ann", "bob", "bob"], "item": ["A", "B", "A", "C"], "rating": [5, 4, 4, 1]}
        >>> rather.ItemMean(shrink=1).fit(rather.Comparisons.from_ratings(stars)).rank()
        item    score  rank
        A      0.6667     1
        B      0.2500     2
        C     -1.2500     3
        """
        if interval is not None or top is not None:
            refuse_places(self)
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
        """Recommend the best items to one or several users.

        Use :meth:`rank` for the whole ranking of one user.

        Parameters
        ----------
        users : id or list of id
            The users.
        k : int, optional
            Number of items for each user. Default: 10, or all items if there are fewer. A list is shorter if exclusions
            leave fewer items.
        exclude : "seen", list of id, Comparisons or table, optional
            Items to leave out: the items in the user's training data, a list for all users, or the user's rows of a
            table with user and item. Default: none.
        items : list of id, optional
            Items that may be recommended. Default: all items.
        unknown : {"error", "everyone", "skip"}, default "error"
            Treatment of users that the model does not know: raise an error, use the ranking shared by all users, or
            leave them out with a warning.
        by : {"interest", "score"}, default "interest"
            Order of the lists. "score" is the order of :meth:`rank`. "interest" also takes into account what a user is
            likely to choose at all, where the model learned this from ratings. Otherwise the two are equal.

        Returns
        -------
        Table
            Columns user, item, score, rank. For lists by interest, score is the sum of both parts in standard
            deviations.

        Raises
        ------
        InputError
            If a user or an item is not in the model, or k is larger than the number of items.

        See Also
        --------
        Estimator.rank : Rank all items for one user.
        precision : Measure a model's recommendations.

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> model = rather.ClickRanker(rank=2).fit(rather.Comparisons.from_clicks(clicks))
        >>> model.recommend(["cat", "bob"], k=1, exclude="seen")["item"].tolist()
        ['milk', 'tea']
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
        """Return the same as ``_best`` or ``_best_shown``, also for unknown users, whose code is -1."""
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
        """Return the codes of the items to choose from, in increasing order."""
        if items is None:
            return np.arange(len(self.fitted.items), dtype=np.int32)
        codes = np.unique(self._item_codes(items))
        if not len(codes):
            raise InputError("the list of items is empty; name some, or leave it out for all")
        return codes

    def _checked_k(self, k: Any, most: int, what: str) -> int:
        """Return the length of a list, by default 10 or ``most``, whichever is smaller."""
        if k is None:
            return min(10, most)
        number("k", k, at_least=1, integer=True)
        if k > most:
            raise InputError(f"k is {k}, but there are only {most} {what}; ask for at most {most}", "k")
        return int(k)

    def _table(self, columns: dict[str, Any], **about: Any) -> Table:
        """Return a result in the caller's kind of frame, with the caller's names of columns and the choices made."""
        fitted = self.fitted
        return Table(
            {fitted.names.get(role, role): column for role, column in columns.items()}, fitted.frame_kind, about
        )

    # -- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | Path, comparisons: bool = True) -> None:
        """Write the fitted model to a file.

        :func:`load` reads it. The file is written completely or not at all, and equal models give equal bytes. It holds
        data only, no code.

        Parameters
        ----------
        path : path
            The file.
        comparisons : bool, default True
            Whether the file also holds the comparisons that the model was fitted to. The loaded model needs them for
            intervals, effects, updates and certificates. Without them the file is smaller. It still holds the ids of
            all users, and which items each user met, for ``exclude="seen"``. For clicks, these are the clicks.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        InputError
            If this kind of estimator cannot be saved.

        See Also
        --------
        load : Read a model from a file.
        Estimator.calibrate : Calibrate probabilities before saving.

        Examples
        --------
        >>> import rather, tempfile
        >>> model = rather.Global().fit(rather.simulate(n_users=50, n_items=20, per_user=10).comparisons)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/votes.rather")
        ...     loaded = rather.load(f"{folder}/votes.rather")
        >>> loaded.rank()["item"].tolist() == model.rank()["item"].tolist()
        True
        """
        save_model(copy(self), path, comparisons)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _user_codes(self, users: Any) -> Codes:
        return self.fitted.users.known(as_list(users), self.UNKNOWN_USER)

    def _item_codes(self, items: Any) -> Codes:
        return self.fitted.items.known(as_list(items), self.UNKNOWN_ITEM)

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
    """Return ids as they were given, or a single id as a list."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    return values if hasattr(values, "__array__") else list(values)
