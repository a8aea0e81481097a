"""What AltSVM and its convex twin share: the problem that their parameters pose."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..data.described import OFF
from ..data.source import Source, plural
from ..errors import InputError
from ..native import threads
from ..solving import reg as scale_of
from ..solving.described import priors
from ..solving.effects import Around
from ..solving.exposure import Exposure, exposure_features, restored
from ..solving.mixed import alike
from ..solving.problem import Problem
from ..solving.scales import Scales, UserRule, scales
from ..solving.smoothing import ROUND_BY_ROUND
from . import halves
from .additions import with_items
from .certified import Certified, Posed
from .features import known_of
from .newcomers import FoldInModel
from .parameters import allowed
from .summary import unconverged


class LowRank(Certified, FoldInModel):
    """Hold the parameters that AltSVM and Convex share, and the problem they define."""

    reg: float | str | None
    loss: str
    bias: bool | float
    item_power: float
    user_power: float
    balance: float | None
    exposure: bool | None
    ties: str
    bias_reg_: float

    def _facts(self) -> list[str]:
        exposure = ["with exposure (which items users met)"] if self.prior_ is not None else []
        trust = ["users weighted by trust"] if self.trust_ is not None else []
        features = []
        for role, learned in self._learned().items():
            used = sum(strength != OFF for strength in learned.strengths)
            features.append(f"{used} of {plural(len(learned.strengths), 'block')} of {role} features used")
        return [*exposure, *trust, *features, *unconverged(self)]

    def _scales(self, source: Source) -> tuple[Scales, UserRule]:
        balance = source.balance if self.balance is None else self.balance
        scaled, rule = scales(source.store, user_power=self.user_power, item_power=self.item_power, balance=balance)
        if self.trust_ is not None:
            scaled = replace(scaled, user_weight=scaled.user_weight * self.trust_)
        return scaled, rule

    def _check_features(self, what: str) -> None:
        """They are learned from."""

    def _exposure(self, source: Source, wanted: bool | None = None) -> Exposure | None:
        """The features of who met what, where ``exposure`` (or what was decided already) says so."""
        wanted = self.exposure if wanted is None else wanted
        return exposure_features(source, wanted=wanted, seed=self.seed, n_threads=threads(self.n_threads))

    def _problem(
        self,
        source: Source,
        scaled: Scales,
        exposed: Exposure | None,
        rank: int,
        factor: float | None = None,
        bias_factor: float | None = None,
    ) -> Problem:
        """The problem these parameters pose; the factors (times the two scales) stand for ``reg`` and ``bias=True``.

        None: ``reg`` if it is a number, else the source's own factors.
        """
        n_threads = threads(self.n_threads)
        problem = Problem(
            source.store, rank=rank, loss=self.loss, bias=self.bias is not False, scales=scaled, n_threads=n_threads,
            priors=priors(source.store, scaled, exposed, self._known, n_threads), around=Around.of(source),
        )  # fmt: skip
        scale, bias_scale = scale_of.reg_scales(
            source.store, loss=self.loss, scales=scaled, n_threads=n_threads,
            tied=problem.priors.items if problem.priors is not None and problem.tied else None,
        )  # fmt: skip
        given = factor is None and not isinstance(self.reg, str) and self.reg is not None
        reg = float(self.reg) if given else (source.reg_factor if factor is None else factor) * scale  # type: ignore[arg-type]
        usual = source.bias_factor if bias_factor is None else bias_factor
        bias_reg = usual * bias_scale if isinstance(self.bias, bool) else float(self.bias)
        problem.set_reg(reg, bias_reg)
        return problem

    def add_items(self, new: Any, features: Any = None) -> Any:
        """Add new items to the fitted model, without changing anything else.

        The vectors of the new items follow from their features, or from comparisons by users of the model, or from
        both. Use :meth:`update` to learn from all comparisons and to add new users.

        Parameters
        ----------
        new : table or Comparisons
            Features of items that nobody compared yet, as ``item_features`` of :meth:`fit`. Or comparisons of new items
            with any others, by users of the model.
        features : table, optional
            Features of the items in the comparisons. Items that are only described here are added too.

        Returns
        -------
        Estimator
            The model itself.

        Raises
        ------
        InputError
            If none of the items is new, or a user is not in the model.

        See Also
        --------
        AltSVM.update : Add newer comparisons, users and items.
        AltSVM.fold_in : Add a new user.

        Examples
        --------
        >>> import rather
        >>> votes = {"user": ["ann", "bob", "cat"], "winner": ["A", "A", "B"], "loser": ["B", "C", "C"]}
        >>> model = rather.AltSVM(rank=1).fit(rather.Comparisons.from_frame(votes))
        >>> new = rather.Comparisons.from_frame({"user": ["ann"], "winner": ["D"], "loser": ["A"]})
        >>> model.add_items(new).items_.tolist()
        ['A', 'B', 'C', 'D']
        """
        return self._built_apart("add_items", lambda work: with_items(work, new, features))

    def _posed_again(self) -> Posed | None:
        if self._fitted_to is None or "_are_newcomers" in self.__dict__:
            return None
        self.set_params(**self._fitted_with)
        source, n_threads, lam = self._fitted_to.source, threads(self.n_threads), getattr(self, "lam", None)
        exposed = None if self.prior_ is None else restored(source, self.prior_[0], n_threads)
        delta = ROUND_BY_ROUND[-1] if self.loss_ == "hinge" else 0.0
        radius = None if lam is None else math.sqrt(lam * source.n_users * source.n_items)
        scaled, _ = self._scales(source)
        around = Around.of(source)
        return Posed(
            source, self.loss_, self.bias is not False, scaled, self.reg_, self.bias_reg_, delta, exposed, radius,
            known_of(self._fitted_to), around, () if around is None else self._sway_of(source) * around.scale,
        )  # fmt: skip

    def _estimates(self, source: Source) -> Any:
        return halves.estimates(self, source)

    def _check_told_apart(self, source: Source) -> None:
        """Refuse numbers that are but differences of the items' own: they cannot be told from the items' worth."""
        if source.effects:
            for name in alike(source):
                raise InputError(
                    f"the effect {name!r} is all but a difference of one number an item, which cannot be told from the "
                    "items' worth; leave it out"
                )

    def _settled(self) -> dict[str, Any]:
        bias = allowed(self.bias_reg_) if self.bias is not False else False
        return {"reg": allowed(self.reg_), "bias": bias, "exposure": self.prior_ is not None}
