"""How sure: do intervals hold what they say, and are probabilities better than those of a slope alone?

    python benchmarks/sure.py coverage [--seeds 5]    # worlds whose truth is known
    python benchmarks/sure.py scores [--seeds 5]      # log loss, Brier score and calibration error on real answers
    python benchmarks/sure.py asked [--seeds 5]       # small crowds, and newcomers asked what tells most
    python benchmarks/sure.py                         # all

coverage: 200 items, tastes of rank 3 beside a worth that all agree on. Of 50, 80 and 95 % intervals of places, and of
the probabilities of pairs, how many hold the truth: for people who gave 3, 10, 30 and 100 answers (all in one fit),
for items that few or many met, and for the places at the top. Worlds that are not quite the model: tastes of rank 30,
answers of heavier noise (a tenth by a coin), everyone's own liking of every item beside the vectors. Everybody's
ranking: the truth is the mean of all people's, voters being some of them.
asked: 20 items, crowds of 26 to 1,200 people with 20 answers each; 20 newcomers answer 19 questions, at random or by
information: how many of the true places are within 90 % intervals, and how much of the top three is right, as said
(``settled``) and in truth.
scores: other answers of the same people, as in votes.py; ``rather`` with its slope, with what is known of each person
(``probability_interval``), and one ranking for everybody (Bradley-Terry), by how many answers a person gave.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import votes
from scipy.special import expit

import rather
from measuring import bench
from measuring.smoke import sized

ANSWERS = sized((3, 10, 30, 100), (3, 10))
PEOPLE, ITEMS = sized((1200, 200), (40, 15))  # people, a part for each number of answers
LEVELS = 0.5, 0.8, 0.95
JUDGED = sized(60, 5)  # people of each number of answers
FIRST_SEED = 10  # what is expected of items' noise was set with seed 0 in view
WORLDS: dict[str, dict[str, Any]] = {
    "the model's": {}, "rank 30": {"rank": 30}, "a tenth by a coin": {"coin": 0.1}, "own likings": {"own": 1.0}
}  # fmt: skip


def world(seed: int, rank: int = 3, coin: float = 0.0, own: float = 0.0) -> tuple[Any, Any, Any]:
    """(votes, true worth of items to people in log-odds, how many answers each gave)."""
    rng = np.random.default_rng(seed)
    V, U = rng.standard_normal((ITEMS, rank)), rng.standard_normal((PEOPLE, rank))
    truth = 1.5 * U @ V.T / np.sqrt(rank) + 0.8 * rng.standard_normal(ITEMS)
    truth += own * rng.standard_normal(truth.shape)
    popular = rng.permutation(ITEMS) + ITEMS / 4  # the most popular is met five times as often as the least
    n = np.array(ANSWERS)[np.arange(PEOPLE) % len(ANSWERS)]
    user = np.repeat(np.arange(PEOPLE), n)
    a, b = (rng.choice(ITEMS, len(user), p=popular / popular.sum()) for _ in range(2))
    b = np.where(a == b, (b + 1) % ITEMS, b)
    p = (1 - coin) * expit(truth[user, a] - truth[user, b]) + coin / 2
    won = rng.random(len(user)) < p
    return {"user": user, "winner": np.where(won, a, b), "loser": np.where(won, b, a)}, truth, n


def places(worth: Any) -> Any:
    """1 for the best."""
    return (-worth).argsort().argsort() + 1


def coverage(seeds: int) -> Iterator[dict[str, Any]]:
    for name, kind in WORLDS.items():
        held: dict[tuple[Any, ...], list[float]] = {}
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            said, truth, n = world(seed, **kind)
            model = rather.AltSVM(seed=seed).fit(rather.Comparisons.from_frame(said))
            met = np.bincount(model.seen_[1], minlength=len(model.items_))
            often = met >= np.median(met)
            rng = np.random.default_rng(seed)
            for answers in ANSWERS:
                for person in np.flatnonzero(n == answers)[:JUDGED]:
                    right = places(truth[person][model.items_])
                    left, other = rng.integers(0, len(model.items_), (2, 20))
                    left, other = left[left != other], other[left != other]
                    chance = expit(truth[person, model.items_[left]] - truth[person, model.items_[other]])
                    for level in LEVELS:
                        ranked = model.rank(person, interval=level)
                        at = np.searchsorted(model.items_, ranked["item"])
                        inside = (ranked["best"] <= right[at]) & (right[at] <= ranked["worst"])
                        keys = {
                            "all": inside, "rarely met": inside[~often[at]], "often met": inside[often[at]],
                            "first ten": inside[:10],
                        }  # fmt: skip
                        for which, some in keys.items():
                            held.setdefault(("places", answers, which, level), []).extend(some)
                        sure = model.probability_interval(
                            person, model.items_[left], model.items_[other], interval=level
                        )
                        inside = (sure["low"] <= chance) & (chance <= sure["high"])
                        held.setdefault(("pairs", answers, "all", level), []).extend(inside)
            everybody = places(truth.mean(axis=0)[model.items_])
            for who, fitted in (
                ("AltSVM", model),
                ("Global", rather.Global(loss="logistic").fit(model.fitted.training)),
            ):
                for level in LEVELS:
                    ranked = fitted.rank(interval=level)
                    at = np.searchsorted(model.items_, ranked["item"])
                    inside = (ranked["best"] <= everybody[at]) & (everybody[at] <= ranked["worst"])
                    held.setdefault(("everybody", who, "all", level), []).extend(inside)
        for (what, answers, which, level), values in held.items():
            row = {"world": name, "of": what, "answers": answers, "items": which, "interval": level}
            yield {**row, "held": float(np.mean(values)), "seeds": seeds}


def by_level(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A column for each interval."""
    made: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("world", "of", "answers", "items"))
        one = made.setdefault(key, dict(zip(("world", "of", "answers", "items"), key, strict=True)))
        one[f"{row['interval']:.0%}"] = row["held"]
        one["seeds"] = row["seeds"]
    return list(made.values())


CROWDS, ASKED, NEWCOMERS = sized((26, 150, 1200), (26,)), sized(19, 4), sized(20, 2)
FEW_ITEMS, EACH, INTERVAL, TOP = 20, 20, 0.9, 3


def asked(seeds: int) -> Iterator[dict[str, Any]]:
    for people in CROWDS:
        found: dict[str, list[tuple[float, float, float]]] = {"random": [], "information": []}
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            rng = np.random.default_rng(seed)
            V = rng.standard_normal((FEW_ITEMS, 2))
            truth = 1.5 * rng.standard_normal((people + NEWCOMERS, 2)) @ V.T / np.sqrt(2)
            truth += 0.8 * rng.standard_normal(FEW_ITEMS)
            user = np.repeat(np.arange(people), EACH)
            a = rng.integers(0, FEW_ITEMS, len(user))
            b = (a + rng.integers(1, FEW_ITEMS, len(user))) % FEW_ITEMS
            won = rng.random(len(user)) < expit(truth[user, a] - truth[user, b])
            said = {"user": user, "winner": np.where(won, a, b), "loser": np.where(won, b, a)}
            model = rather.AltSVM(seed=seed).fit(rather.Comparisons.from_frame(said))
            for policy, rows in found.items():
                rows.extend(judged_newcomer(model, truth[people + k], policy, rng) for k in range(NEWCOMERS))
        for policy, rows in found.items():
            held, share, right = np.mean(rows, axis=0)
            yield {
                "people": people, "questions": policy, "90 % of places": held, "top three, as said": share,
                "top three, in truth": right, "seeds": seeds,
            }  # fmt: skip


def judged_newcomer(model: Any, worth: Any, policy: str, rng: np.random.Generator) -> tuple[float, float, float]:
    """Of one who answers so many questions: the share of places held, of the top that is said to be right, and is."""
    answers: list[tuple[int, int]] = []
    for n in range(ASKED):
        person = model.fold_in(answers, asked=True)
        question = rather.next_question(model, person, explore=float(policy == "random"), seed=n)
        left, right = int(question.left), int(question.right)
        first = rng.random() < expit(worth[left] - worth[right])
        answers.append((left, right) if first else (right, left))
    person = model.fold_in(answers, asked=True)
    ranked, right = person.rank(interval=INTERVAL), places(worth)
    item = ranked["item"].astype(int)
    inside = (ranked["best"] <= right[item]) & (right[item] <= ranked["worst"])
    return (
        float(inside.mean()),
        rather.top_certainty(model, person, TOP).share,
        float((right[item[:TOP]] <= TOP).mean()),
    )


SCORED = sized(
    (
        "colours, 10 answers each", "colours, 30 answers each", "colours, 100 answers each", "llmfao, 5 each",
        "llmfao, 20 each", "sushi A, 3 each", "sushi A, 10 each", "sushi B, 5 each", "sushi B, 20 each",
        "ml-1m, N = 10", "ml-1m, N = 50",
    ),
    ("colours, 10 answers each",),
)  # fmt: skip
MOST_TEST = 5000


def scores(seeds: int) -> Iterator[dict[str, Any]]:
    for name in SCORED:
        held: dict[str, list[tuple[float, float, float, float]]] = {}
        for seed in range(votes.FIRST_SEED, votes.FIRST_SEED + seeds):
            task = votes.SETS[name](seed)
            asked = [column[:MOST_TEST] for column in (task.user, task.winner, task.loser)]
            model = rather.AltSVM(seed=seed).fit(task.train)
            everybody = rather.Global(loss="logistic", seed=seed).fit(task.train)
            ids = model.users_[asked[0]], model.items_[asked[1]], model.items_[asked[2]]
            given = {
                "one ranking for all": everybody.probability(*ids), "slope": decided(model.probability(*ids)),
                "what is known": model.probability_interval(*ids)["probability"],
            }  # fmt: skip
            for who, p in given.items():
                held.setdefault(who, []).append(proper(np.asarray(p, np.float64), np.random.default_rng(seed)))
        for who, values in held.items():
            mean = np.mean(values, axis=0)
            named = dict(zip(("log loss", "Brier", "ECE", "accuracy"), map(float, mean), strict=True))
            yield {"set": name, "who": who, **named, "seeds": seeds}


def decided(p: Any) -> Any:
    """Of preferring, among those who decide."""
    return p if p.ndim == 1 else p[:, 0] / np.maximum(p[:, 0] + p[:, 2], 1e-12)


def proper(p: Any, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Log loss, Brier score, expected calibration error (bins of a tenth) and accuracy of what won."""
    turned = rng.random(len(p)) < 0.5
    q, won = np.where(turned, 1 - p, p), ~turned
    bins = np.minimum((q * 10).astype(int), 9)
    n = np.bincount(bins, minlength=10)
    gap = np.abs(np.bincount(bins, q, 10) - np.bincount(bins, won, 10))
    return (
        float(-np.log(np.maximum(p, 1e-12)).mean()), float(np.square(1 - p).mean()), float(gap.sum() / n.sum()),
        float((p > 0.5).mean()),
    )  # fmt: skip


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("suite", choices=("coverage", "asked", "scores"), nargs="?", help="(all)")
    parser.add_argument("--seeds", type=int, default=sized(5, 1))
    options = parser.parse_args()
    if options.suite in (None, "coverage"):
        bench.report("sure-coverage", by_level(list(coverage(options.seeds))))
    if options.suite in (None, "asked"):
        bench.report("sure-asked", list(asked(options.seeds)))
    if options.suite in (None, "scores"):
        bench.report("sure-scores", list(scores(options.seeds)))


if __name__ == "__main__":
    main()
