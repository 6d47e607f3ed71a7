"""Ctrl-C, SIGTERM and SIGHUP while something is recorded: noted, so that what was begun is always ended in order."""

from __future__ import annotations

import signal
import time
from types import FrameType, TracebackType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Those after which the program ends, too."""
_APART_S = 0.5
"""What comes sooner after the one before is the same stop: see StopSignals."""


class StopSignals:
    """Notes signals from when `with` is entered until it is left; they interrupt nothing meanwhile.

    One stop may arrive as several signals, also while the recording ends already: when a parent with threads dies, the
    kernel sends the signal of prctl(2), PR_SET_PDEATHSIG, for each thread that the child is handed to. SIGINT is taken
    also where it was ignored, as shells have it for what they start in the background; the others stay ignored then.
    """

    def __init__(self) -> None:
        self.count = 0
        """Stops so far. No event of threads: its lock may be held by what a signal interrupts."""
        self.ending = 0
        """The signal after which the program is to end, raised again when `with` is left; 0 for none."""
        self._latest_s = -_APART_S

    def __enter__(self) -> StopSignals:
        kept = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        self._usual = {number: signal.signal(number, self._note) for number in (signal.SIGINT, *kept)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, usual in self._usual.items():
            signal.signal(number, usual)
        if self.ending:
            signal.raise_signal(self.ending)

    def _note(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        self.count += int(now - self._latest_s >= _APART_S)
        self._latest_s = now
        if number in _ENDING:
            self.ending = number
