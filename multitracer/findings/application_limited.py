"""The application left TCP without data to send for longer than a round trip.

That is sure only while nothing is outstanding, for longer than the host was late elsewhere, or when no more data
followed before a FIN; but there the time in which the last data was acknowledged is a round trip, and no longer than
one. It is likely where nothing followed for a round trip once all was acknowledged: what TCP had held back would have
gone out then. Elsewhere a full congestion window or send buffer may have held back what was not sent, up to the last
acknowledgement that advanced; after that it was the application, or a host that was late. So it was, too, while the
sender's log shows room in the congestion window, and less was outstanding than it had buffered before; unless by its
log the link, whenever it was idle, had something new to carry within a round trip.
"""

from __future__ import annotations

from itertools import repeat

import numpy as np

from multitracer.findings.data_gaps import (
    BEGIN,
    EMPTY_NS,
    FLIGHT_NS,
    FREE,
    FREE_NS,
    IDLE,
    IDLE_NS,
    LATE_NS,
    STOP,
    gaps_of,
    weigh_one,
    weights_of,
)
from multitracer.findings.directions import Direction
from multitracer.findings.finding_columns import FindingColumns
from multitracer.findings.limited_stretches import Doubts, Limited, distinct_stretches, findings_of, limited, of_each
from multitracer.findings.needs import LIMITS
from multitracer.findings.observations import MS, Ints, Observations

KINDS = ("application-limited",)
NEEDS = (LIMITS,)

SURE_SHARE = 0.5
"""At least as much of a finding's time has to be beyond doubt."""

_WHAT = "TCP had nothing more to send"

_NEW = ("new_data", "tcp_retransmitted")
"""Causes of the accounting for what TCP sent and the link carried the first time."""


def detect(observed: Observations) -> FindingColumns:
    """One finding for each time that the application limited one end; sure as far as nothing was outstanding."""
    found = limited(observed, "application", group_rtts=observed.thresholds.group_rtts)
    weights = weights_of(observed, found)
    if observed.cwnd_bytes is not None:
        _give_room(observed, found, weights)
    rows, which = distinct_stretches(found, *weights.T)
    some, weighed = found.at(rows), weights[rows]
    evidence = {"nothing_outstanding_s": weighed[:, IDLE_NS] / 1e9}
    doubts = _doubts(some, weighed)
    made = findings_of("application-limited", some, repeat("sender"), repeat(_WHAT), doubts, evidence)
    return of_each(made, which, found)


def _give_room(observed: Observations, found: Limited, weights: Ints) -> None:
    """Count as free, too, the time in which the windows had room, where the link was idle besides."""
    gaps: dict[int, Ints] = {}
    for row, weight in enumerate(weights):
        one = found.at(row)
        if not _was_idle(observed, one):
            continue
        end = int(one.end)
        if end not in gaps:
            gaps[end] = _roomy_gaps(observed, end)
        weigh_one(gaps[end], len(gaps[end]), one.start_ns, one.stop_ns, one.rtt_ns, weight)


def _roomy_gaps(observed: Observations, end: int) -> Ints:
    """The gaps of an end, free where the windows had room."""
    direction = observed.direction(*divmod(end, 2))
    assert direction is not None  # it has a round trip
    gaps = gaps_of(observed, direction)
    room = np.clip(_room_ns(observed, direction, gaps), gaps[:, BEGIN], gaps[:, IDLE])
    gaps[:, FREE] = np.minimum(gaps[:, FREE], room)
    return gaps


def _was_idle(observed: Observations, one: Limited) -> bool:
    """Whether the link, once idle, had nothing new to carry for longer than a round trip, as far as its log tells.

    It tells of the direction with most data, which it accounts for.
    """
    if observed.accounting is None:
        return True
    main = observed.main_direction
    if main is None or one.end != 2 * main.connection + main.sender:
        return False
    table = observed.accounting
    start, end = (np.clip(table[name].to_numpy(), one.start_ns, one.stop_ns) for name in ("start_ns", "end_ns"))
    cause = table["cause"].astype(str)
    new, idle = (cause.isin(_NEW) & (end > start)).to_numpy(), (cause.str.startswith("idle") & (end > start)).to_numpy()
    begun, ends = np.append(one.start_ns, end[new]), np.append(start[new], one.stop_ns)
    pauses = np.append(start[idle], one.stop_ns)
    return bool((ends - pauses[np.searchsorted(pauses, begun)] > one.rtt_ns).any())


def _doubts(found: Limited, weights: Ints) -> Doubts:
    """What the data outstanding leave in doubt: for so long the sender was idle, free to send, or late elsewhere."""
    is_idle, is_empty, is_free = SURE_SHARE * found.cost_ns <= weights[:, [IDLE_NS, EMPTY_NS, FREE_NS]].T
    is_longer = found.cost_ns > weights[:, FLIGHT_NS]
    verdicts = np.select([is_idle & is_longer, is_idle | is_empty | is_free], ["", "likely"], "undecided").tolist()
    asked = [IDLE_NS, EMPTY_NS, FREE_NS, FLIGHT_NS, LATE_NS]
    milliseconds = np.rint(weights[:, asked] / MS).astype(np.int64).T.tolist()
    rows = zip(verdicts, is_idle.tolist(), is_empty.tolist(), *milliseconds, strict=True)
    return Doubts(verdicts, [verdict and _because(verdict, *row) for verdict, *row in rows])


def _because(
    verdict: str, is_idle: bool, is_empty: bool, idle_ms: int, empty_ms: int, free_ms: int, flight_ms: int, late_ms: int
) -> str:
    if is_idle:
        return f"it lasted no longer than the acknowledgement of what was sent before took ({flight_ms} ms)"
    outstanding = (
        f"for all but {idle_ms} ms of it data was outstanding, or was not for as short a time as this host is "
        f"late elsewhere ({late_ms} ms)"
    )
    if is_empty:
        return (
            f"{outstanding}; but over {empty_ms} ms of it nothing can have been held back: all was acknowledged then, "
            "and for a round trip nothing followed"
        )
    because = (
        f"{outstanding}; for {free_ms} ms no acknowledgement had anything to set off, or the windows had room, so that "
        "the application or a late host held data back"
    )
    if verdict == "likely":
        return because
    return f"undecided, because {because}; before that a full congestion window or send buffer may have done so"


def _room_ns(observed: Observations, direction: Direction, gaps: Ints) -> Ints:
    """Since when in each gap congestion window and send buffer had room all the time; its end where they did not.

    The buffer has room for as much as it held before. The window is the sender's log's.
    """
    assert observed.cwnd_bytes is not None
    begin, stop = gaps[:, BEGIN], gaps[:, STOP]
    if not len(gaps):
        return stop
    rows = observed.rows(direction.connection, direction.sender_point)
    time, seq, length, ack, sender = (
        observed.column(name)[rows] for name in ("time_ns", "seq", "payload_bytes", "ack", "sender")
    )
    own, window = sender == direction.sender, observed.cwnd_bytes[rows]
    first = int(seq[own & (length > 0)][0])
    top = np.maximum.accumulate(np.where(own & (length > 0), seq + length, first).astype(np.int64))
    outstanding = top - np.maximum.accumulate(np.where(own, first, ack).astype(np.int64))
    segment = int(length[own].max(initial=0))
    full = outstanding + segment > np.minimum(window, np.maximum.accumulate(outstanding))
    last_full = np.maximum.accumulate(np.where(full, np.arange(len(rows)), -1))
    at = np.searchsorted(time, stop, side="left") - 1
    after = last_full[at] + 1
    roomy = (at >= 0) & (after <= at)
    return np.where(roomy, np.maximum(time[np.minimum(after, len(rows) - 1)], begin), stop)
