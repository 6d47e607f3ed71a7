"""What each side of a simulated link put on the air, and what the octets of its frames were.

A side's data is one stream: the packets that it was given, one behind the other. A frame carries a piece of it; a piece
that went before is a repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.replay.arq import notes
from multitracer.replay.arq.rlp import state
from multitracer.replay.engine.direction import Direction

Ints = npt.NDArray[np.int64]


class FramesSent(NamedTuple):
    """A side's own frames as they were sent: one array each, times in ns from the start of the run."""

    begin_ns: Ints
    end_ns: Ints
    octets: Ints
    first: Ints
    last: Ints
    """It carries the octets of the stream from `first` to before `last`."""
    numbered: Ints
    """1 for frames of user data, 0 for control frames."""
    data: Ints
    """How many octets of the stream it carries: a numbered frame may only say where those before it end."""
    request: Ints
    """REQUEST and ANSWER for frames that reset the link, 0 for others."""


REQUEST, ANSWER = 1, 2


class Offered(NamedTuple):
    """A packet of a side's stream: where it lies there, and what its octets are: headers, payload, and framing."""

    begin: int
    end: int
    headers: int
    payload: int
    stream: tuple[int, ...]
    """Whose payload it is: of equal ones the same octets have the same number."""
    number: int
    """Of its first octet of payload."""


class Octets(NamedTuple):
    """What the octets of a side's frames were; repeats have none of the last three."""

    repeat: npt.NDArray[np.bool_]
    packets: Ints
    """Octets of packets sent for the first time by the link, those carried before included."""
    again: Ints
    """Of these, payload of which the link had put an earlier copy on the air."""


def air_times(times: Ints, octets: Ints, direction: Direction) -> tuple[Ints, Ints]:
    """When frames sent at these times are on the air: those of one opportunity divide it."""
    if not direction.slot_ns:
        return times, times + -(-octets * 8_000_000_000 // direction.rate_bps)
    place = np.arange(len(times)) - np.searchsorted(times, times)
    begin = times + direction.slot_ns * place // direction.per_slot
    return begin, times + direction.slot_ns * (place + 1) // direction.per_slot


def rlp_frames(rows: Any, frames: Any, side: int, direction: Direction) -> FramesSent:
    """Those of a part of the log of a run of RLP."""
    own = (rows["event"] == notes.SENT) & (rows["side"] == side) & (rows["what"] == 0)
    header, position = frames["header"][own], frames["position"][own]
    octets = rows["octets"][own]
    begin, end = air_times(rows["time_ns"][own], octets, direction)
    numbered = header & state.NUMBER < state.S_FRAME
    data = np.where(numbered, header >> state.COUNT_AT, 0)
    kind = np.where(header & state.NUMBER == state.U_FRAME, header >> state.NR_AT & state.NUMBER, -1)
    request = REQUEST * (kind == state.SABM) + ANSWER * (kind == state.UA)
    return FramesSent(begin, end, octets, position, position + data, numbered.astype(np.int64), data, request)


def together(parts: Sequence[FramesSent]) -> FramesSent:
    """Parts, one after the other, as one."""
    if not parts:
        return FramesSent(*(np.empty(0, dtype=np.int64) for _ in FramesSent._fields))
    return FramesSent(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def octets_of(frames: FramesSent, packets: Sequence[Offered]) -> Octets:
    """What the frames' octets were."""
    repeat = _repeats(frames)
    new = (frames.data > 0) & ~repeat
    carried: dict[tuple[int, ...], int] = {}
    whole, again = [(0, 0)], [(0, 0)]
    for one, sent in zip(packets, _payload_sent(frames, new, packets), strict=True):
        data = one.begin + one.headers
        whole.append((one.begin, data + one.payload))
        if one.payload:
            key = (*one.stream, one.number)
            known = carried.get(key, 0)
            again.append((data, data + min(known, one.payload)))
            carried[key] = max(known, sent)
    packet, before = _Length(np.array(whole)), _Length(np.array(again))
    return Octets(
        repeat, np.where(new, packet.between(frames.first, frames.last), 0),
        np.where(new, before.between(frames.first, frames.last), 0),
    )  # fmt: skip


def _repeats(frames: FramesSent) -> npt.NDArray[np.bool_]:
    """Which frames went before: their octets did, or a frame without any at the same place of the stream."""
    numbered, empty = frames.numbered > 0, np.flatnonzero((frames.numbered > 0) & (frames.data == 0))
    top = np.maximum.accumulate(np.where(numbered, frames.last, 0)) if len(numbered) else frames.last
    repeat = numbered & (frames.first < np.concatenate([[0], top[:-1]]))
    _, earliest = np.unique(frames.first[empty], return_index=True)
    repeat[np.delete(empty, earliest)] = True
    return repeat


def _payload_sent(frames: FramesSent, new: npt.NDArray[np.bool_], packets: Sequence[Offered]) -> list[int]:
    """How many octets of each packet's payload the link put on the air."""
    begin = np.array([one.begin + one.headers for one in packets], dtype=np.int64)
    payload = np.array([one.payload for one in packets], dtype=np.int64)
    on_air = _Length(np.column_stack([frames.first[new], frames.last[new]]))
    found: list[int] = on_air.between(begin, begin + payload).tolist()
    return found


class _Length:
    """How much of any interval of the stream lies in some that are sorted and do not overlap."""

    def __init__(self, spans: Any) -> None:
        self._edges = spans.reshape(-1)
        lasts = np.cumsum(spans[:, 1] - spans[:, 0])
        self._before = np.column_stack([lasts - (spans[:, 1] - spans[:, 0]), lasts]).reshape(-1)

    def between(self, begin: Any, end: Any) -> Any:
        """Octets from `begin` to before `end`."""
        if not len(self._edges):
            return 0 * end
        low, high = (np.interp(at, self._edges, self._before) for at in (begin, end))
        return np.rint(high - low).astype(np.int64)


def waited_until(frames: FramesSent, packets: Sequence[Offered], given_up_ns: Ints) -> Ints:
    """For each packet when the frame ended that was the first to carry its last octet, or when it was given up.

    What is given up (at the end of time: never) waits on in the frames that had been made of it and are still to be
    sent: where a link is reset, they stand before the request.
    """
    top = np.maximum.accumulate(np.where(frames.data > 0, frames.last, 0)) if len(frames.last) else frames.last
    begins, ends = (np.array([one[at] for one in packets], dtype=np.int64) for at in (0, 1))
    whole = np.append(frames.end_ns, np.iinfo(np.int64).max)[np.searchsorted(top, ends)]
    new = np.flatnonzero(np.diff(top, prepend=0) > 0)
    place = np.searchsorted(frames.first[new], ends) - 1
    has = (place >= 0) & (np.append(frames.last[new], 0)[place] > begins)
    left = np.where(has, np.append(frames.end_ns[new], 0)[place], 0)
    return np.minimum(whole, np.maximum(given_up_ns, left))


class Arrivals(NamedTuple):
    """What came of the frames to a side, in the order in which the other side sent them."""

    time_ns: Ints
    good: Ints
    """1 for those that came undamaged."""


class Reset(NamedTuple):
    """A reset of a link."""

    begin_ns: int
    """When either side first asked for it."""
    end_ns: int
    """When the first answer was sent."""
    settled_ns: int
    """When all that had asked had heard an answer: until then they may discard what they have."""


def resets_of(sent: Sequence[FramesSent], came: Sequence[Arrivals], until: int, *, either_resets: bool) -> list[Reset]:
    """Each reset from the first request by either side to the first answer; one without ends at `until`.

    `came` has what came to each side. A request that repeats or crosses another belongs to the same reset: one from a
    side that has asked, and heard no answer. `either_resets`: the other's request ends what a side has asked for, too,
    as in RLP, whose SABM resets both directions; after RLC's RESET a side still waits for its own answer (25.322
    11.4.3).
    """
    found, begun, asking = list[Reset](), -1, set[int]()
    for at, heard, side, what in sorted(_requests(sent, came)):
        if heard:
            asking -= {side} if what != REQUEST or either_resets else set()
            if found and not asking and found[-1].settled_ns == until:
                found[-1] = found[-1]._replace(settled_ns=at)
        elif what == REQUEST:
            begun = at if begun < 0 and not asking else begun
            asking.add(side)
        elif begun >= 0:
            found.append(Reset(begun, at, until))
            begun = -1
    return [*found, Reset(begun, until, until)] if begun >= 0 else found


def _requests(sent: Sequence[FramesSent], came: Sequence[Arrivals]) -> Iterator[tuple[int, bool, int, int]]:
    """When a request or an answer was sent, or came undamaged; the side, and which of both it was."""
    for side, own in enumerate(sent):
        there = came[1 - side]
        for place in np.flatnonzero(own.request).tolist():
            what = int(own.request[place])
            yield int(own.begin_ns[place]), False, side, what
            if place < len(there.time_ns) and there.good[place]:
                yield int(there.time_ns[place]), True, 1 - side, what


def held_by(changes: Any, bit: int, until: int) -> Iterator[tuple[int, int, int]]:
    """When one of the things that can hold an entity's new data did, and the first octet that it held then.

    `changes` are the entity's rows of the log that say HELD.
    """
    since, octet = -1, 0
    columns = (changes[name].tolist() for name in ("time_ns", "what", "number"))
    for now, what, number in zip(*columns, strict=True):
        if what & bit and since < 0:
            since, octet = now, number
        elif not what & bit and since >= 0:
            yield since, now, octet
            since = -1
    if since >= 0:
        yield since, until, octet


def full_windows(frames: FramesSent, changes: Any, until: int) -> Iterator[tuple[int, int]]:
    """When all frames that a full window allows had been sent; until then they wait for the air, not for the peer."""
    top = np.maximum.accumulate(np.where(frames.data > 0, frames.last, 0)) if len(frames.last) else frames.last
    begins = np.append(frames.begin_ns, np.iinfo(np.int64).max)
    for since, end, octet in held_by(changes, notes.FULL, until):
        begin = max(since, int(begins[np.searchsorted(top, octet)]))
        if begin < end:
            yield begin, end
