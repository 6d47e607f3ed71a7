"""mi2log: a handset's log of its LTE RLC PDUs, in the Qualcomm diagnostic packets that MobileInsight stores.

The file consists of HDLC frames, each with a log packet. A log packet holds the headers of many PDUs,
each with its system frame number and subframe, which count milliseconds modulo 10.24 s. A packet's own
time is when it was logged, tens of milliseconds after its PDUs. A PDU's time is computed from its
subframe; the smallest delay from subframe to log time among the packets of the surrounding seconds ties
subframes to the calendar.
"""

from __future__ import annotations

import struct
from binascii import crc_hqx
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import Losses
from multitracer.parsers.shared.rlc_frames import At, Links, PduRows, frames_table
from multitracer.wire import rlc_lte

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

LOG_PACKET = 0x10
DOWNLINK_PDUS, UPLINK_PDUS = 0xB082, 0xB092
GPS_EPOCH_NS = 315_964_800_000_000_000
CYCLE_MS = 10_240  # system frame numbers count 1024 frames of 10 ms: 36.331 6.2.2
ACKNOWLEDGED = 1
_LOG_HEAD = struct.Struct("<BxHHHQ")
_SUBPACKET = struct.Struct("<BBH")
_PDU = struct.Struct("<HHHB")
_REVERSED = bytes(int(f"{octet:08b}"[::-1], 2) for octet in range(256))
_CYCLE_SLACK_MS = 200
"""Log delays vary less than this: a larger jump means that another cell counts the subframes from there on."""
_WINDOW_NS = 10_000_000_000


def sniff(head: bytes) -> bool:
    """Whether it begins with HDLC frames whose check sequences are right; a single one must hold a log packet."""
    frames = [frame for frame in head[: head.rfind(b"\x7e") + 1].split(b"\x7e", 5)[:5] if frame]
    contents = [_checked(frame) for frame in frames[:4]]
    sound = [content for content in contents if content is not None]
    if len(sound) < len(contents) or not sound:
        return False
    return len(sound) > 1 or sound[0][0] == LOG_PACKET


class _Packet(NamedTuple):
    """The PDUs of one bearer in one log packet, in order, with the packet's time."""

    logged_ns: int
    ticks: list[int]
    """For each row, its milliseconds within the cycle of system frame numbers."""


@dataclass
class _Log:
    links: Links = field(default_factory=Links)
    losses: Losses = field(default_factory=Losses)
    packets: list[_Packet] = field(default_factory=list)
    records: int = 0
    others: int = 0

    def __post_init__(self) -> None:
        self.pdus = PduRows(losses=self.losses)


def read(source: Source) -> Recording:
    """Tables links (per radio bearer and direction) and frames of the acknowledged mode, as logged.

    `record` is the log packet's number. Packets of different bearers overlap by some ten milliseconds:
    only the frames of one link are in order of time. Only headers are logged: no frame has data.
    """
    log = _Log()
    for number, offset, frame in _frames(bytes(source.data)):
        log.records = number
        content = _checked(frame)
        if content is None:
            log.losses.add("HDLC frame with a wrong check sequence", number, offset)
        elif content[0] == LOG_PACKET:
            _log_packet(log, number, offset, content)
    if not log.records or (not log.pdus.rows and log.losses.skips and not log.others):
        raise InputError(source.path, "holds no log packet that can be read", record=1, offset=0)
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
        counts={"other log packets": log.others},
        metadata={"side": "mobile", "mode": "am", "rat": "lte"},
        notes=["PDU times are rebuilt from subframe numbers and can be late by the log's least delay."],
    )


def _frames(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Every HDLC frame: its number, its offset, its octets without the closing flag."""
    offset = number = 0
    for frame in data.split(b"\x7e"):
        if frame:
            number += 1
            yield number, offset, frame
        offset += len(frame) + 1


def _checked(frame: bytes) -> bytes | None:
    """The content of a frame, unescaped; None when its CRC-16/X.25 is wrong."""
    if b"\x7d" in frame:
        frame = frame.replace(b"\x7d\x5e", b"\x7e").replace(b"\x7d\x5d", b"\x7d")
    if len(frame) < 3:
        return None
    # crc_hqx has X.25's polynomial, but takes the most significant bit first: octets and result are mirrored.
    crc = crc_hqx(frame[:-2].translate(_REVERSED), 0xFFFF) ^ 0xFFFF
    mirrored = _REVERSED[crc & 0xFF] << 8 | _REVERSED[crc >> 8]
    return frame[:-2] if mirrored == frame[-2] | frame[-1] << 8 else None


def _log_packet(log: _Log, number: int, offset: int, content: bytes) -> None:
    if len(content) < _LOG_HEAD.size:
        return log.losses.add("log packet cut off", number, offset)
    _, _, _, code, stamp = _LOG_HEAD.unpack_from(content)
    if code not in (DOWNLINK_PDUS, UPLINK_PDUS):
        log.others += 1
        return None
    # Ticks of 1 / 52428800 s as whole ns: 1e9 / 52428800 = 78125 / 4096.
    logged_ns = GPS_EPOCH_NS + stamp * 78_125 // 4096 if 0 < stamp < 1 << 58 else 0
    body, at = content[_LOG_HEAD.size :], 4
    for _ in range(body[1] if len(body) > 1 else 0):
        if at + _SUBPACKET.size > len(body):
            return log.losses.add("log packet cut off", number, offset)
        size = _SUBPACKET.unpack_from(body, at)[2]
        if size < _SUBPACKET.size or at + size > len(body):
            return log.losses.add("log packet cut off", number, offset)
        _subpacket(log, number, logged_ns, code == UPLINK_PDUS, body[at + _SUBPACKET.size : at + size])
        at += size
    return None


def _subpacket(log: _Log, number: int, logged_ns: int, uplink: bool, body: bytes) -> None:
    """Add the PDUs of one bearer."""
    head = 20 if uplink else 16
    if len(body) < head:
        return log.losses.add("log packet cut off", number)
    bearer, mode, sn_bits, count = body[0], body[1], body[2], body[head - 2] | body[head - 1] << 8
    if mode != ACKNOWLEDGED or sn_bits not in (10, 16):
        return log.losses.add("RLC PDUs of a mode other than AM", number, count=max(count, 1))
    spec = rlc_lte.am_spec(sn_bits)
    link = log.links.number("rlc-lte", f"RB {bearer}", "mobile" if uplink else "network")
    rows, at, ticks = log.pdus.rows, head, list[int]()
    place = At(number, logged_ns, link, uplink)
    for _ in range(count):
        if at + _PDU.size > len(body):
            log.losses.add("log packet cut off", number)
            break
        frame, size, logged, _kind = _PDU.unpack_from(body, at)
        at += _PDU.size
        known = len(rows)
        log.pdus.lte_am(place, body[at : at + logged], spec, size)
        if len(rows) > known:
            ticks.append((frame >> 4) % 1024 * 10 + min(frame & 15, 9))
        at += logged
    log.packets.append(_Packet(logged_ns, ticks))
    return None


def _times(packets: list[_Packet], clocked: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The time of every PDU, in the order of rows."""
    packets = [packet for packet in packets if packet.ticks]
    ages = [_ages(packet.ticks) for packet in packets]
    if clocked:
        lasts = _times_of_last(packets)
    else:
        lasts = 1_000_000 * _unwrapped(np.array([packet.ticks[-1] for packet in packets], dtype=np.int64))
    if not packets:
        return np.empty(0, dtype=np.int64)
    return np.concatenate([last - 1_000_000 * age for last, age in zip(lasts, ages, strict=True)])


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


def _cells(
    delay: np.ndarray[Any, np.dtype[np.int64]], cycle: int
) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
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
