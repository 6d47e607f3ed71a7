"""What is kept while one direction's data is followed: where the sender stands, and what happened to its data."""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import inlined
from multitracer.model.limits import LIMITS
from multitracer.model.schema import MARKS, SPURIOUS, TRIGGERS

APPLICATION, RECEIVER_WINDOW, SENDER_WINDOW, TIMEOUT, FAST, STALL, RATE, UNKNOWN = range(len(LIMITS))

CODES = len(LIMITS)
MOST_CAUSE_NS = (1 << 62) // CODES
"""Causes begin at most so long after the first data (18 years): with their code they are one number of 64 bits."""

# Codes of `Events.kind`: sent before; the first copy of its last octet.
AGAIN, NEW = range(2)
# Bits of `Events.delivered_flag`: which copy was delivered is certain; the receiver did not delay the acknowledgement;
# it reported a duplicate (DSACK), so that it may have acknowledged the data before, and that was lost, or the data was
# sent again after the copy that this is noted for; the data was sent once, and none again since, so that it is a round
# trip (Karn's algorithm); the acknowledgement was held, and the time is what its timestamp allows (`answer_times`).
CLEAN, PROMPT, ANSWERS_COPY, ROUND_TRIP, DATED = 1, 2, 4, 8, 16
EXACT = CLEAN | PROMPT
NOTHING, IS_OPEN, IS_NEEDLESS = range(3)
"""Of the timeout since UNA advanced: there was none; whether it was needed is open; it was not."""
IS_NEEDED, ANSWERS_LOST = 1, 2
"""Of a resend: what it repeats was certainly lost; it had likely come, and all acknowledgements of it were lost."""
SACKS, DSACKS = 1, 2
"""Kinds of SACK blocks, as bits."""

AT_ONCE_NS = 3_000_000
"""What is sent within this time of an acknowledgement was set off by it."""
PROBES = MARKS["window_probe"] | MARKS["keep_alive"]
BATCH = 256
"""Rows of which the columns are fetched together."""
MOST_HOLES = 256
"""Resends of holes that are looked over, at each acknowledgement, for later data that was delivered."""

# Lists of spans (start, end), in order of precedence; each is sorted and does not overlap itself.
UNSURE_STALLS, STALLS, BUSY, LEAST_BUSY, UNSURE_BUSY, TIMEOUTS, UNSURE, FASTS, LISTS = range(9)
LIST_OF = (-1, -1, -1, TIMEOUTS, FASTS, -1, -1, UNSURE)
"""The list of a recovery, by its cause."""
# Codes of the retransmissions table, and of `Capture.resend`: spurious + len(SPURIOUS) * trigger.
YES, NO = SPURIOUS.index("yes"), SPURIOUS.index("no")
TIMER_TRIGGERS = (TRIGGERS.index("timeout"), TRIGGERS.index("probe"))
ACK_TRIGGERS = (TRIGGERS.index("fast"), TRIGGERS.index("recovery"))
PROBE = TRIGGERS.index("probe")
RTO_TRIGGER, FAST_TRIGGER, REPAIR_TRIGGER = (TRIGGERS.index(name) for name in ("timeout", "fast", "recovery"))
VERDICTS = len(SPURIOUS)

# Columns of the state of a direction; times in ns, numbers relative as in `segments`.
# Octets below UNA are acknowledged, below TOP sent, below HIGH selectively acknowledged but for holes; EDGE is the end
# of the advertised window (-1 unknown); octets below RESENT_TOP may have been resent. LAST_NEW is when new data was
# last sent, LAST_AGAIN when any was last sent again (-1: never), PROGRESS when an acknowledgement last brought news,
# OUTSTANDING since when there has been unacknowledged data. RECOVERY is the cause of the recovery in progress (-1:
# none), which began at RECOVERY_START and lasts until RECOVERY_END is acknowledged. SENT, HEARD, TRIPS, NEEDED, WAITS
# and CAUSES count rows of the arrays; FRONT is the first sent row above all that was delivered. BESIDE_RECEIVER: the
# only capture is that. TIMER_FROM is since when a timer was waited for that ran out at TIMER_AT and resent needlessly,
# or perhaps so (0: none): of the octets below TIMER_TOP, which had been sent then, it found what is repaired next.
# LEAST_TRIP is the shortest round trip, DUPLICATES how many acknowledgements told nothing since UNA advanced. OPEN says
# of a timeout since then whether it IS_OPEN or IS_NEEDLESS (NOTHING: there was none): it sent octets up to OPEN_END
# again, last at OPEN_AT, was waited for since OPEN_FROM, and is noted from OPEN_ROW of `needed` on if it is open;
# OPEN_ALONE: nothing had been reported nor was being repaired.
(NOW, UNA, TOP, HIGH, EDGE, RESENT_TOP, FIRST_NS, LAST_NEW, LAST_ACKED_NS, PROGRESS, OUTSTANDING, RECOVERY,
 RECOVERY_START, RECOVERY_END, RECOVERY_BY_PROBE, SENT, FRONT, HEARD, TRIPS, NEEDED, WAITS, CAUSES, NEXT_BLOCK,
 BESIDE_RECEIVER, KEEP_TRIPS, TIMER_FROM, TIMER_AT, TIMER_TOP, LAST_AGAIN, LEAST_TRIP, DUPLICATES, OPEN, OPEN_END,
 OPEN_AT, OPEN_FROM, OPEN_ROW, OPEN_ALONE, FIELDS) = range(38)  # fmt: skip


class Capture(NamedTuple):
    """Columns of all segments, one element per row."""

    time_ns: Any
    sender: Any
    seq: Any
    ack: Any
    payload_bytes: Any
    flags: Any
    options: Any
    tsval: Any
    window_bytes: Any
    wire_bytes: Any
    marks: Any
    resend: Any
    """The code of its retransmission's verdict and trigger; -1 for what was not resent."""
    arrival: Any
    """The row of the same packet at the receiving point; -1 none."""
    arrived: Any
    """Whether it got there intact: 1 yes, 0 no, -1 unknown."""
    came_ns: Any
    """When it did, by the capture there or by a link's log; -1 unknown, or never; or empty, as in `Deliveries`."""
    given_ns: Any
    """Since when the bottleneck may have had it, by a link's log; -1 unknown; or empty."""
    held_ns: Any
    """Until when the bottleneck had it at least, by a link's log; -1 unknown; or empty."""
    left_ns: Any
    """Until when the bottleneck had it, by a link's log; -1 unknown; or empty."""
    cwnd_bytes: Any
    """The congestion window of the sender beside whom it was captured, as a state log has it, -1 unknown; or empty."""


class Events(NamedTuple):
    """What is collected of one direction; the arrays are longer than what `state` counts."""

    row: Any
    """Of each data segment in order of sending, its row in the capture."""
    sent_ns: Any
    stop: Any
    """The number behind its last octet."""
    wire_bytes: Any
    resend: Any
    kind: Any
    firsts: Any
    """Of those that are the first copy of their last octet, the place among `row`."""
    lost: Any
    """Whether a resend shows that it was lost: 2 yes, 1 perhaps."""
    delivered_ns: Any
    """When data was seen to be delivered, in order of sending, all of it up to a sent row; with flags."""
    delivered_upto: Any
    delivered_row: Any
    """Of the acknowledgement that told of it."""
    delivered_flag: Any
    trip_ns: Any
    """Round trips, shape (rows, 2): when each was measured, and how long it was; kept where arrivals are known."""
    needed: Any
    """Resends that were not needless, shape (rows, 3): time, first octet, and IS_NEEDED, ANSWERS_LOST or neither."""
    waits: Any
    """Since new data was last sent, shape (rows, 4): from when on which octet was unacknowledged, the edge of the
    advertised window, and the congestion window (-1 unknown)."""
    causes: Any
    """What limited the sender while the path was idle and nothing was repaired: ns after FIRST_NS * CODES + cause."""
    spans: Any
    """Shape (LISTS, rows, 2)."""
    counts: Any
    """The number of spans in each list."""
    fetched: Any
    """Of the next rows, shape (BATCH, 3): time, number, and octets on the wire, or the window of the other end."""


@inlined
def is_needless(code: int) -> bool:
    """Whether a code of `Capture.resend` is that of a needless retransmission."""
    return code >= 0 and code % VERDICTS == YES


@inlined
def add_span(events: Events, which: int, start: int, end: int) -> None:
    """Append a span to a list; what it shares with the latest span of the list is left out."""
    count = events.counts[which]
    if count > 0:
        start = max(start, events.spans[which, count - 1, 1])
    if end > start:
        events.spans[which, count, 0], events.spans[which, count, 1] = start, end
        events.counts[which] += 1
