"""Reassembly of SDUs from PDUs in their order, in acknowledged and unacknowledged mode of UMTS RLC.

What a PDU carries is known by its length indicators and, where the frame says so, by positions in the sender's stream:
an SDU is whole when its pieces follow one another. In the mode with octets these are put together, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import dtype, numbers
from multitracer.replay.arq.rlc.parameters import LARGEST_PDU_BYTES, LARGEST_WINDOW
from multitracer.replay.arq.rlc.queue import numbered_octet
from multitracer.replay.arq.rlc.segmentation import ENDED_BEFORE, ENDED_SHORT, STARTS
from multitracer.replay.arq.stretches import STRETCH, hand_over

LONGEST_SDU_BYTES = 65_535
MOST_OUT_BYTES = (LARGEST_WINDOW + 2) * LARGEST_PDU_BYTES + 2 * (LONGEST_SDU_BYTES + 1)
"""Octets that one PDU can complete: a window of PDUs, and SDUs begun."""
MOST_PIECES = 16_384
"""Pieces that the longest SDU can come in: an UMD PDU has room for five octets of it at least."""

PDU = numbers("count begin stop status_at he done li start jump sdu skip cut first_ns")
"""What is known of a received PDU: how many ends, where SDU octets begin and how many there are, where a piggybacked
status begins (0: none), HE; which of the ends have been handed over ahead of sequence (see `feed`); where its
indicators begin; what its frame says; and when it came."""

STATE = dtype(
    [
        *((name, np.int64) for name in (
            "held", "skipping", "sdu", "start", "broken", "pieces", "too_long", "longest", "keeps_octets", "hands_out",
            "out_count", "out_octets", "delivered", "delivered_octets", "garbled", "misordered", "last",
            "delivered_last_ns", "aside", "aside_sdu", "aside_came_ns",
        )),
        ("piece", STRETCH, (MOST_PIECES,)),
        ("partial", np.uint8, (LONGEST_SDU_BYTES + 1,)),
        ("ends", np.int64, ((LARGEST_WINDOW + 2) * LARGEST_PDU_BYTES // 2,)),
    ]
)  # fmt: skip
"""State of a reassembly: octets `held` of an SDU begun, its number and the position of its first octet; whether its
beginning is missing (`skipping`), or it was put together of what does not belong together (`broken`); the `pieces` that
it came in, and its octets so far (`partial`); what waits to be taken away (`out_`, `ends`); and what was handed over:
SDUs and octets, how many SDUs were not whole and how many came after a later one, the number handed over last, plus 1,
and when. `aside`: octets of an SDU that is put together beside the one in sequence, its number, and when its last
piece came."""


HANDED_OVER = ("delivered", "delivered_octets", "garbled", "misordered", "last", "delivered_last_ns")


REASSEMBLY = dtype([("v", STATE), ("out", np.uint8, (MOST_OUT_BYTES,))])
"""SDUs being put together, and (`out`) the octets of those that wait to be taken away, where somebody does so."""


def set_up(r: Any, max_sdu_bytes: int, keeps_octets: bool, hands_out: bool) -> None:
    """Give a reassembly what it is to do: put octets together, and keep them until they are taken away."""
    r.v.longest, r.v.keeps_octets, r.v.hands_out = max_sdu_bytes + 1, int(keeps_octets), int(hands_out)


@kernel
def append(
    r: Any, octets: Any, first: int, last: int, position: int, sdu: int, begins: int, came_ns: int
) -> None:
    """Octets [first, last), at this position of the stream, belong to the SDU that is being put together."""
    v, size = r.v, last - first
    if v.skipping or size == 0:
        return
    held = v.held
    if held + size > v.longest:
        v.too_long += 1
        skip_to_end(r)
        return
    if held == 0:
        v.sdu, v.start, v.pieces, v.broken = sdu, position, 0, 1 - begins
    elif position != v.start + held or sdu != v.sdu:
        v.broken = 1
    piece = v.piece[v.pieces]
    piece.start, piece.end, piece.first_ns = position, position + size, came_ns
    v.pieces += 1
    if v.keeps_octets:
        for i in range(size):
            r.v.partial[held + i] = octets[first + i]
    v.held = held + size


@kernel
def shorten(r: Any) -> None:
    """The last octet appended is nobody's."""
    v = r.v
    if v.held == 0:
        return
    v.held -= 1
    v.piece[v.pieces - 1].end -= 1


@kernel
def close(r: Any, above: Any, wanted: int, now: int) -> None:
    """The SDU ends here: hand it over if it is whole and wanted."""
    v = r.v
    held = v.held
    if wanted and not v.skipping and held > 0:
        if v.keeps_octets and v.sdu >= 0 and not is_numbered(r.v.partial, held, v.sdu):
            v.broken = 1
        if r.v.hands_out:
            _take_out(r)
        for i in range(v.pieces):
            piece = v.piece[i]
            hand_over(above, piece.start, piece.end, v.sdu, piece.first_ns)
        _count(v, held, v.sdu, v.broken, now)
    v.held, v.skipping = 0, 0


@kernel
def _take_out(r: Any) -> None:
    """Put the SDU in `partial` among those to be taken away."""
    v, held = r.v, r.v.held
    begin = v.out_octets
    for i in range(held):
        r.out[begin + i] = r.v.partial[i]
    v.out_octets = begin + held
    _end_out(v)


@kernel
def _end_out(v: Any) -> None:
    v.ends[v.out_count] = v.out_octets
    v.out_count += 1


@kernel
def _count(v: Any, octets: int, sdu: int, broken: int, now: int) -> None:
    """Count an SDU handed over."""
    v.delivered += 1
    v.delivered_octets += octets
    v.delivered_last_ns = now
    if broken:
        v.garbled += 1
        return
    if sdu < v.last:
        v.misordered += 1
    v.last = max(v.last, sdu + 1)


@kernel
def is_numbered(octets: Any, count: int, number: int) -> bool:
    """Whether the first `count` octets are those of SDU `number` where no others are given."""
    wrong = 0
    for i in range(count):
        wrong += octets[i] != numbered_octet(number, i)
    return wrong == 0


@kernel
def restart_aside(r: Any) -> None:
    """Begin an SDU right among those to be taken away, beside the one in sequence."""
    r.v.aside = 0


@kernel
def append_aside(
    r: Any, above: Any, octets: Any, first: int, last: int, position: int, sdu: int, came_ns: int
) -> None:
    """Octets [first, last), at this position of the stream, belong to the SDU put together aside."""
    v, size = r.v, last - first
    if size == 0:
        return
    if v.aside == 0:
        v.aside_sdu = sdu
    hand_over(above, position, position + size, sdu, came_ns)
    if r.v.hands_out:
        start = v.out_octets + v.aside
        for i in range(size):
            r.out[start + i] = octets[first + i]
    v.aside_came_ns = came_ns
    v.aside += size


@kernel
def close_aside(r: Any, above: Any, surplus: int, now: int) -> bool:
    """The SDU put together aside ends, `surplus` octets ago; whether there is one."""
    v = r.v
    size = v.aside - surplus
    if size <= 0:
        return False
    if surplus and above.count.wanted:
        above.handed[above.count.handed - 1].end -= surplus
    if surplus and v.aside_came_ns < above.count.since:
        above.late[above.count.late - 1].octets -= surplus
    if r.v.hands_out:
        v.out_octets += size
        _end_out(v)
    _count(v, size, v.aside_sdu, 0, now)
    return True


@kernel
def skip_to_end(r: Any) -> None:
    """A PDU is missing: what is begun is lost, and so is all up to the next end of an SDU."""
    r.v.held, r.v.skipping = 0, 1


@kernel
def restart(r: Any) -> None:
    """The next octet is known to begin an SDU."""
    r.v.held, r.v.skipping = 0, 0


@kernel
def taken_away(r: Any) -> None:
    """All that was handed over has been taken."""
    r.v.out_count, r.v.out_octets = 0, 0


@kernel
def feed(r: Any, above: Any, octets: Any, pdu: Any, lis: Any, skip: int, now: int) -> None:
    """Take the next PDU in sequence; its first `skip` ends, and those that are `done`, are not wanted.

    `done`: bit 0 for the first end, bit 1 for all the others.
    """
    begin, at, position, sdu, begins = pdu.begin, 0, pdu.start, pdu.sdu, 1 if pdu.skip == 0 else 0
    for i in range(pdu.count):
        li: Any = np.int64(lis[pdu.li + i])
        if li == STARTS:
            restart(r)
            continue
        if li == ENDED_SHORT:
            shorten(r)
        elif li != ENDED_BEFORE:
            append(r, octets, begin + at, begin + li, position + at, sdu, begins, pdu.first_ns)
            if at == 0:
                position += pdu.jump
            at, begins = li, 1
            sdu += 1 if sdu >= 0 else 0
        if i == 0 and pdu.cut:
            r.v.broken = 1
        close(r, above, i >= skip and not (pdu.done >> min(i, 1)) & 1, now)
    append(r, octets, begin + at, begin + pdu.stop, position + at, sdu, begins, pdu.first_ns)
    if pdu.he == 2:
        close(r, above, not (pdu.done >> min(pdu.count, 1)) & 1, now)
