"""Rivals for what people think of items that nobody has rated, from descriptions: what benchmarks/described.py asks.

A fifth of the films is held out wholly: nobody's rating of them is training data. A rival is a function of the training
ratings (user, item, rating), the items' descriptions (item, and of genres, year and words those there are), the users'
(user and any columns of values, or None) and a seed, and gives score(users, items). It scores by the description alone,
whether or not an item has ratings. What it has to choose it chooses by NDCG@10 on a fifth of the training items, held
out in the same way; then it learns from all of them. Packages that are not installed are skipped.

Of answers about things with embeddings two learn a reward: ``lore`` everyone's own mix of a few, ``one_reward`` the
same for all.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: threads would wait over small matrices

import importlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.optimize import minimize
from scipy.special import expit

from measuring.smoke import sized

Score = Callable[[Any, Any], Any]  # of users and items, one score a row
Setting = dict[str, Any]
Fitted = Iterator[tuple[Setting, Score]]
Fits = Callable[["Rated", list[Setting]], Fitted]  # of every setting
Rival = Callable[[Any, Any, Any, int], "Tuned"]

THREADS = 2
LIKED = 4  # stars from which on a film counts as liked, for those who learn from likes
HELD = 0.2  # the share of items held out
WORDS, WORD_ITEMS = 500, 5  # at most so many words, each of at least so many items

# -- judging ----------------------------------------------------------------------------------------------------------


def evaluate(score: Score, test: Any) -> dict[str, float]:
    """Mean NDCG@10 of those with ten test ratings, and mean share of each one's pairs that are in the right order."""
    given = _numbers(score(test["user"].to_numpy(), test["item"].to_numpy()))
    user, rating = np.unique(test["user"], return_inverse=True)[1], _numbers(test["rating"])
    return {"NDCG@10": _ndcg(user, rating, given), "accuracy": _accuracy(user, rating, given)}


def ndcg(score: Score, test: Any) -> float:
    """Only that; the share of pairs where nobody has ten ratings."""
    given = _numbers(score(test["user"].to_numpy(), test["item"].to_numpy()))
    user, rating = np.unique(test["user"], return_inverse=True)[1], _numbers(test["rating"])
    found = _ndcg(user, rating, given)
    return found if np.isfinite(found) else _accuracy(user, rating, given)


def _ndcg(user: Any, rating: Any, score: Any, k: int = 10) -> float:
    """Over users with k ratings; items with equal scores share their gains, as if in random order."""
    enough = np.bincount(user)[user] >= k
    user, rating, score = user[enough], rating[enough], score[enough]
    if not len(user):
        return np.nan
    gain = 2.0**rating - 1
    order = np.lexsort((-score, user))
    tied = np.cumsum(np.r_[0, (np.diff(user[order]) != 0) | (np.diff(score[order]) != 0)])
    shared = (np.bincount(tied, gain[order]) / np.bincount(tied))[tied]
    got = _dcg(user[order], shared, k)
    order = np.lexsort((-gain, user))
    best = _dcg(user[order], gain[order], k)
    return float(np.mean(got[best > 0] / best[best > 0]))


def _dcg(user: Any, gain: Any, k: int) -> Any:
    """Of rows sorted by user, and each user's from the best on."""
    first = np.flatnonzero(np.r_[True, np.diff(user) != 0])
    place = np.arange(len(user)) - np.repeat(first, np.diff(np.r_[first, len(user)]))
    top = place < k
    return np.bincount(user[top], gain[top] / np.log2(place[top] + 2))


def _accuracy(user: Any, rating: Any, score: Any) -> float:
    """Over users with two different ratings; equal scores are half right."""
    shares = []
    for rows in groups(user):
        by_rating = rows[np.argsort(rating[rows])]
        worse = rating[by_rating, None] < rating[by_rating]
        gap = np.sign(score[by_rating] - score[by_rating, None])
        if n := np.count_nonzero(worse):
            shares.append(0.5 + 0.5 * gap[worse].sum() / n)
    return float(np.mean(shares))


def groups(code: Any) -> Any:
    """The rows of every code that there is, from the lowest on."""
    order = np.argsort(code, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(code[order])) + 1)


def _numbers(column: Any) -> Any:
    return np.asarray(column, np.float64)


# -- descriptions -----------------------------------------------------------------------------------------------------


@dataclass
class Described:
    """Ids, sorted, and a row of numbers for each."""

    ids: Any
    X: Any

    def rows(self, ids: Any) -> Any:
        """Where they are; all must be described."""
        found = places(self.ids, ids)
        if (found < 0).any():
            raise KeyError(f"{np.asarray(ids)[found < 0][0]} has no description")
        return found

    def of(self, ids: Any) -> Any:
        return self.X[self.rows(ids)]


def encode(items: Any) -> Described:
    """Genres and words as zeros and ones, the five years it is from too, and the year and its square, standardised."""
    items = items.sort_values("item")
    blocks = [np.ones((len(items), 1))]
    for name, most, least in (("genres", None, 1), ("words", WORDS, WORD_ITEMS)):
        if name in items:
            blocks.append(_hot(items[name], most, least))
    if "year" in items:
        year = _numbers(items["year"])
        year = np.where(np.isnan(year), np.nanmean(year), year)
        blocks += [_hot([[period] for period in year // 5], None, 1), _standard(year), _standard(_standard(year) ** 2)]
    return Described(items["item"].to_numpy(), np.hstack(blocks))


def users_of(users: Any) -> Described | None:
    """Every value of every column but the id as zeros and ones, if there are any."""
    if users is None:
        return None
    users = users.sort_values("user")
    blocks = [_hot([[value] for value in users[name]], None, 1) for name in users if name != "user"]
    return Described(users["user"].to_numpy(), np.hstack([np.ones((len(users), 1)), *blocks]))


def _hot(lists: Iterable[Any], most: int | None, least: int) -> Any:
    """A column for every value (the commonest, of so many rows at least), in the order of how common they are."""
    lists = [list(dict.fromkeys(values)) for values in lists]  # once each, in the same order every time
    counts = Counter(itertools.chain.from_iterable(lists))
    column = {value: n for n, (value, count) in enumerate(counts.most_common(most)) if count >= least}
    hot = np.zeros((len(lists), len(column)))
    for row, values in enumerate(lists):
        hot[row, [column[value] for value in values if value in column]] = 1
    return hot


def _standard(column: Any) -> Any:
    column = column.reshape(-1, 1)
    return (column - column.mean()) / (column.std() or 1.0)


def places(known: Any, ids: Any) -> Any:
    """Where ids are in a sorted array; -1 for one that is not there."""
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[at] == ids, at, -1)


@dataclass
class Rated:
    """Ratings in codes of sorted ids, and the descriptions of their items."""

    users: Any
    items: Any
    user: Any
    item: Any
    rating: Any
    X: Any

    @classmethod
    def of(cls, train: Any, described: Described) -> Rated:
        (users, user), (items, item) = (np.unique(train[name], return_inverse=True) for name in ("user", "item"))
        return cls(users, items, user, item, _numbers(train["rating"]), described.of(items))

    def matrix(self, rows: Any, values: Any) -> Any:
        at = self.user[rows], self.item[rows]
        return scipy.sparse.coo_matrix((values, at), (len(self.users), len(self.items)), np.float32)

    def liked(self) -> Any:
        """Ones where a user likes an item."""
        rows = self.rating >= LIKED
        return self.matrix(rows, np.ones(np.count_nonzero(rows)))

    def signs(self) -> Any:
        """One where a user likes what they have rated, minus one where not."""
        return self.matrix(slice(None), np.where(self.rating >= LIKED, 1.0, -1.0))

    def centred(self) -> Any:
        """Ratings less their users' means."""
        return self.rating - (np.bincount(self.user, self.rating) / np.bincount(self.user))[self.user]


# -- choosing ---------------------------------------------------------------------------------------------------------


@dataclass
class Tuned:
    """Scores, and the setting that they are of."""

    score: Score
    setting: Setting

    def __call__(self, users: Any, items: Any) -> Any:
        return self.score(users, items)


def tuned(fits: Fits, settings: list[Setting], train: Any, described: Described, seed: int) -> Tuned:
    """What does best on held-out training items, fitted to all of them; each is judged before the next is fitted."""
    learn, held = split(train, seed)
    judged = [(ndcg(score, held), setting) for setting, score in fits(Rated.of(learn, described), settings)]
    best = max(judged, key=lambda found: found[0])[1]
    [(_, score)] = fits(Rated.of(train, described), [best])
    return Tuned(score, best)


def split(ratings: Any, seed: int) -> tuple[Any, Any]:
    """Ratings to learn from, and those of a fifth of the items."""
    items = np.unique(ratings["item"])
    held = np.random.default_rng(seed).permutation(items)[: round(HELD * len(items))]
    cold = ratings["item"].isin(held)
    return ratings[~cold], ratings[cold]


def grid(**axes: tuple[Any, ...]) -> list[Setting]:
    """Every combination; the last axis changes from each to the next."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def runs(settings: list[Setting], last: str) -> Iterator[tuple[Setting, list[Setting]]]:
    """Settings that differ in the last axis alone, and what they share."""
    for shared, own in itertools.groupby(settings, lambda s: {name: s[name] for name in s if name != last}):
        yield shared, list(own)


def dot(users: Any, U: Any, described: Described, V: Any, bias: Any = None) -> Score:
    """Scores from a row of U a user and one of V a described item; for users who are unknown only the bias matters."""

    def score(user: Any, item: Any) -> Any:
        u, i = places(users, user), described.rows(item)
        own = np.where(u < 0, 0.0, np.einsum("nk,nk->n", U[u], V[i]))
        return own if bias is None else own + bias[i]

    return score


def package(name: str) -> Any:
    """A package, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise ImportError(f"{name} is not installed; get it with: pip install {PIP.get(name, name)} ({e})") from e


PIP = {"lightfm": "lightfm-next"}

# -- regressions ------------------------------------------------------------------------------------------------------

CROWDS = grid(shrink=(0.1, 1.0, 10.0, 100.0), ridge=(0.1, 1.0, 10.0, 100.0, 1000.0))
OWN = grid(residual=("from the crowd",), ridge=tuple(10.0**n for n in np.arange(0, 4.1, 0.5)))


def crowd(train: Any, items: Any, users: Any, seed: int) -> Tuned:
    """The same for all: a ridge regression of what the items are liked on their descriptions.

    How an item is liked is the mean of its ratings less their users' means; it weighs n / (n + shrink).
    """
    described = encode(items)

    def fits(rated: Rated, settings: list[Setting]) -> Fitted:
        for setting in settings:
            yield setting, same_for_all(described, described.X @ _crowd(rated, **setting))

    return tuned(fits, CROWDS, train, described, seed)


def same_for_all(described: Described, value: Any) -> Score:
    return lambda user, item: value[described.rows(item)]


def _crowd(rated: Rated, shrink: float, ridge: float) -> Any:
    """A coefficient of every column of the descriptions."""
    count = np.bincount(rated.item)
    weight = count / (count + shrink)
    weight /= weight.mean()
    liked = np.bincount(rated.item, rated.centred()) / count
    F = rated.X - np.average(rated.X, 0, weight)
    gram = (F * weight[:, None]).T @ F + ridge * np.eye(F.shape[1])
    return np.linalg.solve(gram, F.T @ (weight * (liked - np.average(liked, weights=weight))))


def per_user_ridge(train: Any, items: Any, users: Any, seed: int) -> Tuned:
    """The crowd's, and everyone's own ridge regression of what is left of their ratings.

    That is their ratings less what the crowd's regression says, or less how the item is liked, which is drawn to what
    the regression says where few have rated it.
    """
    described = encode(items)
    setting = crowd(train, items, users, seed).setting

    def fits(rated: Rated, settings: list[Setting]) -> Fitted:
        B = _crowd(rated, **setting)
        said = rated.X @ B
        count = np.bincount(rated.item)
        liked = np.bincount(rated.item, rated.centred()) / count
        drawn = said + (liked - said) * count / (count + setting["shrink"])
        for shared, own in runs(settings, "ridge"):
            expected = said if shared["residual"] == "from the crowd" else drawn
            ridges = np.array([s["ridge"] for s in own])
            coefficients = _own(rated, rated.centred() - expected[rated.item], ridges)
            for s, C in zip(own, coefficients, strict=True):
                yield s, dot(rated.users, C, described, described.X, described.X @ B)

    found = tuned(fits, OWN, train, described, seed)
    return Tuned(found.score, {**found.setting, "crowd": setting})


def _own(rated: Rated, y: Any, ridges: Any) -> Any:
    """Coefficients (ridges, users, columns) of a ridge regression a user, with a constant that costs nothing."""
    coefficients = np.zeros((len(ridges), len(rated.users), rated.X.shape[1]), np.float32)
    for user, rows in enumerate(groups(rated.user)):
        F = rated.X[rated.item[rows]]
        F, own = F - F.mean(0), y[rows] - y[rows].mean()
        few = len(rows) < F.shape[1]  # then the smaller matrix is that of the ratings
        e, Q = np.linalg.eigh(F @ F.T if few else F.T @ F)
        z = Q.T @ (own if few else F.T @ own)
        solved = Q @ (z[:, None] / (np.maximum(e, 0)[:, None] + ridges))
        coefficients[:, user] = ((F.T @ solved) if few else solved).T
    return coefficients


# -- packages ---------------------------------------------------------------------------------------------------------

LIGHTFM = grid(
    loss=("warp", "logistic"),
    no_components=sized((32,), (4,)),
    item_alpha=sized((0.0, 1e-4), (0.0,)),
    epochs=sized((1, 2, 4, 8), (2, 3)),
)
IRSPACK = grid(
    n_components=sized((8,), (4,)),
    alpha0=sized((0.1, 1.0), (0.3,)),
    reg=sized((0.003,), (0.03,)),
    lambda_item_feature=sized((1.0, 100.0), (100.0,)),
    cold=("prior", "solved"),
)
CMFREC = [
    *grid(model=("CMF",), k=sized((10,), (3,)), lambda_=sized((30.0,), (10.0,)), w_item=sized((30.0, 100.0), (30.0,))),
    *grid(
        model=("OMF_explicit",),
        k=sized((30,), (3,)),
        lambda_=sized((30.0, 100.0), (30.0,)),
        maxiter=sized((300,), (10,)),
    ),
]
IALS_EPOCHS = 16


def lightfm(train: Any, items: Any, users: Any, seed: int) -> Tuned:
    """LightFM: WARP on what people like, or logistic on likes and dislikes.

    A training item has an embedding of its own beside those of its description; for a cold one only these count.
    """
    LightFM = package("lightfm").LightFM
    described, people = encode(items), users_of(users)

    def fits(rated: Rated, settings: list[Setting]) -> Fitted:
        own = features(rated.X)
        theirs = None if people is None else features(people.of(rated.users))
        for shared, path in runs(settings, "epochs"):
            model, done = LightFM(random_state=seed, **shared), 0
            data = rated.liked() if shared["loss"] == "warp" else rated.signs()
            for setting in path:
                todo, done = setting["epochs"] - done, setting["epochs"]
                model.fit_partial(data, theirs, own, epochs=todo, num_threads=THREADS)
                bias, V = (described.X @ at[len(rated.items) :] for at in (model.item_biases, model.item_embeddings))
                yield setting, dot(rated.users, model.get_user_representations(theirs)[1], described, V, bias)

    return tuned(fits, LIGHTFM, train, described, seed)


def features(X: Any) -> Any:
    """A column for every row, and what describes it."""
    return scipy.sparse.hstack([scipy.sparse.identity(len(X)), scipy.sparse.csr_matrix(X)], "csr", np.float32)


def irspack_ials(train: Any, items: Any, users: Any, seed: int) -> Tuned:
    """irspack's iALS of what people like, its factors drawn to a regression on descriptions that it learns.

    A cold item has what the regression says (prior), or that and nobody who likes it (solved), which is the package's.
    """
    Model = package("irspack").IALSRecommender
    described, people = encode(items), users_of(users)

    def fits(rated: Rated, settings: list[Setting]) -> Fitted:
        liked = rated.liked().tocsr()
        known: dict[str, Any] = {"item_features": rated.X, "random_seed": seed, "n_threads": THREADS}
        if people is not None:
            known["user_features"] = people.of(rated.users)
        for shared, path in runs(settings, "cold"):
            theirs = {} if people is None else {"lambda_user_feature": shared["lambda_item_feature"]}
            model = Model(liked, **shared, **known, **theirs)
            model.start_learning()
            for _ in range(IALS_EPOCHS):
                model.run_epoch()
            prior = described.X @ model.trainer_as_ials.core_trainer.item_feature_weight
            cold = {"prior": prior, "solved": model.compute_item_embedding_from_features(described.X)}
            for setting in path:
                yield setting, dot(rated.users, model.get_user_embedding(), described, cold[setting["cold"]])

    return tuned(fits, IRSPACK, train, described, seed)


def cmfrec(train: Any, items: Any, users: Any, seed: int) -> Tuned:
    """cmfrec: factors of ratings and descriptions together (CMF), or of ratings, with a regression on these (OMF).

    Items have no biases: a cold one would have none, and how it is liked has to be in its factors.
    """
    made = package("cmfrec")
    described, people = encode(items), users_of(users)
    X = described.X[:, 1:]  # without the constant, which both have

    def fits(rated: Rated, settings: list[Setting]) -> Fitted:
        data: dict[str, Any] = {"X": rated.matrix(slice(None), rated.rating), "I": rated.X[:, 1:]}
        common: dict[str, Any] = {"item_bias": False, "random_state": seed, "nthreads": THREADS, "verbose": False}
        for setting in settings:
            own = {name: value for name, value in setting.items() if name != "model"}
            if setting["model"] == "CMF":
                own["use_cg"] = False
            theirs = {} if people is None or setting["model"] != "CMF" else {"U": people.of(rated.users)[:, 1:]}
            model = getattr(made, setting["model"])(**own, **common).fit(**data, **theirs)
            yield setting, dot(rated.users, model.A_, described, np.array([model.item_factors_cold(I=x) for x in X]))

    return tuned(fits, CMFREC, train, described, seed)


RIVALS: dict[str, Rival] = {
    "crowd": crowd,
    "per-user ridge": per_user_ridge,
    "lightfm": lightfm,
    "irspack iALS": irspack_ials,
    "cmfrec": cmfrec,
}
PACKAGES = ("lightfm", "irspack", "cmfrec")  # the first word of those that need one

# -- rewards ----------------------------------------------------------------------------------------------------------


class Lore(NamedTuple):
    """Logits of everyone's weights (by sorted user), the rewards' directions, and what to ask."""

    theta: Any
    V: Any
    seconds: float
    margins: Callable[[Any, Any, Any], Any]  # of users, chosen and rejected


class OneReward(NamedTuple):
    """A direction, how much it was drawn to zero, and what to ask (for symmetry with the users, who do not matter)."""

    w: Any
    ridge: float
    seconds: float
    margins: Callable[[Any, Any, Any], Any]


TEMPERATURE = 100.0  # by which the original divides margins
REWARD_RIDGES = tuple(10.0**n for n in np.arange(2, -4.1, -0.5))  # times the mean square of a difference


class Adam:
    """Steps of its usual constants, in place."""

    def __init__(self, parameter: Any, lr: float) -> None:
        self.parameter, self.lr, self.steps = parameter, np.float32(lr), 0
        self.mean, self.square = np.zeros_like(parameter), np.zeros_like(parameter)

    def step(self, gradient: Any) -> None:
        self.steps += 1
        self.mean += np.float32(0.1) * (gradient - self.mean)
        self.square += np.float32(0.001) * (gradient * gradient - self.square)
        size = self.lr / np.float32(1 - 0.9**self.steps)
        root = np.sqrt(self.square / np.float32(1 - 0.999**self.steps))
        self.parameter -= size * self.mean / (root + np.float32(1e-8))


def lore(
    train_user: Any,
    chosen: Any,
    rejected: Any,
    rank: int,
    steps: int = 20_000,
    lr: float = 0.5,
    seed: int = 0,
    batch: int | None = None,
) -> Lore:
    """A few rewards that are linear in embeddings, and everyone's weights of them, on a simplex.

    r_i(h) = softmax(theta_i) . V h / 100, by the Bradley-Terry likelihood of the answers; in every step Adam moves the
    weights and then the rewards, on all answers or a random batch. After A. Bose et al.: LoRe, 2025, less its pull
    towards a reward that is known before.
    """
    began = time.perf_counter()
    users, user = np.unique(train_user, return_inverse=True)
    order = np.argsort(user, kind="stable")
    user, D = user[order], (np.asarray(chosen, np.float32) - np.asarray(rejected, np.float32))[order]
    rng = np.random.default_rng(seed)
    theta = rng.random((len(users), rank), np.float32)
    V = rng.standard_normal((rank, D.shape[1]), np.float32)
    weights, rewards = Adam(theta, lr), Adam(V, lr)
    u, d = user, D
    for step in range(steps):
        if batch is not None:
            rows = np.sort(rng.integers(0, len(D), batch))
            u, d = user[rows], D[rows]
        if batch is not None or step == 0:
            first = np.flatnonzero(np.r_[True, np.diff(u) != 0])
            own, size = u[first], np.diff(np.r_[first, len(u)])
        P = d @ V.T / np.float32(TEMPERATURE)
        w = np.repeat(_softmax(theta[own]), size, 0)
        pull = _slope(w, P)[:, None] * P
        gradient = np.zeros_like(theta)
        gradient[own] = np.add.reduceat(w * (pull - np.einsum("nk,nk->n", w, pull)[:, None]), first, 0)
        weights.step(gradient)
        w = np.repeat(_softmax(theta[own]), size, 0)
        rewards.step((_slope(w, P)[:, None] * w).T @ d / np.float32(TEMPERATURE))
    everyone = np.vstack([_softmax(theta), _softmax(theta).mean(0)])  # the last for users who are unknown

    def margins(who: Any, better: Any, worse: Any) -> Any:
        P = (np.asarray(better, np.float32) - np.asarray(worse, np.float32)) @ V.T / np.float32(TEMPERATURE)
        return np.einsum("nk,nk->n", everyone[places(users, who)], P)

    return Lore(theta, V, time.perf_counter() - began, margins)


def _softmax(logits: Any) -> Any:
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _slope(w: Any, P: Any) -> Any:
    """Of the mean loss, by every answer's margin."""
    return -expit(-np.einsum("nk,nk->n", w, P)) / np.float32(len(P))


def one_reward(chosen: Any, rejected: Any, seed: int = 0) -> OneReward:
    """The same linear reward for all: a logistic regression on differences, drawn to zero as held-out answers ask."""
    began = time.perf_counter()
    D = np.asarray(chosen, np.float32) - np.asarray(rejected, np.float32)
    held = np.random.default_rng(seed).random(len(D)) < HELD
    scale = float(np.square(D).mean())
    losses, w = [], np.zeros(D.shape[1])
    for ridge in REWARD_RIDGES:  # from much to little, each from where the last has ended
        w = _logistic(D[~held], ridge * scale, w)
        losses.append(float(np.logaddexp(0, -_numbers(D[held] @ w.astype(np.float32))).mean()))
    ridge = REWARD_RIDGES[int(np.argmin(losses))]
    w = _logistic(D, ridge * scale, w)

    def margins(who: Any, better: Any, worse: Any) -> Any:
        return (np.asarray(better, np.float32) - np.asarray(worse, np.float32)) @ w.astype(np.float32)

    return OneReward(w, ridge, time.perf_counter() - began, margins)


def _logistic(D: Any, ridge: float, start: Any) -> Any:
    """The mean loss of differences that should be positive, and half the ridge times the square."""

    def loss(w: Any) -> tuple[float, Any]:
        margin = _numbers(D @ w.astype(np.float32))
        slope = (-expit(-margin) / len(D)).astype(np.float32)
        return float(np.logaddexp(0, -margin).mean() + ridge / 2 * w @ w), _numbers(slope @ D) + ridge * w

    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
