"""mi2log: a handset's log of its LTE RLC PDUs, in the Qualcomm diagnostic packets that MobileInsight stores.

The file consists of HDLC frames, each with a log packet; those of handsets with several radios stand in envelopes
(`shared/diag.py`). A log packet holds the headers of many PDUs, each with its system frame number and subframe,
which count milliseconds modulo 10.24 s. A packet's own time is when it was logged, tens of milliseconds after its
PDUs. A PDU's time is computed from its subframe; the smallest delay from subframe to log time among the packets of
the surrounding seconds ties subframes to the calendar. Packets and subpackets of other versions than MobileInsight
describes (log_packet.h: version 1, subpackets 41 and 46 of version 3, which 41's version 4 equals) are counted.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared import diag
from multitracer.parsers.shared.lines import Losses
from multitracer.parsers.shared.rlc_frames import At, Links, PduRows, frames_table
from multitracer.wire import rlc_lte

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

CYCLE_MS = 10_240  # system frame numbers count 1024 frames of 10 ms: 36.331 6.2.2
ACKNOWLEDGED = 1
PACKET_VERSION = 1
SUBPACKETS = {diag.RLC_DOWNLINK_PDUS: (0x41, (3, 4)), diag.RLC_UPLINK_PDUS: (0x46, (3,))}
"""By log packet, the subpacket's number and its versions whose layout is known."""
DAMAGED = "HDLC frame with a wrong check sequence"
BEGUN_LATE = "first HDLC frame damaged or begun before the log"
CUT_OFF = "log packet cut off"
_SUBPACKET = struct.Struct("<BBH")
_PDU = struct.Struct("<HHHB")
_CYCLE_SLACK_MS = 200
"""Log delays vary less than this: a larger jump means that another cell counts the subframes from there on."""
_WINDOW_NS = 10_000_000_000
_SNIFFED = 64
_REPORTS = 8
"""So many sound reports are no chance, though none of them is read."""
_KINDS_SAID = 8


def sniff(head: bytes) -> bool:
    """Whether two in three of its first HDLC frames have right check sequences, and hold log packets or reports.

    Some may be damaged, the first one above all: a log that is cut out of another begins within a frame, and perhaps
    with many reports before the next log packet. A single log packet must be the log's only frame, or the others as
    sound.
    """
    whole = head[: head.rfind(diag.FLAG) + 1]
    contents = [diag.content(frame) for _, (_, frame) in zip(range(_SNIFFED), diag.frames(whole), strict=False)]
    sound = [diag.opened(content)[1] for content in contents if content is not None]
    damaged = len(contents) - len(sound)
    logged = sum(packet[0] == diag.LOG_PACKET for packet in sound)
    reports = sum(packet[0] in diag.REPORTS for packet in sound)
    return (logged > (damaged > 0) or reports >= _REPORTS) and len(sound) >= 2 * damaged


class _Packet(NamedTuple):
    """The PDUs of one bearer in one log packet, in order, with the packet's time and radio."""

    radio: int | None
    logged_ns: int
    ticks: list[int]
    """For each row, its milliseconds within the cycle of system frame numbers."""


@dataclass
class _Log:
    links: Links = field(default_factory=Links)
    losses: Losses = field(default_factory=Losses)
    packets: list[_Packet] = field(default_factory=list)
    records: int = 0
    damaged: int = 0
    others: Counter[str] = field(default_factory=Counter)
    """Sound packets of kinds that are not read here."""

    def __post_init__(self) -> None:
        self.pdus = PduRows(losses=self.losses)


def read(source: Source) -> Recording:
    """Tables links (per radio bearer and direction) and frames of the acknowledged mode, as logged.

    `record` is the HDLC frame's number. Packets of different bearers overlap by some ten milliseconds:
    only the frames of one link are in order of time. Only headers are logged: no frame has data.
    """
    log = _Log()
    for number, (offset, frame) in enumerate(_frames(source), start=1):
        log.records = number
        content = diag.content(frame)
        if content is None:
            log.damaged += 1
            log.losses.add(BEGUN_LATE if number == 1 else DAMAGED, number, offset)
        else:
            _packet(log, number, offset, *diag.opened(content))
    if not log.pdus.rows:
        raise _nothing_read(source, log)
    return _recording(source, log)


def _frames(source: Source) -> Iterator[tuple[int, bytes]]:
    """The HDLC frames of a log, as `diag.frames` gives them; of one that is too long only the beginning."""
    for _, offset, frame, _ in source.octet_lines(diag.LONGEST_FRAME, diag.FLAG):
        if frame:
            yield offset, frame


def _nothing_read(source: Source, log: _Log) -> InputError:
    """What a log without PDUs holds instead."""
    first = log.losses.skips[0] if log.losses.skips else None
    place = (first.record, first.offset) if first else (1, 0)
    if not log.others:
        return InputError(source.path, "holds no log packet that can be read", record=place[0], offset=place[1])
    said = [f"{count} {kind}" for kind, count in log.others.most_common(_KINDS_SAID)]
    said += [f"{len(log.others) - _KINDS_SAID} other kinds"] * (len(log.others) > _KINDS_SAID)
    losses = [f"{skip.count} bad: {skip.reason}" for skip in log.losses.skips]
    return InputError(
        source.path,
        f"holds {log.others.total()} frames, none of a kind that is read here ({', '.join(said)})"
        + "".join(f"; {loss}" for loss in losses),
        hint="Frames of the link are read from log packets 0xB082 and 0xB092: enable LTE RLC AM PDUs when logging.",
    )


def _recording(source: Source, log: _Log) -> Recording:
    clocked = any(packet.logged_ns for packet in log.packets)
    times = _times(log.packets, clocked)
    rows = [row._replace(time_ns=when) for row, when in zip(log.pdus.rows, times.tolist(), strict=True)]
    return Recording(
        format="mi2log",
        tables={
            "links": log.links.table(),
            "frames": frames_table(rows, log.links.senders),
        },
        records=log.records,
        skips=log.losses.skips,
        bytes_read=len(source),
        complete=not log.losses.skips,
        clock="epoch" if clocked else "relative",
        counts={"other log packets": log.others.total()} | _of_rlc(log.others),
        metadata={"side": "mobile", "mode": "am", "rat": "lte"},
        notes=["PDU times are rebuilt from subframe numbers and can be late by the log's least delay."],
    )


def _of_rlc(others: Counter[str]) -> dict[str, int]:
    """The packets of RLC that are not read here, by name."""
    return {kind: count for kind, count in others.items() if " RLC " in kind}


def _packet(log: _Log, number: int, offset: int, radio: int | None, packet: bytes) -> None:
    if packet[0] != diag.LOG_PACKET:
        log.others[diag.kind(packet)] += 1
        return None
    logged = diag.log_packet(radio, packet)
    if logged is None:
        return log.losses.add(CUT_OFF, number, offset)
    if logged.code not in SUBPACKETS:
        log.others[diag.kind(packet)] += 1
        return None
    return _rlc(log, number, offset, logged)


def _rlc(log: _Log, number: int, offset: int, logged: diag.LogPacket) -> None:
    """Add the PDUs of a log packet, by its subpackets."""
    body, at = logged.body, 4
    if body[:1] != bytes([PACKET_VERSION]):
        return log.losses.add(f"{diag.KINDS[logged.code]} of an unknown version", number, offset)
    for _ in range(body[1] if len(body) > 1 else 0):
        if at + _SUBPACKET.size > len(body):
            return log.losses.add(CUT_OFF, number, offset)
        kind, version, size = _SUBPACKET.unpack_from(body, at)
        if size < _SUBPACKET.size or at + size > len(body):
            return log.losses.add(CUT_OFF, number, offset)
        known, versions = SUBPACKETS[logged.code]
        if kind == known and version in versions:
            _subpacket(log, number, offset, logged, body[at + _SUBPACKET.size : at + size])
        else:
            log.losses.add(f"{diag.KINDS[logged.code]} in a subpacket of unknown kind or version", number, offset)
        at += size
    return None


def _subpacket(log: _Log, number: int, offset: int, logged: diag.LogPacket, body: bytes) -> None:
    """Add the PDUs of one bearer."""
    uplink = logged.code == diag.RLC_UPLINK_PDUS
    head = 20 if uplink else 16
    if len(body) < head:
        return log.losses.add(CUT_OFF, number, offset)
    bearer, mode, sn_bits, count = body[0], body[1], body[2], body[head - 2] | body[head - 1] << 8
    if mode != ACKNOWLEDGED or sn_bits not in (10, 16):
        return log.losses.add("RLC PDUs of a mode other than AM", number, offset, count=max(count, 1))
    of_radio = "" if logged.radio is None else f" of radio {logged.radio}"
    link = log.links.number("rlc-lte", f"RB {bearer}{of_radio}", "mobile" if uplink else "network")
    place, spec = At(number, logged.logged_ns, link, uplink), rlc_lte.am_spec(sn_bits)
    rows, at, ticks = log.pdus.rows, head, list[int]()
    for _ in range(count):
        if at + _PDU.size > len(body):
            log.losses.add(CUT_OFF, number, offset)
            break
        frame, size, octets, _kind = _PDU.unpack_from(body, at)
        at += _PDU.size
        known = len(rows)
        log.pdus.lte_am(place, body[at : at + octets], spec, size)
        if len(rows) > known:
            ticks.append((frame >> 4) % 1024 * 10 + min(frame & 15, 9))
        at += octets
    log.packets.append(_Packet(logged.radio, logged.logged_ns, ticks))
    return None


def _times(packets: list[_Packet], clocked: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The time of every PDU, in the order of rows; the radios of a handset may be in cells that count differently."""
    packets = [packet for packet in packets if packet.ticks]
    if not packets:
        return np.empty(0, dtype=np.int64)
    lasts = np.empty(len(packets), dtype=np.int64)
    for radio in {packet.radio for packet in packets}:
        own = [number for number, packet in enumerate(packets) if packet.radio == radio]
        lasts[own] = _lasts([packets[number] for number in own], clocked)
    ages = [_ages(packet.ticks) for packet in packets]
    return np.concatenate([last - 1_000_000 * age for last, age in zip(lasts, ages, strict=True)])


def _lasts(packets: list[_Packet], clocked: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The time of the last PDU of each packet of one radio."""
    if clocked:
        return _times_of_last(packets)
    return 1_000_000 * _unwrapped(np.array([packet.ticks[-1] for packet in packets], dtype=np.int64))


def _ages(ticks: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How many milliseconds each PDU came before the last one of its packet."""
    counted = _unwrapped(np.array(ticks, dtype=np.int64))
    return counted[-1] - counted


def _unwrapped(ticks: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Milliseconds without the wrap after each cycle, each at most half a cycle from the one before."""
    steps = (np.diff(ticks) + CYCLE_MS // 2) % CYCLE_MS - CYCLE_MS // 2
    return np.concatenate([ticks[:1], ticks[:1] + np.cumsum(steps)]).astype(np.int64)


def _times_of_last(packets: list[_Packet]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The time of each packet's last PDU: the log time, less by how much its delay exceeds the least one nearby."""
    logged = np.array([packet.logged_ns for packet in packets], dtype=np.int64)
    ticks = np.array([packet.ticks[-1] for packet in packets], dtype=np.int64) * 1_000_000
    cycle = CYCLE_MS * 1_000_000
    delay = (logged - ticks) % cycle
    out = np.empty_like(logged)
    for members in _cells(delay, cycle):
        near = (delay[members] - delay[members[0]] + cycle // 2) % cycle
        out[members] = logged[members] - (near - _least_around(logged[members], near))
    return out


def _cells(delay: np.ndarray[Any, np.dtype[np.int64]], cycle: int) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """Runs of packets whose subframes one cell counts: their delays differ little."""
    jump = np.abs((np.diff(delay) + cycle // 2) % cycle - cycle // 2) > _CYCLE_SLACK_MS * 1_000_000
    yield from (run for run in np.split(np.arange(len(delay)), np.flatnonzero(jump) + 1) if len(run))


def _least_around(
    logged: np.ndarray[Any, np.dtype[np.int64]], delay: np.ndarray[Any, np.dtype[np.int64]]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The least delay within some seconds of each packet, by windows: the clocks drift apart slowly."""
    window = (logged - logged.min()) // _WINDOW_NS
    bins, inverse = np.unique(window, return_inverse=True)
    least = np.full(len(bins) + 2, np.iinfo(np.int64).max)
    np.minimum.at(least, inverse + 1, delay)
    around = np.minimum(np.minimum(least[:-2], least[1:-1]), least[2:])
    return around[inverse]
