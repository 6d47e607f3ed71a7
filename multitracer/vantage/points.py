"""Observation points: which captures were taken at the same place, and which packets were captured twice.

Each interface of each capture is an observation point, unless its packets show otherwise: rotated files
continue where the previous one ended; two files of one interface hold the same packets at the same times;
and a capture on a bridge, a mirror port or "any" holds each packet several times. In the common case (one
capture without duplicates) only a sample of the packets is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import runs
from multitracer.model.schema import SYN
from multitracer.model.trace import Input

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

COPY_KEY = (
    "flow", "direction", "raw_seq", "raw_ack", "payload_bytes", "flags", "raw_window", "tsval", "tsecr",
    "ip_id", "checksum",
)  # fmt: skip


_EDGE_PACKETS = 4096
"""Packets at the end of one file and the start of the next that are compared for rotation."""


@dataclass(frozen=True)
class DuplicateLimits:
    """Limits within which equal packets are duplicates in the capture; times in ns."""

    sample_blocks: int = 8
    block_packets: int = 512
    least_share: float = 0.2
    """Share of copies among all packets from which a capture counts as having duplicates."""
    reach_packets: int = 64
    """A copy follows its packet within this many records."""
    longest_ns: int = 100_000_000
    steady_ns: int = 1_000_000
    """Without an IP ID, copies must follow within this time."""
    same_interface_ns: int = 2_000
    """Two files are of one interface when their times differ by less in both directions."""


@dataclass(frozen=True)
class Point:
    """One observation point: the (input, interface) pairs that belong to it, in order of time.

    `first_ns` is the earliest time recorded there, on its own clock.
    """

    number: int
    sources: tuple[tuple[int, int], ...]
    description: str
    first_ns: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """The numbers of its inputs."""
        return tuple(dict.fromkeys(number for number, _ in self.sources))


@dataclass(frozen=True)
class Points:
    """`point` (int16) and `captured_twice` (bool), shape (packets,), and the points themselves."""

    point: npt.NDArray[np.int16]
    captured_twice: Bools
    points: tuple[Point, ...]
    notes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Notes for the report, by input number."""


@dataclass
class _Source:
    """The packets of one interface of one input."""

    number: int
    interface: int
    rows: slice | Ints
    first_ns: int
    last_ns: int

    @property
    def key(self) -> tuple[int, int]:
        return self.number, self.interface


def find_points(
    trace_tables: Mapping[str, pd.DataFrame], inputs: Sequence[Input], limits: DuplicateLimits | None = None
) -> Points:
    """Find the observation point of every packet, and whether it is a second copy."""
    packets, limits = trace_tables["packets"], limits or DuplicateLimits()
    sources = _sources(packets)
    twice = np.zeros(len(packets), dtype=np.bool_)
    notes: dict[tuple[int, int], str] = {}
    for source in sources:
        copies = _second_copies(packets, source, limits)
        if copies is not None:
            twice[copies] = True
            notes[source.key] = f"Holds {len(copies)} packets a second time; the copies are not counted."
    groups: list[list[_Source]] = []
    for source in sorted(sources, key=lambda s: (s.first_ns, s.key)):
        for group in groups:
            if _continues_capture(packets, inputs, group[-1], source):
                break
            copies = _same_interface(packets, group[0], source, limits)
            if copies is not None:
                twice[copies] = True
                other = inputs[group[0].number].path
                notes[source.key] = f"{len(copies)} of its packets are also in {other}, and are counted once."
                break
        else:
            groups.append(group := [])
        group.append(source)
    groups.sort(key=lambda group: min(source.key for source in group))
    by_input = {number: tuple(text for key, text in notes.items() if key[0] == number) for number, _ in notes}
    return Points(_point_of_rows(len(packets), groups), twice, tuple(_points(groups, inputs)), by_input)


def _sources(packets: pd.DataFrame) -> list[_Source]:
    """The packets of each (input, interface); slices where the rows are contiguous."""
    number, interface = packets["input"].to_numpy(), packets["interface"].to_numpy()
    time = packets["time_ns"].to_numpy()
    found: list[_Source] = []
    for start, stop in runs(number):
        seen = interface[start:stop]
        whole = seen.min() == seen.max()
        for one in [seen[0]] if whole else np.unique(seen):
            rows = slice(start, stop) if whole else start + np.flatnonzero(seen == one)
            times = time[rows]
            found.append(_Source(int(number[start]), int(one), rows, int(times.min()), int(times.max())))
    return _merged(found, packets)


def _merged(found: list[_Source], packets: pd.DataFrame) -> list[_Source]:
    """One source per (input, interface), for rows that are not contiguous."""
    by_key: dict[tuple[int, int], list[_Source]] = {}
    for source in found:
        by_key.setdefault(source.key, []).append(source)
    everything = np.arange(len(packets)) if len(by_key) < len(found) else None
    merged = []
    for key, parts in by_key.items():
        rows = parts[0].rows
        if everything is not None:
            rows = np.concatenate([everything[part.rows] for part in parts])
        merged.append(_Source(*key, rows, min(p.first_ns for p in parts), max(p.last_ns for p in parts)))
    return merged


def _rows(source: _Source) -> Ints:
    return np.arange(source.rows.start, source.rows.stop) if isinstance(source.rows, slice) else source.rows


def _point_of_rows(total: int, groups: list[list[_Source]]) -> npt.NDArray[np.int16]:
    point = np.zeros(total, dtype=np.int16)  # the first group is point 0
    for number, group in enumerate(groups[1:], start=1):
        for source in group:
            point[source.rows] = number
    return point


def _points(groups: list[list[_Source]], inputs: Sequence[Input]) -> list[Point]:
    made = []
    for number, group in enumerate(groups):
        names = [
            inputs[source.number].path + (f" (interface {source.interface})" if source.interface else "")
            for source in group
        ]
        first = min(source.first_ns for source in group)
        made.append(Point(number, tuple(source.key for source in group), " + ".join(names), first))
    return made


# Packets captured twice in one capture.


def _second_copies(packets: pd.DataFrame, source: _Source, limits: DuplicateLimits) -> Ints | None:
    """Rows of second copies within one source; None when a sample shows no duplicates."""
    total = source.rows.stop - source.rows.start if isinstance(source.rows, slice) else len(source.rows)
    blocks = min(limits.sample_blocks, -(-total // limits.block_packets))
    starts = np.linspace(0, max(0, total - limits.block_packets), blocks).astype(np.int64)
    width = min(total, limits.block_packets)
    first = source.rows.start if isinstance(source.rows, slice) else 0
    picks = [first + np.arange(start, start + width) for start in starts]
    if not isinstance(source.rows, slice):
        picks = [source.rows[pick] for pick in picks]
    sampled = [_copies(packets.take(pick), limits.reach_packets, limits.longest_ns) for pick in picks]
    longest = _longest_delay([packets.take(pick) for pick in picks], sampled, limits)
    if longest is None:
        return None
    rows = _rows(source)
    copies, _ = _copies(packets.take(rows), limits.reach_packets, longest)
    return rows[copies]


def _copies(some: pd.DataFrame, reach: int, longest_ns: int) -> tuple[Ints, Ints]:
    """Positions of second copies, and the position of the copy before each."""
    order = np.argsort(fingerprint(some, COPY_KEY), kind="stable")
    alike = np.ones(max(0, len(order) - 1), dtype=np.bool_)
    for name in COPY_KEY:
        values = some[name].to_numpy()[order]
        alike &= values[1:] == values[:-1]
    before, after = order[:-1][alike], order[1:][alike]
    delay = np.abs(np.diff(some["time_ns"].to_numpy()[order]))[alike]
    near = (after - before <= reach) & (delay <= longest_ns)
    return after[near], before[near]


def _longest_delay(
    blocks: list[pd.DataFrame], sampled: list[tuple[Ints, Ints]], limits: DuplicateLimits
) -> int | None:
    """The longest delay (ns) of a copy in this capture; None when the sample shows no duplicates.

    A retransmission has another IP ID or TSval. Where the stack sets no IP ID and there are no timestamps,
    repeated acknowledgements look alike: there, data must be duplicated too, and every copy must follow at
    once.
    """
    total = sum(map(len, blocks))
    with_ip_id, without_ip_id, copied_data, data_packets = [], [], 0, 0
    for block, (after, before) in zip(blocks, sampled, strict=True):
        time, payload = block["time_ns"].to_numpy(), block["payload_bytes"].to_numpy()
        delay = np.abs(time[after] - time[before])
        numbered = block["ip_id"].to_numpy()[after] > 0
        with_ip_id.append(delay[numbered])
        without_ip_id.append(delay[~numbered])
        carries = (payload > 0) | (block["flags"].to_numpy() & SYN > 0)
        data_packets += int(carries.sum())
        copied_data += int(carries[after].sum())
    all_with_ip_id, all_without_ip_id = np.concatenate(with_ip_id), np.concatenate(without_ip_id)
    steady = all_without_ip_id[all_without_ip_id <= limits.steady_ns]
    if len(all_with_ip_id) >= max(2, limits.least_share * total):
        return int(3 * np.quantile(all_with_ip_id, 0.95)) + 1_000
    enough = len(all_with_ip_id) + len(steady) >= max(2, limits.least_share * total)
    if enough and copied_data >= limits.least_share * data_packets and len(steady) >= 0.9 * len(all_without_ip_id):
        return int(2 * np.quantile(steady, 0.95)) + 1_000
    return None


def fingerprint(some: pd.DataFrame, names: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of the named integer columns, shape (rows,); equal rows have equal hashes."""
    mixed = np.full(len(some), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name in names:
        mixed = mix(mixed, some[name].to_numpy())
    return mixed


def mix(mixed: npt.NDArray[np.uint64], values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Hash one more integer column into 64-bit fingerprints (the finaliser of splitmix64)."""
    word = mixed + values.astype(np.int64).view(np.uint64)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


# Two files of one interface.


def _continues_capture(packets: pd.DataFrame, inputs: Sequence[Input], early: _Source, late: _Source) -> bool:
    """Whether `late` is the next file of a rotated capture: its connections continue those of `early`."""
    if early.number == late.number or late.first_ns < early.last_ns:
        return False
    if _link_type(inputs[early.number]) != _link_type(inputs[late.number]):
        return False
    begins = packets.take(_rows(late)[:_EDGE_PACKETS])
    before, after = _progress(packets.take(_rows(early)[-_EDGE_PACKETS:])), _progress(begins)
    opened = _opened(begins)
    verdicts = [
        key not in opened and _progresses(before[key], after[key]) for key in before.keys() & after.keys()
    ]
    return bool(verdicts) and sum(verdicts) * 2 > len(verdicts)


def _opened(some: pd.DataFrame) -> set[tuple[int, int]]:
    """The (flow, direction) of which the first packet opens a connection."""
    first = some.drop_duplicates(["flow", "direction"])
    first = first[first["flags"].to_numpy() & SYN > 0]
    return set(zip(first["flow"].tolist(), first["direction"].tolist(), strict=True))


def _link_type(one: Input) -> Any:
    return one.recording.metadata.get("link_type")


def _progress(some: pd.DataFrame) -> dict[tuple[int, int], tuple[int, int, int, int]]:
    """Per (flow, direction): first and last raw_seq and raw_ack."""
    grouped = some.groupby(["flow", "direction"], sort=False)[["raw_seq", "raw_ack"]]
    first, last = grouped.first(), grouped.last()
    values = np.column_stack([first.to_numpy(), last.to_numpy()]).astype(np.int64)
    return {
        (int(flow), int(direction)): (int(seq), int(last_seq), int(ack), int(last_ack))
        for (flow, direction), (seq, ack, last_seq, last_ack) in zip(first.index, values, strict=True)
    }


def _progresses(before: tuple[int, int, int, int], after: tuple[int, int, int, int]) -> bool:
    """Whether sequence and acknowledgement numbers advance, rather than start again."""
    for start, end, now in ((before[0], before[1], after[0]), (before[2], before[3], after[2])):
        progress, gained = _sequence_difference(start, end), _sequence_difference(start, now)
        if progress > 0 and 2 * gained < progress:
            return False
    return before != after


def _sequence_difference(start: int, end: int) -> int:
    """`end` minus `start` in sequence space (RFC 9293 3.4), negative when behind."""
    return (end - start + (1 << 31)) % (1 << 32) - (1 << 31)


def _same_interface(packets: pd.DataFrame, first: _Source, second: _Source, limits: DuplicateLimits) -> Ints | None:
    """Rows of `second` that `first` holds too, when both recorded one interface; else None."""
    start, stop = max(first.first_ns, second.first_ns), min(first.last_ns, second.last_ns)
    if first.number == second.number or stop <= start:
        return None
    time = packets["time_ns"].to_numpy()
    margin, span = limits.steady_ns, (stop - start) // 4
    ours = _within(time, first, start - margin, min(stop, start + span) + margin)[: 4 * limits.block_packets]
    theirs = _within(time, second, start, min(stop, start + span))[: limits.block_packets]
    if not _same_times(packets, ours, theirs, limits):
        return None
    ours, theirs = _rows(first), _within(time, second, first.first_ns - margin, first.last_ns + margin)
    mine, other = match_copies(packets.take(ours), packets.take(theirs))
    if len(mine) < 0.9 * min(len(theirs), len(_within(time, first, start, stop))):
        return None
    return theirs[other]


def _within(time: Ints, source: _Source, start: int, stop: int) -> Ints:
    times = time[source.rows]
    return _rows(source)[(times >= start) & (times <= stop)]


def _same_times(packets: pd.DataFrame, ours: Ints, theirs: Ints, limits: DuplicateLimits) -> bool:
    """Whether nearly all of `theirs` are among `ours`, with no delay in either direction."""
    some, others = packets.take(ours), packets.take(theirs)
    mine, other = match_copies(some, others)
    if len(other) < max(2, 0.8 * len(theirs)):
        return False
    delay = others["time_ns"].to_numpy()[other] - some["time_ns"].to_numpy()[mine]
    direction = others["direction"].to_numpy()[other]
    floors = [np.median(delay[direction == way]) for way in (0, 1) if (direction == way).any()]
    # Both directions must be near 0: a clock difference or a path in between would show in one of them.
    return bool(max(map(abs, floors)) < limits.same_interface_ns)


def match_copies(some: pd.DataFrame, others: pd.DataFrame) -> tuple[Ints, Ints]:
    """Positions of the same packets in both, one to one and in order."""
    mine, other = _occurrence_keys(some), _occurrence_keys(others)
    _, at_some, at_others = np.intersect1d(mine, other, assume_unique=True, return_indices=True)
    return at_some.astype(np.int64), at_others.astype(np.int64)


def _occurrence_keys(some: pd.DataFrame) -> npt.NDArray[np.uint64]:
    """Fingerprints in which the n-th of several equal packets has n hashed in."""
    key = fingerprint(some, COPY_KEY)
    return mix(key, occurrence(key))


def occurrence(key: npt.NDArray[Any]) -> Ints:
    """For every element, the number of equal ones before it."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(key) else np.zeros(0, np.int64)
    count = np.empty(len(key), dtype=np.int64)
    count[order] = np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)]))
    return count
