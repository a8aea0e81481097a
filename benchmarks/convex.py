"""How long the convex program takes to a proven gap of 1e-3, and how far AltSVM is from its optimum.

    python benchmarks/convex.py [NAME ...]      # ml-100k ml-1m

All ratings of a data set, its implied pairs, without prior means (``exposure=False``): the regularised program with the
default rule for reg, and the paper's constrained one at a radius that binds (the norm of the former's solution over the
square root of 2).
"""

from __future__ import annotations

import time
from typing import Any

import rather
from measuring import bench
from measuring.smoke import sized

LOSSES = ("squared_hinge", "logistic", "hinge")


def main() -> None:
    line = bench.parser(__doc__)
    line.add_argument("data", nargs="*", metavar="NAME", default=sized(["ml-100k", "ml-1m"], smoke=["ml-100k"]))
    rows: list[dict[str, Any]] = []
    for name in line.parse_args().data:
        comparisons = rather.Comparisons.from_ratings(bench.ratings(name))
        comparisons.store  # noqa: B018 - built before the clock starts
        for loss in LOSSES:
            free = measured(rows, name, comparisons, rather.Convex(loss=loss, exposure=False))
            lam = free.certificate().nuclear_norm ** 2 / (2 * comparisons.n_users * comparisons.n_items)
            measured(rows, name, comparisons, rather.Convex(lam=lam, loss=loss, exposure=False))
            measured(rows, name, comparisons, rather.AltSVM(rank=64, loss=loss, exposure=False))
            measured(rows, name, comparisons, rather.AltSVM(rank="auto", loss=loss, exposure=False))
    bench.report("convex", rows)


def measured(rows: list[dict[str, Any]], name: str, comparisons: rather.Comparisons, model: Any) -> Any:
    began = time.perf_counter()
    model.fit(comparisons)
    seconds = time.perf_counter() - began
    proof = model.certificate()
    constrained = model.get_params().get("lam") is not None
    rows.append({
        "data": name, "loss": model.loss, "model": type(model).__name__ + (" constrained" if constrained else ""),
        "rank": model.rank_, "rounds": len(model.history_), "seconds": seconds, "gap": f"{proof.relative_gap:.1e}",
        "gradient / reg": proof.gradient_norm / proof.limit,
    })  # fmt: skip
    print(rows[-1], flush=True)
    return model


if __name__ == "__main__":
    main()
