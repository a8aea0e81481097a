"""What AltSVM and its convex twin share: the problem that their parameters pose."""

from __future__ import annotations

import math
from typing import Any

from ..data.comparisons import MOST_UNSEEN, Comparisons
from ..errors import InputError, number, one_of
from ..native import LOSSES, threads
from ..solving import start
from ..solving.certificate import Certified
from ..solving.exposure import Exposure, exposure
from ..solving.problem import Problem, Scales, UserRule, scales
from .calibration import calibrate
from .estimator import Estimator
from .newcomers import FoldInModel


class LowRank(Estimator, Certified, FoldInModel):
    """An estimator with the parameters that say what is minimised, whatever minimises it."""

    reg: float | str | None
    loss: str
    bias: bool | float
    item_power: float
    user_power: float
    balance: float | None
    exposure: bool | None
    seed: int

    def _scales(self, comparisons: Comparisons) -> tuple[Scales, UserRule]:
        balance = comparisons.balance if self.balance is None else self.balance
        return scales(comparisons.store, user_power=self.user_power, item_power=self.item_power, balance=balance)

    def _calibrate(self, comparisons: Comparisons) -> float:
        return calibrate(self._twin(), comparisons, self.seed)

    def _twin(self) -> Any:
        """The same model with everything settled, to be fitted to other data."""
        raise NotImplementedError

    def _exposure(self, comparisons: Comparisons) -> Exposure | None:
        return exposure(comparisons, wanted=self.exposure, seed=self.seed, n_threads=threads(self.n_threads))

    def _problem(
        self, store: Any, scaled: Scales, exposed: Exposure | None, rank: int, factor: float | None = None
    ) -> Problem:
        """The problem these parameters pose on a store; ``factor`` (times the scale of reg) overrides ``reg``."""
        n_threads = threads(self.n_threads)
        problem = Problem(
            store, rank=rank, loss=self.loss, bias=self.bias is not False, scales=scaled, n_threads=n_threads,
            priors=None if exposed is None else exposed.priors(scaled, n_threads),
        )  # fmt: skip
        scale, bias_scale = start.reg_scales(store, loss=self.loss, scales=scaled, n_threads=n_threads)
        if factor is None and not isinstance(self.reg, str) and self.reg is not None:
            reg = float(self.reg)
        else:
            reg = (start.REG_FACTOR if factor is None else factor) * scale
        problem.set_reg(reg, start.BIAS_FACTOR * bias_scale if isinstance(self.bias, bool) else float(self.bias))
        return problem

    def _check_problem(self) -> None:
        one_of("loss", self.loss, LOSSES)
        number("item_power", self.item_power, at_least=0, at_most=2)
        number("user_power", self.user_power, at_least=0, at_most=2)
        if self.balance is not None:
            number("balance", self.balance, at_least=0, at_most=1)
        if self.exposure is not None and not isinstance(self.exposure, bool):
            raise InputError(f"exposure is {self.exposure!r}; it must be True, False or None (where it says something)")
        if not isinstance(self.bias, bool):
            number("bias", self.bias, above=0, at_most=1e30)
        threads(self.n_threads)


def rule_factor(comparisons: Comparisons) -> float:
    """The factor on the scale of reg that ``reg=None`` takes.

    The scale grows with the number of unseen items that clicks are compared with, what held-out clicks prefer only with
    its square root (2000 and 3000 were tried against 1000).
    """
    if not comparisons.against_unseen:
        return start.REG_FACTOR
    return start.CLICKS_REG_FACTOR * math.sqrt(MOST_UNSEEN / max(comparisons.unseen, MOST_UNSEEN))
