"""Known data sets by name: where they are on this machine, where they come from, and fetching those that may be.

A data set is a folder of Parquet files, in ``$RATHER_DATA/<name>`` or in the cache, ``$RATHER_CACHE/<name>``
(``~/.cache/rather/<name>`` if that is not set). None is part of the package; each has terms of its own.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError, one_of
from .table_files import read_file, write_table

MOVIELENS = "https://files.grouplens.org/datasets/movielens"
RESEARCH_TERMS = "research use, acknowledge; no redistribution, no commercial use without permission"

Columns = dict[str, Any]


@dataclass(frozen=True)
class DataSet:
    """What is known about a data set.

    Attributes
    ----------
    what, licence, source : str
        What it holds, on which terms, and the address it is published at.
    main : str
        The file that :func:`load` reads.
    columns : str
        What the main file must hold, for those who bring their own.
    convert : function from an archive to (ratings, items), optional
        Given where the publisher offers the archive for download.
    """

    what: str
    licence: str
    source: str
    main: str = "ratings.parquet"
    columns: str = "user, item, rating"
    convert: Callable[[zipfile.ZipFile], tuple[Columns, Columns]] | None = None


# -- finding and reading ----------------------------------------------------------------------------------------------


def folders(name: str) -> list[Path]:
    """Where a data set is looked for, in this order."""
    one_of("the data set", name, DATA_SETS)
    given = os.environ.get("RATHER_DATA")
    return [Path(given) / name, cache() / name] if given else [cache() / name]


def cache() -> Path:
    """The folder fetched data sets are kept in."""
    given = os.environ.get("RATHER_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "rather"


def find(name: str, file: str | None = None) -> Path:
    """The path of a file of a data set (its main one by default); an error says where it was looked for."""
    places = folders(name)
    about = DATA_SETS[name]
    wanted = file or about.main
    for folder in places:
        if (folder / wanted).is_file():
            return folder / wanted
    if about.convert is not None:
        advice = f"fetch it with: rather data fetch {name}"
    else:
        advice = f"get it from {about.source} and put it there" + (f" with columns {about.columns}" if not file else "")
    looked = " or ".join(str(folder) for folder in places)
    raise FileError(f"the data set {name!r} was not found: there is no {wanted} in {looked}; {advice}")


def listing() -> list[dict[str, Any]]:
    """What is known about every data set, and the path of its main file or None."""
    known = []
    for name, about in DATA_SETS.items():
        places = folders(name)
        path = next((str(folder / about.main) for folder in places if (folder / about.main).is_file()), None)
        facts = {"name": name, "what": about.what, "licence": about.licence, "source": about.source}
        fetchable = about.convert is not None
        known.append({**facts, "fetchable": fetchable, "looked_in": [str(p) for p in places], "path": path})
    return known


def load(name: str, file: str | None = None) -> Any:
    """A file of a data set (its main one by default) as a pyarrow table."""
    return read_file(find(name, file))


# -- fetching ---------------------------------------------------------------------------------------------------------


def fetch(name: str) -> Path:
    """The path of a data set's main file, downloaded from its publisher into the cache if it is not there yet.

    The archive is checked against the publisher's checksum, and its ratings and items are written as Parquet files.
    """
    folders(name)
    about = DATA_SETS[name]
    try:
        return find(name)
    except FileError:
        if about.convert is None:
            raise
    address = f"{MOVIELENS}/{name}.zip"
    raw = download(address)
    published = re.search(rb"\b[0-9a-fA-F]{32}\b", download(f"{address}.md5"))
    if published is None:
        raise FileError(f"{address}.md5 holds no checksum, so {name}.zip cannot be trusted; try again later")
    expected, got = published.group().decode().lower(), hashlib.md5(raw, usedforsecurity=False).hexdigest()
    if got != expected:
        raise FileError(f"{address} arrived damaged: its MD5 is {got}, the publisher's is {expected}; try again")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            ratings, items = about.convert(archive)
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, IndexError) as e:
        raise FileError(f"{address} is not in the form that rather knows: {type(e).__name__}: {e}") from e
    folder = cache() / name
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "items.parquet", items)
    write_table(folder / about.main, ratings)  # last: a data set counts as there once its main file is
    return folder / about.main


def download(address: str) -> bytes:
    """What is at an address."""
    import urllib.request

    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return bytes(answer.read())
    except OSError as e:
        reason = getattr(e, "reason", None) or e
        raise FileError(f"cannot download {address}: {reason}; check the connection and try again") from e


def _movielens_100k(archive: zipfile.ZipFile) -> tuple[Columns, Columns]:
    genres = [row[0] for row in _rows(archive, "ml-100k/u.genre", "|")]
    items = _rows(archive, "ml-100k/u.item", "|")
    first = 5  # id, title, release date, video release date, address; then a flag per genre
    return _ratings(_rows(archive, "ml-100k/u.data", "\t"), np.int32, np.int8), {
        "item": np.array([int(row[0]) for row in items], np.int32),
        "title": _text(row[1] for row in items),
        "release_date": _text(row[2] for row in items),
        "genres": _text(
            "|".join(genre for genre, flag in zip(genres, row[first:], strict=True) if flag == "1") for row in items
        ),
    }


def _movielens_1m(archive: zipfile.ZipFile) -> tuple[Columns, Columns]:
    ratings = _ratings(_rows(archive, "ml-1m/ratings.dat", "::"), np.int32, np.int8)
    return ratings, _items(_rows(archive, "ml-1m/movies.dat", "::"), np.int32)


def _movielens_latest(archive: zipfile.ZipFile) -> tuple[Columns, Columns]:
    def rows(file: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(archive.read(f"ml-latest-small/{file}").decode(), newline="")))[1:]

    return _ratings(rows("ratings.csv"), np.int64, np.float32), _items(rows("movies.csv"), np.int64)


def _rows(archive: zipfile.ZipFile, file: str, separator: str) -> list[list[str]]:
    # Not splitlines(), which would also cut at some of Latin-1's control characters.
    lines = archive.read(file).decode("latin-1").split("\n")
    return [line.rstrip("\r").split(separator) for line in lines if line.strip()]


def _ratings(rows: Iterable[Sequence[str]], of_ids: type[Any], of_ratings: type[Any]) -> Columns:
    user, item, rating, timestamp = zip(*rows, strict=True)
    return {
        "user": np.array([int(v) for v in user], of_ids),
        "item": np.array([int(v) for v in item], of_ids),
        "rating": np.array([float(v) for v in rating]).astype(of_ratings),
        "timestamp": np.array([int(v) for v in timestamp], np.int64),
    }


def _items(rows: Iterable[Sequence[str]], of_ids: type[Any]) -> Columns:
    item, title, genres = zip(*rows, strict=True)
    return {"item": np.array([int(v) for v in item], of_ids), "title": _text(title), "genres": _text(genres)}


def _text(values: Iterable[str]) -> Any:
    return np.array(list(values), dtype=object)


DATA_SETS = {
    "letterboxd": DataSet(
        "19 million ratings of films, half stars from 1 to 10",
        "none of its own: collected from public profiles; local evaluation only",
        "https://github.com/sdl60660/letterboxd_recommendations",
    ),
    "llmfao": DataSet(
        "5,460 crowd votes between answers of language models",
        "CC BY 4.0",
        "https://github.com/dustalov/llmfao",
        main="comparisons.parquet",
        columns="user, winner, loser",
    ),
    "ml-100k": DataSet(
        "MovieLens: 100,000 ratings of films",
        RESEARCH_TERMS,
        "https://grouplens.org/datasets/movielens/100k/",
        convert=_movielens_100k,
    ),
    "ml-1m": DataSet(
        "MovieLens: 1 million ratings of films",
        RESEARCH_TERMS,
        "https://grouplens.org/datasets/movielens/1m/",
        convert=_movielens_1m,
    ),
    "ml-10m": DataSet(
        "MovieLens: 10 million ratings of films",
        RESEARCH_TERMS,
        "https://grouplens.org/datasets/movielens/10m/",
    ),
    "ml-latest-small": DataSet(
        "MovieLens: 100,836 ratings of films, half stars",
        "research use, acknowledge; redistribution on the same terms; no commercial use without permission",
        "https://grouplens.org/datasets/movielens/latest/",
        convert=_movielens_latest,
    ),
    "netflix": DataSet(
        "the Netflix Prize: 100 million ratings of films",
        RESEARCH_TERMS,
        "https://www.kaggle.com/datasets/netflix-inc/netflix-prize-data",
    ),
    "sushi": DataSet(
        "5,000 people's rankings of 10 kinds of sushi",
        "research use, acknowledge; no redistribution",
        "https://www.kamishima.net/sushi/",
        main="rankings_a.parquet",
        columns="user, rank, item",
    ),
}
