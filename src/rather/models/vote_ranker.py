"""VoteRanker: everyone's utilities from everyone's votes, by draws from the posterior of a model of tastes."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .. import memory
from ..data import frames
from ..data.comparisons import Comparisons
from ..data.ids import Codes, as_ids
from ..data.rows import Pairs, halved, is_tied
from ..data.source import Source
from ..data.tables import Table
from ..data.votes import Votes
from ..errors import Domain, InputError
from ..logistic import sigmoid
from ..native import FloatArray, threads
from ..solving.rounds import Record, Stop
from ..solving.tastes import ItemDraws, Sampler, TasteVotes, margins, means
from ..solving.variational import averaged
from .answers import NOBODY, about_items, check_answers, column_of, is_rated, is_table, listed, of_people, votes_of_one
from .belief import between
from .calibration import Calibration, Slope
from .fitted import Fit, FittedModel, in_rounds
from .parameters import (
    CALLBACK,
    LENGTH,
    N_THREADS,
    ON_INTERRUPT,
    SEED,
    VERBOSE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from .posteriors import Posteriors
from .scorers import Scorer
from .swayed import surroundings
from .tastes import TasteBelief, TasteScorer, own_of, user_rows
from .voter import Voter

WORK, FEWEST, MOST = 6_000_000, 100, 3000  # rows of votes times sweeps; sweeps
DRAWN, FEWEST_DRAWS, MOST_DRAWS = 400_000, 16, 64  # rows of votes times draws; draws
BURN = 4  # a quarter of the sweeps goes before the first draw is kept
MEANS = 256  # draws of mean utilities
BYTES_A_ROW = 120  # of votes, in a fit
RATED = "VoteRanker takes votes, and these are ratings; fit AltSVM"

TASTE_RANK = Parameter(
    LENGTH,
    "Largest number of taste dimensions. It never exceeds the number of items less 1. Dimensions that the votes do not "
    "support shrink towards 0, so a larger number costs time only.",
    "method",
)
SWEEPS = Parameter(
    Domain(int, at_least=1, none=True),
    "Number of sweeps of the sampler. A quarter of them precede the first draw. None: from 3000 for up to 2,000 "
    "votes to 100 for 60,000 and more.",
    "run",
)
DRAWS = Parameter(
    Domain(int, at_least=1, none=True),
    "Number of draws of the items to keep. Answers are averages over the draws. More draws give more exact answers and "
    "take more time and memory. None: from 16 for many votes to 64 for few.",
    "method",
)


@dataclass(frozen=True)
class VoteRankerParams(Params):
    """The parameters of :class:`VoteRanker`."""

    rank: int = TASTE_RANK(8)
    max_iter: int | None = SWEEPS(None)
    n_draws: int | None = DRAWS(None)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class VoteRanker(Posteriors):
    r"""Learn a personal ranking of all items for every user, from votes.

    One posterior gives scores, probabilities, intervals and questions. Scores are utilities in log-odds.

    Use it for votes, arenas, menus and rankings with named users. Use :class:`AltSVM` for ratings, features and ties as
    a third outcome, and :class:`Global` for one shared ranking.

    Parameters
    ----------
    rank : int, default 8
        Largest number of taste dimensions. It never exceeds the number of items less 1. Dimensions that the votes do
        not support shrink towards 0, so a larger number costs time only.
    max_iter : int or None, default None
        Number of sweeps of the sampler. A quarter of them precede the first draw. None: from 3000 for up to 2,000 votes
        to 100 for 60,000 and more.
    n_draws : int or None, default None
        Number of draws of the items to keep. Answers are averages over the draws. More draws give more exact answers
        and take more time and memory. None: from 16 for many votes to 64 for few.
    n_threads : int or None, default None
        Number of threads. None: as many as the process may keep busy, by its cores, CPU affinity, control groups and
        ``OMP_NUM_THREADS``. The fit returns the same bits with any number.
    seed : int, default 0
        Seed of all random draws. A different seed gives a different start and other held-out answers.
    verbose : bool, default False
        Whether to show a progress bar.
    callback : function of (model, record) or None, default None
        Function called after every round with the model and the new entry of ``history_``. The fit stops if it returns
        True. An estimator with a lambda here cannot be pickled before it is fitted.
    on_interrupt : {"keep", "raise"}, default "keep"
        Effect of Ctrl-C after the first round. "keep": end the fit, and keep the rounds made so far. "raise": keep
        them, and raise KeyboardInterrupt.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    rank_ : int
        Number of taste dimensions used.
    context_effects_ : dict of float
        Posterior mean of position bias and covariate effects, in log-odds. They are no part of scores and rankings.
    history_ : list of dict
        One record for each draw: round, rounds (the number planned), sweeps, seconds, objective (the negative
        log-likelihood of the votes), gap (the share of sweeps that are left).
    converged_, interrupted_ : bool
        Whether all sweeps were made, and whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Learn a personal ranking from comparisons of any kind.
    Global : Learn one ranking for all users.
    next_question : Return the most informative pair to ask a user.

    Notes
    -----
    The utility of item j to user i is

    .. math:: x_{ij} = \mu_j + l_j \cdot z_i + e_{ij},

    with :math:`z_i \sim N(0, I)`, :math:`e_{ij} \sim N(0, \psi)`, :math:`\mu_j \sim N(0, \tau^2)` and
    :math:`l_{jc} \sim N(0, a_c^2)`. The user prefers item j to item k with probability :math:`1 / (1 + e^{x_{ik} -
    x_{ij}})`. The standard deviations have half-normal priors. A Gibbs sampler with Polya-Gamma variables draws from
    the posterior of :math:`\mu`, :math:`l` and :math:`\psi`. Given each draw, a user's utilities are normal, by a
    variational approximation; all answers are averages over the draws.

    A tie counts as half a vote each way. A menu of m items counts as m - 1 votes of weight 2 / m, and a ranking as all
    its pairs with a weight at which they say as much as a choice of the first, the second and so on.

    References
    ----------
    N. G. Polson, J. G. Scott, J. Windle: Bayesian Inference for Logistic Models Using Polya-Gamma Latent Variables.
    Journal of the American Statistical Association 108, 2013.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=40, n_items=10, rank=2, per_user=20)
    >>> model = rather.VoteRanker(max_iter=100).fit(world.comparisons)
    >>> row = model.probability_interval("user 7", "item 1", "item 2")[0]
    >>> 0 < row.low < row.high < 1
    True
    """

    UNKNOWN_USER = "add person"
    SCORER = TasteScorer
    params: VoteRankerParams

    @accepts(VoteRankerParams)
    def __init__(self, params: VoteRankerParams) -> None:
        self.params = params

    # -- fitting ------------------------------------------------------------------------------------------------

    def _fit(self, data: Comparisons) -> Fit:
        began = time.perf_counter()
        if data.anonymous:
            raise InputError("VoteRanker learns each user's ranking, and these comparisons name nobody; fit Global")
        votes = _votes_of(data.source, data.n_items)
        rank, n_threads = min(self._rank, data.n_items - 1), threads(self.n_threads)
        sweeps = self.params.max_iter or int(np.clip(WORK // max(len(votes.user), 1), FEWEST, MOST))
        n_draws = min(self._draws_of(len(votes.user)), sweeps - sweeps // BURN)
        memory.require(
            4.0 * data.n_users * (n_draws + 4) * rank + BYTES_A_ROW * len(votes.user),
            f"draws of the tastes of {data.n_users:,} users",
            "take a smaller rank or n_draws, or fit AltSVM",
        )
        base = self._model_of(data, Scorer(), slope=Slope(Calibration(1.0)))
        rounds = _Rounds(votes, rank, self.seed, sweeps, n_draws, n_threads)
        assemble = partial(rounds.model, base, data.source.effects)
        yield from in_rounds(rounds, Stop(0.0, n_draws), assemble, began=began)

    def _draws_of(self, n_rows: int) -> int:
        """Return how many draws to keep."""
        return self.params.n_draws or int(np.clip(DRAWN // max(n_rows, 1), FEWEST_DRAWS, MOST_DRAWS))

    def _facts(self) -> list[str]:
        history = self.fitted.history
        sweeps = f" in {int(history[-1]['sweeps']):,} sweeps" if history else ""
        return [f"rank {self.rank_}, {len(self._draws)} draws{sweeps}"]

    def _planned_rounds(self) -> int:
        return self.params.n_draws or MOST_DRAWS

    # -- what was learned ---------------------------------------------------------------------------------------

    @property
    def _scorer(self) -> TasteScorer:
        scorer = self.fitted.scorer
        assert isinstance(scorer, TasteScorer)
        return scorer

    @property
    def _draws(self) -> ItemDraws:
        return self._scorer.draws

    @property
    def rank_(self) -> int:
        """Number of taste dimensions used."""
        return self._draws.rank

    @property
    def context_effects_(self) -> dict[str, float]:
        """Posterior mean of what one unit of each effect adds to log-odds."""
        return dict(self.fitted.context_effects)

    @property
    def _votes(self) -> TasteVotes:
        """The votes of the users, which their posteriors follow from."""
        scorer, fitted = self._scorer, self.fitted
        if scorer.votes is None:
            if fitted.training is None or fitted.parent is not None:
                raise InputError(
                    "a user's posterior follows from the comparisons, and this model was read from a file without them",
                    remedy="save with, or fold in",
                )
            scorer.votes = _votes_of(fitted.training.source, len(fitted.items))
        return scorer.votes

    def _log_odds(self, u: Codes, a: Codes, b: Codes) -> tuple[Any, Any]:
        """Return the posterior mean and variance of the log-odds of preferring the first items."""
        variance = margins(self._votes, self._draws, u, a, b, threads(self.n_threads))[1]
        return self._scores(u, a).astype(np.float64) - self._scores(u, b), variance

    def probability(self, users: Any, left: Any, right: Any, side: Any = None, covariates: Any = None) -> FloatArray:
        """Predict which of two items a user prefers.

        The probability is the posterior mean: it takes into account how much is known of the user. Use
        :meth:`probability_interval` to add intervals.

        Parameters
        ----------
        users : id or list of id
            One user, or one for each pair.
        left : id or list of id
            The first item of each pair.
        right : id or list of id
            The second item of each pair.
        side : {"left", "right"} or list of these, optional
            Which item stands first, for models that estimated position bias. Default: neither.
        covariates : dict of float, or dict of list of float, optional
            The left item's value minus the right item's value, by name. Default: 0.

        Returns
        -------
        array of float
            Probability that the user prefers the left item, for each pair.

        Raises
        ------
        InputError
            If a user or an item is not in the model, the model does not know a covariate, or the model was loaded
            without its comparisons.

        See Also
        --------
        VoteRanker.probability_interval : Add an interval to each probability.

        Examples
        --------
        >>> import rather
        >>> votes = rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons
        >>> model = rather.VoteRanker(max_iter=40).fit(votes)
        >>> p, q = model.probability("user 7", ["item 1", "item 2"], ["item 2", "item 1"])
        >>> round(float(p + q), 3)
        1.0
        """
        return copy(self)._probability_given(users, left, right, side, covariates)

    def _probability_given(self, users: Any, left: Any, right: Any, side: Any, covariates: Any) -> FloatArray:
        u, a, b = self._asked(users, left, right)
        mean, variance = self._log_odds(u, a, b)
        return np.asarray(sigmoid(averaged(mean + self._swayed_by(side, covariates, len(u)), variance)), np.float32)

    def _probability_interval(
        self, users: Any, left: Any, right: Any, interval: float, side: Any, covariates: Any
    ) -> Table:
        u, a, b = self._asked(users, left, right)
        mean, variance = self._log_odds(u, a, b)
        columns = between(mean + self._swayed_by(side, covariates, len(u)), variance, interval)
        return self._table(columns, interval=float(interval))

    def _swayed_by(self, side: Any, covariates: Any, n: int) -> Any:
        """Return what surrounds n questions, in log-odds."""
        known = self.context_effects_
        return surroundings([*known], side, covariates, n) @ np.array([*known.values()])

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

        Examples
        --------
        >>> import numpy as np, rather
        >>> X = np.array([[user, item, 3] for user in range(40) for item in range(3)])
        >>> rather.VoteRanker(max_iter=40).fit(X, np.ones(len(X))).predict_proba(X[:5]).shape
        (5, 2)
        """
        return copy(self)._predicted_proba(X)

    def _predicted_proba(self, X: Any) -> Any:
        u, j, k = self._codes_of(X)
        x = self._scores_any(u, j).astype(np.float64) - self._scores_any(u, k)
        known = (u >= 0) & (j >= 0) & (k >= 0)
        x[known] = averaged(*self._log_odds(u[known], j[known], k[known]))
        p = np.asarray(sigmoid(x), np.float32)
        return np.column_stack((1 - p, p))

    # -- people -------------------------------------------------------------------------------------------------

    def _belief(self, u: int) -> TasteBelief:
        return TasteBelief(self._draws, self._votes, u)

    def _believed(self) -> TasteBelief:
        """Return the posterior of a new user without answers."""
        return TasteBelief(self._draws)

    def _met_counts(self) -> Any:
        fitted = self.fitted.parent or self.fitted
        return np.bincount(fitted.seen[1], minlength=len(fitted.items)).astype(np.float64)

    def _everyones_draws(self) -> Any:
        draws = self._scorer.means.astype(np.float64)
        return draws - draws.mean(axis=1, keepdims=True) + draws.mean()

    def _worth_to_all(self, among: Codes) -> Any:
        return self.average_scores()[None, among]

    def fold_in(self, answers: Any, features: Any = None, asked: bool = False) -> Voter:
        """Add a new user from a few answers, without a refit.

        The model itself does not change. Use :meth:`fold_in_many` for several users.

        Parameters
        ----------
        answers : list of pair, table or Comparisons
            Pairs (winner, loser), or (item, item, "tie"). A table has columns winner and loser, and perhaps tie, side,
            weight and covariates. An empty list gives the ranking shared by all users.
        features : None
            Refused: VoteRanker does not learn from features.
        asked : bool, default False
            Accepted for symmetry with :meth:`AltSVM.fold_in`; it makes no difference here, because the model does not
            learn from which items users compare.

        Returns
        -------
        Voter
            The new user, with scores, rankings, recommendations and probabilities.

        Raises
        ------
        InputError
            If an item is not in the model, or an answer compares an item with itself.

        See Also
        --------
        VoteRanker.fold_in_many : Add several new users at once.
        next_question : Return the most informative pair to ask.

        Examples
        --------
        >>> import rather
        >>> model = rather.VoteRanker(max_iter=40).fit(rather.simulate(n_users=100, n_items=30, rank=2).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> person.probability("item 1", "item 2") > 0.5
        True
        """
        if not isinstance(asked, bool):
            raise InputError(f"asked is {asked!r}; it must be True or False")
        if features is not None:
            self._check_features("features are")
        return copy(self)._folded_in(answers)

    def _folded_in(self, answers: Any) -> Voter:
        if not isinstance(answers, Comparisons) and not is_table(answers):
            answers = listed(answers)
            return Voter(self._joined(self._listed(answers)), answers)
        said = answers if isinstance(answers, Comparisons) else self._of_one(answers)
        if said.n_users != 1:
            raise InputError(
                f"the comparisons are those of {said.n_users:,} users; fold_in takes one person's, fold_in_many takes "
                "several"
            )
        pairs = said.pairs()
        sides = (said.items[side].tolist() for side in (pairs.winner, pairs.loser))
        given = [(a, b, "tie") if tied else (a, b) for a, b, tied in zip(*sides, is_tied(pairs).tolist(), strict=True)]
        return Voter(self._joined(said), given)

    def _listed(self, pairs: list[Any]) -> Comparisons:
        """Return one person's listed answers as comparisons of the model's items."""
        flat = self._item_codes([p[0] for p in pairs] + [p[1] for p in pairs]) if pairs else np.empty(0, np.int32)
        winner, loser = flat[: len(pairs)], flat[len(pairs) :]
        same = np.flatnonzero(winner == loser)
        if len(same):
            raise InputError(f"answer {same[0]} compares item {pairs[same[0]][0]!r} with itself")
        said, tied = Pairs(np.zeros(len(winner), np.int32), winner, loser), np.array([len(p) == 3 for p in pairs], bool)
        source = Votes(1, len(self.items_), halved(said, tied) if tied.any() else said)
        return Comparisons(as_ids([NOBODY], "the newcomer"), self.fitted.items.ids, source)

    def _of_one(self, table: Any) -> Comparisons:
        names = self.fitted.names
        if is_rated(table, names):
            raise InputError(RATED)
        present = frames.names_in(table)
        check_answers(table, "the table", column_of("user", names, present))
        roles = {role: column_of(role, names, present) for role in ("winner", "loser")}
        if not len(frames.columns(table, roles)["winner"]):
            return self._listed([])
        return votes_of_one(table, names, tuple(self.fitted.context_effects))

    def fold_in_many(self, answers: Any, features: Any = None) -> VoteRanker:
        """Add several new users from a few answers each, without a refit.

        Every new user's posterior is that of :meth:`fold_in`. The model itself does not change.

        Parameters
        ----------
        answers : table or Comparisons
            A table with columns user, winner and loser, and perhaps tie, side, weight and covariates.
        features : None
            Refused: VoteRanker does not learn from features.

        Returns
        -------
        VoteRanker
            A model of the same items, whose users are the new users.

        Raises
        ------
        InputError
            If an item is not in the model.

        See Also
        --------
        VoteRanker.fold_in : Add one new user.

        Examples
        --------
        >>> import rather
        >>> model = rather.VoteRanker(max_iter=40).fit(rather.simulate(n_users=100, n_items=30, rank=2).comparisons)
        >>> new = model.fold_in_many({"user": ["ann", "bob"], "winner": ["item 1"] * 2, "loser": ["item 2", "item 3"]})
        >>> new.users_.tolist()
        ['ann', 'bob']
        """
        if features is not None:
            self._check_features("features are")
        return copy(self)._folded_in_many(answers)

    def _folded_in_many(self, answers: Any) -> VoteRanker:
        names = self.fitted.names
        if answers is None:
            raise InputError("there are no answers of newcomers; give a table of their votes")
        if not isinstance(answers, Comparisons) and is_rated(answers, names):
            raise InputError(RATED)
        return self._joined(of_people(answers, names, tuple(self.fitted.context_effects)))

    def _joined(self, said: Comparisons) -> VoteRanker:
        """Return a model whose users are those of some comparisons."""
        fitted, draws = self.fitted, self._draws
        said.refuse_features("fold_in_many(answers)")
        source, items = about_items(said, fitted.items, self._met_counts())
        votes = _votes_of(source, len(fitted.items), items, tuple(fitted.context_effects))
        start, met = source.met()
        seen = start, np.ascontiguousarray(items[met], np.int32)
        found = _Means(votes, len(draws), draws.rank)
        for k in range(len(draws)):
            found.add(draws.one(k), threads(self.n_threads))
        joined = replace(
            fitted, users=said.user_vocabulary, seen=seen, parent=fitted, frame_kind=said.frame_kind,
            names={**fitted.names, **said.names}, scorer=found.scorer(draws, seen, self._scorer.means),
        )  # fmt: skip
        return self._with(joined)

    # -- files --------------------------------------------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        return {**super()._about(), "context": [*self.fitted.context_effects]}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        sound = super()._restore(fitted, tensors, about)
        assert isinstance(fitted.scorer, TasteScorer)
        names, effect = about["context"], fitted.scorer.draws.effect
        if len(names) != effect.shape[1] or not all(isinstance(name, str) for name in names):
            return False
        fitted.context_effects = _effects(tuple(names), fitted.scorer.draws)
        return sound


class _Means:
    """Means of users' tastes and of their own parts, draw by draw."""

    def __init__(self, votes: TasteVotes, n_draws: int, rank: int) -> None:
        self.votes, self.rank, self.n = votes, rank, 0
        self.U, self.own = user_rows(votes.n_users, n_draws * rank), np.zeros(len(votes.store.item))

    def add(self, draw: ItemDraws, n_threads: int) -> None:
        z, e = means(self.votes, draw, n_threads)
        first = 1 + self.n * self.rank
        self.U[:, first : first + self.rank] = z
        self.own += e
        self.n += 1

    def scorer(self, draws: ItemDraws, seen: Any, all_means: FloatArray) -> TasteScorer:
        """Return the scores by the draws so far. Later draws use other columns of the same rows."""
        own = own_of(self.votes, (self.own / self.n).astype(np.float32), seen)
        return TasteScorer(draws, self.U, own, seen, all_means, self.votes)


class _Rounds:
    """Rounds of a fit: in each, some sweeps and then a draw that is kept."""

    def __init__(self, votes: TasteVotes, rank: int, seed: int, sweeps: int, n_draws: int, n_threads: int) -> None:
        self.sweeps, self.burn, self.n_draws, self.n_threads = sweeps, sweeps // BURN, n_draws, n_threads
        self.sampler, self.found = Sampler(votes, rank, seed), _Means(votes, n_draws, rank)
        self.every = max((sweeps - self.burn) // MEANS, 1)
        self.draws: list[ItemDraws] = []
        self.means: list[FloatArray] = []

    def round(self) -> Record:
        likelihood, sampler, kept = 0.0, self.sampler, len(self.draws) + 1
        end = self.burn + (self.sweeps - self.burn) * kept // self.n_draws
        while sampler.sweeps < end:
            likelihood = sampler.sweep(self.n_threads)
            if sampler.sweeps > self.burn and (sampler.sweeps - self.burn) % self.every == 0:
                self.means.append(sampler.rows[:, 0].astype(np.float32))
        self.draws.append(sampler.items())
        if not self.means:  # more draws than means
            self.means.append(sampler.rows[:, 0].astype(np.float32))
        self.found.add(self.draws[-1], self.n_threads)
        gap = 1 - sampler.sweeps / self.sweeps
        return {"rounds": self.n_draws, "sweeps": sampler.sweeps, "objective": -likelihood, "gap": gap}

    def model(self, base: FittedModel, effects: tuple[str, ...]) -> FittedModel:
        """Return the model by the draws so far."""
        parts = ([getattr(draw, part) for draw in self.draws] for part in ("rows", "effect", "own"))
        draws = ItemDraws(*map(np.concatenate, parts))
        scorer = self.found.scorer(draws, base.seen, np.stack(self.means))
        return replace(base, scorer=scorer, context_effects=_effects(effects, draws))


def _effects(names: tuple[str, ...], draws: ItemDraws) -> dict[str, float]:
    return dict(zip(names, map(float, draws.effect.astype(np.float64).mean(axis=0)), strict=True))


def _votes_of(source: Source, n_items: int, items: Codes | None = None, effects: tuple[str, ...] = ()) -> TasteVotes:
    """Return the votes of a source, or refuse it; ``items`` are the model's codes of its items."""
    if source.clicks is not None:
        raise InputError("VoteRanker learns from votes, menus and rankings, not from clicks; fit ClickRanker or AltSVM")
    if source.ratings is not None and not source.is_strict():
        raise InputError(
            "VoteRanker learns from votes, menus and rankings, and users rate several items alike here; fit AltSVM"
        )
    if items is not None and isinstance(source, Votes):
        source = source.with_effects(effects)
    pairs = source.pairs()
    weight = pairs.weights() * (_weights_of_orders(source, pairs) if source.implied else _weights_of_menus(pairs))
    around = np.zeros((len(weight), 0)) if pairs.around is None else pairs.around
    if items is not None:
        pairs = replace(pairs, winner=items[pairs.winner], loser=items[pairs.loser])
    return TasteVotes.of(source.n_users, n_items, pairs, weight, around)


def _weights_of_orders(source: Source, pairs: Pairs) -> Any:
    """Return weights at which the pairs of a ranking say as much as a choice of the first, the second and so on.

    Among n equal items such choices have the information n - (1 + 1 / 2 + ... + 1 / n), and p pairs p / 2.
    """
    n, p = np.diff(source.store.start), np.bincount(pairs.user, minlength=source.n_users)
    harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, max(int(n.max(initial=0)), 1) + 1))))
    return np.minimum(1.0, 2 * (n - harmonic[n]) / np.maximum(p, 1))[pairs.user]


def _weights_of_menus(pairs: Pairs) -> Any:
    """Return 2 / m for the pairs of one choice among m items, by the same rule, and 1 for other pairs.

    With c items chosen, each is a choice among m, and there are m - c pairs of each.
    """
    weight = np.ones(len(pairs.user))
    rows = np.flatnonzero(~is_tied(pairs))
    if pairs.group is None or not len(rows):
        return weight
    group = np.unique(pairs.group[rows], return_inverse=True)[1]
    p = np.bincount(group)
    chosen = np.unique(np.stack((group, pairs.winner[rows])), axis=1)[0]
    c = np.bincount(chosen, minlength=len(p))
    m = c + p / c
    weight[rows] = np.minimum(1.0, 2 * (1 - 1 / m) / (m - c))[group]
    return weight
