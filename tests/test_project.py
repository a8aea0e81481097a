"""The files around the package agree: one version, the same addresses, and a promise with an example of each part."""

import re
from pathlib import Path

import rather
from rather import addresses

ROOT = Path(__file__).parents[1]


def urls():
    """The addresses in pyproject.toml, by name."""
    section = re.search(r"^\[project\.urls\].*?\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.M | re.S)[1]
    return dict(re.findall(r'^(\w+) = "(.*)"$', section, re.M))


def test_one_version():
    """The package declares the version; what cites it says the same."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", rather.__version__)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert f"\nversion: {rather.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'\n  version: "{rather.__version__}"\n' in (ROOT / "recipe/recipe.yaml").read_text()
    assert f"version = {{{rather.__version__}}}" in (ROOT / "docs/project/cite.md").read_text()


def test_one_set_of_addresses():
    """pyproject.toml and CITATION.cff give the addresses of rather.addresses, and no file names another place."""
    assert urls() == {
        "Repository": addresses.REPOSITORY,
        "Issues": addresses.ISSUES,
        "Documentation": addresses.SITE,
        "Changelog": addresses.CHANGELOG,
    }
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nrepository-code: {addresses.REPOSITORY}\n" in cited and f"\nurl: {addresses.SITE}\n" in cited
    recipe = (ROOT / "recipe/recipe.yaml").read_text()
    assert f"  homepage: {addresses.SITE}\n  repository: {addresses.REPOSITORY}\n" in recipe
    for name in ("SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"):
        assert addresses.REPORT_A_HOLE in (ROOT / name).read_text()
    page, _, heading = addresses.CHANGELOG.removeprefix(addresses.SITE).partition(".html")
    assert (ROOT / f"docs{page}.md").exists() and not heading


def test_the_changelog_has_a_place_for_what_is_new():
    """The first section is Unreleased; the others are versions, the newest first."""
    sections = re.findall(r"^## \[(.*?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert sections[0] == ("Unreleased", "")
    versions = [tuple(map(int, version.split("."))) for version, _ in sections[1:]]
    assert versions == sorted(versions, reverse=True)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for _, date in sections[1:])


def quoted(text):
    """The requirements in a list of pyproject.toml that hold everywhere, as a recipe writes them."""
    return {one.replace(">=", " >=") for one in re.findall(r'"([\w-]+>=[\d.]+)"', text)}


def test_the_recipe_asks_for_what_the_package_needs():
    """The recipe for conda-forge has the dependencies of pyproject.toml, at run time and to build."""
    project, recipe = ((ROOT / name).read_text() for name in ("pyproject.toml", "recipe/recipe.yaml"))
    (needed,) = re.findall(r"^dependencies = \[(.*?)\]", project, re.M | re.S)
    (build,) = re.findall(r"^requires = \[(.*?)\]", project, re.M)
    (run,) = re.findall(r"^  run:\n((?:    - \w.*\n)+)    - if: win\n      then: numpy >=2.0\n", recipe, re.M)
    (host,) = re.findall(r"^  host:\n((?:    - .*\n)+)", recipe, re.M)
    assert {*re.findall(r"- (.+)", run)} == {"python", *quoted(needed)}
    assert {*re.findall(r"- (.+)", host)} == {"python", "pip", *quoted(build)}
    assert "\"numpy>=2.0; sys_platform == 'win32'\"" in needed
