"""Checks of every request before it is handled (hosts, sizes, rates, origin), and headers of replies."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from .refusal import Refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Headers = Iterable[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY, BODY_SECONDS = 4096, 10.0  # bytes of a request; seconds to send them in
MOST_HERE = 100  # requests under way at once
MOST_KEPT = 65_536  # addresses and visitors whose rates are remembered
BURST = 10.0  # seconds' worth that may come at once
TOO_LONG = f"At most {MOST_BODY:,} bytes are taken."
HEALTH = "/livez", "/readyz"
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/,\s]+)(?::([0-9]{1,5}))?")  # a name or an address, and a port
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
    """Return the address, or the /64 network of an address of version 6, which is one owner's."""
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
        headers = scope["headers"]
        if scope["path"] in HEALTH:
            return await _read(scope, headers, receive)
        host = _host(headers)
        if _name(host) not in self.hosts:
            raise Refusal(421, "This server does not go by that name; whoever runs it can add it with --allow-host.")
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            _check_site(headers, host)
        if not scope["path"].startswith("/static/"):
            later = self.rates.wait(neighbourhood((scope.get("client") or ("", 0))[0]))
            if later:
                raise Refusal(429, "That was a lot at once; wait a little.", later)
        return await _read(scope, headers, receive)


def _values(headers: Headers, name: bytes) -> list[str]:
    """The values of all headers of this name."""
    return [value.decode("latin-1") for key, value in headers if key == name]


def _host(headers: Headers) -> str:
    """The one Host header."""
    given = _values(headers, b"host")
    if len(given) != 1:
        raise Refusal(421, f"The request has {len(given)} Host headers; it must have one.")
    return given[0].lower()


def _name(host: str) -> str | None:
    """A host without its port; None for what is not of the form host[:port]."""
    found = HOST.fullmatch(host)
    return found[1] if found is not None and int(found[2] or 0) < 2**16 else None


def _check_site(headers: Headers, host: str) -> None:
    """Refuse what another site's page sends."""
    sites = {"cross-site", "same-site"}.intersection(_values(headers, b"sec-fetch-site"))
    if sites or not all(_is_of(origin, host) for origin in _values(headers, b"origin")):
        raise Refusal(403, "That was sent by another site's page, and is not taken.")


def _is_of(origin: str, host: str) -> bool:
    """Whether a page of this origin is one of the host's."""
    try:
        return not origin or urlsplit(origin.lower()).netloc == host
    except ValueError:  # no URL at all
        return False


async def _read(scope: Scope, headers: Headers, receive: Receive) -> Receive:
    """The body, of bounded size and within bounded time, for the application to read."""
    if not all(re.fullmatch("[0-9]{1,9}", x) and int(x) <= MOST_BODY for x in _values(headers, b"content-length")):
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
