"""What one end of a link in octets has, whatever its protocol."""

from __future__ import annotations

from typing import Any

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.stretches import Delivered, Flushed


class End:
    """An entity and the kernels that drive it, and what it has for the layer above; times in ns."""

    def __init__(self, machine: Any, entity: Any) -> None:
        self.entity = entity
        self.entity.above.count.wanted = 1
        self._machine = machine
        self._delivered: list[Delivered] = []
        self._flushed: list[Flushed] = []

    def delivered(self) -> list[Delivered]:
        """What came since the last call, in order."""
        out, self._delivered = self._delivered, []
        return out

    def flushed(self) -> list[Flushed]:
        """What was offered here and given up since the last call."""
        out, self._flushed = self._flushed, []
        return out

    def next_timer(self) -> int | None:
        """When `expire` wants to be called; None when no timer runs."""
        due = int(self._machine.next_timer(self.entity))
        return due if due < NEVER else None

    def expire(self, now: int) -> None:
        """Let all timers expire that are due."""
        self._machine.expire(self.entity, now)
