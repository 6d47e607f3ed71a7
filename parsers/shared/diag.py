"""Qualcomm's diagnostic protocol as logs store it: HDLC frames, packets for several radios, log packets.

A frame is ended by 7e and closed by CRC-16/X.25. Its first octet is the command: 10 is a log packet, 98 an envelope
of handsets with several radios: version, two reserved octets, the radio (32 bits), then another packet.
Sources: scat (qualcommparser.py, diagcmd.py) and MobileInsight's dm_collector_c (hdlc.cpp, consts.h).
"""

from __future__ import annotations

import struct
from binascii import crc_hqx
from collections.abc import Iterator
from typing import NamedTuple

FLAG = b"\x7e"
LOG_PACKET, MULTI_RADIO = 0x10, 0x98
REPORTS = (0x60, 0x79, 0x92, 0x99)
"""Commands of what a handset reports between log packets: events, and messages in three forms (scat, diagcmd.py)."""
LONGEST_FRAME = 1 << 18
"""More octets than a frame has, whose packet has a length of 16 bits, all of them escaped."""
GPS_EPOCH_NS = 315_964_800_000_000_000
_LOG_HEAD = struct.Struct("<BxHHHQ")
_ENVELOPE = struct.Struct("<BBHI")
_REVERSED = bytes(int(f"{octet:08b}"[::-1], 2) for octet in range(256))

RLC_DOWNLINK_PDUS, RLC_UPLINK_PDUS = 0xB082, 0xB092
KINDS = {
    0x1FEB: "debug message", 0x412F: "WCDMA RRC message", 0x4127: "WCDMA serving cell", 0x713A: "UMTS NAS message",
    0x512F: "GSM RR message",
    0xB060: "LTE MAC configuration", 0xB061: "LTE random access trigger", 0xB062: "LTE random access attempt",
    0xB063: "LTE MAC downlink blocks", 0xB064: "LTE MAC uplink blocks", 0xB066: "LTE buffer status",
    0xB067: "LTE MAC uplink statistics",
    0xB081: "LTE RLC downlink configuration", RLC_DOWNLINK_PDUS: "LTE RLC AM downlink PDUs",
    0xB083: "LTE RLC AM downlink control PDUs", 0xB086: "LTE RLC UM downlink PDUs",
    0xB087: "LTE RLC downlink statistics", 0xB091: "LTE RLC uplink configuration",
    RLC_UPLINK_PDUS: "LTE RLC AM uplink PDUs", 0xB093: "LTE RLC AM uplink control PDUs",
    0xB096: "LTE RLC UM uplink PDUs", 0xB097: "LTE RLC uplink statistics",
    0xB0A0: "LTE PDCP downlink configuration", 0xB0A3: "LTE PDCP downlink PDUs", 0xB0A5: "LTE PDCP signalling PDUs",
    0xB0B0: "LTE PDCP uplink configuration", 0xB0B3: "LTE PDCP uplink PDUs", 0xB0B5: "LTE PDCP signalling PDUs",
    0xB0C0: "LTE RRC message", 0xB0C1: "LTE master information block", 0xB0C2: "LTE serving cell",
    0xB0E2: "LTE session message", 0xB0E3: "LTE session message", 0xB0E5: "LTE session state",
    0xB0EC: "LTE mobility message", 0xB0ED: "LTE mobility message", 0xB0EE: "LTE mobility state",
    0xB173: "LTE PDSCH statistics", 0xB179: "LTE measurement", 0xB193: "LTE measurement",
    0xB800: "NR session message", 0xB801: "NR session message", 0xB80C: "NR mobility state",
    0xB821: "NR RRC message", 0xB84D: "NR RLC downlink statistics", 0xB861: "NR PDCP uplink control PDUs",
    0xB872: "NR uplink blocks", 0xB873: "NR buffer status", 0xB881: "NR MAC uplink statistics",
    0xB883: "NR MAC uplink schedule", 0xB888: "NR MAC PDSCH statistics", 0xB889: "NR random access trigger",
    0xB97F: "NR measurement",
}  # fmt: skip
"""What log packets hold, by their code."""


class LogPacket(NamedTuple):
    """A log packet: its radio (None without an envelope), code, time (0 where it has none), payload."""

    radio: int | None
    code: int
    logged_ns: int
    body: bytes


def frames(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every HDLC frame, without its closing flag: its offset and octets; the last one may lack its end."""
    start = 0
    while start < len(data):
        end = data.find(FLAG, start)
        end = len(data) if end < 0 else end
        if end > start:
            yield start, data[start:end]
        start = end + 1


def content(frame: bytes) -> bytes | None:
    """What a frame holds, unescaped; None when its check sequence is wrong."""
    if b"\x7d" in frame:
        frame = frame.replace(b"\x7d\x5e", b"\x7e").replace(b"\x7d\x5d", b"\x7d")
    if len(frame) < 3:
        return None
    # crc_hqx has X.25's polynomial, but takes the most significant bit first: octets and result are mirrored.
    crc = crc_hqx(frame[:-2].translate(_REVERSED), 0xFFFF) ^ 0xFFFF
    mirrored = _REVERSED[crc & 0xFF] << 8 | _REVERSED[crc >> 8]
    return frame[:-2] if mirrored == frame[-2] | frame[-1] << 8 else None


def opened(packet: bytes) -> tuple[int | None, bytes]:
    """The radio of an envelope and the packet in it; None and the packet itself without an envelope."""
    if packet[0] != MULTI_RADIO or len(packet) <= _ENVELOPE.size:
        return None, packet
    return _ENVELOPE.unpack_from(packet)[3], packet[_ENVELOPE.size :]


def log_packet(radio: int | None, packet: bytes) -> LogPacket | None:
    """The fields of a log packet; None when it is cut off."""
    if len(packet) < _LOG_HEAD.size:
        return None
    _, _, _, code, stamp = _LOG_HEAD.unpack_from(packet)
    # Ticks of 1 / 52428800 s as whole ns: 1e9 / 52428800 = 78125 / 4096.
    logged_ns = GPS_EPOCH_NS + stamp * 78_125 // 4096 if 0 < stamp < 1 << 58 else 0
    return LogPacket(radio, code, logged_ns, packet[_LOG_HEAD.size :])


def kind(packet: bytes) -> str:
    """What a packet outside an envelope is, for people."""
    if packet[0] != LOG_PACKET or len(packet) < _LOG_HEAD.size:
        return f"command 0x{packet[0]:02X}"
    code = _LOG_HEAD.unpack_from(packet)[3]
    return f"{KINDS.get(code, 'log packet')} 0x{code:04X}"
