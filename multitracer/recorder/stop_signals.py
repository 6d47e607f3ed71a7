"""Ctrl-C and SIGTERM while something is recorded: noted, so that what was begun is always ended in order."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Notes SIGINT and SIGTERM from when `with` is entered until it is left; they interrupt nothing meanwhile.

    One stop may arrive as several signals, also while the recording ends already: when a parent with threads dies, the
    kernel sends the signal of prctl(2), PR_SET_PDEATHSIG, for each thread that the child is handed to. After SIGTERM
    the usual handler is called once all has ended.
    """

    def __init__(self) -> None:
        self.count = 0
        """Signals so far. No event of threads: its lock may be held by what a signal interrupts."""
        self._terminated = False

    def __enter__(self) -> StopSignals:
        self._usual = [signal.signal(number, self._note) for number in _SIGNALS]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, usual in zip(_SIGNALS, self._usual, strict=True):
            signal.signal(number, usual)
        if self._terminated:
            signal.raise_signal(signal.SIGTERM)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.count += 1
        self._terminated |= number == signal.SIGTERM
