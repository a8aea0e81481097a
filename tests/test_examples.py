"""Every example of the gallery runs on the data of the package and draws its picture."""

import runpy
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.thorough
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_draws_one_picture(path, tmp_path, monkeypatch):
    """An example needs no file beside it, no network and no screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RATHER_DATA", raising=False)
    runpy.run_path(str(path))
    (number,) = plt.get_fignums()
    figure = plt.figure(number)
    figure.draw_without_rendering()
    assert figure.get_suptitle() or figure.axes[0].get_title()  # which the site takes for the alternative text
    assert not [*tmp_path.iterdir()]


def test_an_example_is_short_and_says_what_you_get():
    assert len(EXAMPLES) == 11
    for path in EXAMPLES:
        text = path.read_text()
        about = text.split('"""')[1]
        assert about.split("\n\n")[1].startswith("You have "), path.name
        assert "You get " in about.replace("\n", " ") or "see " in about, path.name
        assert len(text.splitlines()) <= 75, path.name
