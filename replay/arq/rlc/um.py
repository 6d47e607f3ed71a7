"""UMTS RLC in unacknowledged mode (3GPP TS 25.322 11.2): sequence numbers modulo 128, nothing is sent again.

An SDU of which a PDU is missing is dropped. 128 PDUs lost in a row are not noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.kernels import octets as octets_of
from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlc import segmentation as segments
from multitracer.replay.arq.rlc.am import taken
from multitracer.replay.arq.rlc.parameters import MOST_QUEUE_BYTES, MOST_QUEUE_SDUS, check
from multitracer.replay.arq.rlc.segmentation import (
    BACK,
    COUNT,
    DUE,
    ENDING,
    FRONT,
    HEAD,
    NEXT,
    OUT_COUNT,
    START,
    STATUS_AT,
    STOP,
    TAIL,
    TAKEN,
    Queue,
    Reassembly,
    append_sdu,
    drop_behind_begun,
    drop_waiting,
    feed,
    fill,
    has_data,
    has_room,
    is_numbered,
    lose,
    most_ends,
    offer_numbered,
    read_indicators,
    taken_away,
)

HEAD_BYTES = 1
MODULUS = 128
SHORT_LI_PDU_BYTES = 125
"""9.2.2.8: up to this size length indicators have seven bits."""
NEVER = 2**62

UM_PDU_BYTES, UM_LI_OCTETS, UM_MARKS_START, UM_DISCARD_NS = range(4)
VT_US, VR_US = range(2)
UM_SENT, UM_RECEIVED, UM_LOST, UM_MALFORMED, UM_DISCARDED, UM_COUNTS = range(6)
UM_COUNT_NAMES = ("sent", "received", "lost", "malformed", "discarded")
"""UMD PDUs sent, received, found missing and not understood; SDUs discarded by Timer_Discard."""


@dataclass(frozen=True)
class UmParameters:
    """Parameters of an RLC UM entity; times in ns."""

    pdu_bytes: int = 40
    """UMD PDU size, header included."""
    li_bits: int = 0
    """Bits of a length indicator, 7 or 15; 0: by the PDU's size, 9.2.2.8."""
    marks_start: bool = True
    """A PDU whose first octet begins an SDU says so (LI 0x7C or 0x7FFC), so that this SDU survives a loss before."""
    discard_ns: int = 0
    """Timer_Discard without signalling; 0: none."""
    max_sdu_bytes: int = 1600
    """Longest SDU."""
    queue_sdus: int = 1024
    """SDUs that wait, at most."""
    queue_bytes: int = 1 << 18
    """Octets that wait, at most; room for the longest SDU."""

    def __post_init__(self) -> None:
        check("pdu_bytes", self.pdu_bytes, 8, 4000)
        check("max_sdu_bytes", self.max_sdu_bytes, 1, 65_535)
        check("queue_sdus", self.queue_sdus, 1, MOST_QUEUE_SDUS)
        check("queue_bytes", self.queue_bytes, self.max_sdu_bytes, MOST_QUEUE_BYTES)
        check("discard_ns", self.discard_ns, 0, 10**12)
        if self.li_bits not in (0, 7, 15) or (self.li_bits == 7 and self.pdu_bytes > SHORT_LI_PDU_BYTES):
            raise UsageError(f"li_bits is {self.li_bits}; it must be 0, 15, or up to {SHORT_LI_PDU_BYTES} octets 7")

    @property
    def li_octets(self) -> int:
        """Octets of a length indicator."""
        bits = self.li_bits or (7 if self.pdu_bytes <= SHORT_LI_PDU_BYTES else 15)
        return (bits + 1) // 8


class UmEntity(NamedTuple):
    """An RLC UM entity, both ways."""

    p: Any
    v: Any
    counts: Any
    queue: Queue
    r: Reassembly
    meta: Any
    lis: Any


def um_entity(q: UmParameters) -> UmEntity:
    """A new entity."""
    p = np.array([q.pdu_bytes, q.li_octets, q.marks_start, q.discard_ns], np.int64)
    ends = most_ends(q.pdu_bytes, q.li_octets)
    return UmEntity(
        p, np.zeros(2, np.int64), np.zeros(UM_COUNTS, np.int64), segments.queue(q.queue_sdus, q.queue_bytes, ends),
        segments.reassembly(q.max_sdu_bytes, q.pdu_bytes + q.max_sdu_bytes + 1, ends + 1),
        np.zeros(4, np.int64), np.zeros(ends, np.int16),
    )  # fmt: skip


@kernel
def um_offer(e: UmEntity, sdu: Any, length: int, now: int) -> bool:
    """An SDU from above; False when there is no room for it."""
    return append_sdu(e.queue, sdu, length, now + e.p[UM_DISCARD_NS])


@kernel
def um_next_frame(e: UmEntity, now: int, out: Any) -> int:
    """Write the UMD PDU for this opportunity into `out`; gives its length, 0 for none."""
    q, sn = e.queue, e.v[VT_US]
    if not has_data(q):
        return 0
    extended = fill(q, sn, out, HEAD_BYTES, e.p[UM_PDU_BYTES], e.p[UM_LI_OCTETS], 0, e.p[UM_MARKS_START])
    out[0] = sn << 1 | extended
    e.v[VT_US] = (sn + 1) % MODULUS
    _free(e)
    e.counts[UM_SENT] += 1
    return e.p[UM_PDU_BYTES]


@kernel
def _free(e: UmEntity) -> None:
    """SDUs sent or dropped make room, but one whose end is still to be told."""
    v = e.queue.v
    v[HEAD] = v[NEXT] - (1 if v[ENDING] else 0)


@kernel
def um_receive(e: UmEntity, frame: Any, length: int, now: int) -> None:
    """A UMD PDU from the air; SDUs it completes wait in the reassembly."""
    meta = e.meta
    if length != e.p[UM_PDU_BYTES]:
        e.counts[UM_MALFORMED] += 1
        return
    meta[COUNT], meta[START], meta[STOP], meta[STATUS_AT] = 0, HEAD_BYTES, length - HEAD_BYTES, 0
    if frame[0] & 1 and not read_indicators(frame, HEAD_BYTES, length, e.p[UM_LI_OCTETS], meta, e.lis, 1):
        e.counts[UM_MALFORMED] += 1
        return
    sn = np.int64(frame[0]) >> 1
    missing = (sn - e.v[VR_US]) % MODULUS
    if missing:
        lose(e.r)
    e.counts[UM_LOST] += missing
    e.counts[UM_RECEIVED] += 1
    e.v[VR_US] = (sn + 1) % MODULUS
    feed(e.r, frame, meta, e.lis, 1 if meta[COUNT] else 0, 0, 0)


@kernel
def um_next_timer(e: UmEntity) -> int:
    """When Timer_Discard of the oldest SDU not begun expires; NEVER (2**62) for none."""
    q = e.queue
    first = q.v[NEXT] + (1 if q.v[TAKEN] else 0)
    if e.p[UM_DISCARD_NS] == 0 or first >= q.v[TAIL]:
        return NEVER
    return q.sdu[first % len(q.sdu), DUE]


@kernel
def um_expire(e: UmEntity, now: int) -> None:
    """Drop the SDUs not begun whose time has come; the one begun is finished."""
    q = e.queue
    while um_next_timer(e) <= now:
        if q.v[TAKEN]:
            drop_behind_begun(q)
        else:
            drop_waiting(q, q.v[NEXT] + 1)
        e.counts[UM_DISCARDED] += 1
    _free(e)


# What `um_carry` counts: SDUs made, SDUs and octets handed over, those not in order or not whole.
UM_OFFERED, UM_DELIVERED, UM_OCTETS, UM_WRONG = range(4)


@kernel
def um_carry(
    a: UmEntity, b: UmEntity, tally: Any, sdu_bytes: int, frame_ns: int, erased: Any, frame: Any, first: int, last: int
) -> None:
    """Opportunities [first, last) of one PDU each from A, which always has SDUs of `sdu_bytes` (8 or more), to B."""
    for i in range(first, last):
        q, now = a.queue, i * frame_ns
        um_expire(a, now)
        while q.v[BACK] - q.v[FRONT] < a.p[UM_PDU_BYTES] and has_room(q, sdu_bytes):
            offer_numbered(q, tally[UM_OFFERED], sdu_bytes, now + a.p[UM_DISCARD_NS])
            tally[UM_OFFERED] += 1
        length = um_next_frame(a, now, frame)
        if length and not (i < len(erased) and erased[i]):
            um_receive(b, frame, length, now)
            um_count(b.r, tally, sdu_bytes)


@kernel
def um_count(r: Reassembly, tally: Any, sdu_bytes: int) -> None:
    """Count what was handed over."""
    begin = 0
    for k in range(r.v[OUT_COUNT]):
        tally[UM_DELIVERED] += 1
        tally[UM_OCTETS] += r.ends[k] - begin
        if not is_numbered(r.out, begin, r.ends[k], sdu_bytes):
            tally[UM_WRONG] += 1
        begin = r.ends[k]
    taken_away(r)


class RlcUm:
    """One end of an unacknowledged-mode link, in octets; times in ns."""

    def __init__(self, parameters: UmParameters | None = None) -> None:
        self.parameters = parameters or UmParameters()
        self.entity = um_entity(self.parameters)
        self._out = np.zeros(self.parameters.pdu_bytes, np.uint8)
        self._delivered: list[bytes] = []

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """An SDU from above; False when the queue is full."""
        check("the SDU's length", len(sdu), 1, self.parameters.max_sdu_bytes)
        return bool(um_offer(self.entity, octets_of(sdu), len(sdu), now))

    def next_frame(self, now: int) -> bytes | None:
        """What to send in this opportunity."""
        length = um_next_frame(self.entity, now, self._out)
        return self._out[:length].tobytes() if length else None

    def receive(self, frame: bytes, now: int) -> None:
        """A PDU from the air."""
        um_receive(self.entity, octets_of(frame), len(frame), now)
        self._delivered += taken(self.entity.r)

    def delivered(self) -> list[bytes]:
        """SDUs for above since the last call."""
        sdus, self._delivered = self._delivered, []
        return sdus

    def next_timer(self) -> int | None:
        """When to call `expire`."""
        soonest = int(um_next_timer(self.entity))
        return None if soonest == NEVER else soonest

    def expire(self, now: int) -> None:
        """Timers that are due by `now` expire."""
        um_expire(self.entity, now)

    @property
    def counts(self) -> dict[str, int]:
        """What happened so far, by `UM_COUNT_NAMES`."""
        return dict(zip(UM_COUNT_NAMES, self.entity.counts.tolist(), strict=True))
