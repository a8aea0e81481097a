"""HTTP as uvicorn reads it, with bounds on what it would take without any: a request's head, its time and its whole."""

from __future__ import annotations

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD, HEAD_SECONDS = 2**14, 10.0  # bytes until a request's headers are whole; seconds
MOST_REQUEST = 2**20  # bytes of all of it, whatever they are said to be
TOO_MUCH = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Bounded(HttpToolsProtocol):
    """Who sends a head too long, or too slowly, is cut off; what is wrong with a body, the gate says."""

    _head_due: TimerHandle | None = None  # while a head is under way
    _taken = 0  # bytes of the request under way

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._taken += len(data)
        super().data_received(data)
        if self._head_due is not None and self._taken > MOST_HEAD:
            self.transport.write(TOO_MUCH)
            self.transport.close()
        elif self._taken > MOST_REQUEST:
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begin()

    def on_headers_complete(self) -> None:
        self._head_is_whole()
        super().on_headers_complete()

    def _begin(self) -> None:
        self._head_is_whole()
        self._taken = 0
        self._head_due = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _head_is_whole(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None
