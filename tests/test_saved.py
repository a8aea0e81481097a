"""Model files of earlier versions load and answer as they did: tests/saved/VERSION holds them and what they said."""

import json
from pathlib import Path

import numpy as np
import pytest

import rather

SAVED = Path(__file__).parent / "saved"
FILES = sorted(SAVED.glob("*/*.model"))
PAPER = SAVED / "0.1.0-paper"  # of AltSVM, when it had the paper's algorithm as an option
LATER = {"PaperAltSVM", "ItemMean", "Popularity", "RP3beta", "EASE", "ClickRanker", "VoteRanker"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_earlier_files_load(path):
    """What an earlier file says (scores, lists, probabilities, newcomers) is what it said when it was written."""
    said = json.loads((path.parent / "said.json").read_text())[path.stem]
    if path.parent == PAPER:
        model = rather.load(path)
        assert type(model) is rather.PaperAltSVM
    else:
        with pytest.warns(rather.NoChecksumWarning, match="no checksum"):
            model = rather.load(path)
    for user, scores in zip(said["users"], said["scores"], strict=True):
        np.testing.assert_allclose(model.score([user] * 3, said["items"]), scores, rtol=1e-5, atol=1e-6)
    assert model.recommend(said["users"], k=2)["item"].tolist() == said["best"]
    assert model.recommend(said["users"][:1], k=2, exclude="seen")["item"].tolist() == said["unseen"]
    left, right = said["items"][:2]
    assert model.probability(said["users"][0], left, right)[0] == pytest.approx(said["probability"], abs=1e-6)
    assert len(model.history_) == said["rounds"]
    if said["newcomer"] is not None:
        person = model.fold_in([(left, right)])
        np.testing.assert_allclose(person.score(said["items"]), said["newcomer"], rtol=1e-3, atol=1e-4)


def test_every_estimator_of_the_first_version_is_there():
    """There is a file of every estimator of 0.1.0, and of every kind of id."""
    assert {path.stem.split("-")[0] for path in FILES if path.parent.name == "0.1.0"} == set(rather.ESTIMATORS) - LATER
