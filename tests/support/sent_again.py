"""What a recording knows of the data that TCP sent again, counted apart from the run's own counters."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from multitracer.replay.arq import notes
from multitracer.replay.engine.loop import NO_SDU
from multitracer.replay.record.known_run import TIMEOUT, Copy
from multitracer.replay.record.simulated_run import SimulatedRun, run_of
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.transport import TCP_FLOW
from multitracer.replay.tcp.packets import DATA

NEVER = 1 << 62


@dataclass
class Sending:
    """A frame with data that a side sent: which octets of its stream, and whether the air lost it."""

    time_ns: int
    first: int
    end: int
    lost_ns: int = NEVER


@dataclass
class Recording:
    """A run, and the frames with data of each side in the order of sending."""

    run: SimulatedRun = field(init=False)
    frames: tuple[list[Sending], list[Sending]] = field(default_factory=lambda: ([], []))
    under_way: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))

    def hear(self, run: SimulatedRun, log: Any) -> None:
        """Take in a part of the link's log; arrivals are in the order of sending."""
        protocol = run.scenario.word("link.protocol")
        for row, frame in zip(log.rows.tolist(), log.frames, strict=True):
            time_ns, side, event, octets, _, what = row
            if what != NO_SDU or event not in (notes.SENT, notes.ERASED, notes.RECEIVED):
                continue
            if event == notes.SENT:
                found = carried(protocol, frame, octets)
                sending = Sending(time_ns, *found) if found else None
                self.under_way[side].append(sending)
                self.frames[side].extend([sending] if sending else [])
            elif (sending := self.under_way[1 - side].pop(0)) and event == notes.ERASED:
                sending.lost_ns = time_ns


def carried(protocol: str, frame: Any, octets: int) -> tuple[int, int] | None:
    """The octets of its side's stream in a frame, None for a control frame; a PDU's end is not known (NEVER)."""
    if protocol in ("raw", "sr", "asr"):
        return (int(frame.start), int(frame.start + frame.octets)) if frame.kind == 0 else None
    if protocol == "rlp":
        count = int(frame.header) >> 24
        return (int(frame.position), int(frame.position) + count) if int(frame.header) & 63 < 62 and count else None
    if protocol == "rlc-tm":
        return int(frame.start), int(frame.start) + octets
    is_data = protocol == "rlc-um" or frame.octets[0] & 0x80
    return (int(frame.start), NEVER) if is_data else None


def recorded(scenario: Scenario, seed: int) -> Recording:
    """A run of a scenario with all that it kept."""
    made = Recording()
    made.run = run_of(scenario, seed, 0, made.hear)
    for frames in made.frames:
        begins = sorted({one.first for one in frames})
        for one in frames:
            at = bisect_right(begins, one.first)
            one.end = min(one.end, begins[at] if at < len(begins) else NEVER)
    return made


@dataclass
class Counted:
    """What TCP sent again in a run."""

    segments: int = 0
    needless: int = 0
    spurious_timeouts: int = 0
    held_octets: int = 0
    competing: int = 0


def counted(made: Recording) -> Counted:
    """All of it, from the packets, and from the frames that carried them."""
    found, places = Counted(), streams(made.run)
    for one in made.run.resends:
        found.segments += 1
        found.needless += one.spurious
        found.spurious_timeouts += one.spurious and one.trigger == TIMEOUT
    for copy, before in again(made.run):
        held = [one for one in before if is_held(made, places, one, copy.sent_ns)]
        found.held_octets += (copy.packet.octets - made.run.scenario.whole("tcp.header_bytes")) * bool(held)
        found.competing += any(is_repeated(made, places, one, copy.sent_ns) for one in held)
    return found


def again(run: SimulatedRun) -> Iterator[tuple[Copy, list[Copy]]]:
    """Each segment sent again, with its earlier copies that the link had taken by then."""
    earlier: dict[tuple[int, int, int], list[Copy]] = defaultdict(list)
    for copy in run.copies:
        if copy.packet.bits & DATA:
            before = earlier[copy.packet.connection, copy.packet.end, copy.packet.seq]
            if copy.packet.sending > 0:
                taken = (one for one in before if one.given_ns is not None and not one.refused)
                yield copy, [one for one in taken if (one.given_ns or 0) <= copy.sent_ns]
            before.append(copy)


def streams(run: SimulatedRun) -> dict[tuple[int, int], tuple[int, int]]:
    """Where each packet of TCP stands in its side's stream."""
    ends, found = [0, 0], {}
    for row in run.link:
        if row.event == notes.OFFERED and row.what == TCP_FLOW:
            found[row.side, row.number] = ends[row.side], ends[row.side] + row.octets
            ends[row.side] += row.octets
    return found


def carrying(made: Recording, places: dict[Any, Any], copy: Copy) -> list[Sending]:
    """The frames sent with octets of a packet."""
    start, end = places[copy.packet.end, copy.number]
    return [one for one in made.frames[copy.packet.end] if one.first < end and one.end > start]


def is_held(made: Recording, places: dict[Any, Any], copy: Copy, at_ns: int) -> bool:
    """Whether the link has neither delivered nor given up a packet, nor lost what it never repeats."""
    ends = [time for time in (copy.delivered_ns, copy.lost_ns) if time is not None]
    if made.run.scenario.word("link.protocol") in ("raw", "rlc-um", "rlc-tm"):
        ends += [one.lost_ns for one in carrying(made, places, copy)]
    return min(ends, default=NEVER) > at_ns


def is_repeated(made: Recording, places: dict[Any, Any], copy: Copy, at_ns: int) -> bool:
    """Whether the link had sent a packet before a time, and then repeated a frame of it before it delivered it."""
    if copy.delivered_ns is None or copy.lost_ns is not None:
        return False
    frames = [one for one in carrying(made, places, copy) if one.time_ns < copy.delivered_ns]
    firsts: dict[int, int] = {}
    for one in frames:
        firsts.setdefault(one.first, one.time_ns)
    repeats = [one for one in frames if one.time_ns > firsts[one.first] and one.time_ns >= at_ns]
    return bool(repeats) and frames[0].time_ns < at_ns
