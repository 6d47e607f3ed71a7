"""A handset's log in Qualcomm's diagnostic packets, written out: HDLC frames, log packets, envelopes, RLC PDUs."""

from __future__ import annotations

import struct
from binascii import crc_hqx

from multitracer.parsers.shared import diag


def hdlc(packet: bytes) -> bytes:
    """A frame with its check sequence, escaped and ended."""
    mirrored = bytes(int(f"{octet:08b}"[::-1], 2) for octet in packet)
    crc = int(f"{crc_hqx(mirrored, 0xFFFF) ^ 0xFFFF:016b}"[::-1], 2)
    octets = packet + struct.pack("<H", crc)
    return octets.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e") + diag.FLAG


def log_packet(code: int, body: bytes, second: float = 1) -> bytes:
    size = len(body) + 12
    return struct.pack("<BxHHHQ", diag.LOG_PACKET, size, size, code, round((1 << 50) + second * 52_428_800)) + body


def pdus(numbers: list[int], version: int = 3, packet_version: int = 1) -> bytes:
    """A log packet of downlink PDUs with these sequence numbers, one a millisecond from 10 x its number on."""
    records = b"".join(
        struct.pack("<HHHB", (sn // 10) << 4 | sn % 10, 100, 2, 0) + struct.pack(">H", 0x8000 | sn) for sn in numbers
    )
    inner = struct.pack("<BBBxH4HH", 3, 1, 10, 0, 0, 0, 0, 0, len(numbers)) + records
    return bytes([packet_version, 1, 0, 0]) + struct.pack("<BBH", 0x41, version, len(inner) + 4) + inner


def enveloped(packet: bytes, radio: int = 1) -> bytes:
    return struct.pack("<BBHI", diag.MULTI_RADIO, 1, 0, radio) + packet


def rlc(numbers: list[int], second: float = 1, **versions: int) -> bytes:
    return log_packet(diag.RLC_DOWNLINK_PDUS, pdus(numbers, **versions), second)
