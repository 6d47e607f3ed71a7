"""The logs of a simulated link: what each end of RLP and of RLC AM sent and received, and which frames the radio lost.

RLC's PDUs carry the octets of the packets that the captures have, so that they can be matched; the models of RLP know
no PPP, and its characters say only where they stand in their stream.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.link.pace import Pace
from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.engine.direction import Direction
from multitracer.replay.record.instruments import ARRIVALS, SENT, Happening, Instruments, Lost, Medium, write_lost
from multitracer.replay.record.rlc import RlcMedium
from multitracer.replay.record.rlp import RLP_RECORDER, RlpMedium
from multitracer.replay.record.simulated_run import SimulatedRun
from multitracer.replay.simulate.transport import MEDIA_FLOW

SIDES = ("network", "mobile")
"""The wired hop ends at the network's side, A."""
HEAD_BYTES = 2
"""Of an AMD PDU (25.322 9.2.1.4)."""
_DATA = 0x80
"""The bit of a PDU with data, D/C."""
_PIGGYBACK = {1: 0x7E, 2: 0x7FFE}
"""By the octets of a length indicator: this one and the next say that padding follows the data (25.322 9.2.2.8)."""
_SPECIAL = 3
"""So many values below those have meanings of their own."""


class Stream:
    """The octets that one side of the link was given: packets one behind the other."""

    def __init__(self) -> None:
        self._begins, self._packets, self.end = list[int](), list[bytes](), 0

    def append(self, octets: int, packet: bytes) -> None:
        """A packet of so many octets on the link: written with its headers it may be longer, and is cut."""
        self._begins.append(self.end)
        self._packets.append(packet[:octets].ljust(octets, b"\0"))
        self.end += octets

    def octets(self, first: int, count: int) -> bytes:
        """Octets [first, first + count)."""
        found, at = b"", bisect_right(self._begins, first) - 1
        while len(found) < count and 0 <= at < len(self._begins):
            skip = first + len(found) - self._begins[at]
            found += self._packets[at][skip : skip + count - len(found)]
            at += 1
        return found.ljust(count, b"\0")


class Losses:
    """Which frames of one side the radio lost: a block for each opportunity, or for each frame where there are none."""

    def __init__(self, direction: Direction) -> None:
        self._direction = direction
        self._places, self._lost = list[int](), list[int]()
        self._of_slot = (-1, 0)

    def sent(self, time_ns: int) -> None:
        """A frame is put on the air."""
        place = len(self._places)
        if slot_ns := self._direction.slot_ns:
            slot = time_ns // slot_ns
            self._of_slot = slot, self._of_slot[1] + 1 if slot == self._of_slot[0] else 0
            place = slot * self._direction.per_slot + self._of_slot[1]
        self._places.append(place)

    def ended(self, *, lost: bool) -> None:
        """The frame that is on the air longest arrived, or was lost."""
        self._lost.append(int(lost))

    def blocks(self, frame_bytes: int) -> Lost:
        """The losses as an erasure trace has them; opportunities that were not used lost nothing."""
        erased = np.zeros(max(self._places, default=-1) + 1, dtype=np.uint8)
        for place, lost in zip(self._places, self._lost, strict=False):
            erased[place] = lost
        direction = self._direction
        frame_ns = direction.slot_ns // direction.per_slot
        return Lost(erased, frame_bytes, frame_ns or 8_000_000_000 * frame_bytes // direction.rate_bps)


class LinkLogs:
    """Writes the logs of a run into a directory, part by part."""

    def __init__(self, directory: Path, start_ns: int) -> None:
        self.directory, self._start_ns = directory, start_ns
        self._instruments: Instruments | None = None
        self._streams = (Stream(), Stream())
        self._reader: Any = None
        self._losses: tuple[Losses, Losses] | None = None

    def hear(self, run: SimulatedRun, log: Log) -> None:
        """The next part of the link's log."""
        if self._losses is None:
            self._losses = Losses(run.setting.radio[0]), Losses(run.setting.radio[1])
            if (medium := medium_of(run)) is not None:
                self._instruments = Instruments(medium, self.directory, SIDES[0], self._start_ns)
                self._reader = RLP_RECORDER.reader(run.setting.link[0])
        for time_ns, side, event, *_ in log.rows.tolist():
            if event == notes.SENT:
                self._losses[side].sent(time_ns)
            elif event in ARRIVALS:
                self._losses[1 - side].ended(lost=event == notes.ERASED)
        if self._instruments is not None:
            rlp = run.scenario.word("link.protocol") == "rlp"
            self._instruments.note(self._reader(log) if rlp else self._pdus(run, log))

    def finish(self, run: SimulatedRun) -> None:
        """Write which frames of each side were lost, and end the logs."""
        sizes = [run.scenario.whole("link.frame_bytes", way) for way in ("down", "up")]
        losses = self._losses or (Losses(run.setting.radio[0]), Losses(run.setting.radio[1]))
        for name, of_side, size in zip(SIDES, losses, sizes, strict=True):
            write_lost(self.directory, name, of_side.blocks(size))

    def _pdus(self, run: SimulatedRun, log: Log) -> Iterator[Happening]:
        """What happened to PDUs, with the octets that they carry."""
        past = run.setting.past
        for row, frame in zip(log.rows.tolist(), log.frames, strict=True):
            time_ns, side, event, octets, number, flow = row
            if event == notes.OFFERED and not (past and flow == MEDIA_FLOW):
                copy = run.given.get((side, number))
                self._streams[side].append(octets, copy.segment.octets if copy is not None else b"")
            elif flow != 0:
                continue
            elif event == notes.SENT:
                yield Happening(time_ns, side, SENT, self._pdu(run, side, octets, frame))
            elif event in ARRIVALS:
                yield Happening(time_ns, side, ARRIVALS[event])

    def _pdu(self, run: SimulatedRun, side: int, octets: int, frame: Any) -> bytes:
        """The octets of a PDU: a control PDU's own, or a header and the data that it stands for."""
        head = frame["octets"][: int(frame["kept"])].tobytes()
        if not head[0] & _DATA:
            return head[:octets]
        parameters = run.setting.link[side]
        stream, start = self._streams[side], int(frame["start"])
        if not parameters.length_indicators:
            return head[:HEAD_BYTES] + stream.octets(start, octets - parameters.header_bytes)
        ends, at, data = indicators(head, parameters.li_octets, octets)
        first = min(ends[0], data) if ends and frame["jump"] else data
        carried = stream.octets(start, first) + stream.octets(start + first + int(frame["jump"]), data - first)
        return (head[:at] + carried + head[at + data :]).ljust(octets, b"\0")


def medium_of(run: SimulatedRun) -> Medium | None:
    """How the frames of a run's link are logged; None for protocols without a log."""
    protocol, pace = run.scenario.word("link.protocol"), _pace(run)
    if protocol == "rlp":
        return RlpMedium(pace, nulls=run.setting.radio[0].slot_ns > 0)
    if protocol == "rlc-am":
        return RlcMedium(8 * run.setting.link[0].li_octets - 1, pace)
    return None


def _pace(run: SimulatedRun) -> Pace:
    """How long frames take on the air; unknown where both ways differ."""
    forth, back = (_pace_of(run, way) for way in ("down", "up"))
    return forth if forth == back else Pace()


def _pace_of(run: SimulatedRun, way: str) -> Pace:
    direction = run.setting.radio[SIDES.index("network") if way == "down" else SIDES.index("mobile")]
    if direction.slot_ns:
        return Pace(direction.slot_ns, direction.per_slot)
    return Pace(8_000_000_000 * run.scenario.whole("link.frame_bytes", way) // direction.rate_bps, 1)


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
