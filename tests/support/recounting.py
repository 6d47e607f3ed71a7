"""Counts packets again under stated rules, with nothing of the product: which rule makes two tools' figures differ.

The packets are tshark's. A rule is a function from packets to packets, or a way of counting resent octets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from other_tools import ACK, FIN, SYN, Ends, Packet

Rule = Callable[[list[Packet]], list[Packet]]

COPY_NS = 100_000_000
"""Half the shortest retransmission timer in use (Linux: 0.2 s): what is sent again comes later than a copy."""
SILENCE_NS = 240 * 10**9
"""tcptrace begins another connection after so long a silence."""
_MODULUS = 1 << 32


def own_packets(packets: list[Packet]) -> list[Packet]:
    """Without those that another protocol quotes: samples of sFlow, errors of ICMP."""
    return [one for one in packets if not {"sflow", "icmp", "icmpv6"}.intersection(one.protocols)]


def whole_headers(packets: list[Packet]) -> list[Packet]:
    """Without those of which less than a TCP header was captured, or whose header says so (RFC 9293 3.1)."""
    return [one for one in packets if one.header_bytes >= 20]


def ip_lengths(packets: list[Packet]) -> list[Packet]:
    """With the length that the IP header tells, where the record is shorter or the length 0 (offload)."""
    return [one._replace(size=one.ip_bytes) if one.size < one.ip_bytes else one for one in packets]


def without_copies(packets: list[Packet]) -> list[Packet]:
    """Without packets that were captured before at the same place, within 0.1 s.

    Their IP ID is that of no other packet of their sender, or they follow as closely as such copies do elsewhere in
    this capture.
    """
    return _first_of_each(packets, lambda one: (one.place, _content(one)))


def at_one_place(packets: list[Packet]) -> list[Packet]:
    """The same over all places: inside and outside tunnels, before and after a router."""
    return _first_of_each(packets, _content)


def _content(one: Packet) -> tuple[object, ...]:
    """What a router leaves alone; of a SYN it may lower the maximum segment size (RFC 4459 3.2)."""
    checksum = "" if one.flags & SYN else one.checksum
    return (one.ends, one.seq, one.ack, one.size, one.flags, one.window, one.stamps, one.ip_id, checksum)


def _first_of_each(packets: list[Packet], key: Callable[[Packet], object]) -> list[Packet]:
    unnumbered = _unnumbered(packets)
    last: dict[object, int] = {}
    pairs: list[tuple[int, Packet]] = []
    kept: list[Packet] = []
    for one in packets:
        before = last.get(key(one))
        if before is None or one.time_ns - before > COPY_NS:
            last[key(one)] = one.time_ns
            kept.append(one)
        else:
            pairs.append((one.time_ns - before, one))
    longest = max((delay for delay, one in pairs if (one.ends, one.ip_id) not in unnumbered), default=-1)
    kept += [one for delay, one in pairs if delay > longest]
    return sorted(kept, key=lambda one: one.record)


def _unnumbered(packets: Iterable[Packet]) -> set[tuple[Ends, int]]:
    """Directions and the IP IDs that several packets bear there, or that are 0."""
    seen: dict[tuple[Ends, int], tuple[object, ...]] = {}
    return {
        (one.ends, one.ip_id)
        for one in packets
        if not one.ip_id or seen.setdefault((one.ends, one.ip_id), _content(one)) != _content(one)
    }


def outside_tunnels(packets: list[Packet]) -> list[Packet]:
    """Without those in tunnels, which tcptrace does not look into."""
    return [one for one in packets if not {"udp", "gre"}.intersection(one.protocols) and one.protocols.count("ip") < 2]


RULES: dict[str, Rule] = {
    "quoted by another protocol": own_packets,
    "no whole TCP header": whole_headers,
    "length of the IP header": ip_lengths,
    "captured twice": without_copies,
    "seen at several places": at_one_place,
}


def rule_sets() -> Iterator[tuple[str, ...]]:
    """No rule, each by itself, each two."""
    for size in range(3):
        yield from combinations(RULES, size)


def applied(rules: Iterable[str], packets: list[Packet]) -> list[Packet]:
    """The packets that are left, as the rules see them."""
    for name in rules:
        packets = RULES[name](packets)
    return packets


class Sent:
    """The octets that one end has sent, SYN and FIN among them, by their numbers from 0 on."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []
        self.syns: list[int] = []
        self.top: int | None = None

    def take(self, seq: int, size: int) -> int:
        """Add octets; returns how many of them were sent before."""
        if not size:
            return 0
        self.top = seq + _MODULUS if self.top is None else self.top
        start = self.top + (seq - self.top + _MODULUS // 2) % _MODULUS - _MODULUS // 2
        stop = start + size
        again = sum(max(0, min(stop, right) - max(start, left)) for left, right in self.ranges)
        apart = [(left, right) for left, right in self.ranges if right < start or left > stop]
        touching = [one for one in self.ranges if one not in apart] + [(start, stop)]
        self.ranges = sorted([*apart, (min(left for left, _ in touching), max(right for _, right in touching))])
        self.top = max(self.top, stop)
        return again


Figures = tuple[dict[Ends, Counter[str]], int]
"""By direction, those of connections between the same ends added up; and the number of connections."""


def counted(packets: Iterable[Packet]) -> Figures:
    """The figures where a segment is resent if it holds an octet that was sent, or is a SYN but not the first.

    A SYN without acknowledgement that begins elsewhere opens another connection.
    """
    figures: dict[Ends, Counter[str]] = defaultdict(Counter)
    open_now: dict[Ends, Sent] = {}
    opened = 0
    for one in packets:
        mine = open_now.get(one.ends)
        if mine and one.flags & (SYN | ACK) == SYN and mine.syns and mine.syns[0] != one.seq:
            open_now.pop(_reverse(one.ends), None)
            mine = open_now.pop(one.ends, None) and None
        opened += mine is None and _reverse(one.ends) not in open_now
        _count_own(open_now.setdefault(one.ends, Sent()), figures[one.ends], one)
    return figures, opened


def _count_own(sent: Sent, figures: Counter[str], one: Packet) -> None:
    _count_packet(figures, one)
    is_syn = bool(one.flags & SYN)
    sent.take(one.seq, is_syn)
    again = sent.take(one.seq + is_syn, one.size)
    resent_fin = bool(one.flags & FIN) and sent.take(one.seq + is_syn + one.size, 1) > 0
    figures["unique_bytes"] += one.size - again
    figures["retransmitted_segments"] += again > 0 or (is_syn and bool(sent.syns)) or resent_fin
    sent.syns += [one.seq] * is_syn


def _count_packet(mine: Counter[str], one: Packet) -> None:
    mine.update(packets=1, data_segments=one.size > 0, data_bytes=one.size)


def _reverse(ends: Ends) -> Ends:
    return (*ends[2:], *ends[:2])


class _Part:
    """One of the connections into which tcptrace divides what goes between two ends."""

    def __init__(self) -> None:
        self.sent: dict[Ends, Sent] = defaultdict(Sent)
        self.fins: Counter[Ends] = Counter()
        self.last_ns = 0

    def ends_before(self, one: Packet) -> bool:
        """Whether a packet begins another: after silence, a SYN after a FIN or after two SYNs of another number."""
        if self.last_ns and one.time_ns - self.last_ns > SILENCE_NS:
            return True
        syns = self.sent[one.ends].syns
        return bool(one.flags & SYN and (self.fins.total() or (len(syns) > 1 and syns[-1] != one.seq)))


def counted_by_tcptrace(packets: Iterable[Packet]) -> tuple[dict[Ends, Counter[str]], int]:
    """The figures as tcptrace 6.6.7 counts them, connections between the same ends added up; and its connections.

    A SYN's number counts as an octet of data if it is not the first SYN, and begins elsewhere.
    """
    figures: dict[Ends, Counter[str]] = defaultdict(Counter)
    parts: dict[frozenset[tuple[str, int]], list[_Part]] = defaultdict(list)
    for one in packets:
        uses = parts[frozenset((one.ends[:2], one.ends[2:]))]
        if not uses or uses[-1].ends_before(one):
            uses.append(_Part())
        _count_in(uses[-1], figures[one.ends], one)
    return figures, sum(map(len, parts.values()))


def _count_in(part: _Part, mine: Counter[str], one: Packet) -> None:
    _count_packet(mine, one)
    part.last_ns = one.time_ns
    is_syn, is_fin = bool(one.flags & SYN), bool(one.flags & FIN)
    sent = part.sent[one.ends]
    sent.syns += [one.seq] * is_syn
    part.fins[one.ends] += is_fin
    again = sent.take(one.seq, one.size + is_syn + is_fin)
    mine["retransmitted_segments"] += again > 0
    of_flags = (is_syn and len(sent.syns) > 1) + (is_fin and part.fins[one.ends] > 1)
    mine["unique_bytes"] += max(0, one.size - again + of_flags)


def repeated_by_tcptrace(packets: list[Packet], others: list[int]) -> list[Packet]:
    """With the packet before it once more at each record of PPP that is not IPv4: tcptrace keeps its headers."""
    by_record = {one.record: one for one in packets}
    again = []
    for record in others:
        before = max((number for number in by_record if number < record), default=None)
        if before is not None and "ppp" in by_record[before].protocols:
            again.append(by_record[before]._replace(record=record))
    return sorted([*packets, *again], key=lambda one: one.record)
