"""Make a release: python scripts/release.py VERSION moves the changelog, sets the version, commits and tags.

--dry-run shows what would change. Nothing is pushed: the last line says how. The workflow of releases does the rest,
with --check TAG and --notes TAG. docs/project/releasing.md explains the steps.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = "CHANGELOG.md"
DECLARED = "src/rather/__init__.py"
SAID = {  # where the version stands: a pattern, and what takes its place
    DECLARED: (r'^__version__ = ".*"$', '__version__ = "{version}"'),
    "CITATION.cff": (r"^version: .*$(\ndate-released: .*$)?", "version: {version}\ndate-released: {date}"),
    "recipe/recipe.yaml": (r'^  version: ".*"$', '  version: "{version}"'),
    "docs/project/cite.md": (r"version = \{.*\}", "version = {{{version}}}"),
}
Texts = dict[str, str]


def read(name: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def git(*arguments: str) -> str:
    """Return what git says."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    return done.stdout.strip()


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers, or stop."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"release: {version!r} is no version; give three numbers, such as 0.2.0")
    return tuple(map(int, version.split(".")))


def sections() -> Texts:
    """Return what the changelog has under each version, and under Unreleased."""
    parts = re.split(r"^## \[(.*?)\].*\n", read(CHANGELOG), flags=re.M)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def check_ready(version: str) -> None:
    """Stop unless this version may be released from what is checked out."""
    released = [name for name in sections() if name != "Unreleased"]
    newest = max(map(numbers, released), default=(0, 0, 0))
    if numbers(version) <= newest:
        sys.exit(f"release: {version} is not above {'.'.join(map(str, newest))}, which the changelog has")
    if not re.search(r"^[-|] ?\S", sections().get("Unreleased", ""), re.M):
        sys.exit(f"release: {CHANGELOG} has nothing under Unreleased; say what is new")
    if git("tag", "--list", f"v{version}"):
        sys.exit(f"release: there is a tag v{version} already")
    if (branch := git("rev-parse", "--abbrev-ref", "HEAD")) != "main":
        sys.exit(f"release: the branch is {branch}; check out main")
    if git("status", "--porcelain"):
        sys.exit("release: there are changes that are not committed; commit them first")


def changed(version: str, date: str) -> Texts:
    """Return the new texts of the files that a release changes."""
    heading = "## [Unreleased]\n"
    texts = {CHANGELOG: read(CHANGELOG).replace(heading, f"{heading}\n## [{version}] - {date}\n", 1)}
    for name, (pattern, said) in SAID.items():
        texts[name], found = re.subn(pattern, said.format(version=version, date=date), read(name), flags=re.M)
        if found != 1:
            sys.exit(f"release: {name} has {found} places for the version; it must have one")
    return texts


def show(texts: Texts) -> None:
    """Print the changes."""
    for name, text in texts.items():
        before, after = read(name).splitlines(keepends=True), text.splitlines(keepends=True)
        sys.stdout.writelines(difflib.unified_diff(before, after, name, name, n=1))


def release(version: str, dry_run: bool) -> None:
    """Change the files, add to the corpus, commit and tag."""
    check_ready(version)
    texts = changed(version, datetime.now(timezone.utc).date().isoformat())
    show(texts)
    if dry_run:
        print(f"Would also add tests/corpus/{version}, commit, and tag v{version}.")
        return
    subprocess.run([sys.executable, "scripts/corpus.py", version], cwd=ROOT, check=True)
    for name, text in texts.items():
        (ROOT / name).write_text(text, encoding="utf-8", newline="\n")
    git("add", *texts, f"tests/corpus/{version}")
    git("commit", "-m", f"Release {version}")
    git("tag", "-a", f"v{version}", "-m", f"rather {version}")
    print(f"Committed and tagged. To publish: git push --atomic origin main v{version}")


def check(tag: str) -> str:
    """Return the version of a tag, or stop unless the files are of this version."""
    version = tag.removeprefix("v")
    if not tag.startswith("v") or f'\n__version__ = "{version}"\n' not in read(DECLARED):
        sys.exit(f"release: {DECLARED} does not declare the version of the tag {tag}")
    if not sections().get(version):
        sys.exit(f"release: {CHANGELOG} has no section of {version}")
    if not (ROOT / "tests" / "corpus" / version / "said.json").exists():
        sys.exit(f"release: tests/corpus has no files of {version}")
    return version


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", help="three numbers, such as 0.2.0")
    parser.add_argument("--dry-run", action="store_true", help="show the changes and make none")
    parser.add_argument("--check", metavar="TAG", help="stop unless the files are of this tag's version")
    parser.add_argument("--notes", metavar="TAG", help="print what the changelog says of this tag's version")
    options = parser.parse_args()
    if options.check or options.notes:
        version = check(options.check or options.notes)
        print(sections()[version] if options.notes else f"The files are of version {version}.")
    elif options.version:
        release(options.version, options.dry_run)
    else:
        parser.error("give a version")


if __name__ == "__main__":
    main()
