"""What becomes of the packets that a link was given, by its log."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from multitracer.replay.arq import notes
from multitracer.replay.arq.rlp.state import FLUSH
from multitracer.replay.record.known_run import Copy, LinkRow
from multitracer.replay.simulate.transport import MEDIA_FLOW

OF_PACKETS = (notes.OFFERED, notes.DELIVERED, notes.LOST)


class LinkedRun(Protocol):
    """Where packets are kept."""

    @property
    def given(self) -> dict[tuple[int, int], Copy]:
        """The packets that each side of the link was given, by side and the SDU's number."""


class PacketFates:
    """Notes in packets when the link delivered or lost them; `rlp` says whether its resets tell what they flush."""

    def __init__(self, run: LinkedRun, *, rlp: bool) -> None:
        self._run = run
        self._events = [*OF_PACKETS, *([FLUSH] if rlp else [])]
        self._offered = [0, 0]
        self._under_way: tuple[dict[int, int], dict[int, int]] = {}, {}
        """Of each side, by SDU what its end is in the stream of all octets that it was offered."""
        self._partly_flushed: set[tuple[int, int]] = set()

    def take(self, rows: Any) -> None:
        """The next rows of the link's log."""
        for row in rows[np.isin(rows["event"], self._events)].tolist():
            self._take(LinkRow(*row))

    def _take(self, one: LinkRow) -> None:
        if one.event == notes.OFFERED:
            self._offered[one.side] += one.octets
            self._under_way[one.side][one.number] = self._offered[one.side]
        elif one.event in (notes.DELIVERED, notes.LOST):
            side = 1 - one.side if one.event == notes.DELIVERED else one.side
            self._under_way[side].pop(one.number, None)
            copy = self._run.given.get((side, one.number)) if one.what != MEDIA_FLOW else None
            if copy is not None and one.event == notes.DELIVERED:
                copy.delivered_ns = one.time_ns
                if (side, one.number) in self._partly_flushed:
                    copy.lost_ns = None
            elif copy is not None:
                copy.lost_ns = one.time_ns
        else:
            self._flush(one)

    def _flush(self, one: LinkRow) -> None:
        """What a reset gave up a part of is lost, whatever its peer had acknowledged of it and delivered wrongly."""
        waiting = self._under_way[one.side]
        for number in [number for number, end in waiting.items() if one.number - one.octets < end <= one.number]:
            copy = self._run.given.get((one.side, number))
            if copy is not None and copy.lost_ns is None:
                copy.lost_ns = one.time_ns
                self._partly_flushed.add((one.side, number))
