"""The whole log of a link, kept in typed tables while the run goes on.

In an engine's log every frame has room for the octets of the longest; here each takes what it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from multitracer.replay.arq import notes
from multitracer.replay.arq.fields import joined, numbers, table
from multitracer.replay.arq.notes import Log
from multitracer.replay.arq.rlc.frames import FRAME

PART_ROWS = 1 << 12
"""Rows of a log that are given back at a time."""
CHUNK = 1 << 14
_NAMES = [name for name in FRAME.names if name != "octets"]
_HEAD = numbers(*_NAMES)


class Growing:
    """A table that grows by whole chunks: what is in it is never moved, so that adding a few rows takes no time."""

    def __init__(self, dtype: Any) -> None:
        self._dtype, self._chunks, self._room = dtype, list[Any](), 0

    def __len__(self) -> int:
        return CHUNK * len(self._chunks) - self._room

    def append(self, rows: Any) -> None:
        """Add rows with the fields of the table's own."""
        first = 0
        while first < len(rows):
            if not self._room:
                self._chunks.append(np.empty(CHUNK, self._dtype))
                self._room = CHUNK
            count, at = min(self._room, len(rows) - first), CHUNK - self._room
            self._chunks[-1][at : at + count] = rows[first : first + count]
            self._room, first = self._room - count, first + count

    def whole(self) -> Any:
        """All rows so far."""
        return np.concatenate([np.empty(0, self._dtype), *self._chunks])[: len(self)]


class KeptLog:
    """The rows of a link's log, with their frames or without."""

    def __init__(self, *, frames: bool) -> None:
        self._rows, self._keeps_frames = Growing(notes.ROW), frames
        self._frames: _Frames | _SentFrames | None = None

    def append(self, log: Log) -> None:
        """The next part of the log."""
        self._rows.append(log.rows)
        if self._keeps_frames:
            self._frames = self._frames or (_SentFrames() if "kept" in log.frames.dtype.names else _Frames(log))
            self._frames.append(log)

    def rows(self) -> Any:
        """All rows so far, without their frames."""
        return self._rows.whole()

    def parts(self) -> Iterator[Log]:
        """All of it in order, part by part; frames that were not kept are zeros."""
        rows = self.rows()
        parts = [rows[first : first + PART_ROWS] for first in range(0, len(rows), PART_ROWS)]
        frames = self._frames.of(parts) if self._frames is not None else map(np.zeros_like, parts)
        yield from (Log(None, *both) for both in zip(parts, frames, strict=True))


class _Frames:
    """The frames of all rows, which have no octets."""

    def __init__(self, log: Log) -> None:
        self._frames = Growing(log.frames.dtype)

    def append(self, log: Log) -> None:
        """Those of the next rows."""
        self._frames.append(log.frames)

    def of(self, parts: Iterable[Any]) -> Iterator[Any]:
        """Those of each of these parts of the log's rows."""
        frames, first = self._frames.whole(), 0
        for rows in parts:
            yield frames[first : first + len(rows)]
            first += len(rows)


class _SentFrames:
    """The frames that were sent, of those with octets: what comes is known by them."""

    def __init__(self) -> None:
        self._heads, self._octets = Growing(_HEAD), Growing(np.uint8)

    def append(self, log: Log) -> None:
        """Those of the next rows."""
        own = log.frames[log.rows["event"] == notes.SENT]
        self._heads.append(own[_NAMES])
        if len(own):
            kept = _kept(own)
            self._octets.append(own["octets"][:, : kept.shape[1]][kept])

    def of(self, parts: Iterable[Any]) -> Iterator[Any]:
        """A table for each of these parts of the log's rows, with room for the octets that there are."""
        heads, octets, first = self._heads.whole(), self._octets.whole(), 0
        for rows in parts:
            places = np.flatnonzero(rows["event"] == notes.SENT)
            own, heads = heads[: len(places)], heads[len(places) :]
            kept = _kept(own)
            count = int(kept.sum())
            filled = np.zeros(kept.shape, np.uint8)
            filled[kept], first = octets[first : first + count], first + count
            frames = table(len(rows), joined(_HEAD, tables=[("octets", np.uint8, filled.shape[1:])]))
            for name in _NAMES:
                frames[name][places] = own[name]
            frames["octets"][places] = filled
            yield frames


def _kept(frames: Any) -> Any:
    """Which octets of frames are theirs, of as many as the longest has."""
    return np.arange(frames["kept"].max(initial=0)) < frames["kept"][:, np.newaxis]
