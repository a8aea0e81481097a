"""Processes that add arrays together over TCP: a butterfly of T = 2^k ranks, with the same bits on all of them.

Every element's sum is that of one fixed binary tree over the ranks, ((x0+x1)+(x2+x3))+((x4+x5)+(x6+x7)), whatever the
array's size and the order of arrival; only a NaN's payload may differ. This module does not depend on Spark.
"""

from __future__ import annotations

import hmac
import select
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES = tuple(np.dtype(kind) for kind in (np.float32, np.float64, np.int64))
HEADER = struct.Struct("<QQ8sQ")  # which sum, its bytes, its dtype, which exchange of it: the same for both partners
HELLO_SIZE = 32
# The most bytes sent before the partner is known to be reading. They fit into its receive window: were that full while
# the partner is busy with a long pass, TCP_USER_TIMEOUT would take it for a machine that vanished.
SMALL = 1 << 15
CHUNK = 1 << 18  # bytes received before they are added; they are still in the cache then
HELLO_SECONDS = 2.0  # that somebody who connects has to say it
ATTEMPT_SECONDS = 5.0  # to connect
LEAST_SECONDS = 0.001  # of an attempt where there is no time left
PAUSE_SECONDS = 0.05  # until the next attempt
OPTIONS = (  # a machine that vanished is noticed in about half a minute
    ("TCP_NODELAY", 1),
    ("TCP_KEEPIDLE", 10),
    ("TCP_KEEPALIVE", 10),  # the same on macOS
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 3),
    ("TCP_USER_TIMEOUT", 30_000),
)


class GroupError(RuntimeError):
    """A peer was lost, was silent too long, or is not one of us."""


class Listener:
    """A socket at one address of this machine, at any free port or at the first free one of ``ports``."""

    def __init__(self, host: str, ports: range | None = None) -> None:
        asked = "any port" if ports is None else f"a port of {ports}"
        reason = "it is empty"
        try:
            found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
        except OSError as error:
            found, reason = [], error.strerror or str(error)
        for port, (family, *_, where) in product((0,) if ports is None else ports, found):
            try:
                self.socket = socket.create_server((where[0], port), family=family, backlog=128)
            except OSError as error:
                reason = error.strerror or str(error)
            else:
                self.socket.setblocking(False)
                self.port: int = self.socket.getsockname()[1]
                return
        remedy = "free a port, or set SPARK_LOCAL_IP on each machine to an address that it has"
        raise GroupError(f"cannot listen at {asked} of {host}: {reason}; {remedy}")

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Partner:
    """The connection with one other rank."""

    def __init__(self, address: str, connection: socket.socket) -> None:
        self.address, self.socket = address, connection
        self.sent = 0
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in OPTIONS:
            with suppress(AttributeError, OSError):  # not on this platform; or the partner is gone, as will be seen
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._events = select.POLLIN

    def exchange(self, first: memoryview, then: memoryview, rooms: Iterator[memoryview], timeout: float) -> None:
        """Send ``first`` and ``then`` and fill the ``rooms`` at the same time, so that neither partner waits for ever.

        ``first`` begins with a header, and so does the first room; ``then`` is sent after the partner's header has
        come. A room has been dealt with when the next one is asked for.
        """
        try:
            unsent, theirs = self._send(first), next(rooms)
            room, missing = theirs, HEADER.size
            while room or unsent:
                event = self._wait((select.POLLIN if room else 0) | (select.POLLOUT if unsent else 0), timeout)
                if room and event & ~select.POLLOUT:  # an error or a hang-up too: receiving says which
                    count = self._receive(room)
                    room = room[count:]
                    if 0 < missing <= count:
                        self._check(first, theirs)
                    missing -= count
                    if not room:
                        room = next(rooms, room)
                if unsent and event & ~select.POLLIN:
                    unsent = self._send(unsent)
                if missing <= 0 and not unsent:
                    unsent, then = then, then[:0]
        except OSError as error:
            raise self._lost() from error

    def _wait(self, events: int, timeout: float) -> int:
        if events != self._events:
            self._poll.modify(self.socket, events)
            self._events = events
        ready = self._poll.poll(min(timeout * 1000, 2**31 - 1))
        if not ready:
            text = "the other task hangs, or is far slower than this one"
            raise GroupError(f"{self.address} was silent for {timeout:g} seconds; {text}")
        return ready[0][1]

    def _send(self, data: memoryview) -> memoryview:
        """Send what fits at once, and return the rest."""
        try:
            count = self.socket.send(data)
        except BlockingIOError:
            return data
        self.sent += count
        return data[count:]

    def _receive(self, room: memoryview) -> int:
        try:
            count = self.socket.recv_into(room)
        except BlockingIOError:
            return 0
        if not count:
            raise self._lost()
        return count

    def _check(self, ours: memoryview, theirs: memoryview) -> None:
        if ours[: HEADER.size] != theirs[: HEADER.size]:
            text = f"it is at {_place(theirs)}, and this task at {_place(ours)}"
            raise GroupError(f"{self.address} is out of step: {text}")

    def _lost(self) -> GroupError:
        return GroupError(f"lost the connection to {self.address}; the other task has probably failed")


def _place(header: memoryview) -> str:
    """Return where in its work the sender of a header is."""
    call, size, dtype, number = HEADER.unpack(header[: HEADER.size])
    return f"exchange {number} of sum {call}, of {size} bytes of {dtype.rstrip(bytes(1)).decode(errors='replace')}"


class Guest:
    """Somebody who has connected with our listener and must say hello now."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.socket, self.said, self.until = connection, b"", time.monotonic() + HELLO_SECONDS

    def done(self) -> bool:
        """Whether it has said a whole hello, or has had its time, or is gone."""
        try:
            more = self.socket.recv(HELLO_SIZE - len(self.said))
        except BlockingIOError:
            return time.monotonic() > self.until
        except OSError:
            return True
        self.said += more
        return not more or len(self.said) == HELLO_SIZE or time.monotonic() > self.until

    def answer(self, hello: bytes) -> bool:
        try:
            return self.socket.send(hello) == len(hello)
        except OSError:
            return False


class Meeting:
    """The connections of a rank: it connects with lower partners while higher ones connect with it."""

    def __init__(self, rank: int, addresses: list[str], token: str, timeout: float) -> None:
        self.rank, self.addresses, self.token, self.timeout = rank, addresses, token.encode(), timeout
        self.deadline = time.monotonic() + timeout

    def partners(self, listener: Listener) -> list[Partner]:
        """The ranks that differ from ours in one bit, the lowest bit first."""
        peers = [self.rank ^ 1 << step for step in range(len(self.addresses).bit_length() - 1)]
        with ThreadPoolExecutor(len(peers)) as pool:
            reached = {peer: pool.submit(self.reach, peer) for peer in peers if peer < self.rank}
            found = self.admit({peer for peer in peers if peer > self.rank}, listener)
        found |= {peer: future.result() for peer, future in reached.items()}
        partners, problem = [], ""
        for peer in peers:
            connection = found.get(peer, "it did not connect")
            if not isinstance(connection, str):
                partners.append(Partner(self.addresses[peer], connection))
            elif not problem or peer in reached:  # more is known of whom we tried than of whom we waited for
                problem = f"{self.addresses[peer]} could not be reached within {self.timeout:g} seconds ({connection})"
        if problem:
            for partner in partners:
                partner.socket.close()
            raise GroupError(f"{problem}; the ports must be open between executors")
        return partners

    def left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.0)

    def hello(self, sender: int, receiver: int) -> bytes:
        """Return the greeting between ranks, which proves the token and differs in each direction."""
        text = f"rather: {sender} of {len(self.addresses)} to {receiver}"
        return hmac.digest(self.token, text.encode(), "sha256")

    def reach(self, peer: int) -> socket.socket | str:
        """A connection with a lower rank, tried once and again until the deadline; or why there is none."""
        reason = ""
        while True:
            try:
                return self.call(peer, min(self.left() or LEAST_SECONDS, ATTEMPT_SECONDS))
            except TimeoutError:
                reason = reason or "it did not answer"  # there may be little time for the last attempt
            except OSError as error:
                reason = error.strerror or str(error)
            left = self.left()
            if not left:
                return reason
            time.sleep(min(PAUSE_SECONDS, left))

    def call(self, peer: int, seconds: float) -> socket.socket:
        """Connect and say hello; the answer may be as long in coming as the other task."""
        host, _, port = self.addresses[peer].rpartition(":")
        connection = socket.create_connection((host.strip("[]"), int(port)), seconds)
        try:
            connection.sendall(self.hello(self.rank, peer))
            answer = b""
            while len(answer) < HELLO_SIZE:
                connection.settimeout(self.left() or LEAST_SECONDS)
                more = connection.recv(HELLO_SIZE - len(answer))
                if not more:
                    raise ConnectionError("it turned us away")
                answer += more
            if not hmac.compare_digest(answer, self.hello(peer, self.rank)):
                raise ConnectionError("what answers there is not one of us")
        except OSError:
            connection.close()
            raise
        return connection

    def admit(self, peers: set[int], listener: Listener) -> dict[int, socket.socket | str]:
        """The connections of those higher ranks that come before the deadline; a stranger is turned away."""
        admitted: dict[int, socket.socket | str] = {}
        guests: list[Guest] = []
        while len(admitted) < len(peers) and (left := self.left()):
            door = select.poll()
            for waiting in (listener.socket, *(guest.socket for guest in guests)):
                door.register(waiting, select.POLLIN)
            door.poll(1000 * min(left, HELLO_SECONDS / 4))
            with suppress(OSError):  # nobody came, or is gone again
                guests.append(Guest(listener.socket.accept()[0]))
            for guest in [guest for guest in guests if guest.done()]:
                guests.remove(guest)
                expected = {peer: self.hello(peer, self.rank) for peer in peers - admitted.keys()}
                for peer, hello in expected.items():
                    if hmac.compare_digest(guest.said, hello) and guest.answer(self.hello(self.rank, peer)):
                        admitted[peer] = guest.socket
                        break
                else:
                    guest.socket.close()
        for guest in guests:
            guest.socket.close()
        return admitted


class Group:
    """The ranks of ``addresses`` ("host:port" each), of which this process is ``rank``; it forms when made.

    Rank r has the partners r ^ 1, r ^ 2, r ^ 4, ..., and whoever knows the ``token`` is let in. ``connect_timeout`` is
    for forming; ``timeout`` for how long a partner may be silent within a sum, because its pass takes longer.
    ``sent`` counts the bytes sent, ``calls`` the sums, and ``waited`` the seconds within them. After an error the group
    is closed, so that the partners notice too.
    """

    def __init__(
        self,
        rank: int,
        addresses: list[str],
        listener: Listener | None,
        token: str,
        timeout: float = 300.0,
        connect_timeout: float = 20.0,
    ) -> None:
        self.rank, self.size, self.timeout = rank, len(addresses), timeout
        if self.size < 1 or self.size & (self.size - 1):
            raise ValueError(f"a group has {self.size} addresses; it must have 1, 2, 4, 8, ...")
        if not 0 <= rank < self.size:
            raise ValueError(f"rank is {rank}; it must be from 0 to {self.size - 1}")
        self.calls, self.waited, self._closed = 0, 0.0, False
        self._outbox = memoryview(bytearray(HEADER.size + SMALL))
        inbox = np.zeros(HEADER.size + CHUNK, np.uint8)
        self._inbox = inbox.data
        self._received = {dtype: inbox[HEADER.size :].view(dtype) for dtype in DTYPES}
        self._partners: list[Partner] = []
        if self.size > 1:
            if listener is None:
                raise ValueError("a group of several ranks needs a listener")
            self._partners = Meeting(rank, addresses, token, connect_timeout).partners(listener)

    @property
    def sent(self) -> int:
        return sum(partner.sent for partner in self._partners)

    def sum(self, array: Array) -> None:
        """Put the sum over all ranks in place of a contiguous array; all ranks call this with arrays of one size.

        Small arrays go as a whole to partner after partner; of large ones, each partner adds one half, and the sums
        are gathered the same way back, which sends 2 (T - 1) / T of the array in all.
        """
        if array.dtype not in DTYPES or not (array.flags.c_contiguous and array.flags.writeable):
            kinds = ", ".join(dtype.name for dtype in DTYPES)
            raise ValueError(f"can only add up writeable C-contiguous arrays of {kinds}, not this one of {array.dtype}")
        if self._closed:
            raise GroupError(f"the group of {self.size} tasks has been closed")
        began = time.perf_counter()
        self.calls += 1
        try:
            with np.errstate(all="ignore"):
                if array.nbytes <= SMALL:
                    self._sum_whole(array.reshape(-1))
                else:
                    self._sum_halves(array.reshape(-1))
        except BaseException:
            self.close()
            raise
        finally:
            self.waited += time.perf_counter() - began

    def _sum_whole(self, array: Array) -> None:
        for step in range(len(self._partners)):
            self._exchange(step, step, array, array, self._adding(array, step))

    def _sum_halves(self, array: Array) -> None:
        spans = [(0, array.size)]  # what is ours to add, at each step
        for step in range(len(self._partners)):
            low, high = spans[-1]
            middle = (low + high) // 2
            halves = (low, middle), (middle, high)
            ours, theirs = halves if self._is_lower(step) else halves[::-1]
            self._exchange(step, step, array, array[slice(*theirs)], self._adding(array[slice(*ours)], step))
            spans.append(ours)
        for step in reversed(range(len(self._partners))):
            (low, high), ours = spans[step], spans[step + 1]
            theirs = (ours[1], high) if ours[0] == low else (low, ours[0])
            number = 2 * len(self._partners) - 1 - step
            self._exchange(step, number, array, array[slice(*ours)], self._filling(array[slice(*theirs)]))

    def _is_lower(self, step: int) -> bool:
        return not self.rank & 1 << step

    def _exchange(self, step: int, number: int, whole: Array, ours: Array, rooms: Iterator[memoryview]) -> None:
        """Send a part of an array to the partner of this step, and fill the rooms with the partner's."""
        HEADER.pack_into(self._outbox, 0, self.calls, whole.nbytes, whole.dtype.name.encode(), number)
        first, then, end = self._outbox, ours.view(np.uint8).data, HEADER.size
        if ours.nbytes <= SMALL:  # a copy: the array may be added to before all of it is sent
            end += ours.nbytes
            first[HEADER.size : end], then = then, then[:0]
        self._partners[step].exchange(first[:end], then, rooms, self.timeout)

    def _adding(self, array: Array, step: int) -> Iterator[memoryview]:
        """Room for what is added to an array, chunk by chunk."""
        inbox, count = self._received[array.dtype], CHUNK // array.itemsize
        for start in range(0, max(array.size, 1), count):
            ours = array[start : start + count]
            yield self._inbox[HEADER.size if start else 0 : HEADER.size + ours.nbytes]
            theirs = inbox[: ours.size]
            left, right = (ours, theirs) if self._is_lower(step) else (theirs, ours)
            np.add(left, right, out=ours)

    def _filling(self, array: Array) -> Iterator[memoryview]:
        """Room for a header and, in place, for an array."""
        yield self._inbox[: HEADER.size]
        if array.size:
            yield array.view(np.uint8).data

    def close(self) -> None:
        self._closed = True
        for partner in self._partners:
            partner.socket.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
