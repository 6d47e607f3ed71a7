"""How long the link took to repair the frames that a scenario lists as lost, read from the link's log.

Only such scenarios keep a log: they are short, and one row a frame costs others too much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multitracer.replay.arq.notes import ERASED, RECEIVED, Log
from multitracer.replay.arq.rlp.state import COUNT_AT, NUMBER, S_FRAME
from multitracer.replay.arq.sr.frames import DATA
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.loop import NO_SDU

NS = 1_000_000_000
ROWS = 1 << 14
"""Room for what happens in a part of a run."""
ROWS_A_FRAME = 10
"""Rows that a frame and what it causes make at most."""
SHORT_BITS = 8 * 40
"""The shortest frames that can fill a link carry an acknowledgement each."""


def part_ns(radio: tuple[Direction, Direction]) -> int:
    """So much time that all that happens in it has room."""
    paces = [way.per_slot / way.slot_ns if way.slot_ns else way.rate_bps / SHORT_BITS / NS for way in radio]
    return max(1, int(ROWS / (ROWS_A_FRAME * sum(paces))))


def _of_sr(frame: Any) -> Any:
    return int(frame.sdu) if frame.kind == DATA else None


def _of_rlp(frame: Any) -> Any:
    header = int(frame.header)
    return int(frame.position) if header & NUMBER < S_FRAME and header >> COUNT_AT > 0 else None


def _of_rlc_am(frame: Any) -> Any:
    first, second = int(frame.octets[0]), int(frame.octets[1])
    return (int(frame.start), first << 5 | second >> 3) if first >> 7 else None


NAMES: dict[str, Callable[[Any], Any]] = {"sr": _of_sr, "asr": _of_sr, "rlp": _of_rlp, "rlc-am": _of_rlc_am}
"""What the copies of a frame with data have in common, by protocol; those that repeat nothing have none."""


class Repairs:
    """Frames lost by a side whose losses are listed, and when a copy of each arrived."""

    def __init__(self, protocol: str, listed: tuple[bool, bool]) -> None:
        self._name, self._listed = NAMES[protocol], listed
        self._waiting: dict[tuple[int, Any], int] = {}
        self._seconds: list[float] = []
        self._whole = True

    def read(self, log: Log) -> None:
        """The next part of the log."""
        self._whole = self._whole and int(log.state.noted) == len(log.rows)
        rows = log.rows
        arrivals = np.isin(rows["event"], (ERASED, RECEIVED)) & (rows["what"] == NO_SDU)
        for at in np.flatnonzero(arrivals).tolist():
            row, name = rows[at], self._name(log.frames[at])
            side = 1 - int(row.side)
            if name is None or not self._listed[side]:
                continue
            if row.event == ERASED:
                self._waiting.setdefault((side, name), int(row.time_ns))
            elif (side, name) in self._waiting:
                self._seconds.append((int(row.time_ns) - self._waiting.pop((side, name))) / NS)

    @property
    def seconds(self) -> list[float] | None:
        """From when each frame would have arrived to when it did, in the order of the repairs; None where none did."""
        return self._seconds if self._whole and self._seconds else None
