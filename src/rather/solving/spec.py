"""The parameters that define a problem, before any data and for any solver."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..data.source import Source
from ..native import FloatArray
from . import reg as scale_of
from .described import NOTHING, Known, priors
from .effects import Around
from .exposure import Exposure, exposure_features
from .problem import Problem
from .scales import Scales, UserRule, scales


@dataclass(frozen=True)
class Spec:
    """The parameters of a problem; ``trust`` is how much each user counts."""

    loss: str
    bias: bool | float
    reg: float | str | None
    item_power: float
    user_power: float
    balance: float | None  # None: the source's own
    exposure: bool | None
    seed: int
    n_threads: int
    trust: FloatArray | None = None

    def scales(self, source: Source) -> tuple[Scales, UserRule]:
        """Return how ridges and weights differ between users and between items."""
        balance = source.balance if self.balance is None else self.balance
        scaled, rule = scales(source.store, user_power=self.user_power, item_power=self.item_power, balance=balance)
        if self.trust is not None:
            scaled = replace(scaled, user_weight=scaled.user_weight * self.trust)
        return scaled, rule

    def exposed(self, source: Source, wanted: bool | None = None) -> Exposure | None:
        """Return the features of who met what, where ``exposure`` (or what was decided already) says so."""
        wanted = self.exposure if wanted is None else wanted
        return exposure_features(source, wanted=wanted, seed=self.seed, n_threads=self.n_threads)

    def problem(
        self,
        source: Source,
        scaled: Scales,
        exposed: Exposure | None,
        rank: int,
        factor: float | None = None,
        bias_factor: float | None = None,
        known: Known = NOTHING,
    ) -> Problem:
        """Return the problem; the factors (times the scales of the data) stand for ``reg`` and ``bias=True``.

        None: ``reg`` if it is a number, else the source's own factors. ``known`` are the features of users and items.
        """
        problem = Problem(
            source.store, rank=rank, loss=self.loss, bias=self.bias is not False, scales=scaled,
            n_threads=self.n_threads, priors=priors(source.store, scaled, exposed, known, self.n_threads),
            around=Around.of(source),
        )  # fmt: skip
        scale, bias_scale = scale_of.reg_scales(
            source.store, loss=self.loss, scales=scaled, n_threads=self.n_threads,
            tied=problem.priors.items if problem.priors is not None and problem.tied else None,
        )  # fmt: skip
        given = factor is None and not isinstance(self.reg, str) and self.reg is not None
        reg = float(self.reg) if given else (source.reg_factor if factor is None else factor) * scale  # type: ignore[arg-type]
        usual = source.bias_factor if bias_factor is None else bias_factor
        bias_reg = usual * bias_scale if isinstance(self.bias, bool) else float(self.bias)
        problem.set_reg(reg, bias_reg)
        return problem
