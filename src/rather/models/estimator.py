"""The contract of scikit-learn, without the dependency: parameters in ``__init__``, ``get_params``, ``set_params``,
fitted state in names that end in an underscore, ``fit(X, y)``, ``predict`` and ``score`` on integer triples."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons, as_comparisons
from ..data.embedded import Embedded
from ..data.ids import Codes, as_ids
from ..data.readers import checked_triples, signs
from ..errors import InputError
from .exclusions import is_in
from .model import Model
from .parameters import allowed

# ``rank`` is a parameter of factor models and also what they do: model.rank(user) is the method.
_ATTRIBUTE = {"rank": "_rank"}


class Estimator(Model):
    """A model with parameters, which ``fit(comparisons)`` sets.

    A kind of estimator takes its parameters in ``__init__`` and does nothing there but ``self._store_params(locals())``
    (or to store each under its own name; ``rank``, which is also a method, needs the former).
    """

    _fitted_with: dict[str, Any]  # the parameters of the fit
    _estimator_type = "classifier"  # of triples; scikit-learn before 1.6 reads it

    @property
    def classes_(self) -> Any:
        """What :meth:`predict` says of triples, in the order of the columns of :meth:`predict_proba`."""
        self._require_fit()
        return np.array([-1, 1])

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
        callback = {"callback": None} if self._is_fitted() and "callback" in self.__dict__ else {}
        return {**self.__dict__, **callback}

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        made.__dict__ = dict(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
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
        """Fit to :class:`Comparisons`, or to integer triples X = (i, j, k) with y = +-1.

        ``item_features`` and ``user_features`` are tables of what is known of items and people, one row each: see
        :meth:`Comparisons.with_features`. They are for :class:`AltSVM` and :class:`Convex`. ``sample_weight`` has the
        weight of every row of X.

        A fit that is refused or fails leaves the model as it was. One that Ctrl-C ends keeps the rounds it has made.
        """

        def fitted(work: Estimator) -> bool:
            work._fitted_with = {name: value for name, value in work.get_params().items() if name != "callback"}
            given = as_comparisons(comparisons, y, sample_weight)
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
        raise InputError(f"{type(self).__name__} cannot be updated; fit it again, to old.extended(new)")

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
        u, j, k = now._codes_of(X)
        return np.where(now.score_any(u, j) > now.score_any(u, k), 1, -1)

    def predict_proba(self, X: Any) -> Any:
        """For integer triples X = (i, j, k): the probabilities of -1 and of +1, two columns, as ``classes_`` has them.

        They are those of :meth:`probability`. Users and items that the fit did not see are taken as :meth:`predict`
        does.
        """
        now = self._calibrated()
        u, j, k = now._codes_of(X)
        unmet = sum((item < 0) | ~is_in(now.seen_, u, item) for item in (j, k))
        margin = now.score_any(u, j) - now.score_any(u, k)
        p = now._slope.found.probability(margin, np.where(u < 0, 0, np.diff(now.seen_[0])[u]), unmet)
        return np.column_stack((1 - p, p))

    def _codes_of(self, X: Any) -> tuple[Codes, Codes, Codes]:
        """The codes of integer triples; -1 for those that the fit did not see."""
        users, *items = (as_ids(column, "X") for column in checked_triples(X).T)
        j, k = map(self.item_vocabulary_.codes, items)
        return self.user_vocabulary_.codes(users), j, k

    def score(self, users: Any, items: Any, sample_weight: Any = None) -> Any:
        """Scores of pairs: ``users`` and ``items`` are ids or equally long lists of ids (one of them may be single).

        Given integer triples X and y = +-1, as scikit-learn gives them, it is the share of them that ``predict`` gets
        right, each counted by its ``sample_weight``.
        """
        if getattr(users, "shape", ())[1:] == (3,):
            return float(np.average(self.predict(users) == signs(items, len(users)), weights=sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight goes with integer triples X and y")
        return super().score(users, items)

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # which alone calls this

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(),
        )
