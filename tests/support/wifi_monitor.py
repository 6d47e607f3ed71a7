"""What a Wi-Fi monitor records: 802.11 frames, encoded here independently of the decoders under test."""

from __future__ import annotations

import struct
import zlib

STATION, ACCESS_POINT = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
ROUTER = bytes.fromhex("020000000003")
SNAP = b"\xaa\xaa\x03\x00\x00\x00"
TO_DS, FROM_DS, MORE_FRAGMENTS, RETRY, PROTECTED, ORDER = 1, 2, 4, 8, 64, 128


def llc(packet: bytes, kind: int = 0x0800) -> bytes:
    """An MSDU."""
    return SNAP + kind.to_bytes(2, "big") + packet


def amsdu(*packets: bytes) -> bytes:
    """The body of an A-MSDU."""
    body = b""
    for packet in packets:
        body += b"\0" * (-len(body) % 4)
        body += STATION + ROUTER + len(llc(packet)).to_bytes(2, "big") + llc(packet)
    return body


def data(
    body: bytes, number: int, *, up: bool = True, retry: bool = False, flags: int | None = None, tid: int | None = 0,
    qos: int = 0, fragment: int = 0, receiver: bytes | None = None,
) -> bytes:  # fmt: skip
    """A data frame, with QoS control unless `tid` is None; four addresses where `flags` has both directions."""
    flags = (TO_DS if up else FROM_DS) if flags is None else flags
    flags |= RETRY * retry
    near, far = (STATION, ACCESS_POINT) if up else (ACCESS_POINT, STATION)
    head = bytes((0x08 if tid is None else 0x88, flags)) + b"\0\0" + (receiver or far) + near + ROUTER
    head += struct.pack("<H", number << 4 | fragment)
    if flags & 3 == 3:
        head += ROUTER
    if tid is not None:
        head += struct.pack("<H", tid | qos)
        head += b"\0\0\0\0" if flags & ORDER else b""
    return head + body


def ack(receiver: bytes) -> bytes:
    """An acknowledgement."""
    return b"\xd4\0\0\0" + receiver


def block_ack(receiver: bytes, transmitter: bytes, start: int, came: int, tid: int = 0) -> bytes:
    """A compressed block acknowledgement of 64 numbers."""
    control = 2 << 1 | tid << 12
    return b"\x94\0\0\0" + receiver + transmitter + struct.pack("<HHQ", control, start << 4, came)


def with_fcs(frame: bytes) -> bytes:
    """A frame and its check sequence."""
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def radiotap(frame: bytes, *, flags: int = 0, rate: int = 12) -> bytes:
    """A frame behind TSFT, flags and rate (in 500 kbit/s)."""
    return struct.pack("<BBHIQBB", 0, 0, 18, 0b111, 0, flags, rate) + frame


def prism(frame: bytes) -> bytes:
    """A frame behind a Prism header."""
    return struct.pack("<II", 0x44, 144) + b"wlan0".ljust(136, b"\0") + frame


def avs(frame: bytes) -> bytes:
    """A frame behind an AVS header, at 5.5 Mbit/s."""
    return struct.pack(">IIQQIII", 0x80211001, 64, 0, 0, 4, 6, 55).ljust(64, b"\0") + frame


def ppi(frame: bytes, *, flags: int = 0, rate: int = 12) -> bytes:
    """A frame behind a PPI header with the common field of 802.11."""
    common = struct.pack("<HHQHHHHBBbb", 2, 20, 0, flags, rate, 2412, 0, 0, 0, -40, -90)
    return struct.pack("<BBHI", 0, 0, 8 + len(common), 105) + common + frame
