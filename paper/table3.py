"""Table 3: precision@K on the binarised MovieLens 1M, AltSVM from C drawn comparisons a user beside RobiRank.

    rather paper table3 [--only AltSVM RobiRank ...] [--seeds 5] [--processes 16 --threads 1] [--missing]

Every rated film counts as a click. A tenth of every user's clicks is held out.

- ``AltSVM C=`` is our default model on the paper's draws of C comparisons per user.
- ``plain C=`` is the paper's model to the letter, with regularisation 1000 for every C, as in its authors' published
  configuration (dhpark22/collranking on GitHub).
- ``scaled C=`` has regularisation C / 5, which grows as the loss does.
- ``AltSVM`` is our default for clicks, each against unseen items. ``ClickRanker`` adds weights between items.
- ``AltSVM-logistic, tuned`` did best on held-out training clicks: the logistic loss, 2,000 unseen items, rank 160,
  item_power 1/4. RobiRank, BPR and the other factor models of ours have rank 100.
- Popularity, RP3beta and EASE are our implementations. The methods of irspack and implicit run where these are
  installed. ``EASE, balance 0`` is EASE as in its paper, which does not weigh users.

The settings of rows marked tuned, and the defaults of RP3beta and EASE, come from a grid (``--tune`` of
``benchmarks/peers.py``). They did best by precision@10 on a tenth of the training clicks of seed 0. The command
``benchmarks/peers.py clicks`` compares time and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import rather
from measuring import others, smoke, tables
from measuring.common import Row
from measuring.experiment import Cell

NAME = "table3"
DATA = ("ml-1m",)
RANK = 100
DRAWN = (1000, 2000, 5000)  # names in the results
PAPERS_ALTSVM = {
    "C=1000": (0.2165, 0.1965, 0.1572, 0.1265, 0.0526),
    "C=2000": (0.2973, 0.2657, 0.2097, 0.1709, 0.0678),
    "C=5000": (0.3635, 0.3297, 0.2697, 0.2223, 0.0819),
}
PAPER = {f"{ours} {c}": row for ours in ("AltSVM", "plain", "scaled") for c, row in PAPERS_ALTSVM.items()}
PAPER["RobiRank"] = (0.3009, 0.2695, 0.2300, 0.1922, 0.0781)
Fit = Callable[[Any, int], tuple[Any, Row]]  # from training clicks and a seed to a model and what it cost


def drawn(per_user: int, make: Callable[[], Any]) -> Fit:
    def fit(train: Any, seed: int) -> tuple[Any, Row]:
        number = smoke.sized(per_user, per_user // 50)
        return tables.fitted(make(), lambda: rather.Comparisons.from_clicks(train, per_user=number, seed=seed))[1:]

    return fit


def unseen(make: Callable[[int], Any], number: int | None = None) -> Fit:
    """Each click against so many unseen items; a method that draws them as it fits needs hardly any drawn before."""
    return lambda train, seed: tables.fitted(
        make(seed), lambda: rather.Comparisons.from_clicks(train, seed=seed, unseen=number)
    )[1:]


def other(family: str, settings: dict[str, dict[str, Any]]) -> Fit:
    def fit(train: Any, seed: int) -> tuple[Any, Row]:
        n_threads = tables.cores(tables.THREADS)
        prepare, seconds, model = others.FAMILIES[family](**settings[family])(train, seed, n_threads)
        return model, {"prepare": prepare, "seconds": seconds, "threads": n_threads}

    return fit


def plain(reg: float) -> Any:
    return rather.PaperAltSVM(rank=RANK, solver="newton", reg=reg, tol=1e-5, max_iter=100)


METHODS: dict[str, Fit] = {
    **{f"AltSVM C={c}": drawn(c, lambda: rather.AltSVM(rank=RANK)) for c in DRAWN},
    **{f"plain C={c}": drawn(c, lambda: plain(1000.0)) for c in DRAWN},
    **{f"scaled C={c}": drawn(c, partial(plain, c / 5)) for c in DRAWN[:-1]},
    "AltSVM": unseen(lambda seed: rather.AltSVM(rank=RANK)),
    "ClickRanker": unseen(lambda seed: rather.ClickRanker(rank=RANK)),
    "AltSVM-logistic, tuned": unseen(
        lambda seed: rather.AltSVM(rank=160, loss="logistic", item_power=0.25), number=2000
    ),
    "RobiRank": unseen(lambda seed: rather.RobiRank(rank=RANK, seed=seed), number=1),
    "BPR": unseen(lambda seed: rather.BPR(rank=RANK, seed=seed), number=1),
    "Popularity": other("Popularity", others.PLAIN),
    "RP3beta": other("RP3beta", others.TUNED),
    "EASE": other("EASE", others.TUNED),
    "EASE, balance 0": other("EASE", others.PLAIN),
    "irspack SLIM, tuned": other("irspack SLIM", others.TUNED),
    "irspack iALS, tuned": other("irspack iALS", others.TUNED),
    "implicit ALS": other("implicit ALS", others.PLAIN),
    "implicit ALS, tuned": other("implicit ALS", others.TUNED),
    "implicit BPR": other("implicit BPR", others.PLAIN),
    "implicit BPR, tuned": other("implicit BPR", others.TUNED),
}


def judge(data: str, seed: int, method: str) -> Row:
    train, test = tables.click_split(data, seed)
    model, cost = METHODS[method](train, seed)
    return {**tables.precisions(model, train, test), **cost}


def cells(data: str, seed: int) -> Iterator[Cell]:
    return tables.by_method(others.runnable(tuple(METHODS)), partial(judge, data, seed), data=data)


def table(rows: list[Row]) -> str:
    lines = []
    for method in METHODS:
        paper = PAPER.get(method, (None,) * len(tables.TOPS))
        found = [
            tables.stated(rows, f"precision@{k}", printed, method=method)
            for k, printed in zip(tables.TOPS, paper, strict=True)
        ]
        lines.append([method, *found])
    return tables.markdown(["precision@", *map(str, tables.TOPS)], lines)


if __name__ == "__main__":
    tables.main(NAME, __doc__, cells, table, data=DATA, methods=tuple(METHODS))
