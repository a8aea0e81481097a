"""The page under load: question-and-answer turns a second, how long each takes, and what happens beyond.

    python benchmarks/turns.py [--model FILE] [--seconds 20] [--visits 20]

Serves a model of MovieLens 1M of rank 100 (fitted first, unless given) with `rather serve`, in a process of its own,
and asks it over HTTP from another: visitors arrive, get a question, and answer so many, each answer with the next
question in its reply, acknowledged after it is on disk. `closed`: so many visitors at once, each as fast as it is
answered; `open`: a turn begins when it is due, whatever became of the others, at half of what the first reached, and at
half as much again. Client and server share the machine's cores; `CPU ms a turn` is the server's own. At the end every
turn that was acknowledged is looked up in the database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: the server's, too

import numpy as np

import rather
from measuring import bench
from measuring.smoke import sized

RANK, AT_ONCE = 100, 32
SECONDS, VISITS = sized(20.0, smoke=0.5), 20
REPLIES = "left", "right"


class Line:
    """One connection, one request after the other."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.ends: Any = None  # reader and writer

    async def post(self, path: str, body: dict[str, Any], cookie: str) -> tuple[int, Any, str, float]:
        """Status, document, the cookie that was set, and the seconds from the request to the reply."""
        self.ends = self.ends or await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.ends
        text = json.dumps(body)
        own = f"cookie: {cookie}\r\n" if cookie else ""
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{own}"
        began = time.perf_counter()
        writer.write(f"{head}content-length: {len(text)}\r\n\r\n{text}".encode())
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        raw = await reader.readexactly(int(headers["content-length"]))
        took = time.perf_counter() - began
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), json.loads(raw), headers.get("set-cookie", "").partition(";")[0], took

    def close(self) -> None:
        if self.ends is not None:
            self.ends[1].close()
            self.ends = None


class Load:
    """Turns, what became of each, and how long they took."""

    def __init__(self, port: int, visits: int) -> None:
        self.port, self.visits = port, visits
        self.took: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.acknowledged: list[str] = []
        self.idle: list[tuple[Line, str, Any, int]] = []  # visitors between turns: line, cookie, question, answers
        self.rng = np.random.default_rng(0)

    async def turn(self, visitor: tuple[Line, str, Any, int] | None) -> tuple[Line, str, Any, int] | None:
        """One request: an answer, or somebody's first question; the visitor as they are then."""
        line, cookie, question, n = visitor or (Line(self.port), "", None, 0)
        try:
            if question is None:
                status, told, new, took = await line.post("/api/question", {}, cookie)
                cookie = new or cookie
            else:
                body = {"token": question["token"], "reply": REPLIES[int(self.rng.random() < 0.5)], "seconds": 1.0}
                status, told, _, took = await line.post("/api/answer", body, cookie)
        except (OSError, asyncio.IncompleteReadError):
            line.close()
            self.statuses[0] += 1
            return None
        self.took.append(took)
        self.statuses[status] += 1
        if status != 200:
            return line, cookie, question, n
        if question is not None:
            self.acknowledged.append(question["token"])
        n += 1
        if n > self.visits or told["question"] is None:
            line.close()
            return None
        return line, cookie, told["question"], n

    async def closed(self, seconds: float, at_once: int) -> None:
        until = time.perf_counter() + seconds

        async def one() -> None:
            visitor = None
            while time.perf_counter() < until:
                visitor = await self.turn(visitor)

        await asyncio.gather(*(one() for _ in range(at_once)))

    async def open(self, seconds: float, rate: float) -> None:
        """So many turns a second begin, by visitors who are between turns, or new ones."""
        began, tasks = time.perf_counter(), set()

        async def one() -> None:
            visitor = await self.turn(self.idle.pop() if self.idle else None)
            if visitor is not None:
                self.idle.insert(0, visitor)

        for n in range(int(seconds * rate)):
            wait = began + n / rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(one())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    def row(self, name: str, asked: float, seconds: float) -> dict[str, Any]:
        p50, p99 = np.quantile(self.took, [0.5, 0.99]) if self.took else (np.nan, np.nan)
        refused = {s: n for s, n in sorted(self.statuses.items()) if s != 200}
        return {
            "load": name, "asked a second": asked, "turns a second": self.statuses[200] / seconds,
            "median ms": 1e3 * p50, "p99 ms": 1e3 * p99, "longest ms": 1e3 * max(self.took, default=np.nan),
            "not answered": " ".join(f"{s}: {n}" for s, n in refused.items()) or "none",
        }  # fmt: skip


def cpu_seconds(pid: int) -> float:
    """That a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fitted(path: Path) -> None:
    model = rather.AltSVM(rank=RANK).fit(rather.Comparisons.from_ratings(bench.ratings("ml-1m")))
    model.calibrate()
    model.rank(model.users_[0], interval=0.9)  # which learns how sure to be
    model.save(path)


def served(model: Path, folder: Path) -> tuple[subprocess.Popen[str], int]:
    command = [
        sys.executable, "-m", "rather", "serve", str(model), "--state", str(folder), "--port", "0", "--json",
        "--address-rate", "1e6", "--visitor-rate", "1e6",
    ]  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    said = json.loads(server.stdout.readline())
    return server, int(said["url"].rstrip("/").rpartition(":")[2])


async def loads(port: int, pid: int, seconds: float, visits: int) -> tuple[list[dict[str, Any]], list[str]]:
    rows, acknowledged = [], []

    async def measured(name: str, rate: float | None) -> float:
        load = Load(port, visits)
        began, used = time.perf_counter(), cpu_seconds(pid)
        await (load.closed(seconds, AT_ONCE) if rate is None else load.open(seconds, rate))
        row = load.row(name, rate or float("nan"), time.perf_counter() - began)
        row["CPU ms a turn"] = 1e3 * (cpu_seconds(pid) - used) / max(load.statuses[200], 1)
        for line, *_ in load.idle:
            line.close()
        rows.append(row)
        acknowledged.extend(load.acknowledged)
        print(row, flush=True)
        return float(row["turns a second"])

    most = max([await measured(f"closed, {AT_ONCE} at once", None) for _ in range(sized(3, smoke=1))])
    await measured("open, half of that", most / 2)
    await measured("open, 250", 250.0)
    await measured("open, half as much again", 1.5 * most)
    await measured("open, half of it once more", most / 2)
    return rows, acknowledged


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--model", type=Path, help="a model to serve (fitted to MovieLens 1M)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of each load ({SECONDS:g})")
    parser.add_argument("--visits", type=int, default=VISITS, help=f"answers of each visitor ({VISITS})")
    options: argparse.Namespace = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = options.model or folder / "ml-1m.rather"
        if options.model is None:
            fitted(model)
        server, port = served(model, folder / "state")
        try:
            rows, acknowledged = asyncio.run(loads(port, server.pid, options.seconds, options.visits))
        finally:
            server.terminate()
            server.wait()
        kept = sqlite3.connect(folder / "state" / "votes.sqlite").execute("SELECT token FROM answers").fetchall()
    lost = set(acknowledged) - {token for (token,) in kept}
    rows.append({"load": f"{len(acknowledged):,} answers acknowledged, {len(lost)} of them lost"})
    bench.report("turns", rows)


if __name__ == "__main__":
    main()
