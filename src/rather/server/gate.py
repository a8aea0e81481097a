"""What every request passes before it is looked at: hosts, sizes, rates, other sites; and the headers of replies."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from .refusal import Refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY, BODY_SECONDS = 4096, 10.0  # bytes of a request; seconds to send them in
MOST_HERE = 100  # requests under way at once
MOST_KEPT = 65_536  # addresses and visitors whose rates are remembered
BURST = 10.0  # seconds' worth that may come at once
TOO_LONG = f"At most {MOST_BODY:,} bytes are taken."
HEALTH = "/livez", "/readyz"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


@lru_cache(4096)
def neighbourhood(address: str) -> str:
    """Whose an address is: of version 6, everybody has a network of them."""
    try:
        found = ip_address(address)
    except ValueError:  # a proxy's word, or a local socket
        return address
    if isinstance(found, IPv4Address):
        return address
    return str(found.ipv4_mapped or ip_network((int(found), 64), strict=False))


class Rates:
    """So many a second of each, and a burst: what is asked too soon is told how many seconds to wait."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_second, self._clock = per_second, clock
        self._until: OrderedDict[str, float] = OrderedDict()  # when what each has used up is there again

    def wait(self, who: str) -> int:
        """0, and one is used up; or the seconds until there is one."""
        now = self._clock()
        until = max(self._until.get(who, now), now) + 1 / self.per_second
        late = until - now - max(BURST, 1 / self.per_second)
        if late > 0:
            return math.ceil(late)
        self._until[who] = until
        self._until.move_to_end(who)
        if len(self._until) > MOST_KEPT:
            self._until.popitem(last=False)
        return 0


class Gate:
    """Around an application; ``hosts`` are the names that the server goes by."""

    def __init__(self, app: App, hosts: frozenset[str], per_address: float, secure: bool, count: Any) -> None:
        self.app, self.hosts, self.secure, self.count = app, hosts, secure, count
        self.rates, self.here = Rates(per_address), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets here
        began, status, working = time.perf_counter(), 500, 0

        async def with_headers(message: Message) -> None:
            nonlocal status, working
            if message["type"] == "http.response.start":
                status = message["status"]
                self.here, working = self.here - working, 0  # who is slow to read what was made keeps nobody out
                there = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in self._headers(scope) if h[0] not in there)]
            await send(message)

        try:
            try:
                given = await self._admitted(scope, receive)
                if self.here >= MOST_HERE and scope["path"] not in HEALTH:
                    raise Refusal(503, "Too many people are here just now.", 1)
            except Refusal as e:
                await refuse(with_headers, e)
                return
            self.here, working = self.here + 1, 1  # of those who are slow to say what they want, any number may be
            try:
                await self.app(scope, given, with_headers)
            finally:
                self.here -= working
        finally:
            self.count(scope["path"], status, time.perf_counter() - began)

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        own = [(b"strict-transport-security", b"max-age=31536000")] if self.secure else []
        if not scope["path"].startswith("/static/"):
            own.append((b"cache-control", b"no-store"))
        return [*HEADERS, *own]

    async def _admitted(self, scope: Scope, receive: Receive) -> Receive:
        """The request's body, read whole; or a refusal."""
        headers = dict(scope["headers"])
        if scope["path"] in HEALTH:
            return await _read(scope, headers, receive)
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name(host) not in self.hosts:
            raise Refusal(421, "This server does not go by that name; whoever runs it can add it with --allow-host.")
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            _check_site(headers, host)
        if not scope["path"].startswith("/static/"):
            later = self.rates.wait(neighbourhood((scope.get("client") or ("", 0))[0]))
            if later:
                raise Refusal(429, "That was a lot at once; wait a little.", later)
        return await _read(scope, headers, receive)


def _name(host: str) -> str:
    """A host without its port."""
    return host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _check_site(headers: dict[bytes, bytes], host: str) -> None:
    """Refuse what another site's page sends."""
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    site = headers.get(b"sec-fetch-site", b"").decode("latin-1")
    try:
        same = not origin or urlsplit(origin).netloc == host
    except ValueError:  # no URL at all
        same = False
    if site in ("cross-site", "same-site") or not same:
        raise Refusal(403, "That was sent by another site's page, and is not taken.")


async def _read(scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Receive:
    """The body, of bounded size and within bounded time, for the application to read."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > MOST_BODY:
        raise Refusal(413, TOO_LONG)
    body = b""
    if scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
        try:
            body = await asyncio.wait_for(_body(receive), BODY_SECONDS)
        except asyncio.TimeoutError:
            raise Refusal(408, "The request took too long to arrive.") from None
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _body(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "The request ended before it was whole.")
        body += message.get("body", b"")
        if len(body) > MOST_BODY:
            raise Refusal(413, TOO_LONG)
        if not message.get("more_body", False):
            return body


async def refuse(send: Send, e: Refusal) -> None:
    """A refusal as a reply."""
    body = json.dumps({"error": e.sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if e.later is not None:
        headers.append((b"retry-after", str(e.later).encode()))
    if e.status in (408, 413):
        headers.append((b"connection", b"close"))  # what was not read must not be taken for the next request
    await send({"type": "http.response.start", "status": e.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
