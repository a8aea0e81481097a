"""Newer models: fitted in a process of their own from the ledger, looked at, and put in place in one step."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import InputError
from ..estimators import load
from ..models.altsvm import AltSVM
from .knowledge import Knowledge
from .ledger import Ledger
from .listed import Listed
from .marks import FAST
from .votes import votes

FEW, EACH, MOST = 30, 2, 5000  # answers before the first fit: at least, an item, at most
GROWN = 0.05  # share of new answers that a fit is worth
LOOK = 5.0  # seconds between looks at the ledger
KEPT = 3  # models in the folder
ENDING = ".rather"
log = logging.getLogger("rather.serve")


def needed(n_items: int) -> int:
    """How many answers the first fit of listed items takes."""
    return min(max(FEW, EACH * n_items), MOST)


def version_of(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()


def opened(path: Path, listed: Listed) -> Knowledge:
    """A model that can be served; an InputError says why it cannot."""
    model = load(path)
    if not hasattr(model, "_belief"):
        raise InputError(f"{type(model).__name__} does not know how sure it is of a person; fit AltSVM")
    model._crowd()
    made = Knowledge(listed, model, version_of(path))
    if not (made.codes >= 0).any():
        raise InputError(f"the model {str(path)!r} knows none of the items that are listed")
    belief = made.belief([])
    if not all(bool((abs(x) < 1e12).all()) for x in (belief.offset, belief.noise, belief.Z)):
        raise InputError(f"the model {str(path)!r} has numbers out of all proportion")
    return made


def newest(folder: Path, listed: Listed) -> Knowledge | None:
    """The newest model in the folder that can be served; what cannot is passed over, and said."""
    for path in sorted(folder.glob(f"*{ENDING}"), reverse=True):
        try:
            return opened(path, listed)
        except Exception as e:
            log.warning("model %s is passed over: %s", path.name, e)
    return None


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
    ) -> None:
        self.ledger, self.folder, self.listed, self.base, self.every, self.swap = (
            ledger, folder, listed, base, every, swap
        )  # fmt: skip
        self.fitted = self.failed = 0
        self.last: str | None = None  # why the last one failed
        self._answers = 0  # at the last try
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
        try:
            said = (await asyncio.to_thread(self.ledger.counts, FAST))[1]
        except Exception as e:  # of which none ends refits for good
            log.warning("no refit: %s", e)
            return False
        first = needed(len(self.listed)) if self.base is None else 1
        if said < max(first, self._answers + max(1, int(GROWN * self._answers))):
            return False
        self._answers = said
        return True

    async def once(self) -> bool:
        """Fit, look, swap; whether there is a newer model."""
        path = self.folder / f"{time.time_ns()}{ENDING}"
        task = {"database": self.ledger.address, "base": self.base, "out": str(path)}
        try:
            # On standard input: a password in the URL is nobody else's to see.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "rather.server.refits", stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            _, said = await self._process.communicate(json.dumps(task).encode())
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
            path.unlink(missing_ok=True)
            return False
        self.fitted, self.last = self.fitted + 1, None
        for old in sorted(self.folder.glob(f"*{ENDING}"))[:-KEPT]:
            old.unlink(missing_ok=True)
        return True

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._process is not None:
                self._process.kill()


def fit(database: str, base: str | None, out: str) -> None:
    """One fit of all that is in a ledger, with what the base model was fitted to, saved with all that serving takes."""
    frame, _ = votes(Ledger(database, must_exist=True))
    columns = {role: role for role in frame}
    model: Any = AltSVM(n_threads=1)
    if base is None:
        said = Comparisons.from_frame(frame, **columns)
    else:
        earlier = load(base)
        model, said = type(earlier)(**earlier.get_params()), earlier._fitted_to
        there = np.isin(said.users.astype(str), frame["user"].astype(str))  # who is in the base from this very ledger
        said = said._with(said.source.of_users(~there)) if there.any() else said
        if _numbered(said.users):  # visitors get numbers that nobody has
            frame["user"] = np.unique(frame["user"], return_inverse=True)[1] + int(said.users.max()) + 1
        if _numbered(said.items):
            frame |= {role: frame[role].astype(np.int64) for role in ("winner", "loser")}
        said = said.extended(Comparisons.from_frame(frame, **columns))
        model.set_params(n_threads=1)
    model.fit(said)
    model.calibrate()
    model._crowd()
    model.save(out)


def _numbered(ids: Any) -> bool:
    return bool(ids.dtype.kind in "iu")


def check_base(model: Any, path: str, listed: Listed) -> None:
    """Refuse a model that votes on listed items cannot join."""
    kept = model._fitted_to
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


if __name__ == "__main__":
    os.nice(10)  # whoever answers goes first
    try:
        fit(**json.load(sys.stdin))
    except InputError as e:
        print(e, file=sys.stderr)
        sys.exit(2)
