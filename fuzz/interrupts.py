"""Ctrl-C at random moments of fits, searches, calibrations, judging, saving, loading, reading: nothing is left mixed.

Afterwards a model answers as it did before, or as after some whole round of the new fit; its slope is none or the right
one; files are as before or as they should be. A moment is one of the clock, by a real SIGINT (of which the seed does
not say when it strikes), or ten times as often the one before some line of ours is run, which the seed does say.
"""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import rather

from .actions import ACTIONS, Action

FULL, CHUNK, SECONDS = 300, 50, 120.0  # of which at least two in three strike in time
LINES = 10  # moments between lines, for every one of the clock
TRACED = (str(Path(rather.__file__).parent), "tempfile.py", "contextlib.py")


class Shared:
    """The actions, each made once, with how long it takes and how many lines it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[str, Action] = {}
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, int] = {}

    def action(self, name: str) -> Action:
        if name not in self.made:
            action = self.made[name] = ACTIONS[name](self.folder)
            for _ in range(2):
                action.begin()
                began = time.perf_counter()
                _quietly(action.act)
                self.seconds[name] = time.perf_counter() - began
                action.check(False)
            counter = Lines(None)
            action.begin()
            with counter:
                _quietly(action.act)
            self.lines[name] = counter.seen
        return self.made[name]


def prepare(folder: Path) -> Shared:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    return Shared(folder)


def case(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    name = rng.choice(list(ACTIONS))
    action = shared.action(name)
    delay = max(1e-4, rng.uniform(0, 1.1) * shared.seconds[name])
    _try(action, name, f"after {delay:.4f} s", partial(_by_clock, action, delay), count, "interrupts by SIGINT")
    for _ in range(LINES):
        line = rng.randint(1, shared.lines[name])
        press = partial(_by_line, action, Lines(line))
        _try(action, name, f"before line {line}", press, count, "interrupts between lines")


def _try(action: Action, name: str, when: str, press: Callable[[], bool], count: Counter[str], what: str) -> None:
    action.begin()
    struck = press()
    count[what if struck else "came too late, or was kept"] += 1
    try:
        action.check(struck)
        left = action.leftovers()
    except Exception as e:
        raise AssertionError(f"{name}, interrupted {when}: {type(e).__name__}: {e}") from e
    assert not left, f"{name}, interrupted {when}: left {left}"
    count[f"moments in {name}"] += 1


def _by_clock(action: Action, delay: float) -> bool:
    """Whether KeyboardInterrupt came out of the action when SIGINT struck after a delay."""
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            _quietly(action.act)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return True
    return False


def _by_line(action: Action, counter: Lines) -> bool:
    try:
        with counter:
            _quietly(action.act)
    except KeyboardInterrupt:
        return True
    return False


def _quietly(act: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        act()


class Lines(contextlib.AbstractContextManager["Lines"]):
    """Counts the lines of ours that are run, and presses Ctrl-C before one of them."""

    def __init__(self, at: int | None) -> None:
        self.at, self.seen = at, 0

    def __enter__(self) -> Lines:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._line if frame.f_code.co_filename.endswith(TRACED[1:]) or _is_ours(frame) else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.seen += 1
            if self.seen == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(TRACED[0])
