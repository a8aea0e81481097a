"""Refusals of requests, with their status and sentence."""

from __future__ import annotations


class Refusal(Exception):
    """``later``: seconds after which it may be done."""

    def __init__(self, status: int, sentence: str, later: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.later = status, sentence, later

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.later is None else {"retry-after": str(self.later)}
