"""UMTS RLC in unacknowledged mode (3GPP TS 25.322 11.2): sequence numbers modulo 128, nothing is sent again.

An SDU of which a PDU is missing is dropped. 128 PDUs lost in a row are not noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.kernels import octets as octets_of
from multitracer.compute.records import integers, numbers, record
from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlc import segmentation as segments
from multitracer.replay.arq.rlc.am import taken
from multitracer.replay.arq.rlc.parameters import MOST_QUEUE_BYTES, MOST_QUEUE_SDUS, check
from multitracer.replay.arq.rlc.segmentation import (
    META,
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

UM_PARAMETERS = integers("pdu_bytes", "li_octets", "marks_start", "discard_ns")
UM_STATE = integers("vt_us", "vr_us")
"""VT(US) and VR(US), 9.4."""
UM_COUNTS = integers("sent", "received", "lost", "malformed", "discarded")
"""UMD PDUs sent, received, found missing and not understood; SDUs discarded by Timer_Discard."""
UM_TALLY = integers("offered", "delivered", "octets", "wrong")
"""What `um_carry` counts: SDUs made, SDUs and octets handed over, those not in order or not whole."""


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
    ends = most_ends(q.pdu_bytes, q.li_octets)
    p = record(UM_PARAMETERS)
    p.pdu_bytes, p.li_octets, p.marks_start, p.discard_ns = q.pdu_bytes, q.li_octets, q.marks_start, q.discard_ns
    return UmEntity(
        p, record(UM_STATE), record(UM_COUNTS), segments.queue(q.queue_sdus, q.queue_bytes, ends),
        segments.reassembly(q.max_sdu_bytes, q.pdu_bytes + q.max_sdu_bytes + 1, ends + 1),
        record(META), np.zeros(ends, np.int16),
    )  # fmt: skip


@kernel
def um_offer(e: UmEntity, sdu: Any, length: int, now: int) -> bool:
    """An SDU from above; False when there is no room for it."""
    return append_sdu(e.queue, sdu, length, now + e.p.discard_ns)


@kernel
def um_next_frame(e: UmEntity, now: int, out: Any) -> int:
    """Write the UMD PDU for this opportunity into `out`; gives its length, 0 for none."""
    q, sn = e.queue, e.v.vt_us
    if not has_data(q):
        return 0
    extended = fill(q, sn, out, HEAD_BYTES, e.p.pdu_bytes, e.p.li_octets, 0, e.p.marks_start)
    out[0] = sn << 1 | extended
    e.v.vt_us = (sn + 1) % MODULUS
    _free(e)
    e.counts.sent += 1
    return e.p.pdu_bytes


@kernel
def _free(e: UmEntity) -> None:
    """SDUs sent or dropped make room, but one whose end is still to be told."""
    v = e.queue.v
    v.head = v.next - (1 if v.ending else 0)


@kernel
def um_receive(e: UmEntity, frame: Any, length: int, now: int) -> None:
    """A UMD PDU from the air; SDUs it completes wait in the reassembly."""
    meta = e.meta
    if length != e.p.pdu_bytes:
        e.counts.malformed += 1
        return
    meta.count, meta.start, meta.stop, meta.status_at = 0, HEAD_BYTES, length - HEAD_BYTES, 0
    if frame[0] & 1 and not read_indicators(frame, HEAD_BYTES, length, e.p.li_octets, meta, e.lis, 1):
        e.counts.malformed += 1
        return
    sn = np.int64(frame[0]) >> 1
    missing = (sn - e.v.vr_us) % MODULUS
    if missing:
        lose(e.r)
    e.counts.lost += missing
    e.counts.received += 1
    e.v.vr_us = (sn + 1) % MODULUS
    feed(e.r, frame, meta, e.lis, 1 if meta.count else 0, 0, 0)


@kernel
def um_next_timer(e: UmEntity) -> int:
    """When Timer_Discard of the oldest SDU not begun expires; NEVER (2**62) for none."""
    q = e.queue
    first = q.v.next + (1 if q.v.taken else 0)
    if e.p.discard_ns == 0 or first >= q.v.tail:
        return NEVER
    return q.sdu[first % len(q.sdu)].due


@kernel
def um_expire(e: UmEntity, now: int) -> None:
    """Drop the SDUs not begun whose time has come; the one begun is finished."""
    q = e.queue
    while um_next_timer(e) <= now:
        if q.v.taken:
            drop_behind_begun(q)
        else:
            drop_waiting(q, q.v.next + 1)
        e.counts.discarded += 1
    _free(e)


@kernel
def um_carry(
    a: UmEntity, b: UmEntity, tally: Any, sdu_bytes: int, frame_ns: int, erased: Any, frame: Any, first: int, last: int
) -> None:
    """Opportunities [first, last) of one PDU each from A, which always has SDUs of `sdu_bytes` (8 or more), to B."""
    for i in range(first, last):
        q, now = a.queue, i * frame_ns
        um_expire(a, now)
        while q.v.back - q.v.front < a.p.pdu_bytes and has_room(q, sdu_bytes):
            offer_numbered(q, tally.offered, sdu_bytes, now + a.p.discard_ns)
            tally.offered += 1
        length = um_next_frame(a, now, frame)
        if length and not (i < len(erased) and erased[i]):
            um_receive(b, frame, length, now)
            um_count(b.r, tally, sdu_bytes)


@kernel
def um_count(r: Reassembly, tally: Any, sdu_bytes: int) -> None:
    """Count what was handed over."""
    begin = 0
    for k in range(r.v.out_count):
        tally.delivered += 1
        tally.octets += r.ends[k] - begin
        if not is_numbered(r.out, begin, r.ends[k], sdu_bytes):
            tally.wrong += 1
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
        """What happened so far, by the names of UM_COUNTS."""
        return numbers(self.entity.counts)
