"""What docs/project/extending.md says about losses holds (its Python is run as it stands, by doctest)."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rather.data.clicks import Clicked
from rather.data.source import Source
from rather.data.votes import Votes

ROOT = Path(__file__).parents[1]

# Value, slope and curvature of a loss at many margins, and the same by differences of the value and of the slope.
HARNESS = """
#include <cstdio>
#include "losses.hpp"
namespace rather {
%s
}
int main() {
  using namespace rather;
  const float h = 0.01f;
  for (float at = -6; at < 6; at += 0.37f) {
    Slopes low = Exponential{}(splat(at - h)), here = Exponential{}(splat(at)), high = Exponential{}(splat(at + h));
    std::printf("%%g %%g %%g %%g %%g %%g\\n", at, here.value[0], here.slope[0], here.curvature[0],
                (high.value[0] - low.value[0]) / (2 * h), (high.slope[0] - low.slope[0]) / (2 * h));
  }
}
"""


def test_the_loss_on_the_page(tmp_path):
    """It compiles against the core, and its slope and curvature are the derivatives of its value."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    code = re.search(r"```cpp\n(.*?)```", (ROOT / "docs" / "project" / "extending.md").read_text(), re.S).group(1)
    (tmp_path / "loss.cpp").write_text(HARNESS % code)
    program = tmp_path / "loss"
    subprocess.run(
        [compiler, "-std=gnu++20", "-O1", f"-I{ROOT / 'native'}", tmp_path / "loss.cpp", "-o", program], check=True
    )
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) > 30
    for line in lines:
        at, value, slope, curvature, by_value, by_slope = map(float, line.split())
        if abs(at + 3) < 0.02:
            continue  # the kink of the curvature
        assert value > 0 and slope == pytest.approx(by_value, rel=5e-3, abs=1e-3)
        assert curvature == pytest.approx(by_slope, rel=2e-2, abs=1e-3)


def test_the_page_knows_the_places():
    """Every name that the page sends readers to is where it says."""
    page = (ROOT / "docs" / "project" / "extending.md").read_text()
    for name, file in (
        ("LossKind", "native/losses.hpp"), ("kLosses", "native/losses.hpp"), ("with_primal_loss", "native/losses.hpp"),
        ("with_loss", "native/losses.hpp"), ("ESTIMATORS", "src/rather/estimators.py"),
        ("FORMATS", "src/rather/cli/inputs.py"), ("COLUMNS", "src/rather/cli/inputs.py"),
        ("OPTIONS", "src/rather/cli/remedies.py"), ("NAMES", "src/rather/spark/params.py"),
    ):  # fmt: skip
        assert f"`{name}" in page and name in (ROOT / file).read_text()


def kinds_of(source):
    return {source.__name__}.union(*map(kinds_of, source.__subclasses__()))


def test_the_page_knows_the_sources():
    """Code outside data/ checks for the two types that the page names, and makes sources of no others than it names."""
    assert Clicked in Source.__subclasses__() and Votes in Source.__subclasses__()
    known, checked, used = kinds_of(Source) - {"Source"}, set(), set()
    for path in (ROOT / "src" / "rather").rglob("*.py"):
        if "data" in path.relative_to(ROOT / "src" / "rather").parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & known
            used |= names
            if isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"):
                checked |= names
    page = " ".join((ROOT / "docs" / "project" / "extending.md").read_text().split())
    sentence, following = re.search(r"(Code outside `data/` checks for two types: [^.]*\.) ([^.]*\.)", page).groups()
    assert checked == set(re.findall(r"`([A-Z]\w+)`", sentence))
    assert used == checked | set(re.findall(r"`([A-Z]\w+)`", following))
