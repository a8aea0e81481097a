"""The pictures of ``rather.plot``, drawn from real data into docs/pictures/.

    python benchmarks/pictures.py [--only PICTURE ...] [--kind svg] [--into FOLDER]     # half a minute

leaderboard: 59 language models by the judgements of llmfao, to everybody and to the judge who decided most often.
calibration, learning_curve: the same judgements without ties, a fifth of them held out.
person, taste_map: MovieLens 100K without one of its users, who then joins with the first of their ratings.
history: the convex program on MovieLens 100K.
The table says how long each took, the fit and what is learned on held-out answers included where it comes first.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib

from measuring import bench

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import rather
from measuring import smoke
from measuring.smoke import sized

FOLDER = bench.RESULTS if smoke.ON else Path(__file__).parents[1] / "docs" / "pictures"
NEWCOMER = sized(45, 7)
ARTICLE = r"^(.*), (The|A|An|Il|La|Le|Les|Das|Der|Die)$"  # MovieLens has it after the title
RATED = sized(20, 10)  # of the newcomer's ratings
ANSWERS = sized((1, 2, 5, 10, 20, 50, 100), (2, 5))


@cache
def votes() -> rather.Comparisons:
    return rather.Comparisons.from_frame(bench.table("llmfao"))


@cache
def films() -> tuple[Any, dict[str, Any]]:
    """A model of ratings without the newcomer's, and the first of those."""
    import pandas as pd

    ratings = bench.table("ml-100k").to_pandas()
    if not smoke.ON:
        titles = bench.table("ml-100k", "items.parquet").to_pandas().set_index("item")["title"]
        short = titles.str.replace(r" \(\d{4}\)$", "", regex=True).str.replace(ARTICLE, r"\2 \1", regex=True)
        ratings["item"] = ratings["item"].map(short.where(~short.duplicated(keep=False), titles))
        ratings = ratings.sort_values("timestamp", kind="stable").drop_duplicates(["user", "item"])
    own: pd.DataFrame = ratings[ratings["user"] == NEWCOMER][:RATED]
    others = ratings[ratings["user"] != NEWCOMER][["user", "item", "rating"]]
    model = rather.AltSVM().fit(rather.Comparisons.from_ratings(others))
    return model, {name: own[name].to_numpy() for name in ("item", "rating")}


def newcomer() -> rather.Person:
    model, ratings = films()
    made: rather.Person = model.fold_in(ratings)
    return made


# -- pictures ---------------------------------------------------------------------------------------------------------


def leaderboard() -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.8), layout="constrained")
    judgements = rather.datasets.llmfao()
    model = rather.fit(rather.Comparisons.from_arena(judgements))  # as in the tutorial
    worker = np.bincount(judgements["user"][judgements["outcome"] != "tie"]).argmax()
    rather.plot.leaderboard(model, ax=left)
    rather.plot.leaderboard(model, worker, ax=right)
    return figure


def person() -> Any:
    return rather.plot.person(newcomer()).figure


def taste_map() -> Any:
    return rather.plot.taste_map(films()[0], newcomer()).figure


def calibration() -> Any:
    train, test = votes().split(0.2)
    return rather.plot.calibration(rather.AltSVM().fit(train), test).figure


def history() -> Any:
    ratings = rather.Comparisons.from_ratings(bench.ratings("ml-100k"))
    return rather.plot.history(rather.Convex().fit(ratings)).figure


def learning_curve() -> Any:
    return rather.plot.learning_curve(rather.AltSVM(), votes(), answers=ANSWERS).figure


PICTURES: tuple[Callable[[], Any], ...] = leaderboard, person, taste_map, calibration, history, learning_curve


def main() -> None:
    parser = bench.parser(__doc__)
    names = [draw.__name__ for draw in PICTURES]
    parser.add_argument("--only", nargs="+", choices=names, metavar="PICTURE", help=f"of {', '.join(names)}")
    parser.add_argument("--kind", default="svg", help="of files")
    parser.add_argument("--into", type=Path, default=FOLDER, metavar="FOLDER")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    plt.rcParams.update({"svg.hashsalt": "rather"})
    rows = []
    for draw in PICTURES:
        if options.only is None or draw.__name__ in options.only:
            began = time.perf_counter()
            figure = draw()
            seconds = time.perf_counter() - began
            path = options.into / f"{draw.__name__}.{options.kind}"
            figure.savefig(path, metadata={"Date": None} if options.kind == "svg" else None)
            plt.close(figure)
            rows.append({"picture": path.name, "seconds": seconds})
    bench.report("pictures", rows)


if __name__ == "__main__":
    main()
