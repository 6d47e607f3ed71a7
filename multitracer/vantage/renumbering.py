"""Connections whose addresses or sequence numbers were rewritten between two places, found by their handshakes.

A firewall that randomises initial sequence numbers adds a constant to all numbers of a direction; address translation
exchanges addresses and ports. IP ID, timestamps, payload and what the checksum (RFC 1071) says of all else stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from ipaddress import ip_address
from socket import IPPROTO_TCP
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK, SYN
from multitracer.vantage.fingerprints import fingerprint, mix, repeated
from multitracer.vantage.taps import signed32

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_SAID = ("ip_id", "raw_window", "payload_bytes", "tsval")
"""What a firewall leaves of a SYN; with neither IP ID nor timestamp it says nothing."""
_ONES = 0xFFFF
"""One's complement sums are numbers modulo this (RFC 1071)."""
_TOGETHER_NS = 1_000_000_000
"""Without timestamps the SYNs of one file before and after a firewall are not farther apart than this."""
_COMPARED = 2_000
"""Packets of a connection at one place that are compared with those at the other."""
_SAME_SHARE = 0.5
_SAME_PACKETS = 3
"""Two uses of flows are one connection when they share this part of the fewer packets, and so many."""
_SAME_SUMS = 0.8
"""Share of the packets in common whose checksums differ by what was rewritten, and by no more."""
_MOST_ALIKE = 16
"""SYNs that say the same are compared up to this number."""
_FEW_ALIKE = 8
"""So many may be one SYN before and after several firewalls; of more, most are of different connections."""


class Use(NamedTuple):
    """One connection at one place: the rows of its SYN, of the answer and all; and its numbers, the client's first."""

    syn: int
    answer: int
    rows: Ints
    isn: tuple[int, int]


@dataclass(frozen=True)
class Rewritten:
    """A connection at two places: `near` saw its SYN first, `far` saw other numbers or addresses.

    `depth` tells apart what one place saw several times: after one translation, after two.
    """

    near: Use
    far: Use
    depth: int = 1


def find_rewritten(
    packets: pd.DataFrame, syn_options: pd.DataFrame, flows: pd.DataFrame, place: Any
) -> list[Rewritten]:
    """Find the connections that went through a firewall between two places; `place` is one number per packet."""
    rows = syn_options["packet"].to_numpy()
    kind = packets["flags"].to_numpy()[rows] & (SYN | ACK)
    syns = _saying_the_same(packets, rows[kind == SYN])
    if not len(syns):
        return []
    pairs = list(_alike_syns(packets, _Answers(packets, syns, rows[kind == SYN | ACK], place), place))
    if not pairs:
        return []
    uses = _Uses(packets, place, sorted({row for pair in pairs for row in pair}))
    sums = Sums(packets, flows)
    found: list[Rewritten] = []
    taken: set[int] = set()
    for near, far in pairs:
        if near in taken or far in taken:
            continue
        one, other = uses.of(near, far)
        if one is not None and other is not None and _same_connection(packets, sums, one, other):
            found.append(Rewritten(one, other))
            taken.add(far)
    return found


def _saying_the_same(packets: pd.DataFrame, syns: Ints) -> Ints:
    """Rows of the SYNs of which another one says the same, but for addresses and numbers; in most captures of none."""
    said = {name: packets[name].to_numpy()[syns] for name in _SAID}
    told = (said["ip_id"] > 0) | (said["tsval"] > 0)
    key = reduce(mix, said.values(), np.zeros(len(syns), dtype=np.uint64))[told]
    return syns[told][repeated(key, len(syns))]


class _Answers:
    """Those of some SYNs that were answered where they were seen, and what their answers say.

    A port scan leaves most of its SYNs unanswered.
    """

    def __init__(self, packets: pd.DataFrame, syns: Ints, answers: Ints, place: Any) -> None:
        direction, flow = packets["direction"].to_numpy(), packets["flow"].to_numpy()
        answers = answers[np.isin(flow[answers], flow[syns])]
        seq, acked = packets["raw_seq"].to_numpy()[syns], packets["raw_ack"].to_numpy()[answers] - np.uint32(1)
        asked = _identity(packets, syns, place, direction[syns], seq)
        self._answered = _identity(packets, answers, place, 1 - direction[answers], acked)
        self._answers = packets.take(answers)
        known = np.isin(asked, self._answered)
        self.syns = syns[known]
        """Rows of the SYNs that were answered, ascending."""
        self._asked = asked[known]

    @cached_property
    def _said(self) -> dict[int, set[int]]:
        """What was answered to each SYN, by its row."""
        said: dict[int, set[int]] = {}
        key = fingerprint(self._answers, ("ip_id", "payload_bytes", "tsval"))
        for one, says in zip(self._answered.tolist(), key.tolist(), strict=True):
            said.setdefault(one, set()).add(says)
        return {row: said[one] for row, one in zip(self.syns.tolist(), self._asked.tolist(), strict=True)}

    def alike(self, one: int, other: int) -> bool:
        """Whether an answer to one SYN says the same as one to the other."""
        return not self._said[one].isdisjoint(self._said[other])


def _identity(packets: pd.DataFrame, rows: Ints, place: Any, direction: Any, seq: Any) -> npt.NDArray[np.uint64]:
    """A hash of SYNs' flow, direction, place and number, which it shares with that of their answers."""
    some = packets.take(rows)
    where = place[rows].astype(np.uint64) << np.uint64(16) | some["input"].to_numpy().astype(np.uint64)
    stream = some["flow"].to_numpy().astype(np.uint64) << np.uint64(1) | direction.astype(np.uint64)
    return mix(mix(mix(np.zeros(len(rows), dtype=np.uint64), where), stream), seq)


def _alike_syns(packets: pd.DataFrame, answers: _Answers, place: Any) -> Iterator[tuple[int, int]]:
    """Pairs of rows of answered SYNs that say the same, but for addresses and numbers, the earlier row first.

    Where more of them do than a path has firewalls, as in a port scan or where many hosts begin at once, an answer to
    one must say the same as one to the other, too.
    """
    rows = answers.syns
    some = packets.take(rows)
    key = fingerprint(some, _SAID)
    order = np.argsort(key, kind="stable")
    time, number = some["time_ns"].to_numpy(), some["input"].to_numpy()
    stamped = some["tsval"].to_numpy() > 0
    flow, seq = some["flow"].to_numpy(), some["raw_seq"].to_numpy()
    where = place[rows].astype(np.int64) << 16 | number
    for start, stop in _runs_of_several(key[order]):
        for i in range(start, stop):
            for j in range(i + 1, min(stop, i + _MOST_ALIKE)):
                one, other = order[i], order[j]
                close = number[one] == number[other] and abs(time[one] - time[other]) <= _TOGETHER_NS
                # What has its own numbers at both places, and other addresses at most, is found packet by packet.
                rewritten = seq[one] != seq[other] or (where[one] == where[other] and flow[one] != flow[other])
                if rewritten and (close or (stamped[one] and number[one] != number[other])):
                    pair = int(rows[one]), int(rows[other])
                    if stop - start <= _FEW_ALIKE or answers.alike(*pair):
                        yield pair


def _runs_of_several(ordered: Any) -> list[tuple[int, int]]:
    edges = np.r_[0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered)] if len(ordered) else np.zeros(1)
    several = np.flatnonzero(np.diff(edges) > 1)
    return [(int(edges[at]), int(edges[at + 1])) for at in several]


class _Uses:
    """The rows of connections by the rows of their SYNs."""

    def __init__(self, packets: pd.DataFrame, place: Any, syns: list[int]) -> None:
        self.flags, self.direction = packets["flags"].to_numpy(), packets["direction"].to_numpy()
        self.seq, self.ack = packets["raw_seq"].to_numpy(), packets["raw_ack"].to_numpy()
        flow, number = packets["flow"].to_numpy().astype(np.int64), packets["input"].to_numpy().astype(np.int64)
        rows = np.flatnonzero(np.isin(flow, np.unique(flow[syns])))
        self.key = (flow << 32) | (number << 16) | place
        order = rows[np.argsort(self.key[rows], kind="stable")]
        edges = np.flatnonzero(np.diff(self.key[order])) + 1
        self.rows = {int(self.key[part[0]]): part for part in np.split(order, edges) if len(part)}

    def of(self, near: int, far: int) -> tuple[Use | None, Use | None]:
        """The two uses that begin with these SYNs; where both are of one flow at one place, its packets are parted."""
        ours, theirs = (self._from(row) for row in (near, far))
        if self.key[near] == self.key[far]:
            ours, theirs = self._parted(ours, near, far)
        return self._use(near, ours), self._use(far, theirs)

    def _from(self, syn: int) -> Ints:
        """The rows of the SYN's flow at its place, up to the next connection's SYN of another number."""
        rows = self.rows[int(self.key[syn])]
        return rows[rows >= syn]

    def _parted(self, rows: Ints, near: int, far: int) -> tuple[Ints, Ints]:
        """The rows that belong to the one and to the other SYN, by their numbers."""
        tops = np.full((2, 2), -1, dtype=np.int64)
        side = np.zeros(len(rows), dtype=np.int8)
        client = int(self.direction[near])
        part_by_numbers(self.seq, self.ack, self.flags, self.direction, rows, client, near, far, tops, side)
        return rows[side == 0], rows[side == 1]

    def _use(self, syn: int, rows: Ints) -> Use | None:
        answer = rows[(self.flags[rows] & (SYN | ACK) == SYN | ACK) & (self.direction[rows] != self.direction[syn])]
        answer = answer[self.ack[answer] == (int(self.seq[syn]) + 1) % (1 << 32)]
        if not len(answer):
            return None
        other = rows[(self.flags[rows] & (SYN | ACK) == SYN) & (rows > answer[0])]
        other = other[self.seq[other] != self.seq[syn]]
        rows = rows[rows < other[0]] if len(other) else rows
        return Use(syn, int(answer[0]), rows, (int(self.seq[syn]), int(self.seq[answer[0]])))


@kernel
def part_by_numbers(
    seq: Any, ack: Any, flags: Any, direction: Any, rows: Any, client: int, near: int, far: int, tops: Any, side: Any
) -> None:  # fmt: skip
    """Fill `side` of `rows`, packets of one flow, with 0 or 1: whose numbers, of the SYNs `near` and `far`, are nearer.

    `tops`, by side and end, are the last numbers of each, -1 for none yet.
    """
    for at in range(len(rows)):
        row = rows[at]
        end = np.int64(direction[row]) ^ client
        mine = np.int64(1 if row == far else 0)
        if row != near and row != far:
            best = np.int64(1 << 62)
            for one in range(2):
                if tops[one, 0] < 0 and tops[one, 1] < 0:
                    continue
                apart = np.int64(0)
                if tops[one, end] >= 0:
                    apart += abs(signed32(np.int64(seq[row]) - tops[one, end]))
                if flags[row] & ACK and tops[one, 1 - end] >= 0:
                    apart += abs(signed32(np.int64(ack[row]) - tops[one, 1 - end]))
                if apart < best:
                    best, mine = apart, np.int64(one)
        side[at] = mine
        tops[mine, end] = np.int64(seq[row])


class Sums:
    """What a checksum says of all octets but the addresses, ports, sequence and acknowledgement numbers."""

    def __init__(self, packets: pd.DataFrame, flows: pd.DataFrame) -> None:
        self.packets = packets
        addresses, ports = ([flows[f"{name}_{end}"].tolist() for end in "ab"] for name in ("address", "port"))
        self.addresses, self.ports = addresses, ports

    def of(self, rows: Ints) -> Ints:
        """Sums modulo 65535 of the rest of these packets."""
        some = self.packets.take(rows)
        told = _ONES - some["checksum"].to_numpy().astype(np.int64)
        for name in ("raw_seq", "raw_ack"):
            values = some[name].to_numpy().astype(np.int64)
            told = told - (values >> 16) - (values & _ONES)
        result: Ints = (told - self._of_flows(some, self._ends)) % _ONES
        return result

    def only_begun(self, rows: Ints) -> Bools:
        """Whether checksums are the pseudo-header's sum (RFC 9293 3.1): addresses, protocol and length of TCP.

        A host leaves the rest to its network interface, and so do routers that merge segments.
        """
        some = self.packets.take(rows)
        length = some["wire_bytes"].to_numpy().astype(np.int64) - self._of_flows(some, self._header_bytes)
        told = some["checksum"].to_numpy() - self._of_flows(some, self._addresses) - IPPROTO_TCP - length
        result: Bools = told % _ONES == 0
        return result

    def _of_flows(self, some: pd.DataFrame, value: Callable[[int], int]) -> Ints:
        flow, which = np.unique(some["flow"].to_numpy(), return_inverse=True)
        return np.array([value(int(one)) for one in flow], dtype=np.int64)[which]

    def _ends(self, flow: int) -> int:
        """The sum of a flow's addresses and ports."""
        return self._addresses(flow) + sum(int(one[flow]) for one in self.ports)

    def _header_bytes(self, flow: int) -> int:
        """The length of an IP header without options or extensions."""
        return 40 if ":" in self.addresses[0][flow] else 20

    def _addresses(self, flow: int) -> int:
        return sum(_address_sum(texts[flow]) for texts in self.addresses)


@lru_cache(maxsize=1 << 16)
def _address_sum(address: str) -> int:
    """The sum of an address's 16-bit words."""
    octets = ip_address(address).packed
    return sum(int.from_bytes(octets[at : at + 2], "big") for at in range(0, len(octets), 2))


def _same_connection(packets: pd.DataFrame, sums: Sums, one: Use, other: Use) -> bool:
    """Whether two uses hold the same packets, but for what was rewritten."""
    if not _one_behind_other(packets, one, other):
        return False
    ours, theirs = one.rows[:_COMPARED], other.rows[:_COMPARED]
    _, mine, its = np.intersect1d(_content(packets, one, ours), _content(packets, other, theirs), return_indices=True)
    fewer = min(len(ours), len(theirs))
    if len(mine) < max(_SAME_PACKETS, _SAME_SHARE * fewer):
        return False
    alike = sums.of(ours[mine]) == sums.of(theirs[its])
    return bool(alike.sum() >= _SAME_SUMS * len(mine))


def _one_behind_other(packets: pd.DataFrame, one: Use, other: Use) -> bool:
    """Whether in one file the SYN came to `other` second and the answer from there: else the capture was made up."""
    rows = [one.syn, other.syn, other.answer, one.answer]
    number, interface = packets["input"].to_numpy()[rows], packets["interface"].to_numpy()[rows]
    if number[0] != number[1]:
        return True
    in_time = bool((np.diff(packets["time_ns"].to_numpy()[rows]) >= 0).all())
    return in_time and (interface[0] != interface[1] or rows == sorted(rows))


def _content(packets: pd.DataFrame, use: Use, rows: Ints) -> npt.NDArray[np.uint64]:
    """Hashes of packets with numbers that begin at 0 in either direction."""
    some = packets.take(rows)
    end = some["direction"].to_numpy() ^ int(packets["direction"].iat[use.syn])
    isn = np.array(use.isn, dtype=np.int64)
    seq = (some["raw_seq"].to_numpy().astype(np.int64) - isn[end]) & 0xFFFFFFFF
    ack = (some["raw_ack"].to_numpy().astype(np.int64) - isn[1 - end]) & 0xFFFFFFFF
    ack[some["flags"].to_numpy() & ACK == 0] = 0
    key = fingerprint(some, ("payload_bytes", "flags", "tsval", "tsecr", "ip_id"))
    return mix(mix(mix(key, seq), ack), end)
