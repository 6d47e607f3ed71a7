"""UMTS RLC in transparent mode (3GPP TS 25.322 11.1): an SDU is a PDU, without header, number or repetition."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.kernels import octets as octets_of
from multitracer.replay.arq.rlc import segmentation as segments
from multitracer.replay.arq.rlc.parameters import check
from multitracer.replay.arq.rlc.segmentation import (
    Queue,
    append_sdu,
    drop_waiting,
)


@kernel
def tm_next_frame(queue: Queue, out: Any) -> int:
    """Write the oldest SDU waiting into `out`, whole; gives its length, 0 for none."""
    v = queue.v
    if v.next >= v.tail:
        return 0
    length = queue.sdu[v.next % len(queue.sdu)].length
    for i in range(length):
        out[i] = queue.octets[(v.front + i) % len(queue.octets)]
    drop_waiting(queue, v.next + 1)
    v.head = v.next
    return length


@kernel
def tm_next_timer(queue: Queue, discard_ns: int) -> int:
    """When Timer_Discard of the oldest SDU waiting expires; NEVER (2**62) for none."""
    v = queue.v
    return queue.sdu[v.next % len(queue.sdu)].due if discard_ns and v.next < v.tail else 2**62


@kernel
def tm_carry(erased: Any, first: int, last: int) -> int:
    """SDUs handed over in opportunities [first, last) of one SDU each, where there is always one to send."""
    count = 0
    for i in range(first, last):
        if not (i < len(erased) and erased[i]):
            count += 1
    return count


class RlcTm:
    """One end of a transparent-mode link, in octets; times in ns."""

    def __init__(self, max_sdu_bytes: int = 1600, discard_ns: int = 0, queue_sdus: int = 1024) -> None:
        check("max_sdu_bytes", max_sdu_bytes, 1, 65_535)
        check("discard_ns", discard_ns, 0, 10**12)
        check("queue_sdus", queue_sdus, 1, 1 << 20)
        self.max_sdu_bytes, self.discard_ns = max_sdu_bytes, discard_ns
        self.queue = segments.queue(queue_sdus, queue_sdus * max_sdu_bytes, 0)
        self._out = np.zeros(max_sdu_bytes, np.uint8)
        self._delivered: list[bytes] = []

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """An SDU from above; False when the queue is full."""
        check("the SDU's length", len(sdu), 1, self.max_sdu_bytes)
        return bool(append_sdu(self.queue, octets_of(sdu), len(sdu), now + self.discard_ns))

    def next_frame(self, now: int) -> bytes | None:
        """What to send in this opportunity."""
        length = tm_next_frame(self.queue, self._out)
        return self._out[:length].tobytes() if length else None

    def receive(self, frame: bytes, now: int) -> None:
        """A PDU from the air: it is the SDU."""
        self._delivered.append(frame)

    def delivered(self) -> list[bytes]:
        """SDUs for above since the last call."""
        sdus, self._delivered = self._delivered, []
        return sdus

    def next_timer(self) -> int | None:
        """When to call `expire`."""
        soonest = int(tm_next_timer(self.queue, self.discard_ns))
        return None if soonest == 2**62 else soonest

    def expire(self, now: int) -> None:
        """SDUs whose time has come are discarded, 11.1.5."""
        while tm_next_timer(self.queue, self.discard_ns) <= now:
            drop_waiting(self.queue, self.queue.v.next + 1)
            self.queue.v.head = self.queue.v.next
