"""Metrics of the server in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
KNOWN = ("/api/", "/static/", "/pictures/", "/shared/")


class Metrics:
    """Counted as it happens; gauges are read when somebody looks."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self.requests = Counter("rather_requests", "Requests, by path and status", ["path", "status"], registry=own)
        self.seconds = Histogram(
            "rather_request_seconds", "From request to reply", ["path"], buckets=SECONDS, registry=own
        )
        self.commits = Histogram("rather_commit_seconds", "Commits of waiting answers", buckets=SECONDS, registry=own)
        self._paths: set[str] = set()

    def know(self, paths: set[str]) -> None:
        """The paths to count by; others are counted together, since anybody can make them up."""
        self._paths = paths

    def count(self, path: str, status: int, seconds: float) -> None:
        if path not in self._paths:
            path = next((head for head in KNOWN if path.startswith(head)), "other")
        self.requests.labels(path, status).inc()
        self.seconds.labels(path).observe(seconds)

    def gauge(self, name: str, what: str, value: Callable[[], float]) -> None:
        Gauge(f"rather_{name}", what, registry=self.registry).set_function(value)

    def text(self) -> Any:
        return generate_latest(self.registry)
