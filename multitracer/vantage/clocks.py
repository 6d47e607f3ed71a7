"""Every observation point's clock against one reference, with an error bound.

The reference is the clock of the capture nearest to the data sender of the connection with most data. The
other points' clocks are fitted to the packets that both recorded (`clock_fit`); a point that shares packets
only with a third point is referred to the reference by that one. Two points are not assumed to share a
clock unless that is stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import rows_of_each
from multitracer.model.errors import UsageError
from multitracer.model.trace import Clock, ClockPiece, Input
from multitracer.vantage.clock_fit import Fit, OneWayDelays, fit
from multitracer.vantage.pairing import Pairing, columns_of, match
from multitracer.vantage.points import Points
from multitracer.vantage.roles import find_roles, nearest_to_sender

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_PPT = 10**12
_SECOND = 10**9


class PointRows(Sequence[Ints]):
    """The rows of segments at each of so many points, which are listed when they are first asked for."""

    def __init__(self, point: Ints, count: int) -> None:
        self._point, self._count = point, count

    @cached_property
    def _listed(self) -> list[Ints]:
        return rows_of_each(self._point, self._count)

    def __len__(self) -> int:
        """The number of points."""
        return self._count

    def __getitem__(self, point: Any) -> Any:
        """The rows at a point, ascending."""
        return self._listed[point]


@dataclass
class Alignment:
    """The points' clocks: `clocks[p]` and `roles[p]` are those of point p.

    `pairings[a, b]` pairs rows of `rows[a]` with rows of `rows[b]`, where `rows[p]` are the rows of
    segments seen at point p; points without a common connection have none. A clock without pieces could not be
    estimated.
    """

    reference: int
    clocks: list[Clock]
    roles: list[str | None]
    rows: Sequence[Ints]
    pairings: dict[tuple[int, int], Pairing] = field(default_factory=dict)
    contradicted: dict[int, str] = field(default_factory=dict)
    """By input whose role was stated, the role that its content shows, where that is the other one."""

    def error_ns(self, point: int) -> int:
        """Error bound of a time of this point against the reference (ns) as in `errors_ns`; -1 unknown."""
        error = self.clocks[point].error_s
        return -1 if error is None else int(np.ceil(error * 1e9))

    @property
    def errors_ns(self) -> list[int]:
        """Error bound of each point against the reference (ns) if both ways take equally long; -1 unknown."""
        return [self.error_ns(point) for point in range(len(self.clocks))]

    @property
    def worsts_ns(self) -> list[int]:
        """Error bound of each point against the reference (ns) however long either way takes; -1 unknown."""
        return [-1 if clock.worst_s is None else int(np.ceil(clock.worst_s * 1e9)) for clock in self.clocks]


def align(
    segments: pd.DataFrame,
    points: Points,
    inputs: Sequence[Input],
    *,
    roles: Mapping[int, str] | None = None,
    stated: Mapping[int, tuple[float, float]] | None = None,
) -> Alignment:
    """Find the reference and every point's clock.

    `roles` forces the role (sender or receiver) of inputs by number; `stated` gives clocks that the user
    states: (offset_s, drift_ppm) by input number. Raises UsageError when a clock is stated for the
    reference.
    """
    count = len(points.points)
    rows = PointRows(segments["point"].to_numpy(), count)
    shown = find_roles(segments, rows)
    by_point = _roles_by_point(points, roles or {})
    found = [by_point.get(number, role) for number, role in enumerate(shown)]
    reference = nearest_to_sender(segments, rows, by_point)
    path = inputs[points.points[reference].inputs[0]].path if count else ""
    clocks = [Clock(path, how="shares no packets with the reference") for _ in range(count)]
    alignment = Alignment(reference, clocks, found, rows)
    for point in points.points:
        role, stated_role = shown[point.number], by_point.get(point.number)
        if role and stated_role and role != stated_role:
            alignment.contradicted |= dict.fromkeys(set(point.inputs) & set(roles or {}), role)
    if count:
        clocks[reference] = _reference_clock(path, "is the reference", points.points[reference].first_ns)
        _apply_stated(alignment, points, stated or {})
        _estimate_rest(alignment, segments, points)
    return alignment


def _roles_by_point(points: Points, roles: Mapping[int, str]) -> dict[int, str]:
    return {p.number: roles[number] for p in points.points for number in p.inputs if number in roles}


def _reference_clock(reference: str, how: str, start_ns: int) -> Clock:
    return Clock(reference, 0.0, 0.0, 0.0, 0.0, how, (ClockPiece(start_ns, 0),))


def _apply_stated(alignment: Alignment, points: Points, stated: Mapping[int, tuple[float, float]]) -> None:
    for point in points.points:
        known = [stated[number] for number in point.inputs if number in stated]
        if known and point.number == alignment.reference and any(known[0]):
            path = alignment.clocks[alignment.reference].reference
            raise UsageError(f"--clock {path}: it is the reference, against which the others' clocks are stated")
        if known and point.number != alignment.reference:
            path = alignment.clocks[alignment.reference].reference
            alignment.clocks[point.number] = stated_clock(path, *known[0], point.first_ns)


def stated_clock(reference: str, offset_s: float, drift_ppm: float, start_ns: int) -> Clock:
    """A clock that the user stated: its offset at `start_ns` of its own time, and its drift."""
    rate = drift_ppm * 1e-6
    piece = ClockPiece(start_ns, round(offset_s * 1e9), round(rate / (1 + rate) * _PPT))
    return Clock(reference, offset_s, drift_ppm, 0.0, 0.0, "was stated", (piece,))


def _estimate_rest(alignment: Alignment, segments: pd.DataFrame, points: Points) -> None:
    """Estimate each remaining point's clock against the known one with which it shares most packets.

    Points of one file have the file's clock.
    """
    placed = {n for n, clock in enumerate(alignment.clocks) if clock.pieces}
    seen = _Seen(alignment, segments)
    while True:
        placed |= _share_clocks(alignment, seen, points, placed)
        best: tuple[int, int, int] | None = None
        for far in sorted(set(range(len(alignment.clocks))) - placed):
            for near in sorted(placed):
                shared = seen.pair(near, far)
                if shared and (best is None or shared > best[0]):
                    best = shared, near, far
        if best is None:
            return
        _, near, far = best
        alignment.clocks[far] = _estimate_clock(alignment, segments, near, far)
        placed.add(far)


class _Seen:
    """The connections that each point saw: only points with one in common can have packets in common."""

    def __init__(self, alignment: Alignment, segments: pd.DataFrame) -> None:
        self.alignment, self.segments = alignment, segments
        self.of_point: dict[int, Any] = {}

    def connections(self, point: int) -> Any:
        """The numbers of those that the point saw, ascending."""
        if point not in self.of_point:
            own = self.segments["connection"].to_numpy()[self.alignment.rows[point]]
            self.of_point[point] = np.unique(own)
        return self.of_point[point]

    def pair(self, near: int, far: int) -> int:
        """Pair the packets of two points; returns how many they share."""
        known, rows = self.alignment.pairings, self.alignment.rows
        if (near, far) not in known:
            if not len(np.intersect1d(self.connections(near), self.connections(far), assume_unique=True)):
                return 0
            known[near, far] = match(*(columns_of(self.segments, rows[point]) for point in (near, far)))
        return int((known[near, far].rows >= 0).sum())


def _share_clocks(alignment: Alignment, seen: _Seen, points: Points, placed: set[int]) -> set[int]:
    """Give points without a clock that of a known one in the same file; returns them."""
    shared = set()
    for point in points.points:
        near = [n for n in sorted(placed) if set(points.points[n].inputs) & set(point.inputs)]
        if point.number not in placed and near:
            known = alignment.clocks[near[0]]
            alignment.clocks[point.number] = replace(known, how=known.how)
            shared.add(point.number)
            for other in near:
                seen.pair(other, point.number)
    return shared


def _estimate_clock(alignment: Alignment, segments: pd.DataFrame, near: int, far: int) -> Clock:
    """The clock of `far` from the packets that it shares with `near`."""
    known = alignment.clocks[near]
    recorded = segments["recorded_ns"].to_numpy()
    pairing = alignment.pairings[near, far]
    ours = np.flatnonzero(pairing.rows >= 0)
    theirs = pairing.rows[ours]
    mine, other = alignment.rows[near][ours], alignment.rows[far][theirs]
    on_reference = to_reference(recorded[mine], known)
    is_forward, sure = _is_forward(segments, mine, recorded, other)
    start, base, forward, reverse = _one_way_delays(
        on_reference[sure],
        recorded[other[sure]],
        segments["wire_bytes"].to_numpy()[mine[sure]],
        is_forward[sure],
        theirs[sure],
    )
    found = fit(forward, reverse, ((int(on_reference.min()) - start) / 1e9, (int(on_reference.max()) - start) / 1e9))
    if found is None:
        return Clock(known.reference, how=f"shares packets of one direction only with {known.reference}")
    clock = _clock(known.reference, found, start, base, recorded[alignment.rows[far]])
    how = f"estimated from {sure.sum()} packets that both saw"
    if found.steps:
        how += f"; it was set {len(found.steps)} times meanwhile"
    if near != alignment.reference:
        how += ", by way of a third point"
    error_s, worst_s = (clock.error_s or 0.0) + (known.error_s or 0.0), (clock.worst_s or 0.0) + (known.worst_s or 0.0)
    return replace(clock, error_s=error_s, worst_s=worst_s, how=how)


def _is_forward(
    segments: pd.DataFrame, mine: Ints, recorded: Ints, other: Ints
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether each shared packet went from the near point to the far one, and whether that can be told.

    Per connection, the packets of one end go forward and those of the other in reverse. A packet's own
    delay plus the clock difference is larger in the forward direction: the end with the larger delay, far
    minus near, goes forward. Connections that share packets of one end only tell nothing beside others: either host
    may have opened them. Where there are no others, clients are taken to send forward.
    """
    connection = segments["connection"].to_numpy()[mine].astype(np.int64)
    sender = segments["sender"].to_numpy()[mine].astype(np.int64)
    delay = recorded[other] - segments["recorded_ns"].to_numpy()[mine]
    streams = 2 * int(connection.max()) + 2 if len(connection) else 0
    least = np.full(streams, np.iinfo(np.int64).max)
    np.minimum.at(least, 2 * connection + sender, delay)
    unseen = least == np.iinfo(np.int64).max
    both = ~(unseen[0::2] | unseen[1::2])
    first = np.where(both, least[0::2] // 2 - least[1::2] // 2, 0)
    overall = int(np.sign(first.sum(dtype=np.float64)))
    client_out = np.where(first == 0, overall >= 0, first > 0)
    return client_out[connection] == (sender == 0), both[connection] | ~both.any()


def _one_way_delays(
    near_ns: Ints, far_ns: Ints, wire_bytes: Ints, is_forward: npt.NDArray[np.bool_], far_row: Ints
) -> tuple[int, int, OneWayDelays, OneWayDelays]:
    """(Start, typical difference, forward packets, reverse packets); relative times, exact as floats."""
    start, base = int(near_ns.min()), int(np.median(far_ns - near_ns))
    near = (near_ns - start) / 1e9
    difference = (far_ns - near_ns - base).astype(np.float64)
    size = wire_bytes.astype(np.float64)
    forward = OneWayDelays(near[is_forward], difference[is_forward], size[is_forward], far_row[is_forward], False)
    reverse = OneWayDelays(near[~is_forward], -difference[~is_forward], size[~is_forward], far_row[~is_forward], True)
    return start, base, forward, reverse


def _clock(reference: str, found: Fit, start: int, base: int, recorded: Ints) -> Clock:
    """The fit as a clock over its own time: exact pieces, and the figures for the summary."""
    own_rate = found.rate / (1 + found.rate)
    pieces, jump = [], 0.0
    begins = [(int(recorded[0]), 0.0)] if not found.steps or found.steps[0].far_row > 0 else []
    for own_start, size in begins + [(int(recorded[s.far_row]), s.size_ns) for s in found.steps]:
        jump += size
        # own = near + base + offset + rate * (near - start) + jump, solved for near - start.
        since = (own_start - start - base - found.offset_ns - jump) / (1 + found.rate)
        offset = base + round(found.offset_ns + jump + found.rate * since)
        pieces.append(ClockPiece(own_start, offset, round(own_rate * _PPT)))
    return Clock(
        reference,
        pieces[0].offset_ns / 1e9,
        found.rate * 1e6,
        found.error_ns / 1e9,
        found.worst_ns / 1e9,
        pieces=tuple(pieces),
    )


def with_clocks(inputs: Sequence[Input], points: Points, alignment: Alignment) -> list[Input]:
    """The inputs with the clock and role of the point that they belong to."""
    made = list(inputs)
    for point in points.points:
        clock = alignment.clocks[point.number]
        for number in point.inputs:
            entry = made[number]
            role = entry.role or alignment.roles[point.number]
            made[number] = replace(entry, role=role, clock=at_start(clock, entry.first_ns))
    return made


def at_start(clock: Clock, first_ns: int | None) -> Clock:
    """The clock with `offset_s` at an input's first record."""
    if not clock.pieces or first_ns is None:
        return clock
    reference_ns = int(to_reference(np.array([first_ns], dtype=np.int64), clock)[0])
    return replace(clock, offset_s=(first_ns - reference_ns) / 1e9)


# Applying a clock, in exact integers.


def to_reference(time_ns: Ints, clock: Clock) -> Ints:
    """Times of a clock (int64 ns) on the reference clock; unchanged when the clock could not be estimated.

    The result never falls where `time_ns` rises: times that a clock set forward skipped all map to the
    instant at which it was set.
    """
    pieces = clock.pieces
    if not pieces:
        return time_ns
    mapped = _on_piece(time_ns, pieces[0])
    for piece in pieces[1:]:
        set_at = int(_on_piece(np.array([piece.start_ns], dtype=np.int64), piece)[0])
        mapped = np.where(time_ns >= piece.start_ns, _on_piece(time_ns, piece), np.minimum(mapped, set_at))
    return mapped


def _on_piece(time_ns: Ints, piece: ClockPiece) -> Ints:
    if not piece.rate_ppt:  # most clocks: saves a copy of every time
        return time_ns - piece.offset_ns if piece.offset_ns else time_ns
    since = time_ns - piece.start_ns
    return time_ns - piece.offset_ns - _scaled(since, piece.rate_ppt)


def _scaled(since: Ints, rate_ppt: int) -> Ints:
    """since * rate, rounded down; seconds and the rest apart, so that it fits in 64 bits."""
    seconds, rest = np.divmod(since, _SECOND)
    scaled: Ints = (seconds * rate_ppt + rest * rate_ppt // _SECOND) // (_PPT // _SECOND)
    return scaled


def times_on_reference(alignment: Alignment, segments: pd.DataFrame) -> Ints:
    """`time_ns` of segments on the reference clock, int64.

    Where a clock was set back, its times are ambiguous, and the order of the records decides.
    """
    recorded: Ints = segments["recorded_ns"].to_numpy()
    if all(clock.keeps_time for clock in alignment.clocks):
        return recorded
    result = recorded.copy()
    for rows, clock in zip(alignment.rows, alignment.clocks, strict=True):
        result[rows] = _in_order(recorded[rows], clock)
    return result


def _in_order(recorded: Ints, clock: Clock) -> Ints:
    if len(clock.pieces) < 2:
        return to_reference(recorded, clock)
    result = recorded.copy()
    begin = 0
    for number, piece in enumerate(clock.pieces):
        end = len(recorded)
        if number + 1 < len(clock.pieces):
            later = np.flatnonzero(recorded[begin:] == clock.pieces[number + 1].start_ns)
            end = begin + int(later[0]) if len(later) else end
        result[begin:end] = _on_piece(recorded[begin:end], piece)
        begin = end
    return result
