"""HTTP by uvicorn, with limits on the size of a request's head, its time and its whole size."""

from __future__ import annotations

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD, HEAD_SECONDS = 2**14, 10.0  # bytes until a request's headers are whole; seconds
MOST_REQUEST = 2**20  # bytes of a whole request, whatever its headers say
PIECE = 2**10  # bytes that are counted, and then parsed, at a time
TOO_MUCH = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Bounded(HttpToolsProtocol):
    """Cut off a connection whose head is too long or too slow; the gate answers what is wrong with a body.

    Bytes are counted before they are parsed. The piece in which a request begins counts for that request as a whole.
    """

    _head_due: TimerHandle | None = None  # while a head is under way
    _taken = _piece = 0  # bytes of the request under way; of the piece that is parsed
    _is_whole = False  # whether the last request has ended

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            self._piece = len(piece)
            if self._is_whole and self._head_due is None:  # blank lines before a request are no request yet
                self._begin()
            else:
                self._taken += self._piece
            in_head = self._head_due is not None
            if in_head and self._taken > MOST_HEAD and (self.cycle is None or self.cycle.response_complete):
                self.transport.write(TOO_MUCH)  # behind requests without a reply it would be taken for theirs
            if self._taken > (MOST_HEAD if in_head else MOST_REQUEST):
                self.transport.close()
            if self.transport.is_closing():
                return
            super().data_received(piece)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_whole = False
        self._begin()

    def on_headers_complete(self) -> None:
        self._head_is_whole()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_whole = True
        super().on_message_complete()

    def _begin(self) -> None:
        self._head_is_whole()
        self._taken = self._piece
        self._head_due = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _head_is_whole(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None
