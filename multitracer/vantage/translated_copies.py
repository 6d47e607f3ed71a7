"""Connections that one place of one file saw before and after address translation, found packet by packet.

Translation changes addresses, ports and checksums, often the IP ID; numbers, lengths, flags, window and timestamps
stay, and so does what the checksum says of all else (RFC 1624). Two connections may agree in these by chance of how
they were made (test tools and simulators begin at fixed numbers), so the order must be a router's too: what one end
sends is seen on one side first, what the other end sends on the other side. Where that is not so, nothing is joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import mark_first, rows_of_each
from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import ACK, SYN
from multitracer.vantage.fingerprints import mix_word, repeated
from multitracer.vantage.renumbering import Rewritten, Sums, Use

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_HEAD = 16
"""The first packets of each flow, in which the flows that may be one must have some in common."""
_MOST_ALIKE = 8
"""A packet that more flows have tells none of them apart."""
_LEAST_PACKETS = 6
_LEAST_EACH_WAY = 2
_LEAST_SHARE = 0.5
"""Two flows are one with so many packets in common, in either direction, and this share of the fewer."""
_IN_ORDER = 0.95
"""Share of the packets in common that came in a router's order (several processors may record some late)."""
_SAME_SUMS = 0.8
"""Share of those with right checksums whose checksums differ by the addresses and ports, and by no more."""
_LONGEST_NS = 1_000_000_000
"""No router's queue holds packets longer."""
_MOST_ROUTERS = 8
"""Between two sides that one place saw; hosts' own first times to live differ by more (64, 128, 255)."""
_SMALL = 1 << 16
"""A random initial number is below this once in 65536 connections; a simulator's or a relative one always."""


class _Pairs(NamedTuple):
    """Packets with equal content in two flows: rows in the flow of the smaller number, and in the other."""

    one: Ints
    other: Ints


@dataclass(frozen=True)
class _Found:
    """Flows that are one: the one that has the client's packets first, and the other; rows with the same packets."""

    near: int
    far: int
    swapped: bool
    near_rows: Ints
    far_rows: Ints
    depth: int = 1
    """Translations before the far flow."""


def find_translated(tables: Mapping[str, pd.DataFrame], place: Any, known: list[Rewritten]) -> list[Rewritten]:
    """Find the connections that one place saw under two pairs of addresses, besides those `known`."""
    packets, flows = tables["packets"], tables["flows"]
    if len(flows) < 2 or not len(packets):
        return []
    sources = _Sources(packets["input"].to_numpy(), place)
    taken = np.zeros(len(packets), dtype=np.bool_)
    for one in known:
        taken[one.near.rows] = taken[one.far.rows] = True
    heads = _heads(packets["flow"].to_numpy(), len(flows), sources, tables["syn_options"]["packet"].to_numpy())
    heads = heads[~taken[heads]] if known else heads
    rows = _rows_of_candidates(packets, sources, heads, len(flows))
    rows = rows[~taken[rows]]
    if not len(rows):
        return []
    pairs = _equal_packets(packets, sources, rows)
    seen = _Seen.at(packets["flow"].to_numpy()[rows], sources.of(rows))
    found = _decided(_Judged(packets, flows, pairs, sources, seen).found())
    return list(_rewritten(packets, sources, found, taken))


class _Sources(NamedTuple):
    """Where packets were seen: the input of each, and the place in it."""

    number: Any
    place: Any

    def of(self, rows: Any) -> Ints:
        """Both in one number, of the packets in these rows: of all of them it takes long to make."""
        result: Ints = self.number[rows].astype(np.int64) << 16 | self.place[rows]
        return result

    def is_one(self) -> bool:
        """Whether all packets were seen at one place."""
        return all(values.min() == values.max() for values in self)


class Content(NamedTuple):
    """What translation leaves alone of the packets, and where they were seen: one element per packet."""

    place: Any
    input: Any
    raw_seq: Any
    raw_ack: Any
    payload_bytes: Any
    flags: Any
    raw_window: Any
    tsval: Any
    tsecr: Any


@kernel
def hash_content(content: Content, rows: Any, hashed: Any) -> None:
    """Fill `hashed` with a fingerprint of the content of each of the packets `rows`."""
    for at in range(len(rows)):
        row = np.uint64(rows[at])
        source = np.int64(content.input[row]) << 16 | np.int64(content.place[row])
        key = mix_word(np.int64(content.raw_seq[row]), np.int64(content.raw_window[row]) << 32)
        key = mix_word(key, np.int64(content.raw_ack[row]) | (np.int64(content.flags[row]) & 0xFF) << 32)
        key = mix_word(key, np.int64(content.tsval[row]) | np.int64(content.payload_bytes[row]) << 32)
        hashed[at] = mix_word(key, np.int64(content.tsecr[row]) | source << 32)


def _hashes(packets: pd.DataFrame, sources: _Sources, rows: Ints) -> Ints:
    """Fingerprints of what translation leaves alone of these packets, and of where they were seen."""
    content = Content(sources.place, *(packets[name].to_numpy() for name in Content._fields[1:]))
    hashed = np.empty(len(rows), dtype=np.int64)
    concurrently(lambda part: hash_content(content, rows[part], hashed[part]), shares(len(rows)))
    return hashed


def _rows_of_candidates(packets: pd.DataFrame, sources: _Sources, heads: Ints, flows: int) -> Ints:
    """All rows of flows of which a head, at any place, has packets that another's head has too."""
    flow = packets["flow"].to_numpy()
    alike = _equal_packets(packets, sources, heads)
    pairs, count = np.unique(np.column_stack([flow[rows] for rows in alike]), axis=0, return_counts=True)
    named = np.unique(pairs[count >= _LEAST_EACH_WAY])
    if not len(named):
        return np.zeros(0, dtype=np.int64)
    wanted = np.zeros(flows, dtype=np.bool_)
    wanted[named] = True
    return np.flatnonzero(wanted[flow])


def _heads(flow: Any, flows: int, sources: _Sources, syns: Ints) -> Ints:
    """The rows that are among the first of their flow at their place, and the SYNs, ascending."""
    chosen = np.zeros(len(flow), dtype=np.bool_)  # pages that are never written take no memory
    chosen[syns] = True
    if sources.is_one():
        mark_first(flow, _HEAD, np.zeros(flows, dtype=np.int64), chosen)
    else:
        source = sources.of(slice(None))
        met = np.zeros(int(source.max(initial=0)) + 1, dtype=np.bool_)
        met[source] = True
        places, number = int(met.sum()), np.cumsum(met) - 1
        of_place = (flow * places + number[source]).astype(flow.dtype)
        mark_first(of_place, _HEAD, np.zeros(flows * places, dtype=np.int64), chosen)
    return np.flatnonzero(chosen)


def _equal_packets(packets: pd.DataFrame, sources: _Sources, rows: Ints) -> _Pairs:
    """Packets of equal content in two flows, the smaller flow's first; of several in one flow the first counts.

    Those that more flows have than tell any apart are left out before the others are sorted: so many are not in the
    heads of fewer.
    """
    key = _hashes(packets, sources, rows)
    several = repeated(key, _MOST_ALIKE * _HEAD)
    rows, key = rows[several], key[several]
    flow = packets["flow"].to_numpy()[rows]
    order = np.lexsort((flow, key))
    rows, key, flow = rows[order], key[order], flow[order]
    again = np.zeros(len(rows), dtype=np.bool_)
    again[1:] = (key[1:] == key[:-1]) & (flow[1:] == flow[:-1])
    rows, key = rows[~again], key[~again]
    _, which, count = np.unique(key, return_inverse=True, return_counts=True)
    few = count[which] <= _MOST_ALIKE
    rows, key = rows[few], key[few]
    places = [(at, step) for step in range(1, _MOST_ALIKE) if len(at := np.flatnonzero(key[step:] == key[:-step]))]
    none = np.zeros(0, dtype=np.int64)
    ones, others = [rows[at] for at, _ in places], [rows[at + step] for at, step in places]
    return _Pairs(np.concatenate([none, *ones]), np.concatenate([none, *others]))


class _Seen(NamedTuple):
    """How many packets of a flow each place saw: keys of both in order, and the counts."""

    keys: Ints
    counts: Ints

    @classmethod
    def at(cls, flow: Any, source: Ints) -> _Seen:
        """Counted from the flow and the place of each packet."""
        return cls(*np.unique(flow.astype(np.int64) << 32 | source, return_counts=True))

    def of(self, flow: Ints, source: Ints) -> Ints:
        """The counts of flows at places that have seen them."""
        return self.counts[np.searchsorted(self.keys, flow << 32 | source)]


class _Judged:
    """What the packets that two flows have in common say of them; sums per pair of flows."""

    def __init__(
        self, packets: pd.DataFrame, flows: pd.DataFrame, pairs: _Pairs, sources: _Sources, seen: _Seen
    ) -> None:  # fmt: skip
        flow = packets["flow"].to_numpy()
        self.packets, self.flows, self.pairs = packets, flows, pairs
        self.ends, self.which = np.unique(
            np.column_stack([flow[pairs.one], flow[pairs.other]]).astype(np.int64), axis=0, return_inverse=True
        )
        self.which = self.which.reshape(-1)
        both = np.unique(np.column_stack([self.which, sources.of(pairs.one)]), axis=0)
        counts = [seen.of(self.ends[both[:, 0], side], both[:, 1]) for side in (0, 1)]
        self.packets_of = np.array([np.bincount(both[:, 0], one, len(self.ends)) for one in counts])
        """Packets of either flow at the places that saw both, shape (2, pairs)."""
        self.direction = packets["direction"].to_numpy()[pairs.one].astype(np.int64)
        turned = self.direction != packets["direction"].to_numpy()[pairs.other]
        self.swapped = 2 * self._count(turned) > self._count()
        self.straight = turned == self.swapped[self.which]

    def _count(self, *conditions: Any) -> Ints:
        """Per pair of flows, how many packets in common fulfil all conditions."""
        chosen = np.ones(len(self.which), dtype=np.bool_)
        for condition in conditions:
            chosen &= condition
        return np.bincount(self.which[chosen], minlength=len(self.ends))

    def found(self) -> list[_Found]:
        """The pairs of flows that are one."""
        if not len(self.ends):
            return []
        way = [self.direction == end for end in (0, 1)]
        each_way = [self._count(self.straight, one) for one in way]
        common = each_way[0] + each_way[1]
        fits = (common >= _LEAST_PACKETS) & (np.minimum(*each_way) >= _LEAST_EACH_WAY)
        fits &= common >= _LEAST_SHARE * self.packets_of.min(axis=0)
        first, routed = self._first_side(way, each_way)
        fits &= routed & self._other_ends() & self._same_sums() & (self._numbers_tell() | self._passed_router(common))
        client = self._client(way)
        near = np.where(first == client, 0, 1).tolist()
        by_pair = rows_of_each(self.which, len(self.ends))
        made = []
        for at in np.flatnonzero(fits).tolist():
            rows = by_pair[at][self.straight[by_pair[at]]]
            sides = (self.pairs[near[at]][rows], self.pairs[1 - near[at]][rows])
            ends = self.ends[at, near[at]], self.ends[at, 1 - near[at]]
            made.append(_Found(int(ends[0]), int(ends[1]), bool(self.swapped[at]), *sides))
        return made

    def _other_ends(self) -> Bools:
        """Whether addresses or ports differ, and not the tunnel alone."""
        names = [[(f"address_{end}", f"port_{end}") for end in order] for order in ("ab", "ba")]
        straight, turned = ([self.flows[name].to_numpy() for pair in order for name in pair] for order in names)
        one, other = self.ends.T
        same = [
            np.all([a[one] == b[other] for a, b in zip(straight, its, strict=True)], axis=0)
            for its in (straight, turned)
        ]
        return ~np.where(self.swapped, same[1], same[0])

    def _first_side(self, way: list[Any], each_way: list[Ints]) -> tuple[Ints, Bools]:
        """The direction of which the one flow has the packets first, and whether it has those of the other second."""
        time = self.packets["time_ns"].to_numpy()
        delay = time[self.pairs.other] - time[self.pairs.one]
        ahead = (delay > 0) | ((delay == 0) & (self.pairs.other > self.pairs.one))
        soon = self.straight & (np.abs(delay) <= _LONGEST_NS)
        led = [self._count(soon, ahead, one) for one in way]
        followed = [self._count(soon, ~ahead, one) for one in way]
        routed = [
            (led[end] >= _IN_ORDER * each_way[end]) & (followed[1 - end] >= _IN_ORDER * each_way[1 - end])
            for end in (0, 1)
        ]
        return np.where(routed[0], 0, 1), routed[0] | routed[1]

    def _same_sums(self) -> Bools:
        """Whether checksums say that all else is the same; those that are wrong or only begun say nothing.

        Where none says anything, numbers and order are all that there is.
        """
        ok = self.packets["checksum_ok"].to_numpy()
        at = np.flatnonzero(self.straight & (ok[self.pairs.one] != 0) & (ok[self.pairs.other] != 0))
        sums, one, other = Sums(self.packets, self.flows), self.pairs.one[at], self.pairs.other[at]
        told, alike = (np.zeros(len(self.which), dtype=np.bool_) for _ in range(2))
        told[at] = ~sums.only_begun(one) & ~sums.only_begun(other)
        alike[at] = sums.of(one) == sums.of(other)
        result: Bools = self._count(told, alike) >= _SAME_SUMS * self._count(told)
        return result

    def _numbers_tell(self) -> Bools:
        """Whether the numbers of both directions are not small."""
        seq = self.packets["raw_seq"].to_numpy()[self.pairs.one]
        small = [self._count(seq < _SMALL, self.direction == end) for end in (0, 1)]
        result: Bools = (small[0] == 0) & (small[1] == 0)
        return result

    def _passed_router(self, common: Ints) -> Bools:
        """Whether the later of two equal packets has been through some routers more, by its time to live."""
        time, ttl = self.packets["time_ns"].to_numpy(), self.packets["ttl"].to_numpy().astype(np.int64)
        one, other = self.pairs
        later = (time[other] > time[one]) | ((time[other] == time[one]) & (other > one))
        less = np.where(later, ttl[one] - ttl[other], ttl[other] - ttl[one])
        return self._count(self.straight, (less >= 1) & (less <= _MOST_ROUTERS)) >= _IN_ORDER * common

    def _client(self, way: list[Any]) -> Ints:
        """Per pair the direction in which the client sends: by the SYN, else from the end with the higher port."""
        opens = (self.packets["flags"].to_numpy()[self.pairs.one] & (SYN | ACK)) == SYN
        seen = [self._count(opens, one) > 0 for one in way]
        ports = [self.flows[name].to_numpy()[self.ends[:, 0]] for name in ("port_a", "port_b")]
        return np.where(seen[0], 0, np.where(seen[1] | (ports[1] > ports[0]), 1, 0)).astype(np.int64)


def _decided(found: list[_Found]) -> list[_Found]:
    """Those of which the near flow is no other's far one, without what several would be as well.

    Behind two translations a flow is far of two others, of which one is far of the other.
    """
    nears: dict[int, set[int]] = {}
    for one in found:
        nears.setdefault(one.far, set()).add(one.near)
    depth_of = _depths(nears)
    made = [replace(one, depth=depth_of[one.far]) for one in found if one.near not in nears]
    unclear: set[int] = set()
    for key in ("near_rows", "far_rows"):
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(one, key) for one in made)])
        far, depth = (
            np.repeat([getattr(one, name) for one in made], [len(one.far_rows) for one in made])
            for name in ("far", "depth")
        )
        told, count = np.unique(np.column_stack([rows, depth]), axis=0, return_inverse=True, return_counts=True)[1:]
        unclear |= set(far[count[told.reshape(-1)] > 1].tolist())
    return [one for one in made if one.far not in unclear]


def _depths(nears: dict[int, set[int]]) -> dict[int, int]:
    """How many translations lie before each far flow, of as many as are told apart."""
    depth = dict.fromkeys(nears, 1)
    for _ in range(_MOST_ALIKE):
        depth = {far: 1 + max((depth.get(near, 0) for near in nears[far]), default=0) for far in nears}
    return depth


def _rewritten(packets: pd.DataFrame, sources: _Sources, found: list[_Found], taken: Bools) -> Iterator[Rewritten]:
    """The packets of every far flow as those of the near flow that has them, or those last before them."""
    flow, direction = packets["flow"].to_numpy(), packets["direction"].to_numpy()
    by_far: dict[int, list[_Found]] = {}
    for one in found:
        by_far.setdefault(one.far, []).append(one)
    rows_of = rows_of_each(flow, int(flow.max()) + 1) if found else []
    none, opened = np.zeros(0, dtype=np.int64), _opened_alone(packets, found)
    for far, nears in by_far.items():
        mine = rows_of[far][~taken[rows_of[far]]]
        alone = mine[opened[mine]]
        source = sources.of(mine)
        for where in np.unique(source).tolist():
            for one, part in _owned(mine[source == where], nears, alone):
                at = one.near_rows[direction[one.near_rows] == direction[part[0]] ^ one.swapped]
                near, row = int(np.r_[at[sources.of(at) == where], at][0]), int(part[0])
                yield Rewritten(Use(near, near, none, (0, 0)), Use(row, row, part, (0, 0)), one.depth)


def _opened_alone(packets: pd.DataFrame, found: list[_Found]) -> Bools:
    """Which rows open a connection under addresses of a far flow, of which no near flow has the packet."""
    opens = (packets["flags"].to_numpy() & (SYN | ACK)) == SYN
    rows = np.flatnonzero(opens)
    key = packets["flow"].to_numpy()[rows].astype(np.int64) << 32 | packets["raw_seq"].to_numpy()[rows]
    matched = np.zeros(len(opens), dtype=np.bool_)
    for one in found:
        matched[one.far_rows] = True
    opens[rows[np.isin(key, key[matched[rows]])]] = False
    return opens


def _owned(rows: Ints, nears: list[_Found], alone: Ints) -> Iterator[tuple[_Found, Ints]]:
    """The flows of which these rows of one place are the far side, each with those that are its own.

    What nothing was in common with yet is the first one's; what begins with a row of `alone` is nobody's, and in a file
    with nothing in common nor is what follows it.
    """
    if len(nears) == 1 and not len(alone):
        yield nears[0], rows
        return
    told = np.concatenate([alone, *(one.far_rows for one in nears)])
    owner = np.repeat(np.arange(-1, len(nears)), [len(alone), *(len(one.far_rows) for one in nears)])
    here = np.flatnonzero(np.isin(told, rows))
    here = here[np.argsort(told[here])]
    if not (owner[here] >= 0).any():
        if len(nears) == 1:  # another file, which has the far side alone
            yield nears[0], rows[rows < told[here].min(initial=len(rows) + int(rows[-1]))]
        return
    owners = owner[here][np.maximum(np.searchsorted(told[here], rows, side="right") - 1, 0)]
    for number, one in enumerate(nears):
        if (owners == number).any():
            yield one, rows[owners == number]
