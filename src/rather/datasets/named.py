"""Known data sets by name: find them on this machine, describe them, and fetch those that may be fetched.

A data set is a folder of Parquet files, in ``$RATHER_DATA/<name>`` or in the cache, ``$RATHER_CACHE/<name>``
(``~/.cache/rather/<name>`` if that is not set). MovieLens 10M and Netflix are also read from their publishers' own
files. The package contains none of these files, and each data set has its own terms.
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

from ..data import tables
from ..data.table_files import read_file, write_table
from ..errors import FileError, one_of

MOVIELENS = "https://files.grouplens.org/datasets/movielens"
RESEARCH_TERMS = "research use, acknowledge; no redistribution, no commercial use without permission"

Columns = dict[str, Any]


@dataclass(frozen=True)
class DataSet:
    """A description of a data set.

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
    unpacked : tuple of str
        What the publisher's own files are called, as patterns, the first that is found counts.
    read : function from those files to ratings, optional
    """

    what: str
    licence: str
    source: str
    main: str = "ratings.parquet"
    columns: str = "user, item, rating"
    convert: Callable[[zipfile.ZipFile], tuple[Columns, Columns]] | None = None
    unpacked: tuple[str, ...] = ()
    read: Callable[[list[Path]], Columns] | None = None


# -- finding and reading ----------------------------------------------------------------------------------------------


def folders(name: str) -> list[Path]:
    """Return the folders in which a data set is looked for, in order."""
    one_of("the data set", name, DATA_SETS)
    given = os.environ.get("RATHER_DATA")
    return [Path(given) / name, cache() / name] if given else [cache() / name]


def cache() -> Path:
    """The folder fetched data sets are kept in."""
    given = os.environ.get("RATHER_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "rather"


def find(name: str, file: str | None = None) -> Path:
    """Return the path of a file of a known data set.

    Parameters
    ----------
    name : str
        Name of the data set, such as "ml-1m"; :func:`listing` has all names.
    file : str, optional
        Name of a file of the data set. Default: its main file.

    Returns
    -------
    Path
        The file, in ``$RATHER_DATA/<name>`` or in the cache.

    Raises
    ------
    FileError
        If there is no such file. The sentence says where it was looked for and how to get it.

    See Also
    --------
    fetch : Download a data set.
    load : Read a data set.

    Examples
    --------
    >>> rather.datasets.find("ml-100k").name  # doctest: +SKIP
    'ratings.parquet'
    """
    places = folders(name)
    about = DATA_SETS[name]
    wanted = file or about.main
    for folder in places:
        if (folder / wanted).is_file():
            return folder / wanted
    if about.convert is not None or (file is None and published(name)):
        advice = f"fetch it with: rather data fetch {name}"
    else:
        advice = f"get it from {about.source} and put it there" + (f" with columns {about.columns}" if not file else "")
        advice += f", or its publisher's own files ({', '.join(about.unpacked)})" if about.unpacked else ""
    looked = " or ".join(str(folder) for folder in places)
    raise FileError(f"the data set {name!r} was not found: there is no {wanted} in {looked}; {advice}")


def published(name: str) -> list[Path]:
    """The files of a data set as its publisher made them, where such files can be read and are there."""
    patterns = [folder.glob(pattern) for folder in folders(name) for pattern in DATA_SETS[name].unpacked]
    return next((found for found in map(sorted, patterns) if found), [])


def listing() -> list[dict[str, Any]]:
    """List the known data sets.

    Returns
    -------
    list of dict
        One entry per data set: its name, what it holds, its licence and its source; "fetchable", whether
        :func:`fetch` can download it; "looked_in", the folders; "path", the file found there or None.

    See Also
    --------
    fetch : Download a data set.

    Examples
    --------
    >>> from rather import datasets
    >>> [known["name"] for known in datasets.listing() if known["fetchable"]]
    ['ml-100k', 'ml-1m', 'ml-10m', 'ml-latest-small']
    """
    known = []
    for name, about in DATA_SETS.items():
        places = folders(name)
        ready = [folder / about.main for folder in places if (folder / about.main).is_file()] or published(name)
        path = str(ready[0]) if ready else None
        facts = {"name": name, "what": about.what, "licence": about.licence, "source": about.source}
        fetchable = about.convert is not None
        known.append({**facts, "fetchable": fetchable, "looked_in": [str(p) for p in places], "path": path})
    return known


def load(name: str, file: str | None = None) -> Any:
    """Read a file of a known data set.

    Where only the publisher's own files exist, their ratings are read, which takes longer. Reading needs pyarrow.

    Parameters
    ----------
    name : str
        Name of the data set, such as "ml-1m"; :func:`listing` has all names.
    file : str, optional
        Name of a file of the data set. Default: its main file.

    Returns
    -------
    pyarrow.Table
        The rows of the file.

    Raises
    ------
    FileError
        If there is no such file. The sentence says where it was looked for and how to get it.

    See Also
    --------
    fetch : Download a data set.

    Examples
    --------
    >>> ratings = rather.datasets.load("ml-100k")  # doctest: +SKIP
    >>> rather.Comparisons.from_ratings(ratings).n_users  # doctest: +SKIP
    943
    """
    try:
        return read_file(find(name, file))
    except FileError:
        if file is not None or not published(name):
            raise
    return tables.make(_read_published(name), "pyarrow")


# -- fetching ---------------------------------------------------------------------------------------------------------


def fetch(name: str) -> Path:
    """Download a known data set, unless its main file exists already.

    The archive is checked against the publisher's checksum. Its ratings and items are written to the cache as Parquet
    files. Where the publisher's own files exist, their ratings are written to the cache instead.

    Parameters
    ----------
    name : str
        Name of the data set, such as "ml-1m"; :func:`listing` has all names.

    Returns
    -------
    Path
        The data set's main file.

    Raises
    ------
    FileError
        If the data set cannot be downloaded, or arrived damaged.

    See Also
    --------
    load : Read a data set.

    Examples
    --------
    >>> rather.datasets.fetch("ml-100k").name  # doctest: +SKIP
    'ratings.parquet'
    """
    folders(name)
    about = DATA_SETS[name]
    folder = cache() / name
    try:
        return find(name)
    except FileError:
        if published(name):
            ratings = _read_published(name)
            folder.mkdir(parents=True, exist_ok=True)
            write_table(folder / about.main, ratings)
            return folder / about.main
        if about.convert is None:
            raise
    address = f"{MOVIELENS}/{name}.zip"
    raw = download(address)
    checksum = re.search(rb"\b[0-9a-fA-F]{32}\b", download(f"{address}.md5"))
    if checksum is None:
        raise FileError(f"{address}.md5 holds no checksum, so {name}.zip cannot be trusted; try again later")
    expected, got = checksum.group().decode().lower(), hashlib.md5(raw, usedforsecurity=False).hexdigest()
    if got != expected:
        raise FileError(f"{address} arrived damaged: its MD5 is {got}, the publisher's is {expected}; try again")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            ratings, items = about.convert(archive)
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, IndexError) as e:
        raise FileError(f"{address} is not in the form that rather knows: {type(e).__name__}: {e}") from e
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "items.parquet", items)
    write_table(folder / about.main, ratings)  # last: a data set counts as there once its main file is
    return folder / about.main


def _read_published(name: str) -> Columns:
    files, read = published(name), DATA_SETS[name].read
    assert read is not None
    try:
        return read(files)
    except ValueError as e:  # pyarrow's complaints are of this kind
        raise FileError(f"{files[0].parent} is not in the form that rather knows: {e}") from e
    except ImportError as e:
        raise FileError(f"reading {files[0].name} needs pyarrow; install it with: pip install pyarrow") from e


def download(address: str) -> bytes:
    """Return the content at an address."""
    import urllib.request

    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return bytes(answer.read())
    except OSError as e:
        reason = getattr(e, "reason", None) or e
        raise FileError(f"cannot download {address}: {reason}; check the connection and try again") from e


# -- the publishers' formats ------------------------------------------------------------------------------------------


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


def _movielens_10m(archive: zipfile.ZipFile) -> tuple[Columns, Columns]:
    items = _rows(archive, "ml-10M100K/movies.dat", "::", "utf-8")
    return _double_colons(archive.read("ml-10M100K/ratings.dat")), _items(items, np.int32)


def _double_colons(raw: bytes) -> Columns:
    """Lines of user::item::rating::timestamp, read as seven columns between single colons of which three are empty."""
    wanted = {"user": "int32", "item": "int32", "rating": "float32", "timestamp": "int64"}
    names = ["user", "empty 1", "item", "empty 2", "rating", "empty 3", "timestamp"]
    return _fields(raw, {name: wanted.get(name, "null") for name in names}, ":", list(wanted))


def _netflix(files: list[Path]) -> Columns:
    """Blocks of a line ``movie:`` and lines ``user,rating,date``; the dates are left out."""
    parts = [_netflix_blocks(path) for path in files]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _netflix_blocks(path: Path) -> Columns:
    before, *rest = re.split(rb"^([0-9]+):\n", path.read_bytes().replace(b"\r\n", b"\n"), flags=re.MULTILINE)
    if before.strip() or not rest:
        raise ValueError(f"{path.name} does not begin with the line of a movie, as in 17:")
    movies, blocks = rest[::2], [block.strip(b"\n") for block in rest[1::2]]
    sizes = [block.count(b"\n") + 1 if block else 0 for block in blocks]
    types = {"user": "int32", "rating": "int8", "date": "date32"}
    table = _fields(b"\n".join(filter(None, blocks)), types, ",", ["user", "rating"])
    item = np.repeat(np.array([int(movie) for movie in movies], np.int32), sizes)
    if len(item) != len(table["user"]):
        raise ValueError(f"{path.name} has empty lines between ratings")
    return {"user": table["user"], "item": item, "rating": table["rating"]}


def _fields(raw: bytes, types: dict[str, str], separator: str, wanted: list[str]) -> Columns:
    """Some columns of delimited text without a header, fast enough for a hundred million lines."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    table = arrow_csv.read_csv(
        pyarrow.BufferReader(raw),
        arrow_csv.ReadOptions(column_names=list(types)),
        arrow_csv.ParseOptions(delimiter=separator, quote_char=False),
        arrow_csv.ConvertOptions(
            column_types={name: pyarrow.type_for_alias(kind) for name, kind in types.items()}, null_values=[""]
        ),
    )
    if any(table[name].null_count for name in wanted):
        raise ValueError("a field is empty")
    return {name: table[name].to_numpy() for name in wanted}


def _movielens_latest(archive: zipfile.ZipFile) -> tuple[Columns, Columns]:
    def rows(file: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(archive.read(f"ml-latest-small/{file}").decode(), newline="")))[1:]

    return _ratings(rows("ratings.csv"), np.int64, np.float32), _items(rows("movies.csv"), np.int64)


def _rows(archive: zipfile.ZipFile, file: str, separator: str, encoding: str = "latin-1") -> list[list[str]]:
    # Not splitlines(), which would also cut at some of Latin-1's control characters.
    lines = archive.read(file).decode(encoding).split("\n")
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
    "colours": DataSet(
        "63,433 answers of 48 people to which of two colours they like better",
        "none stated; local evaluation only",
        "https://github.com/gregcanal/multiuser-metric-preference",
        main="votes.parquet",
        columns="user, winner, loser",
    ),
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
        convert=_movielens_10m,
        unpacked=("ratings.dat", "ml-10M100K/ratings.dat"),
        read=lambda files: _double_colons(files[0].read_bytes()),
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
        unpacked=("combined_data_*.txt", "mv_*.txt", "training_set/mv_*.txt"),
        read=_netflix,
    ),
    "sushi": DataSet(
        "5,000 people's rankings of 10 kinds of sushi",
        "research use, acknowledge; no redistribution",
        "https://www.kamishima.net/sushi/",
        main="rankings_a.parquet",
        columns="user, rank, item",
    ),
}
