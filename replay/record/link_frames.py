"""The frames of a simulated link as its own ends know them: what is true of them, whatever a log shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from multitracer.replay.arq import notes
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.notes import Log
from multitracer.replay.arq.rlc.am_reset import RESET, RESET_ACK
from multitracer.replay.engine.direction import Direction
from multitracer.replay.record.known_run import Copy, KnownRun, LinkRow
from multitracer.replay.record.spans import Spans, both, joined
from multitracer.replay.simulate.frames_sent import (
    ANSWER,
    REQUEST,
    Arrivals,
    FramesSent,
    Octets,
    Offered,
    Reset,
    air_times,
    full_windows,
    held_by,
    octets_of,
    resets_of,
    rlp_frames,
    together,
    waited_until,
)
from multitracer.replay.simulate.framing import PPP_OCTETS
from multitracer.replay.simulate.transport import MEDIA_FLOW

HEAD_BYTES = 2
"""Of an AMD PDU (25.322 9.2.1.4)."""
DATA_PDU = 0x80
"""The bit of a PDU with data, D/C."""
_PIGGYBACK = {1: 0x7E, 2: 0x7FFE}
"""By the octets of a length indicator: this one and the next say that padding follows the data (25.322 9.2.2.8)."""
_SPECIAL = 3
"""So many values below those have meanings of their own."""
_REQUESTS = {RESET: REQUEST, RESET_ACK: ANSWER}
LOGGED = ("rlp", "rlc-am")
"""Protocols whose frames are logged."""


class LinkFrames:
    """What both sides sent, taken from the link's log part by part."""

    def __init__(self) -> None:
        self._parts: tuple[list[FramesSent], list[FramesSent]] = [], []

    def hear(self, run: KnownRun, log: Log) -> None:
        """The next part of the log."""
        protocol = run.scenario.word("link.protocol")
        for side in (0, 1) if protocol in LOGGED else ():
            direction = run.setting.radio[side]
            if protocol == "rlp":
                found = rlp_frames(log.rows, log.frames, side, direction)
            else:
                found = _pdus(log, side, direction, run.setting.link[side])
            self._parts[side].append(found)

    def of(self, run: KnownRun, side: int) -> SideTruth:
        """All that a side sent."""
        return SideTruth(run, side, (together(self._parts[0]), together(self._parts[1])))


class Delivery(NamedTuple):
    """A packet that the link delivered."""

    delivered_ns: int
    first_ns: int
    """When the first frame with an octet of it was sent."""
    repeats: int
    """How many repeats of its frames were sent before it was delivered."""
    copy: Copy


class SideTruth:
    """A side that sends data, and what became of its frames and of its stream."""

    def __init__(self, run: KnownRun, side: int, sent: tuple[FramesSent, FramesSent]) -> None:
        self.run, self.side, self.sent, self.frames = run, side, sent, sent[side]

    @cached_property
    def packets(self) -> list[tuple[Offered, Copy | None]]:
        """What it was given to carry, in order, and the packet of TCP that each was."""
        return list(self._packets())

    def _packets(self) -> Iterator[tuple[Offered, Copy | None]]:
        past, end = self.run.setting.past, 0
        framing = PPP_OCTETS if self.run.scenario.flag("link.ppp") else 0
        for row in map(LinkRow._make, self._rows(notes.OFFERED).tolist()):
            if past and row.what == MEDIA_FLOW:
                continue
            copy = self.run.given.get((self.side, row.number)) if row.what != MEDIA_FLOW else None
            begin, end = end, end + row.octets
            payload = min(copy.segment.payload_bytes, row.octets - framing) if copy is not None else 0
            stream = (copy.segment.flow.number, copy.segment.end) if copy is not None else (-1, -1)
            number = copy.segment.seq if copy is not None else row.number
            yield Offered(begin, end, row.octets - framing - payload, payload, stream, number), copy

    @cached_property
    def octets(self) -> Octets:
        """What its frames' octets were."""
        return octets_of(self.frames, [one for one, _ in self.packets])

    @cached_property
    def waiting(self) -> Spans:
        """When a packet waited: from when its host or the link had it until the link had sent all of it or lost it."""
        lost = [copy.lost_ns if copy is not None else None for _, copy in self.packets]
        given_up = np.array([NEVER if one is None else one for one in lost], dtype=np.int64)
        return joined(self._waits(waited_until(self.frames, [one for one, _ in self.packets], given_up).tolist()))

    def _waits(self, done: list[int]) -> Iterator[tuple[int, int]]:
        own = self.side == 1  # the terminal's host is the one with the link
        for (_, copy), end in zip(self.packets, done, strict=True):
            if copy is not None and copy.given_ns is not None:
                yield copy.sent_ns if own else copy.given_ns, end

    @cached_property
    def deliveries(self) -> dict[tuple[int, ...], list[Delivery]]:
        """By connection and end, the packets that the link delivered, in the order in which it did."""
        frames, repeat = self.frames, self.octets.repeat
        carries = np.flatnonzero(frames.data > 0)
        first, last, begin = frames.first[carries], frames.last[carries], frames.begin_ns[carries]
        again = np.flatnonzero(repeat[carries])
        new = np.flatnonzero(~repeat[carries])
        begin_again, last_new = begin[again], last[new]
        found: dict[tuple[int, ...], list[Delivery]] = {}
        for one, copy in self.packets:
            if copy is None or copy.delivered_ns is None:
                continue
            place = int(np.searchsorted(last_new, one.begin, side="right"))
            first_ns = int(begin[new[place]]) if place < len(new) else copy.delivered_ns
            low, high = np.searchsorted(begin_again, (first_ns, copy.delivered_ns))
            near = again[low:high]
            repeats = int(((first[near] < one.end) & (last[near] > one.begin)).sum())
            found.setdefault(one.stream, []).append(Delivery(copy.delivered_ns, first_ns, repeats, copy))
        return {stream: sorted(mine, key=lambda each: each.delivered_ns) for stream, mine in found.items()}

    @cached_property
    def first_times(self) -> dict[int, tuple[int, int]]:
        """By the identity of a packet of TCP, from its first frame's begin to the end of its last new one."""
        new = np.flatnonzero((self.frames.data > 0) & ~self.octets.repeat)
        first, last = self.frames.first[new], self.frames.last[new]
        found = {}
        for one, copy in self.packets:
            low = int(np.searchsorted(last, one.begin, side="right"))
            high = int(np.searchsorted(first, one.end, side="left")) - 1
            if copy is not None and low <= high:
                found[id(copy)] = int(self.frames.begin_ns[new[low]]), int(self.frames.end_ns[new[high]])
        return found

    def note_left(self) -> None:
        """Note in the packets that it did not deliver when they were last on the air.

        What it neither delivered nor gave up the other side took for something else. What is still being repaired at
        the end is not among them: a packet that was given later was delivered.
        """
        delivered = False
        for one, copy in reversed(self.packets):
            if copy is None or copy.delivered_ns is not None:
                delivered = delivered or copy is not None
            elif delivered or copy.lost_ns is not None:
                own = (self.frames.data > 0) & (self.frames.first < one.end) & (self.frames.last > one.begin)
                copy.left_ns = self._repaired_until(self.frames.begin_ns[own], self.frames.end_ns[own])

    def _repaired_until(self, begin: Any, end: Any) -> int | None:
        """When the last of these frames ended that followed one another as in a repair; None where there are none.

        RLP asks N2 times, T1 apart, for what is not acknowledged (24.022 5.2.2.3): what it sends again later it had
        taken for acknowledged.
        """
        if not len(begin):
            return None
        scenario = self.run.scenario
        if scenario.word("link.protocol") != "rlp":
            return int(end.max())
        longest = scenario.number("link.rlp.t1_s") * scenario.whole("link.rlp.n2") * 1e9
        late = np.flatnonzero(begin[1:] - np.maximum.accumulate(end)[:-1] > longest)
        return int(end[: late[0] + 1 if len(late) else len(end)].max())

    @cached_property
    def stopped(self) -> Spans:
        """When its peer had said stop."""
        return joined(span[:2] for span in held_by(self._changes, notes.STOPPED, self._until))

    @cached_property
    def held(self) -> Spans:
        """When its link kept new data back: its window was full and data waited, or its peer had said stop."""
        full = both(joined(full_windows(self.frames, self._changes, self._until)), self.waiting)
        return joined([*full, *self.stopped])

    @property
    def _until(self) -> int:
        return int(self.run.engine.until)

    @property
    def _changes(self) -> Any:
        """The rows that say what holds its new data."""
        return self._rows(notes.HELD)

    def _rows(self, event: int) -> Any:
        """The log's rows of what happened on this side."""
        rows = self.run.link
        return rows[(rows["event"] == event) & (rows["side"] == self.side)]

    @cached_property
    def resets(self) -> Spans:
        """From the first request of a reset by either side to the first answer."""
        return joined(one[:2] for one in self._resets)

    def settled_ns(self, begin_ns: int) -> int:
        """When both ends were through with the reset that began last, up to a time."""
        begun = [one for one in self._resets if one.begin_ns <= begin_ns]
        return begun[-1].settled_ns if begun else begin_ns

    @cached_property
    def _resets(self) -> list[Reset]:
        is_rlp = self.run.scenario.word("link.protocol") == "rlp"
        return resets_of(self.sent, self.arrivals, self._until, either_resets=is_rlp)

    @cached_property
    def arrivals(self) -> list[Arrivals]:
        """What came of the frames to each side."""
        rows = self.run.link
        came = rows[np.isin(rows["event"], (notes.RECEIVED, notes.ERASED)) & (rows["what"] == 0)]
        of_sides = (came[came["side"] == side] for side in (0, 1))
        return [Arrivals(own["time_ns"], (own["event"] == notes.RECEIVED).astype(np.int64)) for own in of_sides]

    @cached_property
    def round_trip_ns(self) -> int:
        """From the begin of a full frame to the end of the answer that is sent at once, without a queue.

        Where both ends may send in slots alone, the answer goes in the first slot after the frame has come: the slots
        of all frames begin at multiples of theirs, so that no wait is shorter than one to the next common multiple.
        """
        forth, back = self.run.setting.radio[self.side], self.run.setting.radio[1 - self.side]
        control = self.sent[1 - self.side]
        shortest = int(control.octets.min()) if len(control.octets) else 0
        there = _trip(forth, int(self.frames.octets.max(initial=0)))
        waits = -there % gcd(forth.slot_ns, back.slot_ns) if forth.slot_ns and back.slot_ns else 0
        return there + waits + _trip(back, shortest)


def _trip(direction: Direction, octets: int) -> int:
    """How long a frame takes to the other side; one with slots arrives so long after its slot's begin."""
    if direction.slot_ns:
        return direction.delay_ns
    return -(-octets * 8_000_000_000 // direction.rate_bps) + direction.delay_ns


def _pdus(log: Log, side: int, direction: Direction, parameters: Any) -> FramesSent:
    """The PDUs of RLC AM in a part of its log."""
    rows = log.rows
    own = (rows["event"] == notes.SENT) & (rows["side"] == side) & (rows["what"] == 0)
    octets = rows["octets"][own]
    begin, end = air_times(rows["time_ns"][own], octets, direction)
    pdus = [_pdu(*one, parameters) for one in zip(pdu_heads(log, own), octets.tolist(), strict=True)]
    first, last, numbered, data, request = np.array(pdus, dtype=np.int64).reshape(-1, 5).T
    return FramesSent(begin, end, octets, first, last, numbered, data, request)


class PduHead(NamedTuple):
    """What the log has of a PDU."""

    octets: bytes
    """Those before its data, or all of a control PDU."""
    start: int
    """The first octet of the stream in it."""
    jump: int
    """So many octets are left out behind the first end of an SDU in it."""


def pdu_heads(log: Log, own: Any) -> Iterator[PduHead]:
    """Those of some of the log's rows."""
    places, octets = np.flatnonzero(own), log.frames["octets"]
    columns = (log.frames[name][places].tolist() for name in ("kept", "start", "jump"))
    for place, kept, start, jump in zip(places.tolist(), *columns, strict=True):
        yield PduHead(octets[place, :kept].tobytes(), start, jump)


def _pdu(pdu: PduHead, octets: int, parameters: Any) -> tuple[int, int, int, int, int]:
    """The first octet of the stream, that after the last, whether it is numbered, its octets, and if it is a reset."""
    head, start, jump = pdu
    if not head[0] & DATA_PDU:
        return 0, 0, 0, 0, _REQUESTS.get(head[0] >> 4, 0)
    if parameters.length_indicators:
        _, _, data = indicators(head, parameters.li_octets, octets)
    else:
        data = octets - parameters.header_bytes
    return start, start + jump + data, 1, data, 0


def indicators(head: bytes, li_octets: int, size: int) -> tuple[list[int], int, int]:
    """Where SDUs end in a PDU's data, where its data begins, and how much there is (25.322 9.2.2.8)."""
    ends, at, more, padded = list[int](), HEAD_BYTES, head[1] & 3 == 1, False
    while more:
        word = int.from_bytes(head[at : at + li_octets], "big")
        at, more, length = at + li_octets, bool(word & 1), word >> 1
        if 0 < length < _PIGGYBACK[li_octets] - _SPECIAL:
            ends.append(length)
        padded = padded or length >= _PIGGYBACK[li_octets]
    return ends, at, (ends[-1] if ends else 0) if padded else size - at
