"""AltSVM: everyone's scores from everyone's comparisons, through a low-rank model (Park et al., ICML 2015)."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.source import Source
from ..data.votes import Votes
from ..errors import InputError
from ..native import FloatArray, threads
from ..solving import start
from ..solving.exposure import Exposure
from ..solving.growth import FIRST_RANK, Growing
from ..solving.mixed import answering, plainly
from ..solving.newton import Newton
from ..solving.problem import Problem
from ..solving.rounds import Stop
from ..solving.spec import Spec
from .assemble import Assembly, interest_of
from .checkpoint import Checkpoint, Saved
from .features import known_of
from .fitted import Fit, FittedModel, Published, in_rounds
from .lowrank import LowRank
from .parameters import MOST_RANK, check_fit_params, check_rank
from .posed import Posed
from .scorers import Factors
from .strengths import kept, settled
from .tuning import Choice, choose_if_asked
from .update import updated

EXPOSED_TOL, AUTO_TOL = 5e-4, 0.01


class AltSVM(LowRank):
    """Low-rank personal rankings from comparisons.

    Minimises, over user vectors u_i, item vectors v_j and item biases b_j,

        sum_t w_t L(s_ij - s_ik) + 1/2 sum_i p_i |u_i|^2 + 1/2 sum_j (q_j |v_j|^2 + beta_j b_j^2)

    with scores s_ij = u_i . v_j + b_j, over all comparisons t = "user i would rather have j than k" of weight w_t, by
    turns in V and in U. Each half is an SVM. The ridges are p_i = reg (n_i / n)^user_power and
    q_j = reg (n_j / n')^item_power, where n_i counts the items user i compared and n_j the users who compared item j,
    and n and n' are typical of them: the means over all (user, item) that met. beta_j has the shape of q_j and a factor
    of its own in place of reg.

    Parameters
    ----------
    rank : int, None or "auto"
        Length of the vectors. None: 64 (100 of clicks against unseen items), or as many as there are users or items; of
        votes less, where that does better on held-out answers. "auto" grows it along the leading singular pairs of the
        gradient until a certificate says that no more helps. The rank reached is ``rank_``.
    reg : float, None or "cv"
        A number is used as it is. Else it is a factor times the scale of the data, the geometric mean of the typical
        norms of the rows and the columns of the gradient at zero. "cv": a factor chosen on held-out training data
        (ratings and clicks held out by item); of votes together with the biases' ridge if ``bias`` is True and with the
        rank if ``rank`` is None. None: "cv" for votes, and for up to 30,000 ratings or places in rankings that imply
        up to a million comparisons; of more the factor is 1.7, of clicks about 1.3. The value used is ``reg_``. The
        choice costs up to ten fits; from a million votes on it is made on a tenth of the users and costs half a fit.
    loss : {"squared_hinge", "hinge", "logistic"}
        max(0, 1 - x)^2, max(0, 1 - x) or log(1 + e^-x).
    bias : bool or float
        Whether items have a bias: a global ranking that the personal part deviates from. A number is its ridge; True
        takes a factor times the typical absolute row sum of the gradient at zero: for votes 1 or what is chosen with
        ``reg``, else 2.
    item_power, user_power : float
        How the ridge of an item grows with the number of users who compared it, and of a user with their items.
    balance : float, optional
        All comparisons of a user are weighted by (their number)^-balance. None: 0.5 for comparisons that are
        implied by ratings, rankings or clicks (n ratings imply about n^2 / 2 pairs, which are not as many independent
        answers), else 0.
    exposure : bool, optional
        Whether the items that a person compared are information as well: vectors then have prior means
        that are linear in the leading singular vectors of who met what (docs/mathematics.md). It helps much where
        people choose what they rate, and hurts where items are assigned. None: where the singular values show that
        they choose.
    ties : {"model", "half"}
        What a tie says. "model": that the person was reluctant to decide, by a model with three outcomes (after Rao and
        Kupper) in which people differ in their reluctance; :meth:`probability` then has three columns. "half": half a
        vote each way, and no more. Scores and rankings take ties as half a vote each way in both.
    trust : bool
        Whether people whose answers look like a coin's count for less: ``trust_`` is the probability that they do not,
        by a fit that trusts all alike. For votes only; it takes two fits.
    max_iter : int
        Rounds (each solves V, then U) at most.
    tol : float, optional
        Stop once the Newton decrements of the two halves of a round, what they had to gain, are at most this share of
        the objective. None: 3e-4; 0.02 for clicks against unseen items, which more rounds did not predict better on
        held-out training clicks; 5e-4 where ``exposure`` is used. With rank="auto" it is the certified distance from
        the best objective over all ranks, relative to it (None: 0.01).
    n_threads : int, optional
        By default as many as the process may keep busy: the smallest of its cores, its CPU affinity, the quota of its
        control groups, and ``OMP_NUM_THREADS``. The fit returns the same bits with any number.
    seed : int
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called after every round with (model, record); the record is the new entry of ``history_``. Returning True
        stops the fit.
    on_interrupt : {"keep", "raise"}
        What Ctrl-C does after the first round: end the fit with the rounds it has made, or then also raise.
    checkpoint : path, optional
        File that is rewritten after every round. A fit that finds it there, made from the same data and parameters,
        goes on from it: a fit that was killed loses at most the round under way (or the search of reg="cv").
    warm_start : bool
        Begin from the factors of the last fit, if there was one: the ids and the rank must be the same. A checkpoint
        that is there goes before it.

    Attributes
    ----------
    user_factors_, item_factors_, item_bias_, users_, items_
        See :class:`FactorEstimator` and :class:`Estimator`.
    reg_, bias_reg_ : float
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective, gap; with rank="auto" (whose rounds are
        five of Newton's) also ``lower_bound`` and ``rank``.
    cv_results_ : list of dict
        All that was tried where ``reg`` was chosen: rank, factor on the scale of reg, bias (the factor on that of the
        biases' ridge), log_loss and accuracy on held-out comparisons, value (docs/mathematics.md); else empty.
    exposure_ : bool
        Whether ``exposure`` was used.
    trust_ : array of shape (n_users,) or None
        How much each user was trusted, where ``trust`` asked for it.
    slope_ : float
        Of probabilities; see :meth:`probability`.
    converged_, interrupted_ : bool
        Whether the last gap was within ``tol``; whether Ctrl-C ended the fit early.

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=100, n_items=30, rank=2, per_user=40, seed=0)
    >>> model = rather.AltSVM(rank=4).fit(world.comparisons)
    >>> model.recommend("user 7", k=3)["item"].tolist() == model.rank("user 7")["item"][:3].tolist()
    True
    """

    def __init__(
        self,
        rank: int | str | None = None,
        reg: float | str | None = None,
        loss: str = "squared_hinge",
        bias: bool | float = True,
        item_power: float = 0.5,
        user_power: float = 0.0,
        balance: float | None = None,
        exposure: bool | None = None,
        ties: str = "model",
        trust: bool = False,
        max_iter: int = 30,
        tol: float | None = None,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
        checkpoint: str | Path | None = None,
        warm_start: bool = False,
    ) -> None:
        self._store_params(locals())

    # -- fitting ------------------------------------------------------------------------------------------------

    def _fit(self, data: Comparisons) -> Fit:
        self._check_params()
        began, last = time.perf_counter(), self._fitted if self.warm_start else None
        data = self._read(data)
        self._check_told_apart(data.source)
        checkpoint = Checkpoint(self.checkpoint, self, data) if self.checkpoint is not None else None
        saved = checkpoint.read() if checkpoint is not None else None
        data, gains = settled(self._spec(), data, saved.features if saved else None)
        spec = replace(self._spec(), trust=self._trusted(data) if self.trust else None)
        source = data.source
        scaled, rule = spec.scales(source)
        chosen = self._choice(spec, data, last) if saved is None else None
        results = saved.cv_results if saved else chosen.results if chosen else []
        exposed = spec.exposed(source)
        factors: tuple[float | None, float | None] = (None, None) if chosen is None else chosen.factors
        rank = self._first_rank(data, saved, chosen, last)
        problem = spec.problem(source, scaled, exposed, rank, *factors, known=known_of(data))
        if saved is not None:
            problem.set_reg(saved.reg, saved.bias_reg)
        base = self._model_of(
            data, Factors.packed(problem.U, problem.V, rank), loss=self.loss, reg=problem.reg,
            bias_reg=problem.bias_reg, user_rule=rule, trust=spec.trust, cv_results=results,
            interest=interest_of(exposed, data), posed=Posed.of(source, problem, exposed, known=known_of(data)),
        )  # fmt: skip
        tol = AUTO_TOL if self._rank == "auto" and self.tol is None else self._usual_tol(source, exposed)
        solver = (Growing if self._rank == "auto" else Newton)(problem, self.seed)
        history: list[dict[str, float]] = [] if saved is None else saved.resume(solver)
        if saved is None:
            self._start(problem, data, chosen, last)
        if isinstance(solver, Newton):
            solver.tightening.tol = tol
        assembly = Assembly(base, source.store, exposed, known_of(data), gains, spec.n_threads)
        sure = saved.calibration if saved else chosen.calibration if chosen else None
        keep = None if checkpoint is None else partial(checkpoint.write, results, sure, kept(data, gains), solver)
        stop, assemble = Stop(tol, self.max_iter), partial(assembly.model, solver)
        fitted = yield from in_rounds(solver, stop, assemble, history=history, began=began, keep=keep)
        yield Published(self._sure_of(assembly.last(solver, fitted), data, sure))

    def _trusted(self, comparisons: Comparisons) -> FloatArray:
        """How much each user is to be trusted, by a fit that trusts all alike."""
        if type(comparisons.source) is not Votes or comparisons.source.implied:
            raise InputError("trust goes with votes: of ratings and clicks there is no telling who gave them at random")
        quiet = {"trust": False, "verbose": False, "callback": None, "checkpoint": None, "warm_start": False}
        first = type(self)(**{**self.get_params(), **quiet, "on_interrupt": "raise"}).fit(comparisons)
        source, made = plainly(comparisons.source), first.fitted.scorer
        effects, n_threads = first._effects_of(source), threads(self.n_threads)
        found = answering(source, made.U, made.V, made.rank, n_threads, effects, coins=True)
        return np.asarray(found.trust, np.float32)

    def update(
        self,
        comparisons: Comparisons,
        old: Comparisons | None = None,
        item_features: Any = None,
        user_features: Any = None,
    ) -> Any:
        """Take in newer comparisons, which may have users and items of their own; returns the model.

        It is then one of all the comparisons together (see :meth:`Comparisons.extended`), as a fit to all of them would
        make it, in a fraction of the time. What was decided stays: the rank, how stiff it is (a ``reg`` or ``bias``
        that is a rule follows the growing data), whether it learns from exposure, how sure it is. Factors begin where
        they were, new ones at their prior means, and rounds go on while there is much to gain. After many updates, or
        much more data, fit again: then all is decided anew.

        Parameters
        ----------
        comparisons : Comparisons
            Of the same kind as the earlier ones. Ratings or clicks too few to compare anything alone are made with
            ``allow_empty=True``.
        old : Comparisons, optional
            What the model was fitted to; for one that was read from a file which has it not.
        item_features, user_features : tables, optional
            What is known of new items and people, for models that were fitted with such; also of known ones, if that
            has changed.

        A refused or failing update leaves the model as it was. One that Ctrl-C ends keeps the rounds it has made.
        """
        return self._run("update", updated(copy(self), comparisons, old, item_features, user_features))

    def _settled(self) -> dict[str, Any]:
        alone = {"checkpoint": None, "warm_start": False}
        return {**super()._settled(), **alone, "rank": min(max(self.rank_, 1), MOST_RANK)}

    def _choice(self, spec: Spec, comparisons: Comparisons, last: FittedModel | None = None) -> Choice | None:
        """What held-out answers choose, where ``reg`` asks for it or leaves it to the source."""
        most = comparisons.source.rank if self._rank in (None, "auto") else int(self._rank)
        if self._rank is None and last is not None:
            most = _rank_of(last)
        fixed = self._rank is not None or last is not None
        return choose_if_asked(spec, comparisons, most, fixed_rank=fixed, ties=self._models_ties(comparisons.source))

    def _first_rank(
        self, comparisons: Comparisons, saved: Saved | None, chosen: Choice | None, last: FittedModel | None
    ) -> int:
        """The rank to begin with; one that was chosen or grows goes on from where the last fit had got to."""
        if self._rank not in (None, "auto"):
            return int(self._rank)
        if saved is not None:
            return saved.rank
        if last is not None:
            return _rank_of(last)
        most = FIRST_RANK if self._rank == "auto" else comparisons.source.rank if chosen is None else chosen.rank
        return min(most, comparisons.n_users, comparisons.n_items)

    def _start(
        self, problem: Problem, comparisons: Comparisons, chosen: Choice | None, last: FittedModel | None
    ) -> None:
        """Begin where the last fit ended, or at the items that a choice left, or at the leading singular vectors."""
        if last is not None:
            _warm_start(problem, comparisons, last)
            start.grow(problem, self.seed)  # columns that a stiffer fit had left at zero
        elif chosen is not None and chosen.rank == problem.rank:
            start.from_items(problem, chosen.V, self.seed)
        else:
            start.spectral(problem, self.seed)

    def _usual_tol(self, source: Source, exposed: Exposure | None) -> float:
        usual = source.tol if exposed is None else EXPOSED_TOL
        return usual if self.tol is None else float(self.tol)

    def _check_params(self) -> None:
        if self._rank not in (None, "auto"):
            if isinstance(self._rank, str):
                raise InputError(f"rank is {self._rank!r}; it must be a whole number, 'auto' or None")
            check_rank(self._rank)
        self._check_problem()
        if not isinstance(self.trust, bool):
            raise InputError(f"trust is {self.trust!r}; it must be True or False")
        if isinstance(self.reg, str) and self.reg != "cv":
            raise InputError(f"reg is {self.reg!r}; it must be a number above 0, None (a rule) or 'cv'")
        reg = None if isinstance(self.reg, str) else self.reg
        check_fit_params(self, reg)


def _rank_of(fitted: FittedModel) -> int:
    assert isinstance(fitted.scorer, Factors)
    return fitted.scorer.rank


def _warm_start(problem: Problem, comparisons: Comparisons, last: FittedModel) -> None:
    """Take over the factors of the last fit."""
    factors = last.scorer
    assert isinstance(factors, Factors)
    same = (
        np.array_equal(last.users.ids, comparisons.users)
        and np.array_equal(last.items.ids, comparisons.items)
        and factors.rank == problem.rank
    )
    if not same:
        raise InputError("warm_start needs the same users, items and rank as the last fit; fit a new model instead")
    problem.U[:, : problem.rank] = factors.user_factors
    problem.V[:] = factors.V
    if not problem.bias:
        problem.V[:, problem.rank] = 0
