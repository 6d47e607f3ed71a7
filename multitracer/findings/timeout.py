"""Retransmission timeouts, needed or spurious.

A timeout is spurious only when the data or its acknowledgement was on its way. Where the data had
arrived and its acknowledgement was lost, the resend was needless but the timer was right to expire: where it cannot be
told whether the data had arrived, but no acknowledgement of it came back, the timeout is likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.compute.arrays import Columns
from multitracer.findings.directions import Direction
from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENTS
from multitracer.findings.observations import MS, Observations
from multitracer.findings.retransmission_rows import finding, recoveries

KINDS = ("timeout", "spurious-timeout")
NEEDS = (SEGMENTS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each timeout; undecided where the resend may have been set off by an acknowledgement."""
    columns = observed.retransmission_columns
    repairs = recoveries(observed.retransmissions, begun_by="timeout", ended_by="fast")
    for row in np.flatnonzero(observed.retransmissions["trigger"] == "timeout").tolist():
        one = _finding(observed, columns, row)
        one = one._replace(verdict="undecided") if columns["in_doubt"][row] else one
        # The finding lasts until the last resend of the recovery; how many those are is told by the first alone.
        resends = [row, *repairs.get(row, ())]
        yield one._replace(end_ns=int(columns["time_ns"][resends[-1]]), resends=resends)


def _finding(observed: Observations, columns: Columns, row: int) -> Finding:
    spurious, because = columns["spurious"][row], columns["because"][row]
    if spurious == "no":
        return finding("timeout", columns, [row], "confirmed", because)
    if spurious == "unknown":
        right = columns["late_ack"][row] == 0
        if right:
            because += "; of an earlier copy no acknowledgement came back, so that the timer was right to run out"
        return finding("timeout", columns, [row], "likely" if right else "undecided", because)
    on_its_way, why = _on_its_way(observed, columns, row)
    if on_its_way == 1:
        return finding("spurious-timeout", columns, [row], "confirmed", f"{because}; {why}")
    if on_its_way == 0:
        return finding("timeout", columns, [row], "confirmed", f"{because}; {why}")
    return finding("spurious-timeout", columns, [row], "undecided", f"{because}; {why}")


def _on_its_way(observed: Observations, columns: Columns, row: int) -> tuple[int, str]:
    """Whether data or its acknowledgement was on its way when the timer ran out: 1, 0, -1; and why."""
    segment = columns["segment"][row]
    late = _late_by_arrivals(observed, int(segment))
    if late is not None:
        return late
    if columns["late_ack"][row] == 1:
        return 1, "the acknowledgement of an earlier copy arrived after the timer had run out"
    if columns["late_ack"][row] == 0:
        return 0, "the data had arrived but its acknowledgement never came back"
    return -1, "undecided, because whether its acknowledgement was late or lost cannot be told"


def _late_by_arrivals(observed: Observations, segment: int) -> tuple[int, str] | None:
    """By the receiver's capture, whether data or its acknowledgement was on its way; None where it does not show."""
    connection, sender = (int(observed.column(name)[segment]) for name in ("connection", "sender"))
    direction = observed.direction(connection, sender)
    if direction is None or direction.receiver_point < 0:
        return None
    error = observed.error_ns(direction)
    if error is None:
        return None
    time, seq, length = observed.column("time_ns"), observed.column("seq"), observed.column("payload_bytes")
    rows = observed.rows(connection, direction.sender_point, sender)
    end, sent = seq[segment] + length[segment], time[segment]
    earlier = rows[(seq[rows] <= seq[segment]) & (seq[rows] + length[rows] >= end) & (time[rows] < sent)]
    came = observed.arrival[earlier[observed.arrived[earlier] == 1]]
    came = came[came >= 0]
    if not len(came):
        return None
    first = int(time[came].min())
    if first > sent + error:
        return 1, f"an earlier copy reached the receiver {(first - sent) / MS:.1f} ms after the timer had run out"
    copies = rows[(seq[rows] < end) & (seq[rows] + length[rows] > seq[segment]) & (time[rows] >= sent)]
    acks = _acks_of_earlier_copy(observed, direction, end, first, copies)
    late = _late_by_acks(observed, direction, acks, sent)
    if late is not None and late[0] == 0 and first > sent - error:
        return -1, (
            f"undecided, because the clocks, at worst {error / MS:.1f} ms apart, do not tell whether the earlier copy "
            "came before the timer had run out, and no acknowledgement of it came back"
        )
    return late


def _acks_of_earlier_copy(observed: Observations, direction: Direction, end: int, since_ns: int, copies: Any) -> Any:
    """Rows of the acknowledgements of octet `end` sent from `since_ns` on, and before one of `copies` arrived.

    What the receiver sent after a later copy had arrived may answer that copy.
    """
    time = observed.column("time_ns")
    acks = observed.rows(direction.connection, direction.receiver_point, 1 - direction.sender)
    acks = acks[(observed.column("ack")[acks] >= end) & (time[acks] >= since_ns)]
    answered = observed.arrival[copies[observed.arrival[copies] >= 0]]
    return acks[time[acks] < time[answered].min()] if len(answered) else acks


def _late_by_acks(observed: Observations, direction: Direction, acks: Any, sent: int) -> tuple[int, str] | None:
    """By when these acknowledgements came back, whether one was on its way at `sent`; None where unknown."""
    if not len(acks):
        return None
    returned = _arrivals_back(observed, acks, direction.connection, 1 - direction.sender)
    if returned is None:
        return None
    if len(returned) and returned.min() > sent:
        late = (int(returned.min()) - sent) / MS
        return 1, f"the acknowledgement of an earlier copy came {late:.1f} ms after the timer had run out"
    if not len(returned):
        return 0, f"none of {len(acks)} acknowledgements that an earlier copy caused came back"
    return None


def _arrivals_back(observed: Observations, acks: Any, connection: int, sender: int) -> Any:
    """When these acknowledgements reached the data sender; None where that was not recorded."""
    direction = observed.direction(connection, sender)
    if direction is None or direction.receiver_point < 0:
        return None
    if (observed.arrived[acks] < 0).any():
        return None
    rows = observed.arrival[acks]
    return observed.column("time_ns")[rows[rows >= 0]]
