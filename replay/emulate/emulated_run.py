"""An emulated run as its link and its hosts' kernels knew it: every packet of TCP with what became of it.

A packet's octets, and whether and when it came, are the link's own account; when it was sent, and when it came to the
other host, are the captures' where they have it. What is sent again need not be cut as it was before: the octets of
each direction are cut into pieces wherever a packet of it begins or ends, and pieces are what is numbered.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from multitracer.replay.emulate.kernel_log import KernelLog, triggers
from multitracer.replay.emulate.link import Packet as Given
from multitracer.replay.emulate.link import RealTimeLink
from multitracer.replay.emulate.tcp_header import ACK, FIN, SYN, Header, header_of
from multitracer.replay.engine.driver import Engine
from multitracer.replay.record.known_run import Copy, Resend, Seen, State
from multitracer.replay.record.packet_fates import PacketFates
from multitracer.replay.record.tcp_packets import Flow, Packet, Segment
from multitracer.replay.record.tcp_truth import lost_by
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Setting
from multitracer.replay.tcp import packets as bits

_OCTETS = 0xFFFFFFFF
"""Sequence numbers have 32 bits; a direction carries fewer octets than that."""


@dataclass
class Stream:
    """One direction of a connection: its octets, numbered from its SYN on, and the pieces into which they are cut."""

    initial: int
    scale: int | None
    edges: set[int] = field(default_factory=set)
    ends: list[int] = field(default_factory=list)
    """The number behind the last octet of each piece: of piece 1, 2 and so on."""

    def number(self, seq: int) -> int:
        """An octet's number, 1 for the first of data."""
        return (seq - self.initial) & _OCTETS

    def cut(self) -> None:
        """Cut the octets into pieces at the edges of its packets."""
        self.ends = sorted(self.edges)[1:]

    def pieces(self, begin: int, end: int) -> range:
        """The pieces of octets from one number to before another."""
        return range(bisect_right(self.ends, begin) + 1, bisect_right(self.ends, end) + 1)

    def next_piece(self, octet: int) -> int:
        """The first piece that is not wholly before an octet."""
        return bisect_right(self.ends, octet) + 1


@dataclass
class Connection:
    """A connection: its number, the name of each end by side, and their streams."""

    flow: Flow
    names: dict[int, str]
    streams: dict[int, Stream] = field(default_factory=dict)


class Passed(NamedTuple):
    """A packet of TCP that the link was given."""

    given: Given
    header: Header
    connection: Connection

    @property
    def begin(self) -> int:
        """The number of its first octet of data."""
        return self.connection.streams[self.given.side].number(self.header.seq) + bool(self.header.flags & SYN)

    @property
    def end(self) -> int:
        """The number behind its last one."""
        return self.begin + self.header.payload_bytes


@dataclass
class Sent:
    """A packet with data or a SYN or FIN, of its pieces; what is `again` had been sent before."""

    passed: Passed
    copies: list[Copy]
    again: bool = False
    trigger: str = ""


@dataclass
class EmulatedRun:
    """What happened; times in ns from the link's start."""

    scenario: Scenario
    setting: Setting
    engine: Engine
    link: Any
    """The link's log, rows of `notes.ROW`."""
    copies: list[Copy] = field(default_factory=list)
    arrived: list[Copy] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    given: dict[tuple[int, int], Copy] = field(default_factory=dict)
    resends: list[Resend] = field(default_factory=list)
    """The pieces that were sent again."""
    sent: list[Sent] = field(default_factory=list)
    whole_bytes: int = 1


def emulated_run(
    scenario: Scenario, setting: Setting, link: RealTimeLink, logs: tuple[KernelLog, KernelLog]
) -> EmulatedRun:
    """What happened on a link, with the logs of the kernels at its sides."""
    run = EmulatedRun(scenario, setting, link.engine, link.log.rows())
    passed = list(_passed(link.packets))
    for connection in {id(one.connection): one.connection for one in passed}.values():
        for stream in connection.streams.values():
            stream.cut()
    for one in passed:
        run.sent.append(_sent(run, one, logs))
    run.whole_bytes = max((one.header.payload_bytes for one in passed), default=1) or 1
    fates = PacketFates(run, rlp=scenario.word("link.protocol") == "rlp")
    fates.take(run.link)
    for sent in run.sent:
        _arrive(sent, logs)
    _order(run)
    _tell_triggers(run.sent, logs)
    run.resends = list(_resends(run.sent))
    run.states = list(_states(run, logs))
    return run


def _passed(packets: Sequence[Given]) -> Iterator[Passed]:
    """The packets of TCP among those that the link was given, each with its connection."""
    known: dict[frozenset[str], Connection] = {}
    count = 0
    for one in packets:
        header = header_of(one.octets)
        if header is None:
            continue
        ends = frozenset((header.source, header.target))
        connection = known.get(ends)
        if header.flags & SYN and (connection is None or _begins_anew(connection, one.side, header)):
            connection = known[ends] = Connection(Flow(count), {one.side: header.source, 1 - one.side: header.target})
            count += 1
        if connection is None:
            continue
        if header.flags & SYN:
            connection.streams.setdefault(one.side, Stream(header.seq, header.scale))
        if one.side in connection.streams:
            found = Passed(one, header, connection)
            if header.payload_bytes:
                connection.streams[one.side].edges |= {found.begin, found.end}
            yield found


def _begins_anew(connection: Connection, side: int, header: Header) -> bool:
    """Whether a SYN opens another connection between the same ports."""
    stream = connection.streams.get(side)
    return not header.flags & ACK and stream is not None and stream.initial != header.seq


def _sent(run: EmulatedRun, one: Passed, logs: tuple[KernelLog, KernelLog]) -> Sent:
    """Enter a packet into the run: a copy of each of its pieces, the first with the packet's octets."""
    given, header, stream = one.given, one.header, one.connection.streams[one.given.side]
    times = logs[given.side].captured.get(header.key)
    sent_ns = min(times.pop(0), given.given_ns) if times else given.given_ns
    pieces = stream.pieces(one.begin, one.end) if header.payload_bytes else range(1)
    found = Sent(one, [])
    for number in pieces:
        begin = one.begin if number == pieces[0] else stream.ends[number - 2]
        size = header.payload_bytes if number == pieces[0] else stream.ends[number - 1] - begin
        segment = Segment(one.connection.flow, given.side, header.flags, begin, size, given.octets)
        copy = Copy(_packet(one, number, sent_ns), segment, sent_ns, 0, given.given_ns, given.number)
        copy.refused = given.number < 0
        found.copies.append(copy)
    if given.number >= 0:
        run.given[given.side, given.number] = found.copies[0]
    run.copies += found.copies
    return found


def _packet(one: Passed, number: int, sent_ns: int) -> Packet:
    """A packet as models have it: its piece, and what it acknowledges in pieces of the other direction."""
    header, other = one.header, one.connection.streams.get(1 - one.given.side)
    acks = other.next_piece(other.number(header.ack)) if other and header.flags & ACK else 0
    kind = bits.DATA * (header.payload_bytes > 0) | bits.SYN * bool(header.flags & SYN)
    kind |= bits.ACK * bool(header.flags & ACK) | bits.FIN * bool(header.flags & FIN)
    return Packet(
        one.connection.flow.number, one.given.side, kind, number, len(one.given.octets), 0, acks, 0,
        int(header.sacks), sent_ns, 0, (), (),
    )  # fmt: skip


def _arrive(one: Sent, logs: tuple[KernelLog, KernelLog]) -> None:
    """Enter into all pieces of a packet what became of it, by the link; and when the other host had it."""
    first = one.copies[0]
    if first.delivered_ns is not None:
        times = logs[1 - one.passed.given.side].captured.get(one.passed.header.key)
        first.came_ns = max(times.pop(0), first.delivered_ns) if times else first.delivered_ns
        first.taken = not one.passed.given.damaged
    for copy in one.copies[1:]:
        copy.delivered_ns, copy.lost_ns = first.delivered_ns, first.lost_ns
        copy.came_ns, copy.taken = first.came_ns, first.taken


def _order(run: EmulatedRun) -> None:
    """Put packets and arrivals in order of time, and count how often each piece had been sent before."""
    run.sent.sort(key=lambda one: one.copies[0].sent_ns)
    run.copies = [copy for one in run.sent for copy in one.copies]
    run.arrived = sorted((one for one in run.copies if one.taken), key=lambda one: one.came_ns or 0)
    counted: dict[tuple[int, int, int, int], int] = {}
    for one in run.sent:
        kind = one.copies[0].packet.bits & (bits.DATA | bits.SYN | bits.FIN)
        for copy in one.copies if kind else ():
            key = (copy.packet.connection, copy.packet.end, copy.packet.seq, 0 if kind & bits.DATA else kind)
            copy.packet = copy.packet._replace(sending=counted.get(key, 0))
            counted[key] = copy.packet.sending + 1
        one.again = any(copy.packet.sending for copy in one.copies)


def _tell_triggers(sent: Sequence[Sent], logs: tuple[KernelLog, KernelLog]) -> None:
    """Enter why each packet was sent again, by the log of the kernel that sent it."""
    sockets: dict[tuple[int, str, str], list[Sent]] = {}
    for one in sent:
        if one.again:
            header = one.passed.header
            sockets.setdefault((one.passed.given.side, header.source, header.target), []).append(one)
    for (side, *ends), mine in sockets.items():
        events = logs[side].resends.get((ends[0], ends[1]), [])
        for one, trigger in zip(mine, triggers([each.copies[0].sent_ns for each in mine], events), strict=True):
            one.trigger = trigger


def _resends(sent: Sequence[Sent]) -> Iterator[Resend]:
    """The pieces of data that were sent again: needless where an earlier copy came."""
    earlier: dict[tuple[int, int, int], list[Copy]] = {}
    for one in sent:
        for copy in one.copies if one.passed.header.payload_bytes else ():
            before = earlier.setdefault((copy.packet.connection, copy.packet.end, copy.packet.seq), [])
            if before:
                needless = any(each.taken for each in before)
                yield Resend(copy, one.trigger, needless, None if needless else lost_by(before[-1]))
            before.append(copy)


@dataclass
class _End:
    """What one end of a connection knows as a sender."""

    una: int = 1
    acked: int = 0
    edge: int = 0
    top: int = 1

    def hear(self, ack: int, window: int, piece: int) -> None:
        """An acknowledgement came: of an octet, with a window from there on, in pieces and octets."""
        if ack >= self.acked:
            self.acked, self.edge, self.una = ack, ack + window, max(self.una, piece)


def _states(run: EmulatedRun, logs: tuple[KernelLog, KernelLog]) -> Iterator[State]:
    """What each end was like after each packet that it sent or that came to it."""
    ends: dict[tuple[int, int], _End] = {}
    moments = [(one.copies[0].sent_ns, 1, one) for one in run.sent]
    moments += [(one.copies[0].came_ns or 0, 0, one) for one in run.sent if one.copies[0].taken]
    for number, (now, is_sent, one) in enumerate(sorted(moments, key=lambda moment: moment[:2])):
        passed, copy = one.passed, one.copies[-1]
        side = passed.given.side if is_sent else 1 - passed.given.side
        stream = passed.connection.streams.get(side)
        if stream is None:
            continue
        end = ends.setdefault((passed.connection.flow.number, side), _End())
        if is_sent and passed.header.payload_bytes:
            end.top = max(end.top, copy.packet.seq + 1)
        elif not is_sent and passed.header.flags & ACK:
            ack = stream.number(passed.header.ack)
            end.hear(ack, _window(passed), copy.packet.ack)
        key = passed.connection.names[side], passed.connection.names[1 - side]
        seen = _seen(end, stream, logs[side].window(key, now), run.whole_bytes)
        yield State(now, passed.connection.flow, side, number, None if is_sent else copy, seen)


def _window(passed: Passed) -> int:
    """The window that a packet advertises: scaled where both ends scale theirs (RFC 7323 2.2)."""
    streams, header = passed.connection.streams, passed.header
    scales = [stream.scale for stream in streams.values()]
    scaled = len(scales) > 1 and None not in scales and not header.flags & SYN
    return header.window << (streams[passed.given.side].scale or 0) if scaled else header.window


def _seen(end: _End, stream: Stream, window: int | None, whole: int) -> Seen:
    """The end's state as models have it, of an application that has written all from the beginning.

    Where the advertised window has room beyond the last piece, it would take so many more whole segments.
    """
    pieces, last = len(stream.ends), stream.ends[-1] if stream.ends else 1
    limit = stream.next_piece(end.edge) + max(0, end.edge - last) // whole
    return Seen(
        min(end.una, pieces + 1), end.top, pieces + 1, limit, 0, 0, 0, 0, 0,
        float("nan") if window is None else window, 0.0,
    )  # fmt: skip
