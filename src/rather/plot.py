"""Pictures of a fitted model and of how well it predicts, with matplotlib: ``pip install 'rather[plot]'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from .asking import known_of
from .data.comparisons import Comparisons
from .errors import InputError, number
from .judging.metrics import pairwise_accuracy
from .models.belief import Belief
from .models.estimator import Estimator
from .models.person import Person
from .models.places import refuse_places
from .rivals.global_ranking import Global

CROWD, OWN, SPREAD = "#4c566a", "#d08770", "#d8dee9"  # dark, middle and light in print as well
BAND, PALE = "#eceff4", "#b3bccb"
SURE = 0.9  # of ellipses and error bars
LABELS, DOTS = 25, 2000  # items and people on a map, at most
ASKED = 100_000  # of the pairs that test ratings imply
NEEDED = "pictures need matplotlib; install it with: pip install 'rather[plot]'"
BINS = 10
SPOTS = (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)  # of labels, beside points


def tastes(model: Any, user: Any = None, top: int = 20, ax: Any = None) -> Any:
    """Draw what item features are worth: to all users, and to one user.

    Dots are the worth in the shared ranking, bars the spread over users, diamonds one user.

    Parameters
    ----------
    model : AltSVM or Convex
        A model fitted with item features.
    user : id, optional
        The user. Default: all users only.
    top : int, default 20
        Largest number of features.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib axes
        The picture.

    Raises
    ------
    InputError
        If the model was fitted without item features, or matplotlib is not installed.

    See Also
    --------
    rather.AltSVM.tastes : Return the table that is drawn.

    Examples
    --------
    >>> import rather
    >>> comparisons = rather.simulate(n_users=40, n_items=4, rank=1).comparisons
    >>> features = {"item": comparisons.items, "price": [1.0, 2.0, 2.5, 4.0]}
    >>> ax = rather.plot.tastes(rather.AltSVM(rank=1).fit(comparisons, item_features=features))
    """
    number("top", top, at_least=1, integer=True)
    table = model.tastes(user)
    ax = _axes(ax, height=0.6 + 0.28 * min(top, len(table)))
    rows = list(range(min(top, len(table))))[::-1]
    mean, spread = (np.asarray(table[name], float)[rows] for name in ("mean", "spread"))
    at = np.arange(len(rows))
    ax.barh(at, 2 * spread, left=mean - spread, color=SPREAD, height=0.7, label="people, within a standard deviation")
    ax.plot(mean, at, "o", color=CROWD, label="everybody")
    if user is not None:
        ax.plot(np.asarray(table["own"], float)[rows], at, "D", color=OWN, label=_called(user))
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(at, [str(table["feature"][row]) for row in rows])
    ax.set_ylim(-0.8, len(rows) - 0.2)
    ax.set_xlabel("worth in log-odds, of a value or of one standard deviation of a number")
    ax.use_sticky_edges = False
    ax.margins(x=0.05)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return ax


def leaderboard(model: Any, user: Any = None, interval: float = 0.9, top: int = 20, ax: Any = None) -> Any:
    """Draw a ranking from the best item down, with ranges of places.

    Bands are groups, shaded and white in turn. An item is behind the first item of its band with a probability less
    than ``interval``.

    Parameters
    ----------
    model : Estimator or Person
        A fitted model with intervals (AltSVM, Convex, Global), or a person.
    user : id, optional
        The user. Default: the ranking shared by all users. Leave it out for a person.
    interval : float, default 0.9
        Probability with which an item's place is within its range.
    top : int, default 20
        Largest number of items.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib axes
        The picture.

    Raises
    ------
    InputError
        If the model has no intervals, or matplotlib is not installed.

    See Also
    --------
    rather.AltSVM.rank : Return the table that is drawn.

    Examples
    --------
    >>> import rather
    >>> model = rather.Global().fit(rather.simulate(n_users=50, n_items=20, seed=0).comparisons)
    >>> ax = rather.plot.leaderboard(model, top=10)
    """
    number("interval", interval, above=0.0, below=1.0)
    number("top", top, at_least=1, integer=True)
    if isinstance(model, Person):
        if user is not None:
            raise InputError(f"user is {user!r}, but a Person is somebody already; leave it out")
        table, who = model.rank(interval=interval), "newcomer"
    elif not hasattr(model, "probability_interval"):
        refuse_places(model)
    else:
        table = model.rank(interval=interval) if user is None else model.rank(user, interval=interval)
        who = "everybody" if user is None else _called(user)
    items, shown = _first(table), min(int(top), len(table))
    ax = _axes(ax, height=1.0 + 0.24 * shown)
    at, group = np.arange(shown)[::-1], table["group"][:shown]
    for band in np.unique(group[group % 2 == 1]):
        rows = at[group == band]
        ax.axhspan(rows.min() - 0.5, rows.max() + 0.5, color=BAND, linewidth=0, zorder=0)
    ax.hlines(at, table["best"][:shown], table["worst"][:shown], color=CROWD, linewidth=1.5)
    ax.plot(table["rank"][:shown], at, "o", color=CROWD, markersize=5)
    ax.set_yticks(at, [f"{items[n]}  {n + 1}" for n in range(shown)])
    ax.set_ylim(-0.5, shown - 0.5)
    ax.set_xlim(0.4, float(table["worst"][:shown].max()) + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    sure = _percent(table.about["interval"])
    bands = f"each band is a group: no item is {sure}\nsure to be behind the first of its group"
    ax.set_xlabel(f"place among {len(table):,}, {sure} interval\n{bands}")
    ax.set_title(who)
    return _plain(ax)


def person(person: Any, top: int = 15, interval: float = 0.9, ax: Any = None, user: Any = None) -> Any:
    """Draw how one person's preferences differ from the typical user's.

    Items run from those worth more to the person to those worth less, in log-odds with intervals. Pale items are
    uncertain: their interval contains 0.

    Parameters
    ----------
    person : Person, AltSVM or Convex
        Result of ``model.fold_in(answers)``, or a fitted model, of which ``user`` is drawn.
    top : int, default 15
        Largest number of items; the most certain differences are drawn.
    interval : float, default 0.9
        Probability with which a difference is within its interval.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.
    user : id, optional
        The user of a fitted model. Leave it out for a person.

    Returns
    -------
    matplotlib axes
        The picture.

    Raises
    ------
    InputError
        If ``person`` is neither a Person nor a model with a user, or matplotlib is not installed.

    See Also
    --------
    rather.Person.difference : Return the table that is drawn.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
    >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
    >>> ax = rather.plot.person(person)
    >>> ax = rather.plot.person(model, user="user 7")
    """
    if isinstance(person, Person) == (user is not None) or not hasattr(person, "difference"):
        raise InputError(
            f"person is of type {type(person).__name__} and user is {user!r}; give a Person, of "
            "model.fold_in(answers), or a model and a user"
        )
    number("interval", interval, above=0.0, below=1.0)
    number("top", top, at_least=1, integer=True)
    whose = () if user is None else (user,)
    table = person.difference(*whose, interval=interval)[: int(top)]
    rows = np.argsort(table["difference"], kind="stable")
    items, middle, low, high = (column[rows] for column in [*table.columns.values()][:4])
    ax, sure = _axes(ax, height=1.0 + 0.28 * len(rows)), _percent(table.about["interval"])
    for told, colour, label in ((True, OWN, ""), (False, PALE, " that holds 0: not certain yet")):
        at = np.flatnonzero((low * high > 0) == told)
        if len(at):
            ax.hlines(at, low[at], high[at], color=colour, linewidth=2)
            ax.plot(middle[at], at, "o", color=colour, label=f"{sure} interval{label}")
    ax.axvline(0, color=CROWD, linewidth=0.8)
    ax.set_yticks(range(len(rows)), [str(item) for item in items])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel("worth more to them than to the typical person, in log-odds")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return _plain(ax)


def taste_map(model: Any, person: Any = None, items: Any = None, ax: Any = None) -> Any:
    """Draw items and users on the two directions in which tastes differ most.

    Users prefer items that lie farther in their own direction. Users are faint dots, at most 2,000 of them. One person,
    if given, is inside the ellipse with a probability of 90 %.

    Parameters
    ----------
    model : AltSVM or Convex
        The fitted model.
    person : Person or id, optional
        A person or a user to show. Default: none.
    items : list of id, optional
        Items to show. Default: the 25 items that most users compared.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib axes
        The picture.

    Raises
    ------
    InputError
        If tastes differ in fewer than two directions, or matplotlib is not installed.

    See Also
    --------
    rather.AltSVM.similar_items : Find similar items.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=20, n_items=5, rank=2, per_user=5).comparisons)
    >>> ax = rather.plot.taste_map(model)
    """
    model = person.model if isinstance(person, Person) else model
    now, typical, _ = known_of(model, None)
    if not isinstance(typical, Belief):
        raise InputError(f"{type(now).__name__} has several draws of the directions of taste, and no map; use AltSVM")
    crowd = now._crowd()
    chosen = np.argsort(-crowd.count, kind="stable")[:LABELS] if items is None else now._candidates(items)
    often = np.sqrt(crowd.count / crowd.count.sum(), dtype=np.float64)[:, None]  # an item counts as often as it was met
    A, S, B = np.linalg.svd(often * (typical.Z - (often**2).T @ typical.Z), full_matrices=False)
    if len(S) < 2 or S[1] <= 1e-6 * S[0]:
        raise InputError("people's tastes differ in fewer than two directions: there is nothing to map")
    share, sign = S**2 / np.square(S).sum(), np.sign(A[np.abs(A[:, :2]).argmax(axis=0), (0, 1)])
    place = (typical.Z[chosen] - (often**2).T @ typical.Z) @ (B[:2].T * sign)
    turn = often * A[:, :2] * (sign / S[:2])  # from what items are worth, beside what is typical, to a place
    place *= 2.5 / max(np.linalg.norm(place, axis=1).max(), 1e-12)
    U = now.user_factors_.astype(np.float64) - crowd.mean
    some = np.random.default_rng(0).permutation(len(U))[:DOTS]
    people = U[some] @ (crowd.sureness[1].taste * now.item_factors_.T @ turn)
    ax = _axes(ax, height=7.0, width=7.2)
    ax.plot(*people.T, ".", color=CROWD, alpha=0.35, markersize=5, markeredgewidth=0, label="people")
    ax.plot(*place.T, "s", color=CROWD, markersize=4, label="items")
    if person is not None:
        _, belief, _ = known_of(now, person)
        assert isinstance(belief, Belief)
        rows = np.zeros((2, len(belief.known.mean)))
        rows[:, : belief.Z.shape[1]] = turn.T @ belief.Z
        centre = turn.T @ (belief.offset - typical.offset) + rows @ belief.known.mean
        who = f"{len(person.answers)} answers" if isinstance(person, Person) else _called(person)
        _ellipse(ax, centre, belief.known.covariances(rows, rows), f"{who}, {_percent(SURE)} sure")
    ax.set_aspect("equal", adjustable="datalim")
    for axis, name, part in ((ax.xaxis, "first", share[0]), (ax.yaxis, "second", share[1])):
        axis.set_label_text(f"{name} direction of taste: {_percent(round(part, 2))} of how tastes differ")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    _plain(ax)
    _labelled(ax, place, [str(item) for item in now.items_[chosen]])
    return ax


def calibration(model: Any, test: Comparisons, ax: Any = None) -> Any:
    """Draw how often predicted probabilities come true.

    Predictions are grouped in bins of a tenth, with 90 % intervals. The title has the log loss and the expected
    calibration error: the mean distance between predictions and outcomes. Ties, and unknown users and items, are left
    out.

    Parameters
    ----------
    model : Estimator
        The fitted model. ``probability_interval`` gives the probabilities if the model has it, else ``probability``.
    test : Comparisons
        Comparisons that the model was not fitted to.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib axes
        The picture.

    Raises
    ------
    InputError
        If no test comparison can be used, or matplotlib is not installed.

    See Also
    --------
    rather.Estimator.calibrate : Calibrate probabilities on held-out comparisons.
    rather.pairwise_accuracy : Measure how many test comparisons a model predicts.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=50, n_items=20, seed=0)
    >>> model = rather.Global().fit(world.comparisons)
    >>> ax = rather.plot.calibration(model, world.test(n=500))
    """
    if not isinstance(model, Estimator):
        raise InputError(f"the model is of type {type(model).__name__}; it must be one of rather's")
    if not isinstance(test, Comparisons):
        raise InputError(f"test is of type {type(test).__name__}; it must be Comparisons")
    rng, people, known = np.random.default_rng(0), model.fitted.users.codes(test.users), model.fitted.items
    pairs, things = test.source.some_pairs(ASKED, rng), known.codes(test.items)
    keep = (people[pairs.user] >= 0) & (things[pairs.winner] >= 0) & (things[pairs.loser] >= 0)
    pairs = pairs.take(keep if pairs.tied is None else keep & ~pairs.tied)
    if not len(pairs.user):
        raise InputError("there is no test answer that decides between two items the model knows, by a user it knows")
    asked = test.users[pairs.user], test.items[pairs.winner], test.items[pairs.loser]
    p = np.asarray(
        model.probability_interval(*asked)["probability"]
        if hasattr(model, "probability_interval")
        else model.probability(*asked),
        np.float64,
    )
    turned, w = rng.random(len(p)) < 0.5, pairs.weights()
    q, won = np.where(turned, 1 - p, p), ~turned
    bins = np.minimum((q * BINS).astype(int), BINS - 1)
    n, said, true, square = (np.bincount(bins, of, BINS) for of in (w, w * q, w * won, w * w))
    some = np.flatnonzero(n > 0)
    ece, loss = np.abs(said - true).sum() / n.sum(), -(w @ np.log(np.maximum(p, 1e-12))) / n.sum()
    share, z2 = true[some] / n[some], float(scipy.special.ndtri(0.5 + SURE / 2)) ** 2 * square[some] / n[some] ** 2
    middle = (share + z2 / 2) / (1 + z2)  # of the interval of E. Wilson (1927)
    far = np.sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    ax = _axes(ax, height=5.5, width=5.5)
    ax.plot([0, 1], [0, 1], "--", color=CROWD, linewidth=0.8)
    ax.vlines(said[some] / n[some], middle - far, middle + far, color=CROWD, linewidth=1.5)
    ax.plot(said[some] / n[some], share, "o", color=CROWD)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="probability given", ylabel="share that came true")
    ax.set_title(f"{len(p):,} answers: log loss {loss:.3f}, ECE {ece:.3f}")
    return _plain(ax)


def history(model: Any, ax: Any = None) -> Any:
    """Draw how a fit went: the objective and the gap, by seconds.

    Parameters
    ----------
    model : Estimator
        A model that was fitted in rounds.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib axes
        The axes of the objective.

    Raises
    ------
    InputError
        If the model has no history, or matplotlib is not installed.

    See Also
    --------
    rather.AltSVM : Fit in rounds; ``history_`` holds their records.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
    >>> ax = rather.plot.history(model)
    """
    rounds = model.fitted.history if isinstance(model, Estimator) else getattr(model, "history_", None)
    if not rounds:
        raise InputError(f"this {type(model).__name__} has no history of rounds to draw")
    seconds, objective, gap = (np.array([r[name] for r in rounds], float) for name in ("seconds", "objective", "gap"))
    ax = _axes(ax, height=3.6)
    ax.plot(seconds, objective, "o-", color=CROWD)
    ax.set(xlabel="seconds", ylabel="objective (dots)")
    ax.set_xlim(left=0)
    other = ax.twinx()
    other.plot(seconds, np.where(gap > 0, gap, np.nan), "D--", color=OWN)
    other.set(yscale="log", ylabel="gap (diamonds)")
    for axes, colour in ((ax, CROWD), (other, OWN)):
        axes.yaxis.label.set_color(colour)
        axes.spines["top"].set_visible(False)
    return ax


def learning_curve(
    estimator: Any,
    comparisons: Comparisons,
    test: Comparisons | None = None,
    answers: Sequence[int] = (2, 5, 10, 20, 50),
    seed: int = 0,
    ax: Any = None,
) -> Any:
    """Draw accuracy on held-out answers against the number of answers per user.

    The curve of the estimator is drawn beside that of one ranking for all users, with 90 % intervals. The estimator
    itself is not fitted. The curve ends where all answers are used.

    Parameters
    ----------
    estimator : Estimator
        The estimator, with its parameters.
    comparisons : Comparisons
        The comparisons to fit to.
    test : Comparisons, optional
        The held-out comparisons. Default: a fifth of the comparisons.
    answers : list of int, default (2, 5, 10, 20, 50)
        Largest numbers of comparisons for each user.
    seed : int, default 0
        Seed of the draws.
    ax : matplotlib axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib axes
        The picture.

    Raises
    ------
    InputError
        If data or parameters are invalid, or matplotlib is not installed.

    See Also
    --------
    rather.Comparisons.sample : Draw at most a few comparisons of every user.
    rather.answers_needed : Plan how many answers to ask of each user.

    Examples
    --------
    >>> import rather
    >>> comparisons = rather.simulate(n_users=50, n_items=20, per_user=10, seed=0).comparisons
    >>> ax = rather.plot.learning_curve(rather.AltSVM(rank=2), comparisons, answers=[2, 5])
    """
    if not isinstance(estimator, Estimator):
        raise InputError(f"the estimator is of type {type(estimator).__name__}; it must be one of rather's")
    for name, given in (("comparisons", comparisons), ("test", test)):
        if not isinstance(given, Comparisons) and (name, given) != ("test", None):
            raise InputError(f"{name} is of type {type(given).__name__}; it must be Comparisons")
    for n in answers:
        number("answers", n, at_least=1, integer=True)
    if not len(answers):
        raise InputError("answers is empty; name at least one number of answers")
    number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
    if test is None:
        comparisons, test = comparisons.hold_out(0.2, seed)
    found: dict[int, list[Any]] = {}
    before = 0
    for n in sorted(set(answers)):
        part = comparisons.sample(n, seed)
        if len(part) == before:
            break
        before = len(part)
        alone = Comparisons(part.users, part.items, part.source)  # without features, which Global has no use for
        fitted = type(estimator)(**estimator.get_params()).fit(part), Global(seed=seed).fit(alone)
        found[n] = [pairwise_accuracy(model, test) for model in fitted]
    ax, z = _axes(ax, height=4.0), float(scipy.special.ndtri(0.5 + SURE / 2))
    lines = (type(estimator).__name__, OWN, "D-"), ("one ranking for everybody", CROWD, "o--")
    for (label, colour, style), values in zip(lines, zip(*found.values(), strict=True), strict=True):
        far = [z * value.standard_error for value in values]
        at = np.array([*found]) * (1.02 if colour == OWN else 0.98)
        ax.errorbar(at, [*map(float, values)], far, fmt=style, color=colour, elinewidth=1, label=label)
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_xticks([*found], [*map(str, found)])
    ax.set(xlabel="answers of each person", ylabel="held-out answers predicted rightly")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return _plain(ax)


# -- parts ------------------------------------------------------------------------------------------------------------


def _pyplot() -> Any:
    """Return matplotlib's pyplot; refuse to draw where it is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise InputError(NEEDED) from e
    return plt


def _axes(ax: Any, height: float, width: float = 8.0) -> Any:
    return _pyplot().subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def _plain(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _first(table: Any) -> Any:
    """The column of items, which is called as the caller calls it."""
    return next(iter(table.columns.values()))


def _called(user: Any) -> str:
    """Return what a picture calls a user: the id, after the word user if it is a number."""
    return str(user) if isinstance(user, str) else f"user {user}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _ellipse(ax: Any, centre: Any, covariance: Any, label: str) -> None:
    """Draw the ellipse that holds a normal point with probability SURE."""
    from matplotlib.patches import Ellipse

    held, E = np.linalg.eigh(covariance)
    width, height = 2 * np.sqrt(np.maximum(held, 0.0) * -2 * np.log(1 - SURE))
    angle = float(np.degrees(np.arctan2(E[1, 0], E[0, 0])))
    ax.add_patch(Ellipse(centre, width, height, angle=angle, facecolor=OWN, edgecolor=OWN, alpha=0.3, label=label))
    ax.plot(*centre, "D", color=OWN)


def _labelled(ax: Any, place: Any, texts: list[str]) -> None:
    """Labels beside points, each where it is least in the way of points, other labels and the frame."""
    ax.figure.canvas.figure.draw_without_rendering()  # so that it is known where all is
    frame, points = ax.get_window_extent().extents, ax.transData.transform(place)
    taken = [np.concatenate((point - 4, point + 4)) for point in points]

    def put(label: Any, across: int, up: int) -> Any:
        label.set(position=(4 * across, 4 * up), ha=("right", "center", "left")[across + 1])
        label.set_va(("top", "center", "bottom")[up + 1])
        return label.get_window_extent().extents

    for point, text in zip(place, texts, strict=True):
        label, tried = ax.annotate(text, point, (0, 0), textcoords="offset points", fontsize=8), []
        for spot in SPOTS:
            box, others = put(label, *spot), np.array(taken)
            size = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
            out = np.maximum(np.concatenate((frame[:2] - box[:2], box[2:] - frame[2:])), 0).sum()
            tried.append(np.maximum(size, 0).prod(axis=1).sum() + 100 * out)
        taken.append(put(label, *SPOTS[int(np.argmin(tried))]))
