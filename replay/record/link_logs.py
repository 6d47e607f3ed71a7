"""The logs of a simulated link: what each end of RLP and of RLC AM sent and received, and which frames the radio lost.

RLC's PDUs carry the octets of the packets that the captures have, and RLP's characters those in frames of PPP, so that
they can be matched, with compressed headers where the model has headers as TCP has them. Without PPP characters say
only where they stand in their stream.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from multitracer.link.pace import Pace
from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.engine.direction import Direction
from multitracer.replay.record.instruments import ARRIVALS, SENT, Happening, Instruments, Lost, Medium, write_lost
from multitracer.replay.record.link_frames import DATA_PDU, HEAD_BYTES, PduHead, indicators, pdu_heads
from multitracer.replay.record.recorder import Reader
from multitracer.replay.record.rlc import RlcMedium
from multitracer.replay.record.rlp import RLP_RECORDER, RlpMedium
from multitracer.replay.simulate.framing import HEADER_OCTETS, TIMESTAMP_OCTETS
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Setting
from multitracer.replay.simulate.transport import MEDIA_FLOW
from multitracer.wire import ppp
from multitracer.wire.vj import PROTOCOLS, Compressor

SIDES = ("network", "mobile")
"""The wired hop ends at the network's side, A."""


class LoggedRun(Protocol):
    """What the logs of a link are written from."""

    @property
    def scenario(self) -> Scenario:
        """What the link is like."""

    @property
    def setting(self) -> Setting:
        """The same, as its models are set."""

    def octets_given(self, side: int, number: int) -> bytes:
        """The octets of a packet that a side of the link was given, as an SDU of this number; empty if unknown."""


class Stream:
    """The octets that one side of the link was given: packets one behind the other."""

    def __init__(self) -> None:
        self._begins, self._packets, self.end = list[int](), list[bytes](), 0

    def append(self, octets: int, packet: bytes) -> None:
        """A packet of so many octets on the link: written with its headers it may be longer, and is cut."""
        self._put(packet[:octets].ljust(octets, b"\0"))

    def append_framed(self, octets: int, packet: bytes, compressor: Compressor | None = None) -> None:
        """The same in a frame of PPP, with its headers compressed if there is a compressor."""
        kind, on_link = compressor.compress(packet) if compressor else ("ip", packet)
        self._put(ppp_frame(on_link, octets, PROTOCOLS[kind], first=not self._begins))

    def _put(self, on_link: bytes) -> None:
        self._begins.append(self.end)
        self._packets.append(on_link)
        self.end += len(on_link)

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
    """Writes the logs of a run into a directory, part by part.

    `exact`: the octets of packets that a run gives are those on the link, with all that frames them.
    """

    def __init__(self, directory: Path, start_ns: int, *, exact: bool = False) -> None:
        self.directory, self._start_ns, self._exact = directory, start_ns, exact
        self._instruments: Instruments | None = None
        self._streams = (Stream(), Stream())
        self._compressors = (Compressor(), Compressor())
        self._reader: Any = None
        self._losses: tuple[Losses, Losses] | None = None

    def hear(self, run: LoggedRun, log: Log) -> None:
        """The next part of the link's log."""
        if self._losses is None:
            self._losses = Losses(run.setting.radio[0]), Losses(run.setting.radio[1])
            if (medium := medium_of(run)) is not None:
                self._instruments = Instruments(medium, self.directory, SIDES[0], self._start_ns, captures=False)
                self._reader = self._rlp_reader(run)
        for time_ns, side, event, *_ in log.rows.tolist():
            if event == notes.SENT:
                self._losses[side].sent(time_ns)
            elif event in ARRIVALS:
                self._losses[1 - side].ended(lost=event == notes.ERASED)
        self._append(run, log)
        if self._instruments is not None:
            rlp = run.scenario.word("link.protocol") == "rlp"
            self._instruments.note(self._reader(log) if rlp else self._pdus(run, log))

    def finish(self, run: LoggedRun) -> None:
        """Write which frames of each side were lost, and end the logs."""
        sizes = [run.scenario.whole("link.frame_bytes", way) for way in ("down", "up")]
        losses = self._losses or (Losses(run.setting.radio[0]), Losses(run.setting.radio[1]))
        for name, of_side, size in zip(SIDES, losses, sizes, strict=True):
            write_lost(self.directory, name, of_side.blocks(size))

    def _rlp_reader(self, run: LoggedRun) -> Reader:
        """Reads RLP's log with the packets in its characters, where their frames are known."""
        parameters = run.setting.link[0]
        if not (self._exact or is_framed(run)):
            return RLP_RECORDER.reader(parameters)
        return RLP_RECORDER.reader_of(parameters, lambda side, *place: self._streams[side].octets(*place))

    def _append(self, run: LoggedRun, log: Log) -> None:
        """Append the packets that the link was given to their side's stream."""
        framed, past = not self._exact and is_framed(run), run.setting.past
        compressors = self._compressors if framed and run.scenario.value("link.vj") else (None, None)
        for _, side, event, octets, number, flow in log.rows.tolist():
            if event == notes.OFFERED and not (past and flow == MEDIA_FLOW):
                packet = run.octets_given(side, number) if flow != MEDIA_FLOW else b""
                if framed:
                    self._streams[side].append_framed(octets, packet, compressors[side])
                else:
                    self._streams[side].append(octets, packet)

    def _pdus(self, run: LoggedRun, log: Log) -> Iterator[Happening]:
        """What happened to PDUs, with the octets that they carry."""
        own = log.rows["what"] == 0
        sent = pdu_heads(log, own & (log.rows["event"] == notes.SENT))
        for time_ns, side, event, octets, *_ in log.rows[own].tolist():
            if event == notes.SENT:
                yield Happening(time_ns, side, SENT, self._pdu(run, side, octets, next(sent)))
            elif event in ARRIVALS:
                yield Happening(time_ns, side, ARRIVALS[event])

    def _pdu(self, run: LoggedRun, side: int, octets: int, pdu: PduHead) -> bytes:
        """The octets of a PDU: a control PDU's own, or a header and the data that it stands for."""
        head, start, jump = pdu
        if not head[0] & DATA_PDU:
            return head[:octets]
        parameters = run.setting.link[side]
        stream = self._streams[side]
        if not parameters.length_indicators:
            return head[:HEAD_BYTES] + stream.octets(start, octets - parameters.header_bytes)
        ends, at, data = indicators(head, parameters.li_octets, octets)
        first = min(ends[0], data) if ends and jump else data
        carried = stream.octets(start, first) + stream.octets(start + first + jump, data - first)
        return (head[:at] + carried + head[at + data :]).ljust(octets, b"\0")


def medium_of(run: LoggedRun) -> Medium | None:
    """How the frames of a run's link are logged; None for protocols without a log."""
    protocol, pace = run.scenario.word("link.protocol"), _pace(run)
    if protocol == "rlp":
        return RlpMedium(pace, nulls=run.setting.radio[0].slot_ns > 0)
    if protocol == "rlc-am":
        return RlcMedium(8 * run.setting.link[0].li_octets - 1, pace)
    return None


def _pace(run: LoggedRun) -> Pace:
    """How long frames take on the air; unknown where both ways differ."""
    forth, back = (_pace_of(run, way) for way in ("down", "up"))
    return forth if forth == back else Pace()


def _pace_of(run: LoggedRun, way: str) -> Pace:
    direction = run.setting.radio[SIDES.index("network") if way == "down" else SIDES.index("mobile")]
    if direction.slot_ns:
        return Pace(direction.slot_ns, direction.per_slot)
    return Pace(8_000_000_000 * run.scenario.whole("link.frame_bytes", way) // direction.rate_bps, 1)


def is_framed(run: LoggedRun) -> bool:
    """Whether the link's stream can hold the captured packets in frames of PPP.

    With compressed headers only if frames then have the sizes that the model gives them: not where its packets have no
    headers, nor with ns-2's TCP, which answers a SYN with a bare ACK.
    """
    scenario = run.scenario
    if not scenario.value("link.vj"):
        return scenario.flag("link.ppp")
    headers = HEADER_OCTETS + TIMESTAMP_OCTETS * bool(scenario.value("tcp.timestamps"))
    return scenario.value("tcp.model") != "ns-2" and scenario.value("tcp.header_bytes") >= headers


def ppp_frame(packet: bytes, octets: int, protocol: int = ppp.IP, *, first: bool = False) -> bytes:
    """A packet in PPP, in exactly so many octets.

    Where address, control and the first octet of the protocol number are left out (RFC 1661 6.5 and 6.6), there is
    room for what must be escaped; flags fill the rest. A packet that is longer than the model's is cut. The flag that
    ends a frame opens the next one, so that the first has one more (RFC 1662 3.1).
    """
    content = escaped(packet, protocol)
    while len(content) + 1 + first > octets:
        packet = packet[: len(packet) - 1]
        content = escaped(packet, protocol)
    return bytes([ppp.FLAG]) * (octets - 1 - len(content)) + content + bytes([ppp.FLAG])


def escaped(packet: bytes, protocol: int = ppp.IP) -> bytes:
    """The content of a frame of PPP, with what would be taken for flags escaped (RFC 1662 4.2)."""
    body = bytes([protocol]) + packet
    body += (ppp.fcs16(body) ^ 0xFFFF).to_bytes(ppp.FCS_BYTES, "little")
    for octet in (ppp.ESCAPE, ppp.FLAG):
        body = body.replace(bytes([octet]), bytes([ppp.ESCAPE, octet ^ ppp.ESCAPE_XOR]))
    return body
