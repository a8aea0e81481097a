"""rather ask: ask a person one question after another, and show their list as it changes."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..asking import Question
from ..data.table_files import write_table
from ..errors import InputError, number
from ..models.information import AIMS
from .answer import Document, in_json, in_words, percent, table, write
from .asked import add_feature, check_takes_newcomers, opened
from .commands import wrapped
from .conversation import MOST, UNSEEN, Conversation, News, meant
from .features import titles
from .inputs import STANDARD_INPUT, add_csv
from .outputs import add_force, add_output, check_different, check_table
from .remedies import in_shell

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

SHOWN, INTERVAL = 5, 0.9
NO_MORE, QUIT, ENOUGH, STOPPED = "end of input", "quit", "questions", "interrupted"
ENDS = NO_MORE, QUIT, ENOUGH, STOPPED  # else there was nothing left to ask, in a sentence
KEYS = "t: cannot decide, x: have not seen one, u: undo, q: finish"
FOR_PROGRAMS = (
    "With --json, standard input has a line for each answer: left, right, tie, unseen left, unseen right, unseen both, "
    "undo or quit. Every line that is written is a document; its 'event' says which. 'question': left, right, the "
    "probability of left, the information of an answer in bits, policy (how the pair was chosen) and propensity (the "
    "probability of choosing it). 'list', after an answer: answered (how many), unseen, of (how many items), ranking "
    "(the first N: rank, item, score, the places best to worst, and p_top, the probability of being among the first "
    "'top_of'), top_certainty (the share of the first 'top' that belong there, how many pairs are 'left' to ask, and "
    f"the 'more_answers' that bring the share to 'target'; null: over {MOST}, or more than are left). 'error', instead "
    "of a list: a sentence. 'end', the last line: a list, and all answers."
)


def add_asking(parser: Any) -> None:
    """The options of the command."""
    group = parser.add_argument_group("Questions")
    group.add_argument("--questions", type=int, metavar="N", help="stop after N answers (default: ask on)")
    group.add_argument(
        "--aim", choices=AIMS, default=AIMS[0], help=f"learn the whole taste, or the best items (default: {AIMS[0]})"
    )
    group.add_argument("--familiar", action="store_true", help="prefer questions about widely known items")
    group.add_argument(
        "--candidates", nargs="+", metavar="ITEM", help="ask about these items only (default: the 400 best known)"
    )
    group.add_argument(
        "--titles", metavar="FILE", help="table with columns item and title, to show titles instead of ids"
    )
    add_feature(group)
    group = parser.add_argument_group("List")
    group.add_argument("--top", type=int, default=SHOWN, metavar="N", help=f"items to show (default: {SHOWN})")
    group.add_argument(
        "--interval", type=float, default=INTERVAL, metavar="X",
        help=f"probability of the ranges of places (default: {INTERVAL})",
    )  # fmt: skip
    add_output(parser, _add_out, add_force, json="read and write lines of JSON: see below")
    group = parser.add_argument_group("Advanced")
    group.add_argument(
        "--explore", type=float, default=0.0, metavar="SHARE", help="share of questions drawn at random (default: 0)"
    )
    group.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, other questions (default: 0)")
    add_csv(group)
    parser.add_argument_group("Advanced (programs)", wrapped(FOR_PROGRAMS))


def _add_out(parser: Any) -> None:
    parser.add_argument(
        "--out", metavar="FILE", help="write the answers to a .csv or .parquet file: winner, loser, tie"
    )


def ask(options: argparse.Namespace) -> Answer:
    number("--top", options.top, at_least=1, integer=True)
    number("--interval", options.interval, above=0.0, below=1.0)
    if options.questions is not None:
        number("--questions", options.questions, at_least=1, integer=True)
    if options.titles == STANDARD_INPUT:
        raise InputError("standard input is for the answers; give --titles a file")
    check_different("the model, the titles and the answers", (options.model, options.titles, options.out))
    if options.out is not None:
        check_table(options.out, options.force)
    model, _ = opened(options.model)
    check_takes_newcomers(model)
    conversation = Conversation(model, options, {} if options.titles is None else titles(model, options))
    voice = ToProgram() if options.json else ToPerson()
    try:
        ended = _talk(conversation, voice)
    except KeyboardInterrupt:
        ended = STOPPED
    finally:  # also if whoever reads this has gone
        saved = options.out is not None and _saved(conversation)
    answers = [{"winner": a[0], "loser": a[1], "tie": len(a) == 3} for a in conversation.answers]
    about = {"event": "end", "model": options.model, "ended": ended, "out": options.out if saved else None}
    return {**about, **conversation.standing()[0], "answers": answers}, _show_end


def _talk(conversation: Conversation, voice: ToPerson | ToProgram) -> str:
    """Ask until the conversation ends; return the reason for the end."""
    most, news = conversation.options.questions, None
    while most is None or len(conversation.answers) < most:
        try:
            question = conversation.question()
        except InputError as e:
            if not conversation.steps:
                raise
            return in_shell(e, conversation.options)
        voice.tell(news, conversation)
        voice.ask(question, conversation)
        line = voice.hear()
        if line is None:
            return NO_MORE
        reply = meant(line)
        if reply == "quit":
            return QUIT
        news = conversation.take(question, reply)
    return ENOUGH


def _saved(conversation: Conversation) -> bool:
    """Write the answers, if there are any."""
    answers, kind = conversation.answers, conversation.model.items_.dtype
    if not answers:
        return False
    items = {role: np.array([answer[n] for answer in answers], kind) for n, role in enumerate(("winner", "loser"))}
    write_table(conversation.options.out, {**items, "tie": np.array([len(answer) == 3 for answer in answers])})
    return True


# -- who is talked to -------------------------------------------------------------------------------------------------


def _line() -> str | None:
    """The next line that is typed or piped in; None at the end."""
    raw = b"" if sys.stdin is None else sys.stdin.buffer.readline()
    return raw.decode("utf-8", "replace") if raw else None


class ToPerson:
    """Someone at a terminal, or who reads what a terminal would have shown."""

    def __init__(self) -> None:
        self.types = sys.stdin is not None and sys.stdin.isatty()
        self.before: dict[Any, int] = {}  # places by item, in the list that was shown last

    def tell(self, news: News | None, conversation: Conversation) -> None:
        if news is None:
            write(f"Which would you rather have, 1 or 2? Your list takes shape as you answer.\n({KEYS})\n")
            return
        if news.sentence:
            write(f"{news.sentence}\n")
        if news.changed:
            standing, ranked = conversation.standing()
            write("\n" + in_words(standing, partial(_show_list, before=self.before)))
            self.before = {item: place for place, item in enumerate(ranked, 1)}

    def ask(self, question: Question, conversation: Conversation) -> None:
        number_of, most = len(conversation.answers) + 1, conversation.options.questions
        write(f"\nquestion {number_of}" + ("\n" if most is None else f" of {most}\n"))
        write(f"  1  {conversation.called(question.left)}\n  2  {conversation.called(question.right)}\n")

    def hear(self) -> str | None:
        line = self._typed("1 or 2 (t, x, u, q)? ")
        if line is not None and meant(line) == UNSEEN:
            which = self._typed("which have you not seen: 1, 2 or both? ")
            return None if which is None else f"{UNSEEN} {which}"
        return line

    def _typed(self, prompt: str) -> str | None:
        write(prompt)
        line = _line()
        if line is not None and not self.types:
            write(f"{line.strip()}\n")
        return line


class ToProgram:
    """A program, which writes and reads lines."""

    def tell(self, news: News | None, conversation: Conversation) -> None:
        if news is not None and news.refused:
            self._write("error", {"error": news.sentence})
        elif news is not None:
            self._write("list", conversation.standing()[0])

    def ask(self, question: Question, conversation: Conversation) -> None:
        titles = {f"{side}_title": conversation.called(getattr(question, side)) for side in ("left", "right")}
        self._write("question", {**asdict(question), **(titles if conversation.names else {})})

    def hear(self) -> str | None:
        return _line()

    def _write(self, event: str, document: Document) -> None:
        write(in_json({"event": event, **document}, None))


# -- for people -------------------------------------------------------------------------------------------------------


def _show_list(document: Document, console: Console, before: dict[Any, int]) -> None:
    """Show the list with ranges of places, and each item's earlier place if it has changed."""
    sure, rows = f"place of {document['of']:,}, {percent(document['interval'])} sure", []
    for row in document["ranking"]:
        then = before.get(row["item"], row["rank"])
        moved = f"was {then}" if then != row["rank"] else ""
        places = f"{row['best']} to {row['worst']}" if row["best"] < row["worst"] else str(row["best"])
        rows.append({"rank": row["rank"], "item": row.get("title", row["item"]), sure: places, "": moved})
    table(console, rows, ("rank", "item", sure, ""))
    console.print(_in_a_sentence(**document["top_certainty"]))


def _in_a_sentence(top: int, share: float, target: float, more_answers: int | None, left: int) -> str:
    what = {1: "your favourite", 2: "your top two", 3: "your top three"}[top]
    if share >= target:
        return f"{what}: settled (about {share:.0%})"
    if more_answers is not None:
        away = "one more answer" if more_answers == 1 else f"some {more_answers} more answers"
    elif left >= MOST:
        away = f"more than {MOST} answers away"
    else:
        pairs = {0: "no pair is left to ask", 1: "the one pair left may not settle it"}
        away = pairs.get(left, f"the {left} pairs left may not settle it")
    return f"{what}: about {share:.0%} settled, {away}"


def _show_end(document: Document, console: Console) -> None:
    n, out, ended = document["answered"], document["out"], document["ended"]
    many = "1 answer" if n == 1 else f"{n:,} answers"
    if ended not in ENDS:
        console.print(f"\n{ended}")
    console.print(f"\nYour list after {many}:\n" if n else "\nNothing was answered; everybody's list:\n")
    _show_list(document, console, {})
    if out is not None:
        console.print(f"\n{many} saved to {out}")
