"""Newer models: fitted from the ledger in another process, checked, and swapped in."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.whole_files import LEFTOVER, written_whole
from ..errors import InputError
from ..estimators import load
from ..models.altsvm import AltSVM
from ..models.belief import Items
from ..models.crowd import LARGEST
from .knowledge import Knowledge
from .ledger import Ledger
from .listed import Listed
from .locks import alone
from .marks import FAST
from .votes import counted, votes

FEW, EACH, MOST = 30, 2, 5000  # answers before the first fit: at least, an item, at most
PEOPLE = 5  # before the first fit: one person is no crowd, however much they answer
GROWN = 0.05  # share of new answers that a fit is worth, by however few: the crowd of the first fit is in it as well
LOOK = 5.0  # seconds between looks at the ledger
KEPT = 3  # models in the folder
ENDING, APART = ".rather", ".apart"  # a model; what fits without each fold of its visitors know
FOLDS = 5  # of visitors
PARTS = "Z", "offset", "noise"  # of ``Items``
VISITOR = re.compile("[0-9a-f]{32}")
log = logging.getLogger("rather.serve")


def needed(n_items: int) -> int:
    """Return the number of answers that the first fit of listed items takes."""
    return min(max(FEW, EACH * n_items), MOST)


def version_of(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()


def opened(path: Path, listed: Listed) -> Knowledge:
    """A model that can be served; an InputError says why it cannot."""
    model = load(path)
    if not hasattr(model, "_crowd"):
        raise InputError(f"{type(model).__name__} has no posterior that the page can use; fit AltSVM")
    model._crowd()
    made = Knowledge(listed, model, version_of(path))
    if not (made.codes >= 0).any():
        raise InputError(f"the model {str(path)!r} knows none of the items that are listed")
    made.apart = _apart(path, made)
    for one in {id(x): x for x in (made, *made.apart.values())}.values():
        if not all(bool((abs(getattr(one.items, name)) < LARGEST).all()) for name in PARTS):
            raise InputError(f"the model {str(path)!r} has numbers out of all proportion")
    return made


def _apart(path: Path, knowledge: Knowledge) -> dict[str, Knowledge]:
    """Return, for each visitor of the fit, the knowledge without the visitor's own answers.

    A model of ours has that beside it. Of another, the posterior of a fitted user allows for the user's own answers.
    """
    if not path.with_suffix(APART).exists():
        model = knowledge.model
        mine = [name for name in map(str, model.users_.tolist()) if VISITOR.fullmatch(name)]
        member = knowledge.by(model._items_met(newcomer=False), knowledge.sway) if mine else knowledge
        return dict.fromkeys(mine, member)
    with np.load(path.with_suffix(APART)) as found:
        folds = []
        for fold in range(int(found["fold"].max(initial=-1)) + 1):
            parts = {name: found[f"{name}_{fold}"].astype(np.float64) for name in PARTS if f"{name}_{fold}" in found}
            if parts and any(len(part) != len(knowledge.model.items_) for part in parts.values()):
                raise InputError(f"{path.with_suffix(APART).name!r} does not belong to its model")
            sway, side = found[f"sway_{fold}"].tolist() if parts else (0.0, 0.0)
            items = Items(**parts, V=np.empty((len(parts["offset"]), 0)), sway=sway) if parts else None
            folds.append(knowledge.by(items, side))
        return {str(name): folds[fold] for name, fold in zip(found["visitors"], found["fold"], strict=True)}


def newest(folder: Path, listed: Listed) -> tuple[Knowledge | None, int]:
    """The newest model in the folder that can be served, and how many answers there were at its fit.

    A model that cannot be served is passed over, and the log says so.
    """
    for path in sorted(folder.glob(f"*{ENDING}"), reverse=True):
        try:
            return opened(path, listed), _answers_at(path)
        except Exception as e:
            log.warning("model %s is passed over: %s", path.name, e)
    return None, 0


def _answers_at(path: Path) -> int:
    """Return the number of answers of a fit, from the name of its model; 0 for an older name."""
    said = path.stem.partition("-")[2]
    return int(said) if said.isdecimal() else 0


def _remove(model: Path) -> None:
    for path in (model, model.with_suffix(APART)):
        path.unlink(missing_ok=True)


class Refits:
    """Fits whenever enough was said since the last time, at most every so many seconds."""

    def __init__(
        self,
        ledger: Ledger,
        folder: Path,
        listed: Listed,
        base: str | None,
        every: float,
        swap: Callable[[Knowledge], None],
        answers: int = 0,
    ) -> None:
        """``answers``: how many there were at the fit of the model that is in place."""
        self.ledger, self.folder, self.listed, self.base, self.every, self.swap = (
            ledger, folder, listed, base, every, swap
        )  # fmt: skip
        self.fitted = self.failed = 0
        self.last: str | None = None  # why the last one failed
        self.left_out = 0, 0  # people and answers that looked like a script's at the last look
        self._answers = answers  # at the last try
        self._next = 0  # answers, with those left out, from which on to look again
        self._process: Any = None

    async def forever(self) -> None:
        """Until cancelled."""
        began = -self.every
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(min(LOOK, self.every))
                if time.monotonic() - began >= self.every and await self._is_due():
                    began = time.monotonic()
                    await self.once()

    async def _is_due(self) -> bool:
        """Whether there are enough answers that a fit would use; these are counted once all together are enough."""
        try:
            people, said = await asyncio.to_thread(self.ledger.counts, FAST)
            if said < self._next or not self._is_enough(people, said):
                return False
            used = await asyncio.to_thread(counted, self.ledger)
        except Exception as e:  # of which none ends refits for good
            log.warning("no refit: %s", e)
            return False
        self.left_out = people - used[0], said - used[1]
        due = self._is_enough(*used)
        if due:
            self._answers = used[1]
        self._next = said + max(1, self._enough() - used[1])
        return due

    def _enough(self) -> int:
        """Return the number of answers at which the next fit starts."""
        first = needed(len(self.listed)) if self.base is None else 1
        return max(first, self._answers + max(1, int(GROWN * self._answers)))

    def _is_enough(self, people: int, said: int) -> bool:
        return people >= (PEOPLE if self.base is None else 1) and said >= self._enough()

    async def once(self) -> bool:
        """Fit, look, swap; whether there is a newer model."""
        path = self.folder / f"{time.time_ns()}-{self._answers}{ENDING}"
        task = {"database": self.ledger.address, "base": self.base, "out": str(path)}
        try:
            # On standard input, which stays open as long as the server runs: nobody else may see a password in the URL.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "rather.server.refits", stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
            said = await self._process.stderr.read()
            await self._process.wait()
            self._process.stdin.close()
            if self._process.returncode:
                lines = said.decode(errors="replace").strip().splitlines()
                raise InputError(lines[-1] if lines else f"the fit ended with {self._process.returncode}")
            self.swap(await asyncio.to_thread(opened, path, self.listed))
        except asyncio.CancelledError:
            self._end()
            raise
        except Exception as e:
            self.failed, self.last = self.failed + 1, str(e)
            log.warning("the model stays as it is: %s", e)
            _remove(path)
            return False
        self.fitted, self.last = self.fitted + 1, None
        for old in sorted(self.folder.glob(f"*{ENDING}"))[:-KEPT]:
            _remove(old)
        return True

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._process is not None:
                self._process.kill()


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process writes models into the folder, and remove what an ended one left unfinished."""
    with alone(folder.with_name(f"{folder.name}.fitting")):
        single = [path for path in folder.glob(f"*{APART}") if not path.with_suffix(ENDING).exists()]
        for leftover in (*folder.glob(f".*{LEFTOVER}"), *single):
            leftover.unlink(missing_ok=True)
        yield


def fit(database: str, base: str | None, out: str) -> None:
    """Fit a model to a ledger and a base model, and save it; fits into one folder follow one another."""
    with _alone_in(Path(out).parent):
        _fit(database, base, out)


def _fit(database: str, base: str | None, out: str) -> None:
    """Fit to the ledger and the data of the base model, and save all that serving needs."""
    frame, _ = votes(Ledger(database, must_exist=True))
    columns, visitors = {role: role for role in frame}, np.unique(frame["user"])
    ids = visitors
    model: Any = AltSVM(n_threads=1)
    if base is None:
        said = Comparisons.from_frame(frame, **columns)
    else:
        earlier = load(base)
        model, said = type(earlier)(**earlier.get_params()), earlier.fitted.training
        there = np.isin(said.users.astype(str), frame["user"].astype(str))  # who is in the base from this very ledger
        said = said._with(said.source.of_users(~there)) if there.any() else said
        if _numbered(said.users):  # visitors get numbers that nobody has
            ids = np.arange(len(visitors)) + int(said.users.max()) + 1
            frame["user"] = ids[np.searchsorted(visitors, frame["user"])]
        if _numbered(said.items):
            frame |= {role: frame[role].astype(np.int64) for role in ("winner", "loser")}
        said = said.extended(Comparisons.from_frame(frame, **columns))
        model.set_params(n_threads=1)
    model.fit(said)
    model.calibrate()
    model._crowd()
    with written_whole(Path(out).with_suffix(APART)) as file:
        np.savez(file, **_without_each_fold(model, said, visitors, ids))
    model.save(out)


def _without_each_fold(model: Any, said: Comparisons, visitors: Any, ids: Any) -> dict[str, Any]:
    """Return the items' parts of fits without each fold of visitors, with the prior of the full fit."""
    code = {name: n for n, name in enumerate(said.users.tolist())}
    of_visitor = np.array([code[name] for name in ids.tolist()])
    fold = np.arange(len(visitors)) % min(FOLDS, len(visitors))
    told = {"visitors": visitors.astype(str), "fold": fold}
    for one in range(int(fold.max()) + 1):
        there = np.ones(len(said.users), bool)
        there[of_visitor[fold == one]] = False
        rest = said._with(said.source.of_users(there))
        if not len(rest):
            continue  # nobody else has answered
        twin = model._twin().fit(rest)
        twin.fitted.taste_prior.sureness = model.fitted.taste_prior.sureness
        items = twin._items_met()
        told |= {f"{name}_{one}": getattr(items, name).astype(np.float32) for name in PARTS}
        told[f"sway_{one}"] = np.array([items.sway, twin.context_effects_.get("side", 0.0)])
    return told


def _numbered(ids: Any) -> bool:
    return bool(ids.dtype.kind in "iu")


def check_base(model: Any, path: str, listed: Listed) -> None:
    """Refuse a model that votes on listed items cannot join."""
    kept = model.fitted.training
    if kept is None:
        raise InputError(f"{path!r} does not hold its comparisons, so it cannot be fitted again; fit it without --slim")
    if kept.source.name:
        raise InputError(
            f"{path!r} was fitted to {kept.source.name}, which votes cannot join; leave --refit out: answers are kept, "
            "and everybody's own list grows all the same"
        )
    if _numbered(kept.items):
        other = next((name for name in listed.ids if not re.fullmatch(r"-?\d{1,18}", name)), None)
        if other is not None:
            raise InputError(f"the items of {path!r} are numbers, and {other!r} is none; leave it out of the list")


def _end_with_the_server() -> None:
    """End this process as soon as the server closes its end of standard input, or is no more."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    if hasattr(os, "nice"):  # not on Windows
        os.nice(10)  # whoever answers goes first
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    try:
        fit(**task)
    except InputError as e:
        print(e, file=sys.stderr)
        sys.exit(2)
