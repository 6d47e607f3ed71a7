"""Triggers of resends where the other end's acknowledgements were not captured: only the timer may show."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK, SYN
from multitracer.tcp.packed_rows import LENGTH
from multitracer.tcp.retransmission_trigger import DOUBLED, DOUBLED_WITHIN, FIRST_PROBES_NS, UNHEARD
from multitracer.tcp.scoreboard import R_ELAPSED, R_ROW, R_TRIGGER, SegmentColumns
from multitracer.tcp.sender_state import MIN_RTO_NS

LEAST_TIMER_NS = MIN_RTO_NS // 10 * 9
"""No timer runs out sooner; a tenth for clocks and ticks."""
UNSCALED_WINDOW = 65_535
"""The window of a SYN is not scaled (RFC 7323 2.2): more octets are sent only after other acknowledgements."""


@kernel
def hears_peer(rows: Any, direction: int, segments: SegmentColumns) -> bool:
    """Whether the acknowledgements of this direction's data were captured, as far as there were any."""
    first, top, heard = -1, -1, False
    for row in rows:
        if segments.sender[row] == direction:
            if first < 0:
                first = segments.seq[row] + ((segments.flags[row] & SYN) != 0)
            top = max(top, segments.seq[row])
        elif segments.flags[row] & ACK:
            heard = True
            if 0 <= first < segments.ack[row]:
                return True
    return heard and top - first <= UNSCALED_WINDOW


@kernel
def forget_triggers(mine: Any, words: Any, direction: int, own: Any, segments: SegmentColumns) -> None:
    """Leave no trigger but the timer where the waits between resends double (RFC 6298 5.5).

    The wait between two resends of an octet is the timer's; that before the first resend need not be, which
    acknowledgements or a probe may have caused: it is the timer's where neither can have been. `words` are those of the
    rows `mine`, as `pack_word` makes them. What is one octet long may be a window probe, whose waits double too (RFC
    9293 3.8.6.1).
    """
    own[:, R_TRIGGER] = UNHEARD
    highest, place, sole = -1, 0, False
    for at in range(len(own)):
        row = own[at, R_ROW]
        while mine[place] < row:
            if words[place] & 1 == direction:
                highest = max(highest, segments.seq[mine[place]])
            place += 1
        again = at > 0 and segments.seq[own[at - 1, R_ROW]] == segments.seq[row]
        if not again:
            # Nothing was sent behind it that duplicates could acknowledge, and no stack had probes yet.
            sole = highest <= segments.seq[row] and segments.time_ns[row] < FIRST_PROBES_NS
        last = at + 1 == len(own) or segments.seq[own[at + 1, R_ROW]] != segments.seq[row]
        wait = own[at, R_ELAPSED]
        if last or not (again or sole) or words[place] >> LENGTH < 2 or wait < LEAST_TIMER_NS:
            continue
        half = own[at + 1, R_ELAPSED] // 2
        if not wait - wait // DOUBLED_WITHIN <= half <= wait + wait // DOUBLED_WITHIN:
            continue
        own[at, R_TRIGGER] = own[at + 1, R_TRIGGER] = DOUBLED
        if again and sole:
            own[at - 1, R_TRIGGER] = DOUBLED
