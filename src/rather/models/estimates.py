"""Estimates of effects on answers other than taste."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 1e30


@dataclass(frozen=True)
class Estimates:
    """Estimates of effects in log-odds, with standard errors; after ties the last is the reluctance to decide."""

    names: tuple[str, ...] = ()
    estimate: tuple[float, ...] = ()
    error: tuple[float, ...] = ()

    def is_sound(self) -> bool:
        return (
            len(set(self.names)) == len(self.names) == len(self.estimate) == len(self.error)
            and all(isinstance(name, str) for name in self.names)
            and all(isinstance(x, (int, float)) and abs(x) < LARGEST for x in (*self.estimate, *self.error))
            and all(x >= 0 for x in self.error)
        )


@dataclass
class EffectEstimates:
    """The estimated effects of one fitted model, computed once and shared by its copies."""

    found: Estimates | None = None
