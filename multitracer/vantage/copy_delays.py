"""Which of equal packets are copies, by how much later they came: where the packets alone do not tell.

Copies come as proven ones do, or at once, or nearly everything is there twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import FIN, SYN

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

STEADY_NS = 1_000_000
"""Copies of a mirror port are no later than this, unless proven ones show it."""
LONGEST_NS = 100_000_000
"""A copy follows its packet within this time, which is half the shortest retransmission timer in use (Linux: 0.2 s)."""

_SAMPLE = 10_000
"""Quantiles of so many delays at random differ little from those of all."""

REPEATED, PROVEN, OPEN = range(3)
"""Whether the second of two equal packets is another transmission, a copy, or whether the two alone do not tell."""


@dataclass(frozen=True)
class DelayLimits:
    """What the delays of copies must be like where neither IP ID nor timestamps prove them; times in ns."""

    known: int = 3
    """So many proven copies show what the delays are like."""
    steady_ns: int = STEADY_NS
    most_share: float = 0.5
    """An acknowledgement repeated within the delay is a copy if this share of the other packets is copied."""
    least_share: float = 0.2
    """Without proven copies: share of the packets that must be copied, and of those with data."""
    least_steady: float = 0.9
    """Without proven copies: share of the equal packets that must follow at once."""
    least_twice: float = 0.9
    """Or, whenever within LONGEST_NS, of all packets, and of those with data: TCP does not send everything again."""
    least_many: int = 50
    """So many packets with data must then be there twice."""


class PacketFields(NamedTuple):
    """What is compared of the packets, and their times: one element per packet."""

    place: Any
    flow: Any
    direction: Any
    raw_seq: Any
    raw_ack: Any
    payload_bytes: Any
    flags: Any
    raw_window: Any
    tsval: Any
    tsecr: Any
    ip_id: Any
    checksum: Any
    options: Any
    ttl: Any
    time_ns: Any


class Pairs(NamedTuple):
    """Equal packets: rows of the later one and of the one before it, and what they are."""

    after: Any
    before: Any
    verdict: Any


class There(NamedTuple):
    """What was captured at a place: the packets of these rows that are there, with all copies."""

    fields: PacketFields
    place: int
    rows: slice

    def packets(self) -> int:
        """How many there are."""
        return int((self.fields.place[self.rows] == self.place).sum())

    def carrying(self) -> int:
        """How many of them have data, SYN or FIN."""
        opens = (self.fields.flags[self.rows] & (SYN | FIN)) != 0
        carries = (self.fields.payload_bytes[self.rows] > 0) | opens
        return int((carries & (self.fields.place[self.rows] == self.place)).sum())


class _Compared(NamedTuple):
    """Of each pair of equal packets, one element a pair: how the second differs, and whether it is proven to be a copy.

    `delay` (ns, LONGEST_NS + 1 for all that is longer) is how much later it was captured, `ttl_fall` is 1 where its TTL
    is less, -1 where it is greater, `carries` tells whether they have data, SYN or FIN: what a receiver acknowledges,
    and an acknowledgement only repeats.
    """

    delay: Any
    ttl_fall: Any
    carries: Any
    proven: Any

    def of(self, rows: Bools) -> _Compared:
        """Those in the mask `rows`; all of them are not copied."""
        return self if rows.all() else _Compared(*(part[rows] for part in self))


def settled(pairs: Pairs, fields: PacketFields, there: There, limits: DelayLimits) -> tuple[Ints, int]:
    """The rows of copies, and how many packets with data may be copies or not."""
    if not (pairs.verdict == OPEN).any():
        return pairs.after[pairs.verdict == PROVEN], 0
    once = pairs.verdict != REPEATED
    after, equal = pairs.after if once.all() else pairs.after[once], _compared(pairs, fields).of(once)
    copied, share = equal.proven.copy(), equal.proven.sum() / max(1, there.packets() - len(after))
    for fall in (0, 1):  # no router gives back what it took: a greater TTL is not a copy's
        mine = equal.ttl_fall == fall
        alike = equal.of(mine)
        known = alike.delay[alike.proven]
        if len(known) >= limits.known:
            as_known = _as_known(alike.delay, known, LONGEST_NS if fall else limits.steady_ns)
            copied[mine] |= as_known & (alike.carries | (share >= limits.most_share))
        if not copied[mine].all():
            copied[mine] |= _copied_throughout(alike, there, limits)
    left = ~copied & equal.carries & (equal.delay <= limits.steady_ns)
    return after[copied], int(left.sum())


def _compared(pairs: Pairs, fields: PacketFields) -> _Compared:
    """How the packets of each pair differ."""
    count = len(pairs.after)
    delay, ttl_fall = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int8)
    carries = np.empty(count, dtype=np.bool_)

    def compare(part: slice) -> None:
        compare_pairs(fields, pairs.after[part], pairs.before[part], delay[part], ttl_fall[part], carries[part])

    concurrently(compare, shares(count))
    return _Compared(delay, ttl_fall, carries, pairs.verdict == PROVEN)


@kernel
def compare_pairs(fields: PacketFields, after: Any, before: Any, delay: Any, ttl_fall: Any, carries: Any) -> None:
    """Fill `delay`, `ttl_fall` and `carries` as `_Compared` has them, in one pass over the packets' columns."""
    for pair in range(len(after)):
        row, earlier = after[pair], before[pair]
        delay[pair] = min(abs(fields.time_ns[row] - fields.time_ns[earlier]), LONGEST_NS + 1)
        ttl_fall[pair] = np.int8(fields.ttl[earlier] > fields.ttl[row]) - np.int8(fields.ttl[earlier] < fields.ttl[row])
        carries[pair] = fields.payload_bytes[row] > 0 or (fields.flags[row] & (SYN | FIN)) != 0


def _as_known(delay: Ints, known: Ints, most_ns: int) -> Bools:
    """Which delays are like those of proven copies: up to `most_ns` no longer, beyond it no shorter either."""
    known = _sample(known)
    low, high = np.quantile(known, [0.05, 0.95])
    spread = high - low + 1_000
    result: Bools = (delay <= min(_usual(known), most_ns)) | (
        (delay >= low - spread) & (delay <= min(high + spread, LONGEST_NS))
    )
    return result


def _usual(delay: Ints) -> int:
    return int(2 * np.quantile(_sample(delay), 0.95)) + 1_000


def _sample(delay: Ints) -> Ints:
    """Some of the delays, at random but the same each time."""
    if len(delay) <= _SAMPLE:
        return delay
    return delay[np.random.default_rng(0).integers(len(delay), size=_SAMPLE)]


def _nearly_all_twice(equal: _Compared, there: There, limits: DelayLimits) -> bool:
    """Whether nearly all packets are there twice, also of those with data: acknowledgements are equal without that."""
    count, with_data = len(equal.delay), int(equal.carries.sum())
    return (
        with_data >= limits.least_many
        and count >= limits.least_twice * (there.packets() - count)
        and with_data >= limits.least_twice * (there.carrying() - with_data)
    )


def _copied_throughout(equal: _Compared, there: There, limits: DelayLimits) -> Bools:
    """Which packets are copies in a capture that copied data and all else at once, or else nearly all of it."""
    delay, carries = equal.delay, equal.carries
    steady = delay <= limits.steady_ns
    with_data = int((steady & carries).sum())
    enough = steady.sum() >= max(2, limits.least_share * there.packets())
    enough &= with_data >= max(1, limits.least_share * steady.sum())
    # Acknowledgements are repeated without being copied: only data show whether copies come at once.
    if enough and with_data >= limits.least_steady * carries.sum():
        return steady & (delay <= _usual(delay[steady & carries]))
    if _nearly_all_twice(equal, there, limits):
        return delay <= _usual(delay[carries])
    return np.zeros(len(delay), dtype=np.bool_)
