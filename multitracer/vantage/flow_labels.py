"""Flows under several labels: the tunnels, VLANs and MPLS paths through which the packets of one connection go.

A label may name one direction only (TEID, MPLS label, GRE key, a tap's VLAN): two flows are then the two directions of
one, if their tunnels' ends are each other's reverse, or the same, and each acknowledges what the other sent. Two
labels of one direction are two flows, unless their packets are the same: then one packet was seen at two places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK
from multitracer.vantage.fingerprints import fingerprint, mix
from multitracer.vantage.taps import signed32

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_MOST_LABELS = 32
"""Flows of the same addresses and ports are compared with one another up to this number of labels."""
_NEAR = 1 << 24
"""An acknowledgement and the octets that it answers are not farther apart than this."""
_LEAST_FITS = 0.9
"""Share of the packets of one direction that answer the other (a capture lacks some packets)."""
_SAME_SHARE = 0.5
_SAME_PACKETS = 3
"""Two labels have the same packets when they have this share of the fewer in common, and so many or all."""
_SAMPLED = 1 << 20
"""About so many packets are compared; which ones is decided by their content."""
_CONTENT = ("raw_seq", "raw_ack", "payload_bytes", "flags", "tsval", "tsecr")


@dataclass(frozen=True)
class Labels:
    """The flows that belong together, F flows.

    `flow`, shape (F,), is the flow that each is a part of, `swapped`, shape (F,), whether its ends are exchanged
    there; `side`, shape (F,), tells apart what was seen at several places. `unpaired` counts flows of one direction
    that several of the other would fit, or that follow one another.
    """

    flow: Ints
    swapped: Bools
    side: Ints
    unpaired: int = 0


class Fields(NamedTuple):
    """What is read of the packets: one element per packet."""

    flow: Any
    direction: Any
    raw_seq: Any
    raw_ack: Any
    payload_bytes: Any
    flags: Any


class Families(NamedTuple):
    """Flows of the same addresses and ports: members[start[g]:start[g + 1]] are those of family g.

    Per flow: `family` (-1 alone), `place` among the members, `swapped` against the first. The matrix of family g, of
    its members by its members, is at `matrix[g]` of all matrices.
    """

    members: Any
    start: Any
    family: Any
    place: Any
    swapped: Any
    matrix: Any


def find_labels(packets: pd.DataFrame, flows: pd.DataFrame) -> Labels | None:
    """Find which flows of the same addresses and ports are one; None where no two have the same."""
    families = _families(flows)
    if families is None:
        return None
    answered, sent = _answered(packets, families), _packets_each_way(packets, families)
    joined = _Joined(families, list(zip(flows["outer_a"].tolist(), flows["outer_b"].tolist(), strict=True)))
    simple = joined.join_couples(answered, sent)
    alike = _same_packets(packets, families, _with_rivals(families, sent))
    for family in np.flatnonzero(~simple).tolist():
        joined.join(family, answered, alike, sent)
    return joined.labels()


def _with_rivals(families: Families, sent: Ints) -> Bools:
    """Per flow, whether another of its family has packets of the same direction."""
    count = np.zeros((len(families.start), 2), dtype=np.int64)
    np.add.at(count, families.family[families.members], sent[families.members] > 0)
    result: Bools = (families.family >= 0) & (count[families.family] > 1).any(axis=1)
    return result


def _families(flows: pd.DataFrame) -> Families | None:
    if not any(flows["tunnel"].tolist()):  # only tunnels tell flows of the same ends apart
        return None
    ends = (flows[name].tolist() for name in ("address_a", "port_a", "address_b", "port_b"))
    by_ends: dict[tuple[Any, ...], list[int]] = {}
    turned = np.zeros(len(flows), dtype=np.bool_)
    for row, (address_a, port_a, address_b, port_b) in enumerate(zip(*ends, strict=True)):
        one, other = (address_a, port_a), (address_b, port_b)
        turned[row] = other < one
        by_ends.setdefault((other, one) if turned[row] else (one, other), []).append(row)
    several = [rows for rows in by_ends.values() if 2 <= len(rows) <= _MOST_LABELS]
    if not several:
        return None
    sizes = np.array([len(rows) for rows in several], dtype=np.int64)
    members = np.concatenate(several).astype(np.int64)
    family, place = np.full(len(flows), -1, dtype=np.int64), np.zeros(len(flows), dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(sizes)])
    family[members] = np.repeat(np.arange(len(sizes)), sizes)
    place[members] = np.arange(len(members)) - np.repeat(start[:-1], sizes)
    swapped = np.zeros(len(flows), dtype=np.bool_)
    swapped[members] = turned[members] ^ turned[members[start[:-1]]][family[members]]
    return Families(members, start, family, place, swapped, np.concatenate([[0], np.cumsum(sizes**2)]))


def _packets_each_way(packets: pd.DataFrame, families: Families) -> Ints:
    """Packets of each flow in either direction of its family, shape (F, 2)."""
    flow = packets["flow"].to_numpy()
    way = 2 * flow.astype(np.int64) + (packets["direction"].to_numpy() ^ families.swapped[flow])
    return np.bincount(way, minlength=2 * len(families.family)).reshape(-1, 2)


def _answered(packets: pd.DataFrame, families: Families) -> Ints:
    """Per pair of flows of a family: how many packets of one came after the other's, and how many answer them."""
    fields = Fields(*(packets[name].to_numpy() for name in Fields._fields))
    number, time = packets["input"].to_numpy(), packets["time_ns"].to_numpy()
    several = len(number) and number.min() != number.max()
    order = np.argsort(time, kind="stable") if several else np.zeros(0, dtype=np.int64)
    counts = np.zeros((int(families.matrix[-1]), 2), dtype=np.int64)
    top = np.full(2 * len(families.family), -1, dtype=np.int64)
    count_fits(fields, families, order, top, counts)
    return counts


@kernel
def count_fits(fields: Fields, families: Families, order: Any, top: Any, counts: Any) -> None:
    """Count, per pair of flows of a family, packets after some of the other direction, and those that answer these.

    `order` has the rows in order of time; without any, it is theirs. `top`, per flow and direction of its family, is
    the number after the highest octet.
    """
    for at in range(len(fields.flow)):
        row = order[at] if len(order) else np.int64(at)
        flow = np.int64(fields.flow[row])
        family = families.family[flow]
        if family < 0:
            continue
        way = np.int64(fields.direction[row]) ^ np.int64(families.swapped[flow])
        first, stop = families.start[family], families.start[family + 1]
        base = families.matrix[family] + families.place[flow] * (stop - first) - first
        for member in range(first, stop):
            peer = 2 * families.members[member] + 1 - way
            if top[peer] >= 0 and fields.flags[row] & ACK:
                ahead = signed32(np.int64(fields.raw_ack[row]) - top[peer])
                counts[base + member, 0] += 1
                counts[base + member, 1] += 1 if -_NEAR < ahead < _NEAR else 0
        end = (np.int64(fields.raw_seq[row]) + np.int64(fields.payload_bytes[row])) & 0xFFFFFFFF
        mine = 2 * flow + way
        if top[mine] < 0 or signed32(end - top[mine]) > 0 or signed32(end - top[mine]) < -_NEAR:
            top[mine] = end


def _same_packets(packets: pd.DataFrame, families: Families, rivals: Bools) -> dict[tuple[int, int], int]:
    """Pairs of flows of a family with the same packets, and how many; only `rivals` can have any.

    Where a sender gives each packet another IP ID (it need not: of what may not be fragmented it is any number, RFC
    6864 4.1), the ID tells what was sent again from what was seen again, if the nodes between the two places leave it
    alone. They do between two flows that each have a third one's packets with their IDs: equal content with other IDs
    was then sent again, as after a change of the tunnel.
    """
    flow = packets["flow"].to_numpy()
    rows = np.flatnonzero(rivals[flow]) if rivals.any() else np.zeros(0, dtype=np.int64)
    some = packets[["flow", "direction", "ip_id", *_CONTENT]].take(rows)
    key = _stream_keys(some, families)
    if len(rows) > _SAMPLED:
        mask = np.uint64((1 << (len(rows) // _SAMPLED).bit_length()) - 1)
        picked = np.flatnonzero((key & mask) == 0)
        key, some = key[picked], some.take(picked)
    flow = some["flow"].to_numpy()
    alike = _with_same_keys(key, flow)
    if max(Counter(chain.from_iterable(alike)).values(), default=0) < 2:
        return alike
    with_id = mix(key, some["ip_id"].to_numpy())
    telling = _told_apart_by_id(some, with_id)
    numbered = _with_same_keys(with_id[telling], flow[telling])
    passed = set(chain.from_iterable(numbered))
    return {pair: count for pair, count in alike.items() if pair in numbered or not passed.issuperset(pair)}


def _told_apart_by_id(some: pd.DataFrame, with_id: npt.NDArray[np.uint64]) -> Bools:
    """Per packet, whether its sender's IP IDs change with most packets; `with_id` are hashes of content and ID."""
    stream = 2 * some["flow"].to_numpy().astype(np.int64) + some["direction"].to_numpy()
    once = np.sort(np.unique(mix(with_id, stream), return_index=True)[1])  # without copies
    once = once[np.argsort(stream[once], kind="stable")]
    changed = (np.diff(some["ip_id"].to_numpy()[once]) != 0) & (np.diff(stream[once]) == 0)
    packets, changes = (
        np.bincount(which, minlength=stream.max() + 1) for which in (stream[once], stream[once[1:][changed]])
    )
    result: Bools = (2 * changes >= np.maximum(2, packets))[stream]
    return result


def _with_same_keys(key: npt.NDArray[np.uint64], flow: npt.NDArray[Any]) -> dict[tuple[int, int], int]:
    """Pairs of flows with so many keys in common that they have the same packets, and how many."""
    seen = np.unique(np.column_stack([key.view(np.int64), flow.astype(np.int64)]), axis=0)
    packets_of = np.bincount(seen[:, 1])
    shared: dict[tuple[int, int], int] = {}
    for step in range(1, _MOST_LABELS):
        again = np.flatnonzero(seen[step:, 0] == seen[:-step, 0])
        if not len(again):
            break
        pairs, count = np.unique(np.column_stack([seen[again, 1], seen[again + step, 1]]), axis=0, return_counts=True)
        for (one, other), number in zip(pairs.tolist(), count.tolist(), strict=True):
            shared[one, other] = shared.get((one, other), 0) + number
    return {pair: number for pair, number in shared.items() if _are_same(number, *packets_of[list(pair)].tolist())}


def _stream_keys(some: pd.DataFrame, families: Families) -> npt.NDArray[np.uint64]:
    flow = some["flow"].to_numpy()
    way = 2 * families.family[flow] + (some["direction"].to_numpy() ^ families.swapped[flow])
    return mix(fingerprint(some, _CONTENT), way)


def _are_same(shared: int, one: int, other: int) -> bool:
    fewer = min(one, other)
    return shared >= min(fewer, _SAME_PACKETS) and shared >= _SAME_SHARE * fewer


class _Joined:
    """The flows that were found to be one so far: per flow the first of those that are one, and of those at one place.

    `outer` has the ends of each flow's innermost tunnel.
    """

    def __init__(self, families: Families, outer: list[tuple[str, str]]) -> None:
        self.families, self.outer = families, outer
        self.flow = np.arange(len(outer), dtype=np.int64)
        self.side = np.arange(len(outer), dtype=np.int64)
        self.unpaired = 0

    def labels(self) -> Labels:
        """What was found, with the flow that comes first as that of all its parts."""
        swapped = self.families.swapped ^ self.families.swapped[self.flow]
        return Labels(self.flow, swapped, self.side, self.unpaired)

    def join_couples(self, answered: Ints, sent: Ints) -> Bools:
        """Join the directions of families that have one flow for each; returns which families these are."""
        families = self.families
        couple = np.diff(families.start) == 2
        first = families.members[families.start[:-1]]
        second = families.members[np.minimum(families.start[:-1] + 1, len(families.members) - 1)]
        forth = (sent[first, 1] == 0) & (sent[second, 0] == 0)
        back = (sent[first, 0] == 0) & (sent[second, 1] == 0)
        couple &= forth | back
        at = np.minimum(families.matrix[:-1], len(answered) - 4)
        tested, answers = (answered[at + 1, part] + answered[at + 2, part] for part in (0, 1))
        fits = couple & (answers > 0) & (answers >= _LEAST_FITS * tested)
        for one, other in zip(first[fits].tolist(), second[fits].tolist(), strict=True):
            if _ends_fit(self.outer[one], self.outer[other]):
                self.flow[other] = self.side[other] = one
        return couple

    def join(self, family: int, answered: Ints, alike: Mapping[tuple[int, int], int], sent: Ints) -> None:
        """Join the flows of one family."""
        start, stop = self.families.start[family], self.families.start[family + 1]
        members = self.families.members[start:stop].tolist()
        for one, other in self._directions(family, members, answered, sent):
            _unite(self.side, members, one, other)
            _unite(self.flow, members, one, other)
        for one, other in ((a, b) for a in members for b in members if (a, b) in alike):
            _unite(self.flow, members, one, other)
        self._share_sides(members, alike)

    def _share_sides(self, members: list[int], alike: Mapping[tuple[int, int], int]) -> None:
        """Give flows of one connection that hold different packets one side: the tunnel changed, not the place."""
        for at, one in enumerate(members):
            for other in members[at + 1 :]:
                if self.flow[one] == self.flow[other] and self.side[one] != self.side[other]:
                    ours, theirs = ([m for m in members if self.side[m] == self.side[end]] for end in (one, other))
                    if not any((a, b) in alike or (b, a) in alike for a in ours for b in theirs):
                        _unite(self.side, members, one, other)

    def _directions(self, family: int, members: list[int], answered: Ints, sent: Ints) -> Iterator[tuple[int, int]]:
        """Pairs of flows that are the two directions of one."""
        base, size = int(self.families.matrix[family]), len(members)
        counts = answered[base : base + size * size].reshape(size, size, 2)
        fits: dict[tuple[int, int], int] = {}
        for i, one in enumerate(members):
            for j, other in enumerate(members):
                if sent[one, 1] == 0 and sent[other, 0] == 0 and _ends_fit(self.outer[one], self.outer[other]):
                    tested, answers = (counts[i, j] + counts[j, i]).tolist()
                    if answers and answers >= _LEAST_FITS * tested:
                        fits[one, other] = answers
        left = dict(sorted(fits.items(), key=lambda item: -item[1]))
        while left:
            one, other = next(iter(left))
            rest = {pair: count for pair, count in left.items() if one not in pair and other not in pair}
            self.unpaired += len(left) - len(rest) - 1
            left = rest
            yield one, other


def _unite(parent: Ints, members: list[int], one: int, other: int) -> None:
    """Give the trees of two flows of a family one root, the smaller."""
    least, most = sorted((int(parent[one]), int(parent[other])))
    for member in members:
        if parent[member] == most:
            parent[member] = least


def _ends_fit(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether the tunnels' ends of two directions are each other's reverse, or the same, or not known of one."""
    return "" in one + other or one in (other, other[::-1])
