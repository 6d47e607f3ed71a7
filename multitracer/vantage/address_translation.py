"""Flows whose addresses were translated between two points, and connections split by a proxy.

Address translation changes addresses, ports and checksums, but not sequence numbers: packets of one flow at
two points have the same raw sequence and acknowledgement numbers. A proxy opens connections of its own:
other initial sequence numbers, the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.model.schema import FIN, SYN
from multitracer.vantage.fingerprints import mix

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_LEAST_PACKETS = 3
_LEAST_SHARE = 0.5
"""Share of the shorter flow's packets that must be the same for two flows to be one."""
_LEAST_BYTES = 1000
"""Flows with fewer bytes than this may agree by chance, and are not paired."""


@dataclass(frozen=True)
class Translation:
    """Flows that are the same under other addresses, for F flows.

    `flow`, shape (F,): the number of the flow that it is at another point, its own without translation.
    `swapped`, shape (F,): whether the ends are exchanged there. `split`: pairs of flows at different points
    that carried the same bytes on different connections, as through a proxy; these are not one connection.
    """

    flow: Ints
    swapped: Bools
    split: tuple[tuple[int, int], ...] = ()


def match_translated(packets: pd.DataFrame, flows: int, point: npt.NDArray[np.int16]) -> Translation:
    """Find flows at different points that are one flow under other addresses, and those that a proxy connects."""
    found = Translation(np.arange(flows, dtype=np.int64), np.zeros(flows, dtype=np.bool_))
    if not len(point) or point.max() == point.min():
        return found
    flow = packets["flow"].to_numpy()
    seen = np.zeros((int(point.max()) + 1, flows), dtype=np.bool_)
    seen[point, flow] = True
    alone = seen.sum(axis=0) == 1
    rows = np.flatnonzero(alone[flow])
    if len(np.unique(point[rows])) < 2:
        return found
    some = packets.take(rows)
    for one, other, swapped in _flows_with_same_numbers(some, point[rows]):
        if found.flow[one] == one and found.flow[other] == other:
            found.flow[other], found.swapped[other] = one, swapped
    return Translation(found.flow, found.swapped, tuple(_proxied_pairs(some, point[rows], found)))


def _flows_with_same_numbers(some: pd.DataFrame, point: npt.NDArray[np.int16]) -> Iterator[tuple[int, int, bool]]:
    """(flow, flow, swapped) of flows at different points whose packets have the same sequence numbers."""
    key = np.zeros(len(some), dtype=np.uint64)
    for name in ("raw_seq", "raw_ack", "payload_bytes", "tsval", "tsecr"):
        key = mix(key, some[name].to_numpy())
    key = mix(key, some["flags"].to_numpy() & 0xFF)
    end = 2 * some["flow"].to_numpy().astype(np.int64) + some["direction"].to_numpy()
    sightings = np.unique(np.column_stack([key.view(np.int64), end, point.astype(np.int64)]), axis=0)
    same = sightings[1:, 0] == sightings[:-1, 0]
    # Where more than two flows share a packet (keep-alives of idle connections), comparing neighbours suffices.
    pairs = np.column_stack([sightings[:-1][same][:, 1], sightings[1:][same][:, 1]])
    apart = sightings[:-1][same][:, 2] != sightings[1:][same][:, 2]
    ends, votes = np.unique(np.sort(pairs[apart], axis=1), axis=0, return_counts=True)
    packets = np.bincount(sightings[:, 1] // 2)
    tally: dict[tuple[int, int, bool], int] = {}
    for (a, b), count in zip(ends.tolist(), votes.tolist(), strict=True):
        which = a // 2, b // 2, (a ^ b) & 1 == 1
        tally[which] = tally.get(which, 0) + count
    for (one, other, swapped), count in sorted(tally.items(), key=lambda item: -item[1]):
        if one != other and count >= max(_LEAST_PACKETS, _LEAST_SHARE * min(packets[one], packets[other])):
            yield one, other, swapped


def _proxied_pairs(some: pd.DataFrame, point: npt.NDArray[np.int16], found: Translation) -> Iterator[tuple[int, int]]:
    """Pairs of flows at different points that carried equally many bytes each way, at least 1000 one way."""
    totals = _bytes_each_way(some)
    where = dict(zip(some["flow"].to_numpy().tolist(), point.tolist(), strict=True))
    matched = set(found.flow[found.flow != np.arange(len(found.flow))].tolist())
    unmatched = [flow for flow in totals if found.flow[flow] == flow and flow not in matched]
    by_bytes: dict[tuple[int, int], list[int]] = {}
    for flow in unmatched:
        by_bytes.setdefault((min(totals[flow]), max(totals[flow])), []).append(flow)
    for (_, most), flows in by_bytes.items():
        if most >= _LEAST_BYTES and len(flows) == 2 and where[flows[0]] != where[flows[1]]:
            yield flows[0], flows[1]


def _bytes_each_way(some: pd.DataFrame) -> dict[int, tuple[int, int]]:
    """Per flow, the span of sequence numbers in each direction, without SYN and FIN."""
    flow = some["flow"].to_numpy().astype(np.int64)
    way = 2 * flow + some["direction"].to_numpy()
    flags = some["flags"].to_numpy()
    seq = some["raw_seq"].to_numpy().astype(np.int64) + ((flags & SYN) > 0)
    end = seq + some["payload_bytes"].to_numpy()
    ways, first = np.unique(way, return_index=True)
    origin = np.zeros(int(way.max()) + 1, dtype=np.int64)
    origin[ways] = seq[first]
    counts = (flags & (SYN | FIN) > 0) | (some["payload_bytes"].to_numpy() > 0)
    low, high = np.zeros(len(origin), np.int64), np.zeros(len(origin), np.int64)
    np.minimum.at(low, way[counts], _signed(seq - origin[way])[counts])
    np.maximum.at(high, way[counts], _signed(end - origin[way])[counts])
    span = high - low
    return {
        one: (int(span[2 * one]), int(span[2 * one + 1]) if 2 * one + 1 < len(span) else 0)
        for one in np.unique(flow).tolist()
    }


def _signed(difference: Ints) -> Ints:
    """Differences of sequence numbers as the nearest signed numbers (RFC 9293 3.4)."""
    return (difference + (1 << 31)) % (1 << 32) - (1 << 31)
