"""Flows under several labels: the tunnels, VLANs and MPLS paths through which the packets of one connection go.

A label may name one direction only (TEID, MPLS label, GRE key, a tap's VLAN): two flows are then the two directions of
one, if their tunnels' ends are each other's reverse, or the same, and each acknowledges what the other sent. Two
labels of one direction are two flows, unless their packets are the same: then one packet was seen at two places.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.vantage.fingerprints import fingerprint, mix
from multitracer.vantage.label_directions import find_directions

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_MOST_PLACES = 32
"""A packet that is under more labels tells nothing of where it was seen: it was made up, or is empty."""
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
    that several of the other would fit, or that follow one another; `left` are flows that were not compared.
    """

    flow: Ints
    swapped: Bools
    side: Ints
    unpaired: int = 0
    left: frozenset[int] = frozenset()


class Families(NamedTuple):
    """Flows of the same addresses and ports: members[start[g]:start[g + 1]] are those of family g.

    Per flow: `family` (-1 alone), and whether it is `swapped` against the first.
    """

    members: Ints
    start: Ints
    family: Ints
    swapped: Bools


def find_labels(packets: pd.DataFrame, flows: pd.DataFrame) -> Labels | None:
    """Find which flows of the same addresses and ports are one; None where no two have the same."""
    families = _families(flows)
    if families is None:
        return None
    sent = _packets_each_way(packets, families)
    joined = _Joined(families, list(zip(flows["outer_a"].tolist(), flows["outer_b"].tolist(), strict=True)))
    directions = find_directions(packets, families.family, _single_ways(families, sent))
    joined.join_directions(directions.pairs)
    same = _same_packets(packets, families, _with_rivals(families, sent))
    joined.join_same(same.pairs)
    return joined.labels(directions.left | same.left)


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
    several = [rows for rows in by_ends.values() if len(rows) > 1]
    if not several:
        return None
    sizes = np.array([len(rows) for rows in several], dtype=np.int64)
    members = np.array(list(chain.from_iterable(several)), dtype=np.int64)
    family, start = np.full(len(flows), -1, dtype=np.int64), np.concatenate([[0], np.cumsum(sizes)])
    family[members] = np.repeat(np.arange(len(sizes)), sizes)
    swapped = np.zeros(len(flows), dtype=np.bool_)
    swapped[members] = turned[members] ^ np.repeat(turned[members[start[:-1]]], sizes)
    return Families(members, start, family, swapped)


def _single_ways(families: Families, sent: Ints) -> Ints:
    """Per flow of a family, the way that all its packets go, -1 where they go both."""
    silent = sent == 0
    return np.where((families.family >= 0) & (silent[:, 0] ^ silent[:, 1]), silent[:, 0], -1).astype(np.int64)


def _packets_each_way(packets: pd.DataFrame, families: Families) -> Ints:
    """Packets of each flow in either direction of its family, shape (F, 2)."""
    flow = packets["flow"].to_numpy()
    way = 2 * flow.astype(np.int64) + (packets["direction"].to_numpy() ^ families.swapped[flow])
    return np.bincount(way, minlength=2 * len(families.family)).reshape(-1, 2)


class _Same(NamedTuple):
    """Pairs of flows with the same packets; and flows whose packets are under too many labels to tell."""

    pairs: frozenset[tuple[int, int]]
    left: frozenset[int]


def _same_packets(packets: pd.DataFrame, families: Families, rivals: Bools) -> _Same:
    """Pairs of flows of a family with the same packets; only `rivals` can have any.

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
    if max(Counter(chain.from_iterable(alike.pairs)).values(), default=0) < 2:
        return alike
    with_id = mix(key, some["ip_id"].to_numpy())
    telling = _told_apart_by_id(some, with_id)
    numbered = _with_same_keys(with_id[telling], flow[telling]).pairs
    passed = set(chain.from_iterable(numbered))
    pairs = (pair for pair in alike.pairs if pair in numbered or not passed.issuperset(pair))
    return _Same(frozenset(pairs), alike.left)


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


def _with_same_keys(key: npt.NDArray[np.uint64], flow: npt.NDArray[Any]) -> _Same:
    """Pairs of flows with so many keys in common that they have the same packets."""
    seen = np.unique(np.column_stack([key.view(np.int64), flow.astype(np.int64)]), axis=0)
    packets_of = np.bincount(seen[:, 1])
    _, which, places = np.unique(seen[:, 0], return_inverse=True, return_counts=True)
    telling = places[which] <= _MOST_PLACES
    few = 2 * np.bincount(seen[telling, 1], minlength=len(packets_of)) < packets_of
    seen = seen[telling]
    shared: dict[tuple[int, int], int] = {}
    for step in range(1, int(places.max(initial=0))):
        again = np.flatnonzero(seen[step:, 0] == seen[:-step, 0])
        if not len(again):
            break
        pairs, count = np.unique(np.column_stack([seen[again, 1], seen[again + step, 1]]), axis=0, return_counts=True)
        for (one, other), number in zip(pairs.tolist(), count.tolist(), strict=True):
            shared[one, other] = shared.get((one, other), 0) + number
    alike = (pair for pair, number in shared.items() if _are_same(number, *packets_of[list(pair)].tolist()))
    return _Same(frozenset(alike), frozenset(np.flatnonzero(few).tolist()))


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
        self.flow, self.side = list(range(len(outer))), list(range(len(outer)))
        self.unpaired = 0

    def labels(self, left: frozenset[int]) -> Labels:
        """What was found, with the flow that comes first as that of all its parts; `left` were not compared."""
        for parent in (self.flow, self.side):
            for flow in self.families.members.tolist():
                parent[flow] = _root(parent, flow)
        flow, side = np.array(self.flow, dtype=np.int64), np.array(self.side, dtype=np.int64)
        swapped = self.families.swapped ^ self.families.swapped[flow]
        return Labels(flow, swapped, side, self.unpaired, left)

    def join_directions(self, pairs: list[tuple[int, int]]) -> None:
        """Join flows that are the two directions of one, of which `pairs` fit one another, the best first."""
        paired: set[int] = set()
        for one, other in pairs:
            if not _ends_fit(self.outer[one], self.outer[other]):
                continue
            if paired.isdisjoint((one, other)):
                paired |= {one, other}
                _unite(self.flow, one, other)
                _unite(self.side, one, other)
            else:
                self.unpaired += 1

    def join_same(self, pairs: frozenset[tuple[int, int]]) -> None:
        """Join flows with the same packets: what they carry was seen at several places."""
        for one, other in pairs:
            _unite(self.flow, one, other)
        alike: dict[int, set[int]] = {}
        for one, other in pairs:
            alike.setdefault(one, set()).add(other)
            alike.setdefault(other, set()).add(one)
        parts: dict[int, list[int]] = {}
        roots = {_root(self.flow, one) for one in alike}
        for flow in self.families.members.tolist() if roots else ():
            parts.setdefault(_root(self.flow, flow), []).append(flow)
        for root in sorted(roots):
            self._share_sides(parts[root], alike)

    def _share_sides(self, members: list[int], alike: dict[int, set[int]]) -> None:
        """Give flows of one connection that hold different packets one side: the tunnel changed, not the place.

        The first side takes in all that have none of its packets, then the next of those that are left.
        """
        sides: dict[int, set[int]] = {}
        for member in members:
            sides.setdefault(_root(self.side, member), set()).update(alike.get(member, ()))
        rivals = {side: {_root(self.side, one) for one in its} - {side} for side, its in sides.items()}
        left = list(sides)
        while left:
            first, *others = left
            left = []
            for other in others:
                if other in rivals[first]:
                    left.append(other)
                    continue
                _unite(self.side, first, other)
                rivals[first] |= rivals[other]
                for one in rivals[other]:
                    rivals[one].add(first)


def _root(parent: list[int], flow: int) -> int:
    """The first of the flows that are one with this; what was walked through points to it afterwards."""
    root = flow
    while parent[root] != root:
        root = parent[root]
    while flow != root:
        flow, parent[flow] = parent[flow], root
    return root


def _unite(parent: list[int], one: int, other: int) -> None:
    """Give the trees of two flows one root, the smaller."""
    least, most = sorted((_root(parent, one), _root(parent, other)))
    parent[most] = least


def _ends_fit(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether the tunnels' ends of two directions are each other's reverse, or the same, or not known of one."""
    return "" in one + other or one in (other, other[::-1])
