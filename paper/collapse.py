"""Curves of several ranks and sizes that should fall onto one, once m is counted in multiples of r (d1 + d2).

Rows have the columns rank, n_users, n_items, lam, m, per_parameter = m / (rank (n_users + n_items)), and a value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from measuring import common

MARKERS = "osv^"
CELL = ("rank", "n_users", "n_items")


def places(ranks: Iterable[int], sizes: Iterable[tuple[int, int]]) -> list[common.Row]:
    """Where each curve is measured."""
    return [dict(zip(CELL, (rank, *size), strict=True)) for rank in ranks for size in sizes]


def slope(rows: list[common.Row], value: str, least: float = 0.0, most: float = np.inf) -> tuple[float, float]:
    """Slope of log value against log m / (r (d1 + d2)) over all rows between two abscissas, with its standard error."""
    x, y = _logs([row for row in rows if least <= row["per_parameter"] <= most], value)
    x = x - x.mean()
    steep = float(x @ y / (x @ x))
    rest = y - y.mean() - steep * x
    return steep, float(np.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))


def spread(rows: list[common.Row], value: str, x: str) -> float:
    """By what factor, typically, the cells' means differ from one smooth curve (a parabola in logarithms) in x."""
    means = [{x: cell[x], value: common.mean(rows, value, **cell)[0]} for cell in _cells(rows, (*CELL, x))]
    a, b = _logs(means, value, x)
    return float(np.exp(np.std(b - np.polyval(np.polyfit(a, b, 2), a))))


def doubling(rows: list[common.Row], value: str, least: float) -> dict[int, float]:
    """By what factor the value grows, at equal m / (r (d1 + d2)), from the small square world to the large one."""
    small, large = sorted({row["n_users"] for row in rows if row["n_users"] == row["n_items"]})
    logs: dict[int, list[float]] = {}
    for cell in _cells([row for row in rows if row["per_parameter"] >= least], ("rank", "per_parameter")):
        a, b = (common.mean(rows, value, **cell, n_users=n, n_items=n)[0] for n in (small, large))
        logs.setdefault(cell["rank"], []).append(np.log(b / a))
    return {rank: float(np.exp(np.mean(ratios))) for rank, ratios in logs.items()}


def draw(rows: list[common.Row], name: str, value: str, label: str, least: float) -> None:
    """Two panels: against m, and against m / (r (d1 + d2)) with a slope fitted from ``least`` on."""
    figure, panels = common.axes(width=10.4, height=4.4, columns=2)
    ranks = sorted({row["rank"] for row in rows})
    sizes = sorted({(row["n_users"], row["n_items"]) for row in rows})
    for x, panel in zip(("m", "per_parameter"), panels, strict=True):
        for rank, colour in zip(ranks, common.COLOURS, strict=False):
            for (n_users, n_items), marker in zip(sizes, MARKERS, strict=True):
                cell = {"rank": rank, "n_users": n_users, "n_items": n_items}
                at = sorted({row[x] for row in rows if all(row[key] == cell[key] for key in cell)})
                got = np.array([common.mean(rows, value, **cell, **{x: where}) for where in at])
                panel.errorbar(at, got[:, 0], got[:, 1], color=colour, marker=marker, markersize=4, linewidth=1)
        panel.set(xscale="log", yscale="log")
    steep, error = slope(rows, value, least)
    ends = np.array([least, max(row["per_parameter"] for row in rows)])
    middle = np.exp(np.mean(_logs([row for row in rows if row["per_parameter"] >= least], value), axis=1))
    for exponent, style, what in ((steep, "-", f"fitted slope −{-steep:.2f} ± {error:.2f}"), (-0.5, ":", "slope −1/2")):
        panels[1].plot(ends, 1.25 * middle[1] * (ends / middle[0]) ** exponent, style, color="black", label=what)
    for rank, colour in zip(ranks, common.COLOURS, strict=False):
        panels[0].plot([], [], color=colour, label=f"rank {rank}")
    for size, marker in zip(sizes, MARKERS, strict=True):
        panels[0].plot([], [], marker, color="#555555", label=f"{size[0]} users, {size[1]} items")
    panels[0].legend(fontsize=8.5)
    panels[1].legend()
    apart = [spread(rows, value, x) for x in ("m", "per_parameter")]
    panels[0].set(xlabel="comparisons m", ylabel=label, title=f"typically {apart[0]:.2f}-fold off one curve")
    panels[1].set(xlabel="m / (r (users + items))", title=f"typically {apart[1]:.2f}-fold off one curve")
    print(f"off one curve: against m {apart[0]:.2f}-fold, against m / (r (d1 + d2)) {apart[1]:.2f}-fold")
    for first, last in ((least, 4 * least), (4 * least, np.inf), (least, np.inf)):
        print("slope from {:g} to {:g}: {:.3f} ± {:.3f}".format(first, last, *slope(rows, value, first, last)))
    grown = ", ".join(f"{ratio:.2f} (rank {rank})" for rank, ratio in doubling(rows, value, least).items())
    print(f"twice the users and the items, at equal m / (r (d1 + d2)): times {grown}")
    bounds = [np.sqrt(row["lam"] * (row["n_users"] + row["n_items"]) / row["m"]) for row in rows]
    logs = [np.log(row["n_users"] + row["n_items"]) for row in rows]
    most = max(row[value] / (bound * log) for row, bound, log in zip(rows, bounds, logs, strict=True))
    print(f"at most {most:.3f} sqrt(lam (d1 + d2) / m) log(d1 + d2)")
    common.save(figure, name)


def _cells(rows: list[common.Row], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    return [dict(zip(keys, cell, strict=True)) for cell in sorted({tuple(row[key] for key in keys) for row in rows})]


def _logs(rows: list[common.Row], value: str, x: str = "per_parameter") -> Any:
    return np.log(np.array([[row[x], row[value]] for row in rows], dtype=float)).T
