"""How close each pass over the data comes to what the machine can do: MovieLens 1M, N = 100, rank 100.

    python benchmarks/passes.py [--threads 1]

For every pass: the operations it must do and the bytes of factor rows it must read, the time these take at the rates
measured in the same run (fused multiply-adds in registers; reading an array the size of V again and again), and the
larger of the two over the time the pass took. A pair of scores costs the squared hinge six vector operations for the
loss, its slopes and the diagonal (add, max, compare, three adds) and four for a product with the curvature (compare,
subtract, two adds), each of which takes the place of a fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rather
from measuring import bench, tables
from measuring.smoke import sized
from rather.native import core
from rather.solving.problem import Problem
from rather.solving.scales import scales

RANK = 100


def main() -> None:
    options = bench.parser(__doc__)
    options.add_argument("--threads", type=int, default=1)
    threads = options.parse_args().threads

    comparisons = rather.Comparisons.from_ratings(tables.rating_split("ml-1m", 100, seed=0)[0])
    store = comparisons.store
    model = rather.AltSVM(rank=RANK, n_threads=threads, max_iter=2, exposure=False).fit(comparisons)
    scaled, _ = scales(
        store, user_power=model.user_power, item_power=model.item_power, balance=comparisons.source.balance
    )
    problem = Problem(store, rank=RANK, loss=model.loss, bias=True, scales=scaled, n_threads=threads)
    problem.set_reg(model.reg_, model.bias_reg_)
    problem.U[:], problem.V[:] = model.fitted.scorer.U, model.fitted.scorer.V
    problem.refresh()
    ld = problem.V.shape[1]
    entries, pairs = store.n_entries, store.n_comparisons
    row_bytes, row_flops, loss_flops, curvature_flops = 4 * ld, 2 * ld, 2 * 6, 2 * 4
    out, scalars = np.zeros_like(problem.V), np.empty_like(problem.m)

    flops = core.most_flops(threads)
    from_cache = core.most_bytes(threads, problem.V.nbytes)
    from_memory = core.most_bytes(threads, sized(256, smoke=4) << 20)
    print(f"{threads} threads: {flops / 1e9:.0f} GFLOP/s, {from_cache / 1e9:.0f} GB/s from an array the size of V, "
          f"{from_memory / 1e9:.0f} GB/s from memory")  # fmt: skip

    U, V, m, c, d = (a.copy() for a in (problem.U, problem.V, problem.m, problem.c, problem.d))
    loss = problem.loss_value

    def step(run: Callable[[], float]) -> None:  # always from the same place, so that there is always work to do
        problem.U[:], problem.V[:], problem.loss_value = U, V, loss
        problem.m[:], problem.c[:], problem.d[:] = m, c, d
        run()

    cg = 5  # conjugate-gradient steps a half makes at most, and here makes
    passes = [
        ("scores", lambda: core.scores(store, problem.U, problem.V, scalars, threads), 1, 0, 0),
        ("loss and slopes", problem.evaluate, 0, 1, 0),
        ("item gradient", lambda: core.item_products(store, problem.c, problem.U, out, threads), 1, 0, 0),
        ("item step: gradient, diagonal, 5 products, search", lambda: step(problem.item_step), 2 + 2 * cg, 1, cg),
        ("user step: gather, gradient, 5 products, search", lambda: step(problem.user_step), 2 + 2 * cg, 2, cg),
    ]
    rows = []
    for name, run, row_passes, losses, products in passes:
        on_pairs = pairs * (losses * loss_flops + products * curvature_flops)
        arithmetic = (row_passes * entries * row_flops + on_pairs) / flops
        reading = row_passes * entries * row_bytes / from_cache
        took = bench.median_seconds(run, 15)
        rows.append(
            {
                "pass": name,
                "ms": 1e3 * took,
                "arithmetic ms": 1e3 * arithmetic,
                "reading ms": 1e3 * reading,
                "binds": "reading" if reading > arithmetic else "arithmetic",
                "share of the limit": max(arithmetic, reading) / took,
            }
        )
    bench.report(f"passes-{threads}", rows)


if __name__ == "__main__":
    main()
