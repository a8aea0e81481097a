"""What comes before a body is bounded, in bytes and in time; and a good request is none the worse for it."""

import asyncio
import socket

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

import uvicorn

from rather.server import wire
from rather.server.wire import MOST_HEAD, MOST_REQUEST, Bounded

GOOD = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}"


async def app(scope, receive, send):
    message = await receive()
    while message.get("more_body"):
        message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def told(*parts, pause=0.0):
    """What is said to bytes that come in these parts, until the other side ends, as it must."""

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
                    if pause:
                        await asyncio.sleep(pause)
            except ConnectionError:
                pass
            try:
                said = await asyncio.wait_for(reader.read(), 20)
            except ConnectionError:
                said = b""  # cut off
            writer.close()
            server.should_exit = True
            await asyncio.wait_for(serving, 30)
            return said, sent

    return asyncio.run(talk())


def test_good_requests_in_pieces_and_in_a_row():
    """Byte by byte, and several over one connection, each with the bounds of its own."""
    last = GOOD.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    said, _ = told(*(bytes([b]) for b in GOOD), *[GOOD] * 5, last)
    assert said.count(b"HTTP/1.1 200 OK") == 7


def test_a_row_of_requests_may_be_as_long_as_it_likes():
    padded = GOOD.replace(b"\r\n\r\n", b"\r\nx: " + b"." * (MOST_HEAD - 200) + b"\r\n\r\n")
    last = padded.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    said, _ = told(*[padded] * 5, last)
    assert said.count(b"HTTP/1.1 200 OK") == 6


@pytest.mark.parametrize("part", [b"x" * 1000, b"x: y\r\n" * 200], ids=["one header", "many"])
def test_an_endless_head_is_cut_off(part):
    said, _ = told(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ", *[part] * 2000)
    assert said == b"" or said.startswith(b"HTTP/1.1 431")


def test_an_endless_request_is_cut_off():
    """Trailers after a body are headers without end, as far as they go."""
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: "
    said, sent = told(head, *[b"." * 2**16] * 400)
    assert not said and sent < 400 * 2**16 and sent >= MOST_REQUEST


def test_a_slow_head_is_not_waited_for(monkeypatch):
    """Nor is who says nothing at all."""
    monkeypatch.setattr(wire, "HEAD_SECONDS", 0.1)
    assert told(b"GET / HT", *[b"T"] * 3, pause=0.05)[0] == b""
    assert told()[0] == b""
    assert told(GOOD, b"P", pause=0.15)[0].count(b"200 OK") == 1
