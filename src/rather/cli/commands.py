"""The texts of all commands, in one table: `rather --help`, the help of each command and the documentation read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from textwrap import fill
from typing import NamedTuple

WIDTH = 79
START, LEARN, USE, EXPLAIN, ASK, RESEARCH = "Start", "Learn", "Use", "Explain", "Ask", "Research"


class Text(NamedTuple):
    """The help of a command: its task, one sentence, its usage, and three examples with what they do."""

    task: str
    what: str
    usage: str
    examples: tuple[tuple[str, str], tuple[str, str], tuple[str, str]]


SOMEBODY = "--answers FILE | --prefers WINNER LOSER | --feature NAME=X"
TEXTS = {
    "demo": Text(START, "learn a film club's tastes; check them against the truth", "[options]", (
        ("demo", "a club of 400 members"),
        ("demo --members 100", "a smaller club"),
        ("demo --seed 1", "another club"),
    )),
    "doctor": Text(START, "check this installation", "[options]", (
        ("doctor", "versions, processor and a small fit"),
        ("doctor --json > report.json", "a report to send"),
        ("doctor && echo ready", "exit status 0: all is well"),
    )),
    "fit": Text(
        LEARN, "learn from votes, ratings, clicks, menus or rankings",
        "[options] (FILE | --votes DATABASE) --out MODEL", (
            ("fit votes.csv --out model.rather", "user, winner, loser"),
            ("fit stars.csv --rating points --out model.rather", "another name"),
            ("fit votes.csv --item-features films.csv --out model.rather", ""),
        )),
    "update": Text(
        LEARN, "add new votes, people or items to a model",
        "[options] MODEL (FILE | --item-features FILE)", (
            ("update model.rather today.csv", "replaces model.rather"),
            ("update model.rather today.csv --out new.rather", "keeps the old one"),
            ("update model.rather --item-features new.csv", "items without votes"),
        )),
    "split": Text(
        LEARN, "split a file into training and test data",
        "[options] FILE --train TRAIN --test TEST\n(--test-share X | --per-user N | --time [COLUMN])", (
            ("split votes.csv --train a.csv --test b.csv --test-share 0.2", ""),
            ("split votes.csv --train a.csv --test b.csv --time", "the latest rows"),
            ("split stars.csv --train a.csv --test b.csv --per-user 50", ""),
        )),
    "evaluate": Text(LEARN, "measure how well a model predicts test data", "[options] MODEL FILE", (
        ("evaluate model.rather test.csv", "usual metrics"),
        ("evaluate model.rather test.csv --metric ndcg --k 5", "ratings only"),
        ("evaluate model.rather test.csv --unknown skip", "known people only"),
    )),
    "rank": Text(
        USE, "list items for one person, best first",
        f"[options] MODEL (USER | --everyone |\n{SOMEBODY})", (
            ("rank model.rather ann --top 20", "ann's first 20 items"),
            ("rank model.rather ann --interval 0.9", "with a range of places"),
            ("rank model.rather --prefers Alien Psycho", "somebody new, one answer"),
        )),
    "recommend": Text(
        USE, "list items to show to many people",
        f"[options] MODEL (USER ... | --all |\n{SOMEBODY})", (
            ("recommend model.rather ann bob --k 5", "five items for each"),
            ("recommend model.rather --all --out lists.csv", "everybody, to a file"),
            ("recommend model.rather ann --exclude-seen", "only what is new to ann"),
        )),
    "probability": Text(
        USE, "predict which of two items a person prefers",
        f"[options] MODEL (USER LEFT RIGHT | LEFT RIGHT\n({SOMEBODY}))", (
            ("probability model.rather ann tea coffee", "ann takes tea"),
            ("probability model.rather ann tea coffee --side left", "tea is first"),
            ("probability model.rather tea cola --prefers milk soda", "somebody new"),
        )),
    "plot": Text(
        EXPLAIN, "draw a leaderboard, a person, a taste map, a calibration",
        "PICTURE [options] MODEL ... --out FILE", (
            ("plot leaderboard model.rather --out board.png", "with ranges of places"),
            ("plot taste-map model.rather ann --out map.svg", "where ann stands"),
            ("plot calibration model.rather test.csv --out sure.png", ""),
        )),
    "differences": Text(
        EXPLAIN, "compare one person with another or with the average",
        f"[options] MODEL (USER [OTHER] |\n{SOMEBODY})", (
            ("differences model.rather ann", "and the average person"),
            ("differences model.rather ann bob --top 10", "the ten most certain"),
            ("differences model.rather --answers mine.csv", "somebody new"),
        )),
    "effects": Text(EXPLAIN, "estimate position bias, covariate effects and ties", "[options] MODEL", (
        ("effects model.rather", "with intervals"),
        ("effects model.rather --json", "for a program"),
        ("fit log.csv --covariate words --out model.rather", "learns them"),
    )),
    "tastes": Text(EXPLAIN, "show which item features people value", "[options] MODEL [USER]", (
        ("tastes model.rather", "what everybody values"),
        ("tastes model.rather ann --by own --top 5", "what ann values most"),
        ("tastes model.rather --by spread", "where people differ most"),
    )),
    "ask": Text(ASK, "answer questions in the terminal", "[options] MODEL", (
        ("ask model.rather", "until you have enough"),
        ("ask model.rather --titles films.csv --out answers.csv", ""),
        ("ask model.rather --questions 10 --aim top", "ten, about the best items"),
    )),
    "serve": Text(ASK, "run a voting page", "[options] [MODEL | ITEMS]", (
        ("serve films.csv", "at http://127.0.0.1:8000"),
        ("serve model.rather --items films.csv", "ask about what is learned"),
        ("serve", "the film club of the demo"),
    )),
    "simulate": Text(RESEARCH, "write votes whose truth is known", "[options] --out FILE", (
        ("simulate --out votes.csv", "300 people, 200 items"),
        ("simulate --out votes.csv --users 1000 --per-user 30", ""),
        ("simulate --out votes.csv --ties 0.5 --side 0.3", "ties, position bias"),
    )),
    "data": Text(RESEARCH, "list the known data sets, or fetch one", "[options] [list | fetch NAME]", (
        ("data", "every data set, its terms and place"),
        ("data fetch ml-100k", "download one"),
        ("data --json", "the list, for a program"),
    )),
    "paper": Text(
        RESEARCH, "reproduce the paper's tables and figures",
        "[options] [NAME [options of that script]]", (
            ("paper", "list the scripts and their data"),
            ("paper table2 --only AltSVM Global --seeds 2", ""),
            ("paper table2 --help", "the options of that script"),
        )),
}  # fmt: skip

PICTURES = {
    "leaderboard": Text(
        EXPLAIN, "draw a ranking with a range of places for every item",
        f"[options] MODEL --out FILE [USER |\n{SOMEBODY}]", (
            ("plot leaderboard model.rather --out board.png", "everybody"),
            ("plot leaderboard model.rather ann --out ann.svg", "ann's ranking"),
            ("plot leaderboard model.rather --top 50 --out long.pdf", "50 items"),
        )),
    "person": Text(
        EXPLAIN, "draw how a person differs from the average person",
        f"[options] MODEL --out FILE (USER |\n{SOMEBODY})", (
            ("plot person model.rather ann --out ann.png", "a user"),
            ("plot person model.rather --answers mine.csv --out me.png", "somebody new"),
            ("plot person model.rather --prefers tea milk --out me.png", "one answer"),
        )),
    "taste-map": Text(
        EXPLAIN, "draw items and people on the two main directions of taste",
        f"[options] MODEL --out FILE [USER |\n{SOMEBODY}]", (
            ("plot taste-map model.rather --out map.png", "everybody"),
            ("plot taste-map model.rather ann --out map.png", "ann as well"),
            ("plot taste-map model.rather --items tea milk --out a.png", "two items"),
        )),
    "calibration": Text(
        EXPLAIN, "draw how often predicted probabilities come true", "[options] MODEL FILE --out FILE", (
            ("plot calibration model.rather test.csv --out sure.png", ""),
            ("plot calibration model.rather test.csv --out sure.svg --force", ""),
            ("plot calibration model.rather log.csv --user judge --out sure.png", ""),
        )),
    "learning-curve": Text(
        EXPLAIN, "draw accuracy against the number of answers per person", "[options] MODEL [FILE] --out FILE", (
            ("plot learning-curve model.rather --out curve.png", "on a fifth held out"),
            ("plot learning-curve model.rather test.csv --out curve.png", ""),
            ("plot learning-curve model.rather --per-user 5 20 --out curve.png", ""),
        )),
}  # fmt: skip

FIRST = (
    ("fit votes.csv --out model.rather", "columns user, winner, loser"),
    ("rank model.rather ann --interval 0.9", "with a range of places"),
    ("serve films.csv", "at http://127.0.0.1:8000"),
)


def overview() -> str:
    """Return the help of ``rather`` itself: all commands by task, and examples."""
    return "\n".join([
        "rather: learn everyone's own ranking from a few choices each.", "",
        "usage: rather COMMAND [options]     rather COMMAND --help explains one command", "",
        *_by_task(), "", *_examples(FIRST),
    ])  # fmt: skip


def described(name: str, text: Text) -> str:
    """Return how the help of a command begins: one sentence, its usage and its examples."""
    usage = text.usage.replace("\n", "\n         ")
    lines = [sentence(text), "", f"usage: rather {name} {usage}", "", *_examples(text.examples)]
    if name == "plot":
        lines += ["", "Pictures:", *(f"  {word:<14}  {picture.what}" for word, picture in PICTURES.items())]
    return "\n".join(lines)


def sentence(text: Text) -> str:
    """Return the text of a command as a sentence."""
    return f"{text.what[0].upper()}{text.what[1:]}."


def wrapped(paragraph: str) -> str:
    """Return a paragraph below a heading of the help."""
    return fill(paragraph, WIDTH - 2)


def mistyped(given: Sequence[str]) -> str | None:
    """Return the answer to an unknown command or picture: the nearest one, or where all are listed."""
    first, second = (*given[:2], "-", "-")[:2]
    if not first.startswith("-") and first not in TEXTS:
        return _unknown("command", first, TEXTS, "rather --help")
    if first == "plot" and not second.startswith("-") and second not in PICTURES:
        return _unknown("picture", second, PICTURES, "rather plot --help")
    return None


def _unknown(what: str, given: str, known: Iterable[str], see: str) -> str:
    near = get_close_matches(given, list(known), n=1)
    return f"unknown {what} {given!r}; " + (f"did you mean {near[0]!r}?" if near else f"see: {see}")


def _by_task() -> Iterator[str]:
    width, before = max(map(len, TEXTS)), None
    for name, text in TEXTS.items():
        yield f"{'' if text.task == before else text.task:<10}{name:<{width}}  {text.what}"
        before = text.task


def _examples(examples: Iterable[tuple[str, str]]) -> list[str]:
    """Return commands with what they do, in a column of its own."""
    lines = [(f"  rather {command}", remark) for command, remark in examples]
    width = max((len(line) for line, remark in lines if remark), default=0)
    return ["Examples:", *(f"{line:<{width}}  {remark}".rstrip() for line, remark in lines)]
