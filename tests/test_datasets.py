"""Data sets by name: where they are looked for, and what fetching does with the publisher's archives."""

import hashlib
import io
import urllib.error
import urllib.request
import zipfile

import numpy as np
import pyarrow
import pytest

from rather import Comparisons, FileError, InputError
from rather.data import frames, table_files
from rather.datasets import named as datasets

# Invented rows in the publisher's formats.
ARCHIVES = {
    "ml-100k": {
        "u.data": b"7\t90001\t3\t1000000001\n8\t90002\t5\t1000000002\n",
        "u.genre": b"unknown|0\nAction|1\nComedy|2\n\n",
        "u.item": "90001|Café (2001)|01-Feb-2001||http://example.org|0|1|1\n90002|unknown||||1|0|0\n".encode("latin-1"),
    },
    "ml-1m": {
        "ratings.dat": b"7::90001::3::1000000001\r\n8::90002::5::1000000002\r\n",
        "movies.dat": "90001::Café \x85 (2001)::Action|Comedy\r\n90002::unknown::Drama\r\n".encode("latin-1"),
    },
    "ml-10m": {
        "ratings.dat": b"7::90001::3.5::1000000001\n8::90002::5::1000000002\n",
        "movies.dat": "90001::Café: The Film (2001)::Action|Comedy\n90002::unknown::Drama\n".encode(),
    },
    "ml-latest-small": {
        "ratings.csv": b"userId,movieId,rating,timestamp\n7,90001,3.5,1000000001\n8,90002,5.0,1000000002\n",
        "movies.csv": 'movieId,title,genres\n90001,"Café, The (2001)",Action|Comedy\n90002,unknown,Drama\n'.encode(),
    },
}


def archive(name, files):
    made = io.BytesIO()
    folder = "ml-10M100K" if name == "ml-10m" else name
    with zipfile.ZipFile(made, "w") as z:
        for file, content in files.items():
            z.writestr(f"{folder}/{file}", content)
    return made.getvalue()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    monkeypatch.setenv("RATHER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RATHER_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def publisher(home, monkeypatch):
    """A publisher who offers the archives above; the addresses asked for are noted."""
    asked = []
    offered = {}
    for name, files in ARCHIVES.items():
        raw = archive(name, files)
        address = f"https://files.grouplens.org/datasets/movielens/{name}.zip"
        offered[address] = raw
        offered[f"{address}.md5"] = f"MD5 ({name}.zip) = {hashlib.md5(raw).hexdigest()}\n".encode()

    def download(address):
        asked.append(address)
        return offered[address]

    monkeypatch.setattr(datasets, "download", download)
    return asked, offered


def put(folder, name, file, **columns):
    (folder / name).mkdir(parents=True)
    table_files.write_table(folder / name / file, columns)


def test_data_folder_comes_before_the_cache(home):
    """A file is found in the cache, and in $RATHER_DATA rather than there."""
    put(home / "cache", "ml-1m", "ratings.parquet", user=np.array([1]))
    assert datasets.find("ml-1m") == home / "cache/ml-1m/ratings.parquet"
    put(home / "data", "ml-1m", "ratings.parquet", user=np.array([2]))
    assert datasets.find("ml-1m") == home / "data/ml-1m/ratings.parquet"
    assert datasets.load("ml-1m").to_pydict() == {"user": [2]}


def test_cache_is_in_the_home_folder(home, monkeypatch):
    """Without environment variables only ~/.cache/rather is searched."""
    monkeypatch.delenv("RATHER_DATA")
    monkeypatch.delenv("RATHER_CACHE")
    monkeypatch.setenv("HOME", str(home))
    assert datasets.folders("sushi") == [home / ".cache/rather/sushi"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [("ml-1m", "rather data fetch ml-1m"), ("sushi", "kamishima.net"), ("netflix", "columns user, item, rating")],
)
def test_absent_data_set_says_where_and_what_next(home, name, advice):
    """What is not there is an error with the folders looked in and the way to get it."""
    with pytest.raises(FileError, match=advice) as e:
        datasets.find(name)
    assert str(home / "data" / name) in str(e.value) and str(home / "cache" / name) in str(e.value)


def test_unknown_name_is_refused(home):
    """A name that is not known gets the list of those that are."""
    for act in (datasets.find, datasets.fetch, datasets.load):
        with pytest.raises(InputError, match="'ml-1b'; it must be one of 'colours', 'letterboxd'"):
            act("ml-1b")


@pytest.mark.parametrize("name", ARCHIVES)
def test_fetch_converts_the_archive(publisher, home, name):
    """The archive becomes ratings and items with the columns, types and text of the original."""
    path = datasets.fetch(name)
    assert path == home / "cache" / name / "ratings.parquet" == datasets.find(name)
    ratings, items = datasets.load(name), datasets.load(name, "items.parquet")
    assert ratings.column_names == ["user", "item", "rating", "timestamp"]
    half_stars = name in ("ml-latest-small", "ml-10m")
    assert ratings["rating"].type == (pyarrow.float32() if half_stars else pyarrow.int8())
    assert ratings["rating"].to_pylist() == [3.5 if half_stars else 3, 5]
    assert ratings["item"].to_pylist() == items["item"].to_pylist() == [90001, 90002]
    assert ratings["user"].to_pylist() == [7, 8] and ratings["timestamp"].to_pylist() == [1000000001, 1000000002]
    assert items["title"].to_pylist()[0].startswith("Café") and items["title"].to_pylist()[1] == "unknown"
    assert items["genres"].to_pylist() == ["Action|Comedy", "unknown" if name == "ml-100k" else "Drama"]
    assert items.column_names == ["item", "title", *(["release_date"] if name == "ml-100k" else []), "genres"]
    if name == "ml-100k":
        assert items["release_date"].to_pylist() == ["01-Feb-2001", ""]


def test_downloads(monkeypatch):
    """What is at an address is returned as it is; where it cannot be had, the reason and the address are told."""

    def fails(address, timeout):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", lambda address, timeout: io.BytesIO(address.encode()))
    assert datasets.download("https://example.org/a") == b"https://example.org/a"
    monkeypatch.setattr(urllib.request, "urlopen", fails)
    with pytest.raises(FileError, match=r"cannot download https://example\.org/a: no route to host; check"):
        datasets.download("https://example.org/a")


def test_fetched_once(publisher):
    """A data set that is there is not downloaded again."""
    asked, _ = publisher
    assert datasets.fetch("ml-1m") == datasets.fetch("ml-1m")
    assert [address.rpartition("/")[2] for address in asked] == ["ml-1m.zip", "ml-1m.zip.md5"]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda raw: (raw[:-1], None), "arrived damaged"),
        (lambda raw: (raw, b"<html>not found</html>"), "holds no checksum"),
        (lambda raw: (b"no archive", hashlib.md5(b"no archive").hexdigest().encode()), "BadZipFile"),
        (lambda raw: (archive("x", {}), hashlib.md5(archive("x", {})).hexdigest().encode()), "KeyError"),
    ],
)
def test_damaged_archive_leaves_nothing(publisher, home, damage, complaint):
    """An archive that is not what the publisher vouches for, or not in the known form, is refused and not kept."""
    _, offered = publisher
    address = "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
    raw, checksum = damage(offered[address])
    offered[address] = raw
    if checksum is not None:
        offered[f"{address}.md5"] = checksum
    with pytest.raises(FileError, match=complaint):
        datasets.fetch("ml-1m")
    assert not (home / "cache").exists()


def test_malformed_row_is_refused(publisher):
    """A line that is not a rating is an error, not a guess."""
    _, offered = publisher
    address = "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
    raw = archive("ml-1m", {**ARCHIVES["ml-1m"], "ratings.dat": b"7::90001::3\n"})
    offered[address], offered[f"{address}.md5"] = raw, hashlib.md5(raw).hexdigest().encode()
    with pytest.raises(FileError, match="not in the form"):
        datasets.fetch("ml-1m")


def test_interrupted_fetch_is_not_taken_for_a_data_set(publisher, monkeypatch):
    """If writing the ratings fails, the data set still counts as absent and no half file is left."""
    real = table_files._write_parquet

    def full_disk(f, columns):
        if "rating" in columns:
            f.write(b"PAR1")
            raise OSError(28, "No space left on device")
        real(f, columns)

    monkeypatch.setattr(table_files, "_write_parquet", full_disk)
    with pytest.raises(FileError, match="No space left"):
        datasets.fetch("ml-1m")
    assert [p.name for p in datasets.folders("ml-1m")[-1].iterdir()] == ["items.parquet"]
    with pytest.raises(FileError, match="was not found"):
        datasets.find("ml-1m")


@pytest.mark.parametrize("name", ["letterboxd", "llmfao", "netflix", "sushi"])
def test_what_may_not_be_fetched_says_where_it_is(publisher, name):
    """Nothing is downloaded that the publisher does not offer so; the error names the source."""
    with pytest.raises(FileError, match=datasets.DATA_SETS[name].source.replace("+", r"\+")):
        datasets.fetch(name)
    assert publisher[0] == []


# -- the publishers' own files ----------------------------------------------------------------------------------------

# Invented ratings in the layouts that exist: MovieLens 10M unpacked; Netflix a file for each movie, and four in all.
RATED = {"user": [30, 7, 30, 8], "item": [1, 1, 12, 12], "rating": [3, 5, 1, 4]}
DOUBLE_COLONS = b"30::1::3::838985046\n7::1::5::838983525\n30::12::1::838983392\n8::12::4::838983421\n"
FIRST, SECOND = b"1:\n30,3,2005-09-06\n7,5,2005-05-13\n", b"12:\n30,1,2005-10-19\n8,4,1999-11-11\n"
LAYOUTS = {
    "unpacked": ("ml-10m", {"ratings.dat": DOUBLE_COLONS}),
    "in its own folder": ("ml-10m", {"ml-10M100K/ratings.dat": DOUBLE_COLONS}),
    "a file each": ("netflix", {"mv_0000001.txt": FIRST, "mv_0000012.txt": SECOND}),
    "in a folder": ("netflix", {"training_set/mv_0000001.txt": FIRST, "training_set/mv_0000012.txt": SECOND}),
    "all in one": ("netflix", {"combined_data_1.txt": FIRST + SECOND}),
    "a movie nobody rated": ("netflix", {"combined_data_1.txt": FIRST + b"3:\n", "combined_data_2.txt": SECOND}),
    "no newline at the end": ("netflix", {"combined_data_1.txt": (FIRST + SECOND)[:-1]}),
    "lines of Windows": ("netflix", {"combined_data_1.txt": (FIRST + SECOND).replace(b"\n", b"\r\n")}),
}


def put_files(folder, files):
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_publishers_files_are_read_and_kept_as_parquet(home, layout):
    """The publisher's files load as they are, are listed, and fetching turns them into a Parquet file, once."""
    name, files = LAYOUTS[layout]
    put_files(home / "data" / name, files)
    loaded = datasets.load(name).to_pydict()
    assert {column: loaded[column] for column in RATED} == RATED
    assert {one["name"] for one in datasets.listing() if one["path"]} == {name}
    path = datasets.fetch(name)
    assert path == home / "cache" / name / "ratings.parquet" == datasets.find(name)
    assert datasets.load(name).to_pydict() == loaded


@pytest.mark.parametrize(
    ("name", "files", "complaint"),
    [
        ("ml-10m", {"ratings.dat": b"30::1::3\n"}, "7 columns"),
        ("ml-10m", {"ratings.dat": b"30::1::good::838985046\n"}, "'good'"),
        ("ml-10m", {"ratings.dat": b"30:x:1::3::838985046\n"}, "'x'"),
        ("ml-10m", {"ratings.dat": b"30::::3::838985046\n"}, "a field is empty"),
        ("netflix", {"combined_data_1.txt": b"30,3,2005-09-06\n"}, "line of a movie"),
        ("netflix", {"mv_0000001.txt": b"1:\n30,3,2005-09-06\n\n7,5,2005-05-13\n"}, "empty lines"),
        ("netflix", {"mv_0000001.txt": b"1:\n30,3\n"}, "3 columns"),
    ],
)
def test_publishers_files_in_another_form_are_refused(home, name, files, complaint):
    """What is not a rating is an error, not a guess, and nothing is written."""
    put_files(home / "data" / name, files)
    for act in (datasets.load, datasets.fetch):
        with pytest.raises(FileError, match=f"not in the form that rather knows: .*{complaint}"):
            act(name)
    assert not (home / "cache").exists()


def test_unreachable_publisher_is_one_sentence(home):
    """A download that fails is an error that names the address."""
    with pytest.raises(FileError, match=r"cannot download http://127\.0\.0\.1:9/x: .*; check the connection"):
        datasets.download("http://127.0.0.1:9/x")


def test_listing_knows_what_is_there(home):
    """Every data set is listed with its terms, and a path exactly if it was found."""
    put(home / "data", "llmfao", "comparisons.parquet", user=np.array([1]))
    listed = {one["name"]: one for one in datasets.listing()}
    assert set(listed) == set(datasets.DATA_SETS)
    assert {name for name, one in listed.items() if one["path"]} == {"llmfao"}
    assert all(one["licence"] and one["looked_in"] for one in listed.values())


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_written_tables_are_read_back(tmp_path, suffix):
    """What write_table writes, read_file reads: strings with commas and quotes, integers of any size."""
    path = tmp_path / f"table.{suffix}"
    table_files.write_table(path, {"user": np.array(['a,"b"', "é"], dtype=object), "n": np.array([2**40, -1])})
    frame = table_files.read_file(path)
    got = frames.columns(frame, {"user": "user", "n": "n"})
    assert list(got["user"]) == ['a,"b"', "é"] and list(got["n"]) == [2**40, -1]


def test_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    """A table that cannot be written whole leaves what was there before, and nothing beside it."""
    path = tmp_path / "table.csv"
    table_files.write_table(path, {"n": np.array([1])})
    before = path.read_bytes()

    def fail(f, columns):
        f.write(b"n\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(table_files, "_write_csv", fail)
    with pytest.raises(KeyboardInterrupt):
        table_files.write_table(path, {"n": np.array([2])})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("target", "complaint"), [("", "is a folder"), ("no/x.csv", "there is no folder"), ("x.txt", "must end in .csv")]
)
def test_impossible_targets_are_refused(tmp_path, target, complaint):
    """A folder, a missing folder and an unknown suffix are errors before anything is written."""
    with pytest.raises(FileError, match=complaint):
        table_files.write_table(tmp_path / target, {"n": np.array([1])})


@pytest.mark.data
@pytest.mark.parametrize("name", ARCHIVES)
def test_layout_is_that_of_the_stored_sets(data, publisher, name):
    """A fetched data set has the columns and types of the copy under $RATHER_DATA."""
    stored = data / name
    if not stored.is_dir():
        pytest.skip(f"{name} is not under $RATHER_DATA")
    datasets.fetch(name)
    for file in ("ratings.parquet", "items.parquet"):
        fetched, kept = datasets.load(name, file), table_files.read_file(stored / file)
        assert fetched.column_names == kept.column_names
        text = {"string": "large_string"}
        assert [text.get(str(t), str(t)) for t in fetched.schema.types] == [str(t) for t in kept.schema.types]


@pytest.mark.data
def test_real_votes_load(data, monkeypatch):
    """A stored data set loads by name and makes comparisons."""
    monkeypatch.setenv("RATHER_DATA", str(data))
    if not (data / "llmfao").is_dir():
        pytest.skip("llmfao is not under $RATHER_DATA")
    votes = Comparisons.from_frame(datasets.load("llmfao"))
    assert (len(votes), votes.n_users, votes.n_items) == (5460, 124, 59)
