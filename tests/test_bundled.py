"""The data that are part of the package: what they hold, and that reading them takes nothing else."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rather
from rather import Comparisons, datasets
from rather.datasets.films import FILMS, club

FOLDER = Path(datasets.__file__).parent


def test_the_film_club_is_that_of_the_demonstration():
    """The votes are those of the demonstration, equal in every call, and a caller who changes them changes no other."""
    votes, again = datasets.film_club(), datasets.film_club()
    assert list(votes.columns) == ["user", "winner", "loser"] and len(votes) == 12_000
    assert all((votes[name] == again[name]).all() for name in votes.columns)
    votes["winner"][:] = "Alien"
    assert (datasets.film_club()["winner"] == again["winner"]).all()
    read, truth = Comparisons.from_frame(again), club().comparisons
    assert read.users.tolist() == truth.users.tolist() and len(read.users) == 400
    assert read.items.tolist() == truth.items.tolist() == sorted(FILMS)
    for mine, theirs in zip(read.pairs().columns(), truth.pairs().columns(), strict=True):
        assert mine is theirs is None or (mine == theirs).all()


def test_judgements_are_all_there():
    """The judgements have the counts that their source states, and name every model and every worker."""
    judged = datasets.llmfao()
    assert list(judged.columns) == ["user", "left", "right", "outcome", "prompt"] and len(judged) == 8931
    outcomes = dict(zip(*np.unique(judged["outcome"].astype(str), return_counts=True), strict=True))
    assert outcomes == {"left": 2911, "right": 2549, "tie": 3471}
    assert len(set(judged["user"])) == 124 and len(set(judged["prompt"])) == 13
    assert len({*judged["left"], *judged["right"]}) == 59 and (judged["left"] != judged["right"]).all()


@pytest.mark.data
def test_judgements_are_those_of_the_source(data):
    """Every row is that of the source, in its order."""
    pytest.importorskip("pyarrow")
    from rather.data.table_files import read_file

    if not (data / "llmfao" / "judgements.parquet").exists():
        pytest.skip("llmfao is not under $RATHER_DATA")
    source, judged = read_file(data / "llmfao" / "judgements.parquet"), datasets.llmfao()
    names = {"user": "worker", "outcome": "winner", "left": "left", "right": "right", "prompt": "prompt"}
    for name, theirs in names.items():
        assert judged[name].tolist() == source[theirs].to_pylist()


def test_the_licence_stands_beside_the_file():
    """The judgements are small, and their licence and author stand in a file beside them."""
    assert (FOLDER / "llmfao.csv.gz").stat().st_size < 50_000
    said = (FOLDER / "llmfao.txt").read_text()
    assert all(
        part in said for part in ("CC BY 4.0", "Dmitry Ustalov", "https://github.com/dustalov/llmfao", "Changes")
    )


def test_reading_takes_numpy_alone():
    """Both are read without pyarrow, pandas and polars."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('pyarrow', 'pandas', 'polars')))\n"
        "from rather import datasets; print(len(datasets.film_club()), len(datasets.llmfao()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["12000", "8931"]


def test_the_judgements_rank_the_models():
    """What crowds say of known models comes out: GPT 4 ranks above most, small base models below."""
    ranked = rather.Global().fit(Comparisons.from_arena(datasets.llmfao())).rank()["item"].tolist()
    assert ranked.index("GPT 4") < 15 and ranked.index("Dolly v2 (3B)") > 40
