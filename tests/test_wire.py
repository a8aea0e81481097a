"""The bytes and the time before a body are bounded, and ordinary requests pass."""

import asyncio
import itertools
import socket
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

import uvicorn
from uvicorn.server import ServerState

from rather.server.wire import HEAD_SECONDS, MOST_HEAD, MOST_REQUEST, PIECE, TOO_MUCH, Bounded

GOOD = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}"


def last(request):
    """The same request, after which the connection ends."""
    return request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)


def padded(size):
    """A request whose head has this many bytes."""
    empty = GOOD.replace(b"\r\n\r\n{}", b"\r\nx: \r\n\r\n{}")
    return empty.replace(b"x: ", b"x: " + b"." * (size - len(empty) + 2))


async def app(scope, receive, send):
    message = await receive()
    while message.get("more_body"):
        message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def told(*parts):
    """Return the reply to bytes that are sent in these parts over a real connection, and how many were sent."""

    async def talk():
        with socket.create_server(("127.0.0.1", 0)) as listening:
            config = uvicorn.Config(app, http=Bounded, ws="none", lifespan="off", log_level="critical")
            server = uvicorn.Server(config)
            serving = asyncio.ensure_future(server.serve(sockets=[listening]))
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            sent = 0
            try:
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    sent += len(part)
            except ConnectionError:
                pass
            try:
                said = await asyncio.wait_for(reader.read(), 60)
            except ConnectionError:
                said = b""  # cut off
            writer.close()
            server.should_exit = True
            await asyncio.wait_for(serving, 60)
            return said, sent

    return asyncio.run(talk())


class Connection:
    """A connection without a network, whose bytes arrive as they are cut here and whose clock is its own."""

    def __init__(self):
        self.now, self.due, self.sent, self.closed = 0.0, [], b"", False
        self.loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            app, http=Bounded, ws="none", lifespan="off", log_level="critical", timeout_keep_alive=999
        )
        self.protocol = Bounded(config, ServerState(), {}, _loop=self)
        self.protocol.connection_made(self)

    # the loop
    def call_later(self, seconds, act):
        handle = SimpleNamespace(when=self.now + seconds, act=act)
        handle.cancel = lambda: self.due.remove(handle) if handle in self.due else None
        self.due.append(handle)
        return handle

    def create_task(self, *given, **options):
        return self.loop.create_task(*given, **options)

    # the transport
    def write(self, data):
        self.sent += b"" if self.closed else data

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def get_extra_info(self, name, default=None):
        return default

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass

    # the other side
    async def say(self, *parts):
        """Bytes arrive, each part in one read, and what they start is done."""
        for part in parts:
            if not self.closed:
                self.protocol.data_received(part)
            for _ in range(10):
                await asyncio.sleep(0)

    def wait(self, seconds):
        """So much time goes by."""
        self.now += seconds
        for handle in [handle for handle in self.due if handle.when <= self.now]:
            handle.cancel()
            handle.act()


def connected(test):
    """Run a test with a connection, in a loop."""

    def run():
        async def whole():
            await test(Connection())

        asyncio.run(whole())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def cut(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_good_requests_in_pieces_and_in_a_row():
    """Byte by byte, and several over one connection, each with the bounds of its own."""
    said, _ = told(*(bytes([b]) for b in GOOD), *[GOOD] * 5, last(GOOD))
    assert said.count(b"HTTP/1.1 200 OK") == 7


def test_a_row_of_requests_may_be_as_long_as_it_likes():
    """Requests in one connection, each nearly as long as may be, are counted each for itself."""
    long = padded(MOST_HEAD - PIECE)
    for parts in ([long] * 5, [long * 5], cut(long * 5, 1000)):
        said, _ = told(*parts, last(long))
        assert said.count(b"HTTP/1.1 200 OK") == 6


@pytest.mark.parametrize("size", [MOST_HEAD + 1, MOST_HEAD + PIECE, 20_000, 60_000, 200_000])
@pytest.mark.parametrize("after", [0, 1, 3], ids=["first", "second", "fourth"])
def test_a_long_head_is_refused_however_it_arrives(size, after, monkeypatch):
    """In one read, in two, in many, and behind other requests: the application never hears of it."""
    long = padded(size)
    assert long.index(b"{}") == size
    everything = GOOD * after + long
    real, reached = Bounded.on_headers_complete, []
    monkeypatch.setattr(Bounded, "on_headers_complete", lambda self: (reached.append(1), real(self)))
    for parts in ([everything], cut(everything, size // 2), cut(everything, 1000), cut(everything, 65_536)):
        reached.clear()

        @connected
        async def tried(connection, parts=parts):
            await connection.say(*parts)
            assert connection.closed
            if connection.sent.count(b" 200 OK") == after:
                assert connection.sent.endswith(TOO_MUCH)
            else:  # in the same read as requests before it, which have no reply yet: it must not be taken for theirs
                assert not connection.sent

        tried()
        assert len(reached) == after


@pytest.mark.parametrize("part", [b"x" * 1000, b"x: y\r\n" * 200], ids=["one header", "many"])
def test_an_endless_head_is_cut_off(part):
    """It is told why, unless the connection is gone before that can be read; and no more than the bound is read."""
    endless = b"GET / HTTP/1.1\r\nhost: localhost\r\nx: "

    @connected
    async def tried(connection):
        sent = 0
        for piece in itertools.chain([endless], itertools.repeat(part, 2000)):
            if connection.closed:
                break
            sent += len(piece)
            await connection.say(piece)
        assert connection.sent == TOO_MUCH and MOST_HEAD < sent <= MOST_HEAD + PIECE + len(part)

    tried()
    said, _ = told(endless, *[part] * 2000)
    assert said in (b"", TOO_MUCH)


def test_an_endless_request_is_cut_off():
    """Trailers after a body are headers without end, and are cut off after the bound of a whole request."""
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: "

    @connected
    async def tried(connection):
        sent = 0
        while not connection.closed:
            sent += 1000
            await connection.say(b"." * 1000 if sent > 1000 else head)
        assert not connection.sent and MOST_REQUEST < sent + len(head) <= MOST_REQUEST + 3000

    tried()
    said, sent = told(head, *[b"." * 2**16] * 400)
    assert not said and MOST_REQUEST <= sent < 400 * 2**16


def test_blank_lines_between_requests_are_bounded_too():
    """They belong to no request, and are counted as a head."""

    @connected
    async def tried(connection):
        await connection.say(GOOD, *[b"\r\n" * 500] * (MOST_HEAD // 1000 + 2))
        assert connection.closed

    tried()


@connected
async def test_a_slow_head_is_not_waited_for(connection):
    """More of it does not buy more time."""
    await connection.say(b"GET / HTTP/1.1\r\nx: ")
    for _ in range(9):
        connection.wait(HEAD_SECONDS / 10)
        await connection.say(b"T")
    assert not connection.closed
    connection.wait(HEAD_SECONDS / 10)
    assert connection.closed and not connection.sent


@connected
async def test_silence_is_not_waited_for(connection):
    connection.wait(HEAD_SECONDS - 0.1)
    assert not connection.closed
    connection.wait(0.1)
    assert connection.closed and not connection.sent


@pytest.mark.parametrize("part", [b"P", b"\r\n"])
def test_a_slow_second_head_is_not_waited_for(part):
    """After a reply, a part of a request or a blank line ends the patience with an idle connection."""

    @connected
    async def tried(connection):
        connection.wait(HEAD_SECONDS - 1)
        await connection.say(GOOD)
        assert connection.sent.count(b" 200 OK") == 1
        connection.wait(HEAD_SECONDS - 1)
        await connection.say(part)
        connection.wait(HEAD_SECONDS - 1)
        assert not connection.closed
        connection.wait(1)
        assert connection.closed and connection.sent.count(b" 200 OK") == 1

    tried()


@connected
async def test_a_head_that_is_whole_has_time(connection):
    """The time of a head does not run while its body comes: the gate has a limit of its own for that."""
    await connection.say(GOOD[:-2])
    connection.wait(HEAD_SECONDS + 1)
    assert not connection.closed
    await connection.say(GOOD[-2:])
    assert connection.sent.count(b" 200 OK") == 1
