"""Files of earlier versions are read and answer as they did: tests/corpus/VERSION holds them and what they said."""

import json
import re
import sqlite3
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rather

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "corpus"
MODELS = sorted(CORPUS.glob("*/*.model"))
DATABASES = sorted(CORPUS.glob("*/votes.sql"))
UNCHECKED = "0.1.0"  # the version whose files have no checksum
PAPER = "0.1.0-paper"  # files of AltSVM, when it had the paper's algorithm as an option
LATER = {  # estimators that came after a version
    UNCHECKED: {"PaperAltSVM", "ItemMean", "Popularity", "RP3beta", "EASE", "ClickRanker", "VoteRanker"},
    "0.1.0-9546a57": {"PaperAltSVM", "VoteRanker"},
    "0.1.0-565fd4e": {"VoteRanker"},
}


def said(path):
    return json.loads((path.parent / "said.json").read_text(encoding="utf-8"))[path.stem]


def opened(path):
    """The model of a file; only those of the first version give a warning."""
    if path.parent.name == UNCHECKED:
        with pytest.warns(rather.NoChecksumWarning, match="no checksum"):
            return rather.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return rather.load(path)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_earlier_models_load(path):
    """Scores, lists, probabilities and newcomers are what they were when the file was written."""
    then, model = said(path), opened(path)
    assert type(model).__name__ == ("PaperAltSVM" if path.parent.name == PAPER else path.stem.split("-")[0])
    for user, scores in zip(then["users"], then["scores"], strict=True):
        np.testing.assert_allclose(model.score([user] * 3, then["items"]), scores, rtol=1e-5, atol=1e-6)
    assert model.recommend(then["users"], k=2)["item"].tolist() == then["best"]
    assert model.recommend(then["users"][:1], k=2, exclude="seen")["item"].tolist() == then["unseen"]
    left, right = then["items"][:2]
    now = np.ravel(model.probability(then["users"][0], left, right))
    np.testing.assert_allclose(now[: np.size(then["probability"])], then["probability"], atol=1e-6)
    assert len(getattr(model, "history_", ())) == then["rounds"]
    if then["newcomer"] is not None:
        person = model.fold_in([(left, right)])
        np.testing.assert_allclose(person.score(then["items"]), then["newcomer"], rtol=1e-3, atol=1e-4)
    if "comparisons" in then:
        held = model.fitted.training
        assert (None if held is None else len(held)) == then["comparisons"]


@pytest.mark.parametrize("path", DATABASES, ids=lambda path: path.parent.name)
def test_earlier_databases_are_served(path, tmp_path):
    """A database of votes gives the votes it had, and takes more."""
    pytest.importorskip("sqlalchemy", reason="what serving needs is not installed: pip install 'rather[serve]'")
    from sqlalchemy import insert

    from rather.server.ledger import Ledger, visitors
    from rather.server.votes import votes

    connection = sqlite3.connect(tmp_path / "votes.sqlite")
    connection.executescript(path.read_text(encoding="utf-8"))
    connection.close()
    ledger = Ledger(str(tmp_path / "votes.sqlite"))
    try:
        frame, _ = votes(ledger)
        assert {name: column.tolist() for name, column in frame.items()} == said(path)
        with ledger.engine.begin() as c:
            c.execute(insert(visitors), [{"visitor": "another", "origin": "o", "came": 0.0}])
    finally:
        ledger.close()


def test_every_version_has_files():
    """A version has a file of every estimator that it had, and all but the first a database of votes."""
    by_version = {}
    for path in MODELS:
        by_version.setdefault(path.parent.name, set()).add(path.stem.split("-")[0])
    assert by_version.pop(PAPER) == {"AltSVM"}
    for version, kinds in by_version.items():
        assert kinds == set(rather.ESTIMATORS) - LATER.get(version, set()), version
    assert {path.parent.name for path in DATABASES} == set(by_version) - {UNCHECKED}
    released = set(re.findall(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M))
    assert released <= set(by_version)


def test_the_script_writes_what_is_tested(tmp_path, monkeypatch):
    """scripts/corpus.py writes all that the newest folder has, and the files answer as it says."""
    pytest.importorskip("sqlalchemy", reason="what serving needs is not installed: pip install 'rather[serve]'")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import corpus

    corpus.write(tmp_path / "new")
    monkeypatch.delitem(sys.modules, "corpus")
    newest = {path.name for path in (CORPUS / "0.1.0-565fd4e").iterdir()}
    assert {path.name for path in (tmp_path / "new").iterdir()} >= newest
    for path in sorted((tmp_path / "new").glob("*.model")):
        test_earlier_models_load(path)
    test_earlier_databases_are_served(tmp_path / "new" / "votes.sql", tmp_path)
    assert max(path.stat().st_size for path in (tmp_path / "new").iterdir()) < 20_000
