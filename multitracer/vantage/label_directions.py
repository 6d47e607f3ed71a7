"""The two directions of one connection under two labels: flows of one way that acknowledge one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK, FIN, SYN
from multitracer.vantage.fingerprints import mix
from multitracer.vantage.taps import signed32

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Words: TypeAlias = npt.NDArray[np.uint64]

_NEAR = 1 << 24
"""An acknowledgement and the octets that it answers are not farther apart than this."""
_LEAST_FITS = 0.9
"""Share of the packets of one direction that answer the other (a capture lacks some packets)."""
_FEW_LABELS = 32
"""Among more labels, two flows have near numbers by chance so often that one must acknowledge just what the other sent;
and of so many flows that sent up to one number, none is told apart by it; nor does one flow have so many peers."""


class Fields(NamedTuple):
    """What is read of the packets: one element per packet."""

    flow: Any
    raw_seq: Any
    raw_ack: Any
    payload_bytes: Any
    flags: Any


class Peers(NamedTuple):
    """Flows that may be a flow's other direction: of flow f, flow[start[f]:start[f + 1]]; `pair` numbers the pairs."""

    start: Any
    flow: Any
    pair: Any


@dataclass(frozen=True)
class Directions:
    """`pairs` of flows that fit one another as directions, best first; `left`, flows whose numbers too many have."""

    pairs: list[tuple[int, int]]
    left: frozenset[int]


def find_directions(packets: pd.DataFrame, family: Ints, way: Ints) -> Directions:
    """Find pairs of flows of one family and of two ways; `way`, per flow, is -1 for one that is not of one way."""
    crowded = np.bincount(family[way >= 0], minlength=int(family.max()) + 1) > _FEW_LABELS
    many = (way >= 0) & crowded[family]
    exact, left = (
        _acknowledging(packets, family, way, many) if many.any() else (np.zeros((0, 2), np.int64), frozenset())
    )
    pairs = np.concatenate([_all_pairs(family, np.where(many, -1, way)), exact])
    tested, answers, just = _answered(packets, pairs, len(family)).T
    fits = np.flatnonzero((answers > 0) & (answers >= _LEAST_FITS * tested) & ((just > 0) | ~many[pairs[:, 0]]))
    best = pairs[fits[np.lexsort((-answers[fits], just[fits] == 0))]]
    return Directions([(one, other) for one, other in best.tolist()], left)


def _all_pairs(family: Ints, way: Ints) -> Ints:
    """All pairs of a flow of way 0 and one of way 1 of the same family, shape (pairs, 2)."""
    one, other = (np.flatnonzero(way == end) for end in (0, 1))
    other = other[np.argsort(family[other], kind="stable")]
    return _joined(family[one], family[other], one, other)


def _joined(keys: Any, its_keys: Any, values: Ints, its_values: Ints) -> Ints:
    """Pairs of values with equal keys, shape (pairs, 2); `its_keys` are in order."""
    first, stop = (np.searchsorted(its_keys, keys, side=side) for side in ("left", "right"))
    count = stop - first
    nth = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.column_stack([np.repeat(values, count), its_values[np.repeat(first, count) + nth]])


def _acknowledging(packets: pd.DataFrame, family: Ints, way: Ints, many: Bools) -> tuple[Ints, frozenset[int]]:
    """Pairs of the flows `many` of which one has acknowledged just what the other had sent, of ways 0 and 1.

    Numbers are told apart by sorting, so that the cost does not grow with the number of labels; of many flows that fit
    one, those that fit it most often are tried.
    """
    rows = np.flatnonzero(many[packets["flow"].to_numpy()])
    fields = Fields(*(packets[name].to_numpy()[rows].astype(np.int64) for name in Fields._fields))
    run = 2 * family[fields.flow] + way[fields.flow]
    ends = (
        fields.raw_seq + fields.payload_bytes + ((fields.flags & SYN) > 0) + ((fields.flags & FIN) > 0)
    ) & 0xFFFFFFFF
    sent, senders, crowded = _numbers(run << 32 | ends, fields.flow)
    answers = np.flatnonzero(fields.flags & ACK)
    acked, receivers, _ = _numbers(((run ^ 1) << 32 | fields.raw_ack)[answers], fields.flow[answers])
    found = _joined(acked, sent, receivers, senders)
    found[way[found[:, 0]] == 1] = found[way[found[:, 0]] == 1, ::-1]
    pairs, count = np.unique(found, axis=0, return_counts=True)
    tried = _most_frequent(pairs, count)
    return pairs[tried], crowded | frozenset(np.setdiff1d(pairs, pairs[tried]).tolist())


def _most_frequent(pairs: Ints, count: Ints) -> Bools:
    """Which pairs are, of either of their flows, among the most frequent ones."""
    chosen = np.ones(len(pairs), dtype=np.bool_)
    for side in (0, 1):
        order = np.lexsort((-count, pairs[:, side]))
        flow = pairs[order, side]
        chosen[order] &= np.arange(len(pairs)) - np.searchsorted(flow, flow) < _FEW_LABELS
    return chosen


def _numbers(key: Ints, flow: Ints) -> tuple[Ints, Ints, frozenset[int]]:
    """Keys in order and the flows that have them, without those that too many have; and flows that have no others."""
    once = np.unique(mix(mix(np.zeros(len(key), np.uint64), key), flow), return_index=True)[1]
    once = once[np.argsort(key[once], kind="stable")]
    key, flow = key[once], flow[once]
    _, which, count = np.unique(key, return_inverse=True, return_counts=True)
    few = count[which] <= _FEW_LABELS
    return key[few], flow[few], frozenset(np.setdiff1d(flow, flow[few]).tolist())


def _answered(packets: pd.DataFrame, pairs: Ints, flows: int) -> Ints:
    """Per pair: how many packets of one came after the other's, how many answer them, and how many just these."""
    counts = np.zeros((len(pairs), 3), dtype=np.int64)
    if not len(pairs):
        return counts
    fields = Fields(*(packets[name].to_numpy() for name in Fields._fields))
    number, time = packets["input"].to_numpy(), packets["time_ns"].to_numpy()
    several = len(number) and number.min() != number.max()
    order = np.argsort(time, kind="stable") if several else np.zeros(0, dtype=np.int64)
    flow = np.concatenate([pairs[:, 0], pairs[:, 1]])
    by_flow = np.argsort(flow, kind="stable")
    start = np.searchsorted(flow[by_flow], np.arange(flows + 1))
    peers = Peers(start, np.concatenate([pairs[:, 1], pairs[:, 0]])[by_flow], by_flow % len(pairs))
    count_fits(fields, peers, order, np.full(flows, -1, dtype=np.int64), counts)
    return counts


@kernel
def count_fits(fields: Fields, peers: Peers, order: Any, top: Any, counts: Any) -> None:
    """Count, per pair of flows of two ways, packets after some of the other, and those that answer these.

    And those that acknowledge all that the other had sent, and no more. `order` has the rows in order of time; without
    any, it is theirs. `top`, per flow, is the number after the highest octet.
    """
    for at in range(len(fields.flow)):
        row = order[at] if len(order) else np.int64(at)
        flow, flags = np.int64(fields.flow[row]), fields.flags[row]
        if peers.start[flow] == peers.start[flow + 1]:
            continue
        for place in range(peers.start[flow], peers.start[flow + 1]):
            pair, reached = peers.pair[place], top[peers.flow[place]]
            if reached >= 0 and flags & ACK:
                ahead = signed32(np.int64(fields.raw_ack[row]) - reached)
                counts[pair, 0] += 1
                counts[pair, 1] += 1 if -_NEAR < ahead < _NEAR else 0
                counts[pair, 2] += 1 if ahead == 0 else 0
        octets = np.int64(fields.payload_bytes[row]) + (1 if flags & SYN else 0) + (1 if flags & FIN else 0)
        end = (np.int64(fields.raw_seq[row]) + octets) & 0xFFFFFFFF
        if top[flow] < 0 or signed32(end - top[flow]) > 0 or signed32(end - top[flow]) < -_NEAR:
            top[flow] = end
