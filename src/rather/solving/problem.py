"""The optimisation problem of a factor model, and the passes over the data on which every solver is built.

    F(U, V, b) = sum_t w_t L(s_ij - s_ik) + 1/2 sum_i p_i |u_i|^2 + 1/2 sum_j q_j |v_j|^2 + 1/2 sum_j beta_j b_j^2

with s_ij = u_i . v_j + b_j for every comparison t = "i prefers j to k", whose weight w_t includes the user's. The
ridges are p_i = reg * (user shape), q_j = reg * (item shape) and beta_j = bias_reg * (item shape). In memory the bias
is column r of V, against a column r of U that is fixed to 1 (0 without bias).

With features z_i of users and h_j of items (see ``exposure``) the ridges are about prior means, u_i - A' z_i and
(v_j, b_j) - B' h_j. A and B have ridges of their own, and F is minimised over them as well. If items have no vectors
beside their features, (v_j, b_j) = B' h_j; C is then B, and V follows from it. Context (see ``effects``) adds g . z_t
to the margins, and F is minimised over g too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..native import GAP_LOSSES, LOSSES, FloatArray, core, factor
from .effects import RIDGE, Around
from .priors import Priors, squares
from .scales import Scales

NEGLIGIBLE = 1e-9  # a decrement, as a share of F
SQUARES = ("squared_hinge", "squared_difference")  # losses h^2 of a shortfall h with slope -2 h


class Problem:
    """A problem of a given rank, with the current factors and the scalars of every (user, item seen).

    ``m`` are the scores, ``c`` the derivatives of the loss with respect to them, ``d`` the second derivatives'
    diagonal. ``loss_value`` is the loss at ``m``; :meth:`refresh` brings all of them up to date with U and V.
    """

    def __init__(
        self,
        store: Any,
        *,
        rank: int,
        loss: str,
        bias: bool,
        scales: Scales,
        n_threads: int,
        priors: Priors | None = None,
        around: Around | None = None,
    ) -> None:
        self.store = store
        self.rank = rank
        self.loss_name = loss
        self.loss = {**LOSSES, **GAP_LOSSES}[loss]
        self.delta = 0.0  # smoothing of the hinge
        self.bias = bias
        self.scales = scales
        self.n_threads = n_threads
        self.U = factor(store.n_users, rank + 1)
        self.V = factor(store.n_items, rank + 1)
        self.U[:, rank] = 1.0 if bias else 0.0
        self.m, self.c, self.d = (np.zeros(store.n_entries, np.float32) for _ in range(3))
        self.around = around
        self.g = np.zeros(0 if around is None else around.Z.shape[1])
        self.offset = None if around is None else np.zeros(len(around.Z), np.float32)
        self._state = core.State(store, self.m, self.c, self.d, scales.user_weight, self.offset)
        self.loss_value = 0.0
        self.priors = priors
        self.tied = priors is not None and not priors.items.own  # items are nothing but their features: V = F C
        self.C = factor(priors.items.k, rank + 1) if priors is not None and self.tied else None
        self.user_mean: FloatArray | None = None  # what users' ridges pull to, in place of priors; if not to 0
        self._ridge: dict[str, float] = {}  # the ridge terms of users and items, as far as the last steps left them

    def set_reg(self, reg: float, bias_reg: float) -> None:
        self.reg, self.bias_reg, self._ridge = reg, bias_reg, {}
        self.p = np.float32(reg) * self.scales.user_ridge
        self.q = np.float32(reg) * self.scales.item_ridge
        self.beta = np.float32(bias_reg) * self.scales.item_ridge

    def with_rank(self, rank: int) -> Problem:
        """The same problem for factors of another rank, which are zero."""
        other = Problem(
            self.store, rank=rank, loss=self.loss_name, bias=self.bias, scales=self.scales, n_threads=self.n_threads,
            priors=self.priors, around=self.around,
        )  # fmt: skip
        other.set_reg(self.reg, self.bias_reg)
        other.set_effects(self.g)
        other.delta = self.delta
        return other

    def set_effects(self, g: Any) -> None:
        """Others; the slopes are those of the old ones until they are evaluated."""
        if self.around is not None and self.offset is not None:
            self.g = np.array(g, np.float64)
            self.offset[:] = self.around.offset(self.g)

    def set_effects_in_scores(self, effects: Any) -> None:
        """Others, in units of scores."""
        if self.around is not None:
            self.set_effects(effects * self.around.scale)

    # -- passes -------------------------------------------------------------------------------------------------

    def refresh(self, m: FloatArray | None = None) -> None:
        """Loss and slopes at the current factors, whose scores are computed anew unless they are given.

        (Steps carry the scores along with the factors, from which they differ by some roundings after many rounds.)
        """
        self._ridge = {}
        self.tie()
        if m is None:
            core.scores(self.store, self.U, self.V, self.m, self.n_threads)
        else:
            self.m[:] = m
        self.evaluate()

    def tie(self) -> None:
        """Set C for items without vectors beside their features, whose rows of V follow from it."""
        if self.C is not None and self.priors is not None:
            self.C[:] = self.priors.items.regress(self.V)[0]
            self.priors.items.means(self.C, self.V)

    def place(self, users: Any, items: Any) -> None:
        """Put rows at their prior means, where they have any: but for those that masks name, which make the means."""
        if self.priors is None:
            return
        if self.priors.users.k and not users.all() and not self.store.sharded:
            self.U[~users, : self.rank] = self.priors.users.means_by(self.U, users)[~users, : self.rank]
        if self.priors.items.k and not items.all() and not self.tied:
            self.V[~items] = self.priors.items.means_by(self.V, items)[~items]

    def settle(self) -> None:
        """Put rows about which nothing was said at their prior means."""
        self.place(np.diff(self.store.start) > 0, np.asarray(self.store.item_count) > 0)

    def evaluate(self) -> float:
        """Loss and slopes at the current scores ``m``."""
        self.loss_value = core.evaluate(self._state, self.loss, self.delta, self.n_threads)
        return self.loss_value

    def slope_along(self, x: FloatArray, t: float) -> float:
        """The derivative of the loss along some scores, at ``m`` and t times them."""
        return float(core.slope_along(self._state, self.loss, self.delta, x, t, self.n_threads))

    def user_step(
        self, *, newton_steps: int = 1, cg_steps: int = 5, cg_tol: float = 0.1, grad_tol: float = 0.0
    ) -> float:
        """Newton on every user, V fixed; returns the decrement: what the quadratic models said there was to gain.

        Users with prior means move together with these, by one step, however many Newton steps there could be.
        """
        if self.priors is None or not self.priors.users.k:
            report = core.user_step(
                self._state, self.loss, self.delta, self.p, self.user_mean, self.V, self.U, self.rank,
                newton_steps, cg_steps, cg_tol, grad_tol, self.n_threads,
            )  # fmt: skip
        else:
            report = core.joint_user_step(
                self._state, self.loss, self.delta, self.scales.user_ridge, self.reg, self.priors.users.core,
                self.V, self.U, self.rank, self.loss_value, cg_steps, cg_tol, self.n_threads,
            )  # fmt: skip
        return self._reported("users", *report)

    def item_step(self, *, cg_steps: int = 5, cg_tol: float = 0.1) -> float:
        """One Newton-CG step on all items, and their prior means with them, U fixed; returns the decrement."""
        prior = None if self.priors is None or not self.priors.items.k else self.priors.items.core
        if self.C is None:
            report = core.item_step(
                self._state, self.loss, self.delta, self.scales.item_ridge, self.reg, self.bias_reg, prior, self.U,
                self.V, self.rank, self.loss_value, cg_steps, cg_tol, self.n_threads,
            )  # fmt: skip
        else:
            report = core.tied_item_step(
                self._state, self.loss, self.delta, self.reg, self.bias_reg, prior, self.U, self.C, self.V, self.rank,
                self.loss_value, cg_steps, cg_tol, self.n_threads,
            )  # fmt: skip
        return self._reported("items", *report)

    def _reported(self, side: str, loss: float, decrement: float, ridge: float) -> float:
        self.loss_value, self._ridge[side] = loss, ridge
        return decrement

    def effects(self) -> Any:
        """g in the units that the numbers came in."""
        return self.g if self.around is None else self.g / self.around.scale

    def effect_step(self) -> float:
        """One Newton step on the effects, all else fixed; returns the decrement."""
        if self.around is None:
            return 0.0
        slopes, curvatures = self._pair_slopes()
        gradient = self.around.slope(slopes) + RIDGE * self.g
        hessian = self.around.curvature(curvatures) + RIDGE * np.eye(len(self.g))
        old, loss, step = self.g, self.loss_value, -np.linalg.solve(hessian, gradient)
        decrement, before = -0.5 * float(gradient @ step), loss + self._effect_penalty()
        if decrement <= NEGLIGIBLE * before:
            return decrement
        for halvings in range(30):
            self.set_effects(old + 0.5**halvings * step)
            if self.evaluate() + self._effect_penalty() <= before - 1e-4 * 0.5**halvings * 2 * decrement:
                return decrement
        self.set_effects(old)
        self.evaluate()
        return decrement

    def _pair_slopes(self) -> tuple[FloatArray, FloatArray]:
        """The derivatives of the loss with respect to the margins, and the second ones."""
        slopes, curvatures = (np.empty(self.store.n_comparisons, np.float32) for _ in range(2))
        core.pair_slopes(self._state, self.loss, self.delta, slopes, curvatures, self.n_threads)
        return slopes, curvatures

    def _effect_penalty(self) -> float:
        return 0.5 * RIDGE * float(self.g @ self.g)

    # -- values -------------------------------------------------------------------------------------------------

    def penalty(self) -> float:
        """The ridge terms, with those of the prior means."""
        if "users" not in self._ridge:
            self._ridge["users"] = 0.5 * self.reg * self._user_squares()
        if "items" not in self._ridge:
            items = self._item_squares()
            self._ridge["items"] = 0.5 * (self.reg * float(items[:-1].sum()) + self.bias_reg * float(items[-1]))
        return self._ridge["users"] + self._ridge["items"] + self._effect_penalty()

    def bias_penalty(self) -> float:
        """The part of it that is the biases' and the effects'."""
        return 0.5 * self.bias_reg * float(self._item_squares()[-1]) + self._effect_penalty()

    def _user_squares(self) -> float:
        """Return the squared norm of U weighted by the ridges, in units of reg."""
        mean, shared, r = self.user_mean, 0.0, self.rank
        if self.priors is not None and self.priors.users.k:
            C, mean = self.priors.users.regress(self.U)
            shared = self.priors.users.ridge * float(np.square(C[:, :r], dtype=np.float64).sum())
        own = self.U[:, :r].astype(np.float64) - (0.0 if mean is None else mean[:, :r])
        own = np.square(own).sum(axis=1) * self.scales.user_ridge
        return shared + float(core.sum_users(self.store, own, self.n_threads))

    def user_columns(self) -> Any:
        """Return which of the first r columns of U are not zero."""
        live = self.U[:, : self.rank].any(axis=0).astype(np.float64)
        self.store.across(live)
        return live > 0

    def _item_squares(self) -> Any:
        """Return the same for each column of V, the bias's column last."""
        if self.C is not None:
            held = np.square(self.C, dtype=np.float64).sum(axis=0)
        elif self.priors is not None:
            held = self.priors.items.squares(self.V)
        else:
            held = squares(self.V, self.scales.item_ridge)
        return held[: self.rank + 1]

    def bias_dual(self) -> float:
        """The conjugate of that at the slopes of the loss with respect to the biases and the effects."""
        effects = 0.0
        if self.around is not None:
            slope = self.around.slope(self._pair_slopes()[0])
            effects = 0.5 * float(slope @ slope) / RIDGE
        if not self.bias:
            return effects
        g = np.bincount(self.store.item, weights=self.c, minlength=self.store.n_items)
        total = 0.0 if self.tied else float((g**2 / self.beta).sum())
        if self.priors is not None:
            prior = self.priors.items
            shared = g @ prior.features[:, : prior.k].astype(np.float64)
            total += float(shared @ shared) / (self.bias_reg * prior.ridge)
        return 0.5 * total + effects

    def objective(self) -> float:
        """F at the current factors with the true loss (a hinge is evaluated unsmoothed)."""
        return self.true_loss() + self.penalty()

    def true_loss(self) -> float:
        """The loss at ``m``, that of a hinge without its smoothing."""
        if self.delta == 0:
            return self.loss_value
        return float(core.evaluate(self._scratch(self.m), self.loss, 0.0, self.n_threads))

    def loss_at_zero(self) -> float:
        """The loss of no model at all, whose scores are all 0."""
        return float(core.evaluate(self._scratch(np.zeros_like(self.m)), self.loss, 0.0, self.n_threads))

    def true_loss_at(self, U: FloatArray, V: FloatArray) -> float:
        """The same at other factors."""
        m = np.empty_like(self.m)
        core.scores(self.store, U, V, m, self.n_threads)
        return float(core.evaluate(self._scratch(m), self.loss, 0.0, self.n_threads))

    def dual_value(self, tau: float) -> float:
        """-sum_t w_t L*(tau L'(x_t)) at ``m``, where 0 <= tau <= 1 (and any tau for squares): what duality makes of it.

        L* is that of the true loss, L' that of the loss in use.
        """
        if self.loss_name in SQUARES:
            return tau * (2 * self.loss_value - self.slope()) - tau * tau * self.loss_value
        return float(core.dual_value(self._scratch(self.m), self.loss, self.delta, tau, self.n_threads))

    def slope(self) -> float:
        """The derivative of the loss along the margins: along the scores, sum_e c_e m_e, and the effects."""
        along = float(np.einsum("e,e->", self.c, self.m, dtype=np.float64))
        if self.around is None:
            return along
        return along + float(self.around.slope(self._pair_slopes()[0]) @ self.g)

    def _scratch(self, m: FloatArray) -> Any:
        """Return a state at some scores whose slopes may be overwritten."""
        return core.State(
            self.store, m, np.empty_like(self.c), np.empty_like(self.d), self.scales.user_weight, self.offset
        )
