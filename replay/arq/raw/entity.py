"""The Raw link: SDUs go down in order, one a frame, and what is erased stays lost.

Frames have the header of SR (sr_frames.py), so that the sizes on the air are the same; nobody reads its N(S).
Source: Xylomenos & Makidis, MONET 13 (3-4), 2008, which gives the Raw link no header.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.queues import TAKEN, Ring, head, length, ring
from multitracer.replay.arq.queues import offer as put
from multitracer.replay.arq.sr.frames import (
    DATA,
    FIELDS,
    KIND,
    MODULUS,
    NS,
    OCTETS,
    SDU,
    SMALLEST_HEADER,
    decode,
    encode,
)
from multitracer.replay.arq.sr.parameters import LARGEST_HEADER, within

DELIVERED_SDUS, DELIVERED_OCTETS, SENT = range(3)
"""Columns of the counts: SDUs and octets delivered, frames sent."""
COUNTS = ("delivered_sdus", "delivered_octets", "sent")


@dataclass(frozen=True, kw_only=True)
class RawParameters:
    """What can be chosen about a Raw link."""

    header_bytes: int = 6
    """Octets in front of the SDU."""

    def __post_init__(self) -> None:
        within("header_bytes", self.header_bytes, SMALLEST_HEADER, LARGEST_HEADER)


class RawEntity(NamedTuple):
    """One side of a Raw link, in arrays of int64."""

    waiting: Ring
    counts: Any


def raw_entity(waiting: int = 256) -> RawEntity:
    """A side that has sent and received nothing, with room for so many SDUs that wait to be sent."""
    return RawEntity(ring(waiting, 2), np.zeros(len(COUNTS), dtype=np.int64))


@kernel
def offer(side: Any, sdu: int, octets: int) -> int:
    """Let an SDU wait to be sent; 0 when there is no room for it."""
    return put(side.waiting, sdu, octets)


@kernel
def next_frame(side: Any, frame: Any) -> int:
    """Write the SDU that waits longest into `frame`; 0 when there is none."""
    if length(side.waiting) == 0:
        return 0
    row = head(side.waiting)
    frame[:] = 0
    frame[KIND] = DATA
    frame[NS] = side.counts[SENT] % MODULUS
    frame[SDU] = side.waiting.rows[row, 0]
    frame[OCTETS] = side.waiting.rows[row, 1]
    side.waiting.ends[TAKEN] += 1
    side.counts[SENT] += 1
    return 1


@kernel
def receive(side: Any, frame: Any) -> int:
    """Take a frame from the air; returns how many SDUs it delivers: 1, or 0 for what is no data frame."""
    if frame[KIND] != DATA:
        return 0
    side.counts[DELIVERED_SDUS] += 1
    side.counts[DELIVERED_OCTETS] += frame[OCTETS]
    return 1


class Raw:
    """One side of a Raw link in real octets, with the calls of every protocol; it has no timers."""

    def __init__(self, parameters: RawParameters | None = None) -> None:
        self.parameters = parameters or RawParameters()
        self.entity = raw_entity()
        self._frame = np.zeros(FIELDS, dtype=np.int64)
        self._sdus: deque[bytes] = deque()
        self._delivered: list[bytes] = []

    def offer(self, sdu: bytes) -> None:
        """Let an SDU wait to be sent, without limit; raises UsageError for one without octets."""
        if not sdu:
            raise UsageError("an SDU of 0 octets cannot be sent: it must have 1 or more")
        self._sdus.append(sdu)

    def next_frame(self, now: int) -> bytes | None:
        """The frame to send in this opportunity, or None."""
        if not self._sdus:
            return None
        sdu = self._sdus.popleft()
        offer(self.entity, int(self.entity.counts[SENT]), len(sdu))
        next_frame(self.entity, self._frame)
        return encode(self._frame, sdu, self.parameters.header_bytes)

    def receive(self, octets: bytes, now: int) -> None:
        """Take a frame from the air; raises ValueError for octets that are none."""
        fields, sdu = decode(octets, self.parameters.header_bytes)
        self._frame[:] = fields
        if receive(self.entity, self._frame):
            self._delivered.append(sdu)

    def delivered(self) -> list[bytes]:
        """The SDUs delivered since the last call, in order."""
        handed_up, self._delivered = self._delivered, []
        return handed_up

    def next_timer(self) -> int | None:
        """No timer ever runs."""
        return None

    def expire(self, now: int) -> None:
        """Nothing ever expires."""
