"""What the paper claims of its experiments, and whether each claim held in the results that are there.

Two methods are compared by their means over the seeds that both have. A difference is level, and counts for neither, if
a t-test at 5 % finds none or there is one seed only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import figure2
import numpy as np
import sgd_tables
import table2
import table4
from scipy.special import stdtrit  # quantiles of Student's t

from measuring import common, tables
from measuring.common import Row

BySeed = dict[int, float]


class Contest(NamedTuple):
    """One method against others in one place: in how many contests it is better, out of how many, and the numbers."""

    better: int
    of: int
    where: str
    numbers: str
    level: int = 0


class Claim(NamedTuple):
    says: str
    judge: Callable[[], Iterable[Contest]]

    def stated(self) -> str:
        """Return the claim, whether it held, and a table of the numbers."""
        contests = [one for one in self.judge() if one.of]
        better, of, level = (sum(getattr(one, what) for one in contests) for what in ("better", "of", "level"))
        word = "Held." if better == of else "Held in part:" if better else "Did not hold:"
        if better < of:
            word += f" better in {better} of {of}" + (f", level in {level}." if level else ".")
        if not of:
            return f"**{self.says}** Not measured yet.\n"
        numbers = tables.markdown(("where", "measured"), [(one.where, one.numbers) for one in contests])
        return f"**{self.says}** {word}\n\n{numbers}\n"


def select(rows: list[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[key] == what for key, what in wanted.items())]


def by_seed(name: str, value: str, **wanted: object) -> BySeed:
    return {row["seed"]: row[value] for row in select(common.read(name), **wanted)}


def sem(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / len(values) ** 0.5)


def verdict(ahead: np.ndarray) -> tuple[int, int]:
    """Judge differences by seed: (1, 0) if the method is better, (0, 1) if it is level, (0, 0) if neither."""
    level = len(ahead) == 1 or abs(ahead.mean()) <= stdtrit(len(ahead) - 1, 0.975) * sem(ahead)
    return int(ahead.mean() > 0 and not level), int(level)


def contest(where: str, name: str, ours: BySeed, rivals: dict[str, BySeed]) -> Contest:
    """Compare a method with those rivals that were measured, by its mean over each set of shared seeds."""
    better, level = 0, 0
    said: dict[tuple[int, ...], list[str]] = {}
    for rival, theirs in rivals.items():
        seeds = tuple(sorted(ours.keys() & theirs.keys()))
        if not seeds:
            continue
        ahead = np.array([ours[seed] - theirs[seed] for seed in seeds])
        won, same = verdict(ahead)
        better, level = better + won, level + same
        numbers = f"{rival}: {np.mean([theirs[seed] for seed in seeds]):.4f} ({ahead.mean():+.4f}{', level' * same})"
        said.setdefault(seeds, []).append(numbers)
    stated = [
        f"{name}: {np.mean([ours[s] for s in seeds]):.4f} against {', '.join(them)} on {tables.seeds(seeds)}"
        for seeds, them in said.items()
    ]
    return Contest(better, sum(map(len, said.values())), where, ", ".join(stated), level)


# -- Table 2 ----------------------------------------------------------------------------------------------------------


def ndcg(method: str, rivals: Sequence[str], sizes: Iterable[int]) -> list[Contest]:
    """A method against rivals on every data set at some sizes."""

    def found(data: str, n: int, method: str) -> BySeed:
        return by_seed(table2.NAME, "ndcg", data=data, N=n, method=method)

    return [
        contest(
            f"{tables.TITLES[data]}, N = {n}",
            method,
            found(data, n, method),
            {rival: found(data, n, rival) for rival in rivals},
        )
        for data in table2.DATA
        for n in sizes
    ]


# -- Table 3 ----------------------------------------------------------------------------------------------------------


def precision(name: str, method: str, rival: str, tops: Sequence[int] = tables.TOPS) -> list[Contest]:
    def found(method: str, k: int) -> BySeed:
        return by_seed("table3", f"precision@{k}", method=method)

    return [contest(f"clicks, K = {k}", name, found(method, k), {rival: found(rival, k)}) for k in tops]


def more_draws() -> list[Contest]:
    return [
        *precision("the paper's model, C = 2000", "plain C=2000", "plain C=1000", (10,)),
        *precision("the paper's model, C = 5000", "plain C=5000", "plain C=2000", (10,)),
    ]


def regularisation() -> list[Contest]:
    """Compare C = 5000 with fewer draws, each with the regularisation of its number."""
    return [
        *precision("the paper's model, C = 5000", "plain C=5000", "scaled C=1000", (10,)),
        *precision("the paper's model, C = 5000", "plain C=5000", "scaled C=2000", (10,)),
    ]


# -- Table 4, Figure 2, the appendix ----------------------------------------------------------------------------------


def speed_up() -> list[Contest]:
    contests, rows = [], common.read(table4.NAME)
    for solver, name in (("sdca", "the paper's algorithm"), ("newton", "our default solver")):
        gains = {n: found for n in table4.PAPER if n > 1 and (found := table4.gains(rows, solver, n))}
        if gains:
            most = max(gains)
            gain, paper = np.mean(list(gains[most].values())), table4.PAPER[1] / table4.PAPER[most]
            numbers = (
                f"on {most} threads: {gain:.1f} times as fast as one thread on {tables.seeds(gains[most])} "
                f"(paper: {paper:.1f} times)"
            )
            contests.append(Contest(int(gain >= paper), 1, name, numbers))
    return contests


def sooner(panel: str, rival: str) -> list[Contest]:
    """Compare when AltSVM and a rival come within a hundredth of the rival's best, at equal threads."""
    contests, rows = [], common.read(figure2.NAME)
    curves = {(method, n): found for method, n, found in figure2.curves(rows, panel)}
    for (method, n), mine in curves.items():
        theirs = curves.get((rival, n), {})
        seeds = sorted(mine.keys() & theirs.keys())
        if seeds and "AltSVM" in method:
            best = {seed: figure2.best_of(theirs[seed]) for seed in seeds}
            took, its = (np.array([figure2.time_to(of[s], best[s]) for s in seeds]) for of in (mine, theirs))
            there = np.isfinite(took)
            better, level = verdict(np.log(its / took)) if there.all() else (0, 0)
            when = f"reaches {{}} after {took[there].mean():.2f} s" if there.any() else "never reaches {}"
            some = f" in {there.sum()} of {len(seeds)}" if 0 < there.sum() < len(seeds) else ""
            goal = 0.99 * np.mean(list(best.values()))
            numbers = f"{method} {when.format(f'{goal:.4f}')}{some}, {rival} after {its.mean():.2f} s"
            where = f"{n} thread{'s' * (n > 1)}"
            contests.append(Contest(better, 1, where, f"{numbers} on {tables.seeds(seeds)}{', level' * level}", level))
    return contests


def sgd() -> list[Contest]:
    def found(**wanted: object) -> BySeed:
        return by_seed(sgd_tables.NAME, "value", **wanted)

    return [
        contest(
            f"{tables.TITLES[data]}, N = {n}",
            "the paper's model",
            by_seed(table2.NAME, "ndcg", data=data, N=n, method="PaperAltSVM"),
            {"SGD": found(data=data, method="ratings", given=n)},
        )
        for data in sgd_tables.DATA
        for n in sgd_tables.SIZES
    ] + [
        contest(
            f"clicks, K = {k}",
            "the paper's model",
            by_seed("table3", f"precision@{k}", method="plain C=5000"),
            {"SGD": found(method="clicks", measure=f"precision@{k}")},
        )
        for k in tables.TOPS
    ]


RATED = ("CofiRank-ndcg", "CofiRank", "LCR")  # the paper's rivals that see ratings
RIVALS = ("Global", *RATED)
PAIRS_ALONE = ("AltSVM, pairs alone", "PaperAltSVM", "AltSVM-sub, pairs alone")
CLAIMS = (
    Claim(
        "With 50 or 100 ratings per user, our model ranks best from comparisons (pairs) alone.",
        lambda: ndcg("AltSVM, pairs alone", RIVALS, (50, 100)),
    ),
    Claim(
        "With 50 or 100, the paper's own model ranks best, against the rivals as implemented here.",
        lambda: ndcg("PaperAltSVM", RIVALS, (50, 100)),
    ),
    Claim(
        "With 50 or 100, our default ranks best. It also learns from which items people chose to rate.",
        lambda: ndcg("AltSVM", RIVALS, (50, 100)),
    ),
    Claim(
        "With 20, a global ranking does best, against methods that see pairs alone or ratings.",
        lambda: ndcg("Global", (*PAIRS_ALONE, *RATED), (20,)),
    ),
    Claim(
        "With 20, our default does better than a global ranking.",
        lambda: ndcg("AltSVM", ("Global",), (20,)),
    ),
    Claim(
        "N comparisons per user (AltSVM-sub, pairs alone) do better than N ratings in CofiRank or LCR.",
        lambda: ndcg("AltSVM-sub, pairs alone", RATED, table2.SIZES),
    ),
    Claim(
        "N comparisons per user do better than N ratings in CofiRank or LCR if AltSVM-sub also learns from which items "
        "they compare.",
        lambda: ndcg("AltSVM-sub, cv", RATED, table2.SIZES),
    ),
    Claim(
        "The hinge loss does better than the logistic loss, in our default.",
        lambda: ndcg("AltSVM", ("AltSVM-logistic",), table2.SIZES),
    ),
    Claim(
        "From binary data, AltSVM at C = 5000 does better than RobiRank.",
        lambda: precision("the paper's model", "plain C=5000", "RobiRank"),
    ),
    Claim(
        "Our default for clicks does better than RobiRank as implemented here.",
        lambda: precision("AltSVM", "AltSVM", "RobiRank"),
    ),
    Claim("More drawn comparisons per user give better precision@10.", more_draws),
    Claim(
        "More comparisons give better precision@10 even if the regularisation grows with them, as the loss does.",
        regularisation,
    ),
    Claim("AltSVM parallelises well: 8.7 times as fast on 16 cores.", speed_up),
    Claim(
        "AltSVM, our default and the paper's, converges faster than CofiRank with the loss of NDCG.",
        lambda: sooner("ratings", "CofiRank-ndcg"),
    ),
    Claim("Both converge faster than CofiRank with its best loss.", lambda: sooner("ratings", "CofiRank")),
    Claim("Both converge faster than RobiRank.", lambda: sooner("clicks", "RobiRank")),
    Claim("Stochastic gradient descent is no better than AltSVM.", sgd),
)
