"""rather simulate and rather data: simulated votes, and known data sets."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..data.simulate import simulate as simulated
from ..data.table_files import write_table
from ..datasets.named import DATA_SETS, fetch, listing
from ..errors import InputError
from .answer import Document, facts
from .outputs import check_table

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer


def simulate(options: argparse.Namespace) -> Answer:
    check_table(options.out, options.force)
    carried = {name: getattr(options, name) for name in ("ties", "side", "careless")}
    size = options.users, options.items, options.rank, options.per_user
    world = simulated(*size, options.noise, options.seed, **carried)
    write_table(options.out, world.comparisons.to_frame("dict"))
    return {
        "out": options.out, "users": options.users, "items": options.items,
        "comparisons": world.comparisons.source.answers(), "best_accuracy": world.best_accuracy,
    }, _show_simulate  # fmt: skip


def _show_simulate(document: Document, console: Console) -> None:
    votes = f"{document['comparisons']:,} votes by {document['users']:,} users on {document['items']:,} items"
    facts(console, {
        "saved": f"{votes} to {document['out']}",
        "best": f"{document['best_accuracy']:.4f} accuracy on fresh votes is the most that can be attained",
    })  # fmt: skip
    console.print(f"\nNext: rather fit {document['out']} --out model.rather")


def data(options: argparse.Namespace) -> Answer:
    if options.action == "fetch":
        if options.name is None:
            raise InputError(f"fetch takes the name of a data set: one of {', '.join(DATA_SETS)}")
        path = fetch(options.name)
        return {"name": options.name, "path": str(path), "licence": DATA_SETS[options.name].licence}, _show_fetched
    if options.name is not None:
        raise InputError(f"list takes no name, and was given {options.name!r}; did you mean: fetch {options.name}")
    return {"data_sets": listing()}, _show_listing


def _show_fetched(document: Document, console: Console) -> None:
    facts(console, {"file": document["path"], "terms": document["licence"]})
    console.print(f"\nNext: rather fit {document['path']} --out model.rather")


def _show_listing(document: Document, console: Console) -> None:
    for one in document["data_sets"]:
        console.print(one["name"], style="bold", end="")
        console.print(f"  {one['what']}")
        how = f"rather data fetch {one['name']}" if one["fetchable"] else f"get it from {one['source']}"
        missing = f"not in {' or '.join(one['looked_in'])}; {how}"
        facts(console, {"  terms": one["licence"], "  found" if one["path"] else "  absent": one["path"] or missing})
