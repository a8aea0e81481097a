"""Every command of the README and of docs/, run in order, block by block, on files made for it."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import rather
from rather.cli.grammar import grammar
from rather.data import table_files
from rather.data.table_files import read_file
from shell import run

ROOT = Path(__file__).parents[1]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
COMMAND = re.compile(r"^    (?:([^|]*) \| )?rather ([a-z]+ .*)$")
PEOPLE = "ann", "bob", *(f"user {n}" for n in range(14))
DRINKS = "tea", "coffee", "cocoa", "cola", "soda", "water", "juice", "milk"
MODELS = "gpt-4", "llama", "claude", "gemini", "qwen", "phi"
WRITES = "--out", "--train", "--test", "--per-user"
ELSEWHERE = "postgresql://"  # needs a server of its own


def write_table(path, columns):
    table_files.write_table(path, {name: np.array(column, object) for name, column in columns.items()})


def blocks():
    """The indented blocks that hold commands, each a list of lines."""
    found = []
    for page in PAGES:
        lines = page.read_text().splitlines()
        for at, line in enumerate(lines):
            if COMMAND.match(line):
                if not at or not COMMAND.match(lines[at - 1]):
                    found.append(pytest.param([], id=f"{page.stem}-{at + 1}"))
                found[-1].values[0].append(line)
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The tables that commands read: votes, ratings, clicks, an arena's log, features, answers; and models of some."""
    folder = tmp_path_factory.mktemp("documented")
    votes = named(rather.simulate(16, 8, rank=2, per_user=20, seed=1), PEOPLE, DRINKS)
    write_table(folder / "votes.csv", votes)
    late = named(rather.simulate(16, 8, rank=2, per_user=2, seed=2), PEOPLE, DRINKS)
    write_table(folder / "today.csv", late)
    rng = np.random.default_rng(0)
    user, item = (x.ravel() for x in np.meshgrid(PEOPLE, [*DRINKS, *(f"film {n}" for n in range(52))]))
    stars = {"user": user, "item": item, "rating": rng.integers(1, 6, len(user))}
    write_table(folder / "ratings.csv", stars)
    write_table(folder / "log.csv", {**votes, "timestamp": rng.permutation(len(votes["user"]))})
    battles = named(rather.simulate(16, 6, rank=2, per_user=20, ties=0.5, side=0.3, seed=3), PEOPLE, MODELS)
    n, first = len(battles["user"]), battles["side"]
    won, lost = battles["winner"], battles["loser"]
    battles = {
        "judge": battles["user"], "model_a": np.where(first, won, lost), "model_b": np.where(first, lost, won),
        "winner": np.where(battles["tie"], "tie", np.where(first, "model_a", "model_b")),
        "words_left": rng.integers(20, 90, n), "words_right": rng.integers(20, 90, n),
    }  # fmt: skip
    write_table(folder / "battles.csv", battles)
    write_table(folder / "survey.csv", {
        "respondent": battles["judge"], "region": np.where(first, "north", "south"), "left": battles["model_a"],
        "right": battles["model_b"], "chosen": np.where(battles["winner"] == "tie", "can't decide", won),
    })  # fmt: skip
    write_table(folder / "later.csv", {name: column[:30] for name, column in battles.items()})
    films = {"item": DRINKS, "title": [drink.title() for drink in DRINKS], "year": range(1990, 1998)}
    write_table(folder / "films.csv", films)
    write_table(folder / "premieres.csv", {"item": ["mate", "chai"], "title": ["Mate", "Chai"], "year": [1991, 1996]})
    write_table(folder / "people.csv", {
        "user": PEOPLE, "age": rng.integers(20, 60, 16),
        "country": ["NL", "DE", "FR", "PT"] * 4,
    })  # fmt: skip
    write_table(folder / "joined.csv", {"user": ["zoe"], "age": [33], "country": ["NL"]})
    write_table(folder / "answers.csv", {"winner": ["tea", "cola"], "loser": ["coffee", "cocoa"]})
    write_table(folder / "menu.csv", {"item": ["tea", "soda", "milk"]})
    clicked = stars["rating"] > 3
    write_table(folder / "clicks.csv", {"user": user[clicked], "item": item[clicked]})
    write_table(folder / "new-clicks.csv", {"user": ["zoe", "zoe", "ann"], "item": ["tea", "cola", "milk"]})
    write_table(folder / "clicked.csv", {"item": ["tea", "cola"]})
    assert run("fit", folder / "votes.csv", "--out", folder / "model.rather", "--rank", 2)[0] == 0
    assert run("fit", folder / "clicks.csv", "--out", folder / "clicks.rather", "--rank", 2)[0] == 0
    for name in ("arena.rather", "everyone.rather", "survey.rather"):
        shutil.copy(folder / "model.rather", folder / name)
    return folder


def named(world, people, things):
    """The votes of a world under these names."""
    table = world.comparisons.to_frame("dict")
    users, items = (dict(zip(ids.tolist(), names, strict=True)) for ids, names in (
        (world.comparisons.users, people), (world.comparisons.items, things),
    ))  # fmt: skip
    known = {"user": users, "winner": items, "loser": items}
    return {name: np.array([known[name][x] for x in column]) if name in known else np.asarray(column)
            for name, column in table.items()}  # fmt: skip


@pytest.mark.parametrize("lines", blocks())
def test_commands_run_in_order(lines, files, tmp_path, monkeypatch):
    """Each block runs from top to bottom, on the files that it does not write itself."""
    monkeypatch.chdir(tmp_path)
    written = {word for line in lines for word in after(line, WRITES)}
    for path in files.iterdir():
        if path.name not in written:
            shutil.copy(path, tmp_path)
    for line in lines:
        before, command = COMMAND.match(line).groups()
        argv = shlex.split(command, comments=True)
        piped = b"" if before is None else subprocess.check_output(["sh", "-c", before])
        if argv[0] == "serve":
            serves(argv[1:])
            continue
        if argv[0] == "ask":
            piped = b"1\n2\nt\nq\n"
        code, out, err = run(*argv, piped=piped)
        assert code == 0 and out and not err.replace("rather: 1 of 2 users", ""), (line, err)
        for name in after(line, WRITES):
            assert name.isdigit() or Path(name).stat().st_size, (line, name)
        if argv[0] == "split":
            assert len(read_file(after(line, ["--test"])[0])["user"])


def after(line, options):
    words = shlex.split(line, comments=True)
    return [words[at + 1] for at, word in enumerate(words) if word in options]


def serves(argv):
    """A server starts and is stopped; one that needs a database of its own is only understood."""
    options, rest = grammar().parse_known_args(["serve", *argv])
    assert not rest
    if any(ELSEWHERE in word for word in argv):
        return
    serving_here = pytest.importorskip("serving_here")
    server = serving_here.Process(options.what, *(word for word in argv if word != options.what))
    server.start()
    server.kill()


def test_blocks_are_found():
    """The README's commands are one block, in order, and docs/ have the others."""
    found = {block.id: block.values[0] for block in blocks()}
    (readme,) = (lines for name, lines in found.items() if name.startswith("README"))
    verbs = [re.search(r"rather ([a-z]+)", line)[1] for line in readme]
    assert verbs == ["simulate", "fit", "rank", "serve"]
    everywhere = {re.search(r"rather ([a-z]+)", line)[1] for lines in found.values() for line in lines}
    assert {"split", "evaluate", "recommend", "rank", "ask", "serve", "update", "differences"} < everywhere
    assert sum(map(len, found.values())) > 40
