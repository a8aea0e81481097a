"""What to ask: how many answers do well-chosen questions save?

    python benchmarks/asking.py saved [--seeds 5] [--jobs 2]    # MovieLens 1M, 200 people held out in each seed
    python benchmarks/asking.py picture                         # draws docs/pictures/asking.svg from the results
    python benchmarks/asking.py time                            # seconds of one question, by how many items there are

saved: whole people are held out, the model is fitted to all others. Of each one's films a half may be asked about, the
pairs of the other half are the test: share in the right order, NDCG@10, log loss and Brier score after so many
questions, so that probabilities after chosen questions are judged too. "rated": pairs of films of different stars that
the person has rated. "open": any of the 200 films that most people rated and are not tested; whoever has not rated one
has not seen it, equal stars cannot be decided, and either counts as a question. All are ranked by what is known of them
(``Person.posterior``), so that only the questions differ. Policies: any pair, the pair nearest to one half, the pair
whose difference is least known, the most information (``next_question``), the same aimed at the top, a list that is
made beforehand of what may be asked (``questionnaire``) and, where it is not known what was rated, most information of
films that many know (``prefer_familiar=True``). Bands are 90 % intervals of what the questions gained, by
drawing people anew.
Without exposure, which handed-out films would not tell of, and with it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: people run beside one another

import csv
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import rather
from measuring import bench, smoke
from measuring.smoke import sized

PEOPLE = sized(200, 4)
AT = sized((0, 3, 5, 12, 20, 30), (0, 2))
KNOWN = sized(200, 10)  # films that may be asked about without knowing whether they were rated
LEAST = sized(40, 6)  # ratings of a person
MOST_PAIRS = 300  # of a person's test films, whose probabilities are judged
DRAWN = {  # a label and a colour
    "information": ("most information", "#0b6e4f"), "random": ("random", "#3a6ea5"),
    "a list made beforehand": ("questionnaire", "#7a5195"), "top": ("aimed at the top", "#c8553d"),
}  # fmt: skip
POLICIES = "random", "nearest to one half", "least known", "information", "top", "a list made beforehand", "familiar"


class World:
    """A model of all people but some, and these."""

    def __init__(self, seed: int, exposure: bool) -> None:
        ratings = bench.ratings("ml-1m").to_pandas()
        count = ratings.groupby("user")["item"].size()
        people = np.random.default_rng(seed).permutation(count.index[count >= LEAST])[:PEOPLE]
        held = ratings["user"].isin(people)
        train = rather.Comparisons.from_ratings(ratings[~held])
        self.model = rather.AltSVM(exposure=exposure, seed=seed).fit(train)
        self.model.probability_interval(*(ids[:1] for ids in (self.model.users_, self.model.items_, self.model.items_)))
        ratings = ratings[held & ratings["item"].isin(self.model.items_)]
        self.people = [self.halves(rows, seed) for _, rows in ratings.groupby("user")]
        self.popular = self.model.items_[np.argsort(-self.model._crowd().count, kind="stable")]
        self.seed = seed

    def halves(self, rows: Any, seed: int) -> tuple[dict[Any, float], Any, Any]:
        order = np.random.default_rng([seed, len(rows)]).permutation(len(rows))
        ask, test = order[: len(rows) // 2], order[len(rows) // 2 :]
        items, stars = rows["item"].to_numpy(), rows["rating"].to_numpy()
        return dict(zip(items[ask].tolist(), stars[ask].tolist(), strict=True)), items[test], stars[test]


def interview(world: World, person: int, policy: str, setting: str) -> list[tuple[float, ...]]:
    """Accuracy, NDCG@10, log loss and Brier score on the test films after so many questions."""
    rated, test, stars = world.people[person]
    rng = np.random.default_rng([world.seed, person])
    tested = set(test.tolist())
    films = [*rated] if setting == "rated" else [i for i in world.popular.tolist() if i not in tested][:KNOWN]
    asked = Asking(world.model, films, rated if setting == "rated" else None, policy, rng)
    out, n = [], 0
    for until in AT:
        while n < until:
            question = asked.question(n)
            n += 1
            if question is not None:
                asked.answer(*question, rated)
        out.append(judged(asked.person.posterior, world.model._item_codes(test), stars, rng))
    return out


class Asking:
    """One person, question by question."""

    def __init__(self, model: Any, films: list[Any], stars: Any, policy: str, rng: np.random.Generator) -> None:
        self.model, self.films, self.stars, self.policy, self.rng = model, films, stars, policy, rng
        self.answers: list[Any] = []
        self.gone: set[Any] = set()  # not seen
        self.done: set[frozenset[Any]] = set()
        self.person = model.fold_in([], asked=True)
        self.list = []
        if policy == "a list made beforehand":
            sheet = rather.questionnaire(model, min(max(AT), len(films) // 2), films)
            self.list = list(zip(sheet["left"].tolist(), sheet["right"].tolist(), strict=True))

    def question(self, n: int) -> tuple[Any, Any] | None:
        if self.list:
            return self.list[n] if n < len(self.list) else None
        films = [film for film in self.films if film not in self.gone]
        if len(films) < 2:
            return None
        codes = np.sort(self.model._item_codes(films))
        left, right = np.triu_indices(len(codes), 1)
        ids = self.model.items_[codes]
        named = zip(ids[left].tolist(), ids[right].tolist(), strict=True)
        free = np.array([frozenset(pair) not in self.done for pair in named])
        if self.stars is not None:  # only those that can be decided
            mine = np.array([self.stars[i] for i in ids.tolist()])
            free &= mine[left] != mine[right]
        at = np.flatnonzero(free)
        if not len(at):
            return None
        if self.policy == "random":
            best = int(self.rng.choice(at))
        else:
            best = int(at[np.argmax(self.value(codes)[left[at], right[at]])])
        return ids[left[best]].item(), ids[right[best]].item()

    def value(self, codes: Any) -> Any:
        from rather.models.information import values

        belief = self.person.posterior
        if self.policy in ("information", "top"):
            return values(belief, codes, "everything" if self.policy == "information" else "top")[0]
        value, m, v, _ = values(belief, codes, "everything")
        if self.policy == "familiar":
            met = self.model._crowd().count[codes]
            return value * met[:, None] * met
        return v if self.policy == "least known" else -np.abs(m[:, None] - m)

    def answer(self, a: Any, b: Any, rated: dict[Any, float]) -> None:
        self.done.add(frozenset((a, b)))
        unseen = [item for item in (a, b) if item not in rated]
        if unseen:
            self.gone.update(unseen)
            return
        x, y = rated[a], rated[b]
        self.answers.append((a, b, "tie") if x == y else (a, b) if x > y else (b, a))
        self.person = self.model.fold_in(self.answers, asked=True)


def judged(belief: Any, items: Any, stars: Any, rng: np.random.Generator) -> tuple[float, ...]:
    score, better = belief.expected(items), stars[:, None] > stars
    gain, places = 2.0**stars - 1, 1 / np.log2(np.arange(2, 12))
    got, best = (gain[np.argsort(-by, kind="stable")[:10]] @ places[: min(len(gain), 10)] for by in (score, gain))
    pairs = rng.permutation(np.argwhere(better))[:MOST_PAIRS]
    if not len(pairs):
        return np.nan, float(got / best), np.nan, np.nan
    p = belief.probability(items[pairs[:, 0]], items[pairs[:, 1]])
    told = float(-np.log(np.maximum(p, 1e-12)).mean()), float(np.square(1 - p).mean())
    return float((score[:, None] > score)[better].mean()), float(got / best), *told


def one_world(task: tuple[int, bool, str]) -> list[dict[str, Any]]:
    seed, exposure, setting = task
    world = World(seed, exposure)
    rows = []
    for policy in POLICIES[: -1 if setting == "rated" else None]:
        every = np.array([interview(world, n, policy, setting) for n in range(len(world.people))])
        rows.append({"setting": setting, "exposure": exposure, "policy": policy, "seed": seed, "values": every})
    print(f"seed {seed}, {setting}, exposure {exposure} done", flush=True)
    return rows


def saved(seeds: int, jobs: int, exposures: tuple[bool, ...]) -> Iterator[dict[str, Any]]:
    held: dict[tuple[Any, ...], list[Any]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for rows in pool.map(one_world, product(range(seeds), exposures, ("rated", "open"))):
            for row in rows:
                held.setdefault((row["setting"], row["exposure"], row["policy"]), []).append(row["values"])
    for (setting, exposure, policy), parts in held.items():
        values = np.concatenate(parts)
        rng = np.random.default_rng(0)
        mean, gains = np.nanmean(values, axis=0), values - values[:, :1]
        drawn = np.stack([np.nanmean(gains[rng.integers(0, len(gains), len(gains))], axis=0) for _ in range(500)])
        low, high = mean[0] + np.quantile(drawn, [0.05, 0.95], axis=0)
        for n, at in enumerate(AT):
            made = {"setting": setting, "exposure": exposure, "policy": policy, "questions": at, "people": len(values)}
            for k, name in enumerate(("accuracy", "NDCG@10", "log loss", "Brier")):
                made |= {name: mean[n, k], f"{name} low": low[n, k], f"{name} high": high[n, k]}
            yield made


def picture() -> None:
    """Draw what the page's table has: questions about films that a person has rated, with exposure."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    with (bench.RESULTS / "asking-saved.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if (r["setting"], r["exposure"]) == ("rated", "True")]
    plt.rcParams.update({"font.family": "sans-serif", "font.size": 10, "svg.hashsalt": "rather"})
    figure, ax = plt.subplots(figsize=(6.6, 3.9), layout="constrained")
    figure.patch.set_facecolor("white")  # readable on a dark page
    ends: list[tuple[float, str, str]] = []
    for policy, (label, colour) in DRAWN.items():
        at, right = zip(
            *((int(r["questions"]), float(r["accuracy"])) for r in rows if r["policy"] == policy), strict=True
        )
        ax.plot(at, right, "o-", color=colour, linewidth=2.2, markersize=5)
        ends.append((right[-1], label, colour))
    bottom, top = ax.get_ylim()
    height = -np.inf
    for value, label, colour in sorted(ends):  # labels of lines that end close to each other are moved apart
        height = max(value, height + 0.065 * (top - bottom))
        ax.annotate(label, (max(AT), height), (9, 0), textcoords="offset points", color=colour, va="center")
    ax.set_xticks(AT)
    ax.set_xlabel("questions")
    ax.yaxis.set_major_locator(matplotlib.ticker.MultipleLocator(0.01))
    ax.set_ylabel("pairs of other films in the right order")
    ax.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, decimals=0))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#dddddd", linewidth=0.8)
    folder = bench.RESULTS if smoke.ON else Path(__file__).parents[1] / "docs" / "pictures"
    figure.savefig(folder / "asking.svg", metadata={"Date": None})
    print(f"-> {folder.name}/asking.svg")


def timed() -> Iterator[dict[str, Any]]:
    for n_items in sized((400, 4_000, 100_000), (20,)):
        world = rather.simulate(sized(3000, 20), n_items, rank=5, per_user=sized(60, 5), seed=0)
        model = rather.AltSVM(rank=sized(64, 2), reg="cv").fit(world.comparisons)
        began = time.perf_counter()
        rather.next_question(model)
        first = time.perf_counter() - began
        answers: list[Any] = []
        seconds: dict[str, list[float]] = {"question": [], "top": [], "list": [], "belief": []}
        for _ in range(sized(50, 3)):
            person = model.fold_in(answers, asked=True)
            began = time.perf_counter()
            _ = person.posterior
            known = time.perf_counter()
            question = rather.next_question(model, person)
            asked = time.perf_counter()
            rather.next_question(model, person, aim="top")
            top = time.perf_counter()
            person.rank(interval=0.9)
            ranked = time.perf_counter()
            for name, span in zip(seconds, (asked - known, top - asked, ranked - top, known - began), strict=True):
                seconds[name].append(span)
            answers.append((question.left, question.right))
        yield {
            "items": len(model.items_), "rank": model.rank_, "first, which learns how sure to be": first,
            **{f"{name}, ms": 1e3 * float(np.median(spans[-10:])) for name, spans in seconds.items()},
        }  # fmt: skip


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("suite", choices=("saved", "picture", "time"), nargs="?", help="(all)")
    parser.add_argument("--seeds", type=int, default=sized(5, 1))
    parser.add_argument("--jobs", type=int, default=sized(2, 1))
    parser.add_argument("--exposure", choices=("no", "yes", "both"), default="both")
    options = parser.parse_args()
    if options.suite in (None, "saved"):
        exposures = {"no": (False,), "yes": (True,), "both": (False, True)}[options.exposure]
        bench.report("asking-saved", list(saved(options.seeds, options.jobs, exposures)))
    if options.suite in (None, "picture"):
        picture()
    if options.suite in (None, "time"):
        bench.report("asking-time", list(timed()))


if __name__ == "__main__":
    main()
