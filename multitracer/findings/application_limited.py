"""The application left TCP without data to send for longer than a round trip.

That is sure only while nothing is outstanding, for longer than the host was late elsewhere, or when no more data
followed before a FIN. While data was outstanding, a full congestion window or send buffer may have held back what was
not sent, up to the last acknowledgement that advanced; after that it was the application, or a host that was late. So
it was, too, while the sender's log shows room in the congestion window, and less was outstanding than it had buffered
before; unless by its log the link, whenever it was idle, had something new to carry within a round trip.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding import Finding
from multitracer.findings.limited_stretches import Limited, finding, limited
from multitracer.findings.needs import LIMITS
from multitracer.findings.observations import MS, Direction, Observations
from multitracer.model.schema import ACK, FIN, RST

KINDS = ("application-limited",)
NEEDS = (LIMITS,)

SURE_SHARE = 0.5
"""At least as much of a finding's time has to be beyond doubt."""

_NEW = ("new_data", "tcp_retransmitted")
"""Causes of the accounting for what TCP sent and the link carried the first time."""

Ints = npt.NDArray[np.int64]


class Gaps(NamedTuple):
    """Times between new data of one end and the new data before it, an element each; the last may have no end."""

    stop_ns: Ints
    """When the sender sent new data again, or heard the last acknowledgement."""
    idle_ns: Ints
    """Since when nothing was outstanding, or only a FIN followed; `stop_ns` if data was outstanding all the time."""
    free_ns: Ints
    """Since when no acknowledgement advanced, and none was needed therefore to send: `idle_ns` or earlier."""
    room_ns: Ints
    """Since when the windows had room all the time, so that no acknowledgement was needed: `free_ns` or earlier."""
    late_ns: int
    """How late the sender was at most after an acknowledgement that advanced, while other data was outstanding."""


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each time that the application limited one end; sure as far as nothing was outstanding."""
    gaps: dict[Direction, Gaps] = {}
    for one in limited(observed, "application", group_rtts=observed.thresholds.group_rtts):
        if one.direction not in gaps:
            gaps[one.direction] = _gaps(observed, one.direction)
        made = finding("application-limited", "sender", one, "TCP had nothing more to send")
        found = gaps[one.direction]
        if _was_idle(observed, one):
            found = found._replace(free_ns=found.room_ns)
        yield made if made.verdict == "undecided" else _weighed(made, one, found)


def _was_idle(observed: Observations, one: Limited) -> bool:
    """Whether the link, once idle, had nothing new to carry for longer than a round trip, as far as its log tells.

    It tells of the direction with most data, which it accounts for.
    """
    if observed.accounting is None:
        return True
    if one.direction != observed.main_direction:
        return False
    table = observed.accounting
    start, end = (np.clip(table[name].to_numpy(), one.start_ns, one.stop_ns) for name in ("start_ns", "end_ns"))
    cause = table["cause"].astype(str)
    new, idle = (cause.isin(_NEW) & (end > start)).to_numpy(), (cause.str.startswith("idle") & (end > start)).to_numpy()
    begun, ends = np.append(one.start_ns, end[new]), np.append(start[new], one.stop_ns)
    pauses = np.append(start[idle], one.stop_ns)
    return bool((ends - pauses[np.searchsorted(pauses, begun)] > one.rtt_ns).any())


def _weighed(made: Finding, one: Limited, gaps: Gaps) -> Finding:
    """The finding with the verdict that the data outstanding allow."""
    long = gaps.stop_ns - gaps.idle_ns > gaps.late_ns
    idle = _within(gaps.idle_ns[long], gaps.stop_ns[long], one)
    free = _within(gaps.free_ns, gaps.stop_ns, one)
    evidence = {**made.evidence, "nothing_outstanding_s": idle / (1000 * MS)}
    if idle >= SURE_SHARE * one.cost_ns:
        return made._replace(evidence=evidence)
    likely = free >= SURE_SHARE * one.cost_ns
    doubt = (
        f"for all but {idle / MS:.0f} ms of it data was outstanding, or was not for as short a time as this host is "
        f"late elsewhere ({gaps.late_ns / MS:.0f} ms); for {free / MS:.0f} ms no acknowledgement had "
        "anything to set off, or the windows had room, so that the application or a late host held data back"
    )
    if not likely:
        doubt = f"undecided, because {doubt}; before that a full congestion window or send buffer may have done so"
    verdict, because = "likely" if likely else "undecided", f"{doubt}; it looks as if {made.because}"
    return made._replace(verdict=verdict, because=because, evidence=evidence)


def _within(since_ns: Ints, stop_ns: Ints, one: Limited) -> int:
    """How much of a finding's time lies within intervals."""
    shared = np.minimum(stop_ns, one.stop_ns) - np.maximum(since_ns, one.start_ns)
    return int(shared[shared > 0].sum())


def _gaps(observed: Observations, direction: Direction) -> Gaps:
    """The times between new data of a direction, as its sender's capture shows them."""
    time, seq, length, ack, flags = map(observed.column, ("time_ns", "seq", "payload_bytes", "ack", "flags"))
    rows = observed.rows_sent(direction)
    data = rows[length[rows] > 0]
    sent_ns, top = _advances(time[data], seq[data] + length[data])
    acks = observed.rows(direction.connection, direction.sender_point, 1 - direction.sender)
    acks = acks[flags[acks] & (ACK | RST) == ACK]
    heard_ns, una = _advances(time[acks], ack[acks])
    if len(sent_ns) == 0 or len(heard_ns) == 0:
        return Gaps(*(sent_ns[:0],) * 4, late_ns=0)
    begin, stop = sent_ns, np.append(sent_ns[1:], max(heard_ns[-1], sent_ns[-1]))
    known = np.append(heard_ns, np.iinfo(np.int64).max)
    idle = np.clip(known[np.searchsorted(una, top)], begin, stop)
    last = np.searchsorted(heard_ns, stop, side="right") - 1
    free = np.clip(np.where(last >= 0, heard_ns[last], begin), begin, idle)
    late = (stop - free)[:-1][idle[:-1] == stop[:-1]].max(initial=0)
    if (flags[rows] & FIN).any():  # all data that there was had been sent
        idle[-1] = free[-1] = begin[-1]
    room = np.minimum(free, np.clip(_room_ns(observed, direction, begin, stop), begin, idle))
    return Gaps(stop, idle, free, room, int(late))


def _room_ns(observed: Observations, direction: Direction, begin: Ints, stop: Ints) -> Ints:
    """Since when in each gap congestion window and send buffer had room all the time; `stop` where they did not.

    The buffer has room for as much as it held before. The window is the sender's log's.
    """
    if observed.cwnd_bytes is None:
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


def _advances(time_ns: Any, number: Any) -> tuple[Ints, Ints]:
    """The times at which a number rose above all before it, and to what."""
    highest = np.maximum.accumulate(number.astype(np.int64)) if len(number) else np.empty(0, dtype=np.int64)
    new = np.flatnonzero(np.append(True, highest[1:] > highest[:-1])[: len(highest)])
    return np.maximum.accumulate(time_ns[new].astype(np.int64)), highest[new]
