"""UMTS RLC in unacknowledged mode (3GPP TS 25.322 11.2): sequence numbers modulo 128, nothing is sent again.

An SDU of which a PDU is missing is dropped. 128 PDUs lost in a row are not noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import NEVER, dtype, joined, numbers, record
from multitracer.replay.arq.rlc import queue as queues
from multitracer.replay.arq.rlc import reassembly as reassemblies
from multitracer.replay.arq.rlc.frames import copy_frame
from multitracer.replay.arq.rlc.parameters import LARGEST_PDU_BYTES, MOST_QUEUE_BYTES, MOST_QUEUE_SDUS, check
from multitracer.replay.arq.rlc.queue import QUEUE, append_sdu, drop_after_begun, drop_waiting, has_data, has_room
from multitracer.replay.arq.rlc.reassembly import MOST_PIECES, PDU, REASSEMBLY, feed, skip_to_end
from multitracer.replay.arq.rlc.segmentation import fill, most_ends, read_indicators
from multitracer.replay.arq.stretches import above_dtype, lose

__all__ = [
    "carries_data", "copy_frame", "expire", "gone", "next_frame", "next_timer", "note", "offer", "on_air", "receive",
    "restarted", "span", "total_delivered", "wants",
]  # fmt: skip

HEAD_BYTES = 1
MODULUS = 128
SHORT_LI_PDU_BYTES = 125
"""9.2.2.8: up to this size length indicators have seven bits."""

UM_PARAMETERS = numbers("pdu_bytes li_octets marks_start discard_ns")
UM_STATE = numbers("vt_us vr_us")
"""VT(US) and VR(US), 9.4."""
UM_PDU = joined(PDU, tables=[("lis", np.int16, (LARGEST_PDU_BYTES,))])
"""The PDU just read, and its length indicators."""
UM_COUNTS = numbers("sent received lost malformed discarded")
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
        check("pdu_bytes", self.pdu_bytes, 8, LARGEST_PDU_BYTES)
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


UM_ENTITY = dtype(
    [
        ("p", UM_PARAMETERS), ("v", UM_STATE), ("counts", UM_COUNTS), ("queue", QUEUE), ("r", REASSEMBLY),
        ("pdu", UM_PDU), ("above", above_dtype(LARGEST_PDU_BYTES + MOST_PIECES, MOST_QUEUE_SDUS)),
    ]
)  # fmt: skip
"""An RLC UM entity, both ways."""
UmEntity: TypeAlias = Any


def um_entity(parameters: UmParameters) -> UmEntity:
    """A new entity whose PDUs carry no payload."""
    return _made(parameters, keeps_octets=False)


def um_entity_with_octets(parameters: UmParameters) -> UmEntity:
    """A new entity whose PDUs carry the octets of the SDUs, which are made up by `queue.numbered_octet`."""
    return _made(parameters, keeps_octets=True)


def live_um_entity(parameters: UmParameters) -> UmEntity:
    """A new entity whose PDUs carry octets, and whose SDUs must be taken away from its reassembly."""
    return _made(parameters, keeps_octets=True, hands_out=True)


def _made(q: UmParameters, *, keeps_octets: bool, hands_out: bool = False) -> UmEntity:
    made = record(UM_ENTITY)
    p = made.p
    p.pdu_bytes, p.li_octets, p.marks_start, p.discard_ns = q.pdu_bytes, q.li_octets, q.marks_start, q.discard_ns
    ends = most_ends(q.pdu_bytes, q.li_octets)
    queues.set_up(made.queue, q.queue_sdus, q.queue_bytes, ends, keeps_octets)
    reassemblies.set_up(made.r, q.max_sdu_bytes, keeps_octets, hands_out)
    return made


def um_counters(e: UmEntity) -> dict[str, int]:
    """What an entity handed over and counted; `wrong`: SDUs that were not whole."""
    r = e.r.v
    handed = {"delivered": int(r.delivered), "delivered_octets": int(r.delivered_octets), "wrong": int(r.garbled)}
    return {**handed, **dict(zip(UM_COUNTS.names, e.counts.item(), strict=True))}


@kernel
def offer(e: UmEntity, sdu: int, start: int, octets: int, now: int) -> int:
    """An SDU from above; 0 when there is no room for it."""
    return 1 if append_sdu(e.queue, octets, now + e.p.discard_ns) else 0


@kernel
def wants(e: UmEntity, octets: int) -> int:
    """Whether less waits than a PDU, and an SDU of `octets` octets has room."""
    return 1 if e.queue.v.back - e.queue.v.front < e.p.pdu_bytes and has_room(e.queue, octets) else 0


@kernel
def total_delivered(e: UmEntity) -> int:
    """Octets handed over so far."""
    return e.r.v.delivered_octets


@kernel
def note(e: UmEntity, log: Any, now: int, side: int, why: int) -> None:
    """What happens to an entity is seen in its PDUs."""


@kernel
def next_frame(e: UmEntity, frame: Any, now: int) -> int:
    """Write the UMD PDU for this opportunity into `frame`; gives its length, 0 for none."""
    q, sn = e.queue, e.v.vt_us
    if not has_data(q):
        return 0
    extended = fill(q, sn, frame, HEAD_BYTES, e.p.pdu_bytes, e.p.li_octets, 0, e.p.marks_start)
    frame.octets[0] = sn << 1 | extended
    frame.sdu = -1  # SDUs may be dropped between
    frame.end = q.v.front - q.v.moved
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
def carries_data(frame: Any) -> int:
    """Every PDU carries data."""
    return 1


@kernel
def on_air(e: UmEntity, frame: Any, end: int) -> None:
    """No timer runs from here."""


@kernel
def receive(e: UmEntity, frame: Any, octets: int, now: int) -> None:
    """A UMD PDU from the air; SDUs that it completes are handed over."""
    pdu, first = e.pdu, np.int64(frame.octets[0])
    if octets != e.p.pdu_bytes:
        e.counts.malformed += 1
        return
    pdu.count, pdu.begin, pdu.stop, pdu.status_at, pdu.first_ns = 0, HEAD_BYTES, octets - HEAD_BYTES, 0, now
    pdu.start, pdu.jump, pdu.sdu, pdu.skip = frame.start, frame.jump, frame.sdu, frame.skip
    if first & 1 and not read_indicators(frame.octets, HEAD_BYTES, octets, e.p.li_octets, pdu, pdu.lis, 1):
        e.counts.malformed += 1
        return
    sn = first >> 1
    missing = (sn - e.v.vr_us) % MODULUS
    if missing:
        skip_to_end(e.r)
    e.counts.lost += missing
    e.counts.received += 1
    e.v.vr_us = (sn + 1) % MODULUS
    feed(e.r, e.above, frame.octets, pdu, pdu.lis, 0, now)


@kernel
def next_timer(e: UmEntity) -> int:
    """When Timer_Discard of the oldest SDU not begun expires; NEVER for none."""
    q = e.queue
    first = q.v.next + (1 if q.v.taken else 0)
    if e.p.discard_ns == 0 or first >= q.v.tail:
        return NEVER
    return q.v.sdu[first & q.v.mask].due


@kernel
def expire(e: UmEntity, now: int) -> None:
    """Drop the SDUs not begun whose time has come; the one begun is finished."""
    q = e.queue
    v = q.v
    while next_timer(e) <= now:
        number = v.next + (1 if v.taken else 0)
        start = v.front + (q.v.sdu[v.next & q.v.mask].length - v.taken if v.taken else 0)
        lose(e.above, start, start + q.v.sdu[number & q.v.mask].length, -1)
        if v.taken:
            drop_after_begun(q)
        else:
            drop_waiting(q, v.next + 1)
        e.counts.discarded += 1
    _free(e)


@kernel
def span(e: UmEntity, frame: Any) -> tuple[int, int]:
    """Nothing is ever repeated."""
    return 0, 0


@kernel
def gone(frame: Any, octets: int) -> tuple[int, int]:
    """The octets of what is in the frame."""
    return frame.start, frame.end


@kernel
def restarted(e: UmEntity) -> int:
    """There is no reset."""
    return -1
