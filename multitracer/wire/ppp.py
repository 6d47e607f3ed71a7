"""PPP in HDLC-like framing (RFC 1662) and its protocol field (RFC 1661 2)."""

from __future__ import annotations

from typing import NamedTuple

FLAG, ESCAPE, ESCAPE_XOR = 0x7E, 0x7D, 0x20
IP, VJ_COMPRESSED, VJ_UNCOMPRESSED, IPV6 = 0x0021, 0x002D, 0x002F, 0x0057
_GOOD_FCS16 = 0xF0B8
_ADDRESS_CONTROL = b"\xff\x03"
FCS_BYTES = 2


class Frame(NamedTuple):
    """One PPP frame: its protocol number, its payload, and the octets of headers in front of the payload."""

    protocol: int
    payload: bytes
    header_bytes: int


def _table() -> list[int]:
    table = []
    for octet in range(256):
        register = octet
        for _ in range(8):
            register = register >> 1 ^ (0x8408 if register & 1 else 0)
        table.append(register)
    return table


_TABLE = _table()


def fcs16(octets: bytes) -> int:
    """The FCS register after `octets` (RFC 1662 C.2), preset to ones and not complemented."""
    register = 0xFFFF
    for octet in octets:
        register = register >> 8 ^ _TABLE[(register ^ octet) & 0xFF]
    return register


def fcs_good(frame: bytes) -> bool:
    """Whether the frame check sequence of an unescaped frame is correct."""
    return len(frame) > FCS_BYTES and fcs16(frame) == _GOOD_FCS16


def unescape(octets: bytes) -> bytes:
    """The octets between two flags, with escape sequences resolved (RFC 1662 4.2)."""
    if ESCAPE not in octets:
        return octets
    parts = octets.split(bytes([ESCAPE]))
    return parts[0] + b"".join(bytes([part[0] ^ ESCAPE_XOR]) + part[1:] for part in parts[1:] if part)


def parse(frame: bytes, *, check: bool = True) -> Frame | None:
    """The frame's protocol and payload; None when its FCS is wrong or it has no protocol field.

    `frame` is unescaped and still has its FCS, unless `check` is False.
    """
    if check:
        if not fcs_good(frame):
            return None
        frame = frame[:-FCS_BYTES]
    at = 2 if frame[:2] == _ADDRESS_CONTROL else 0
    if len(frame) <= at:
        return None
    size = 1 if frame[at] & 1 else 2
    if len(frame) < at + size:
        return None
    return Frame(int.from_bytes(frame[at : at + size], "big"), frame[at + size :], at + size)


def encode(protocol: int, payload: bytes, *, compress_header: bool = False) -> bytes:
    """A frame as sent on the line: flag, escaped content with its FCS, flag.

    `compress_header` leaves address and control out and sends a protocol number below 256 as one octet (RFC
    1661 6.5 and 6.6).
    """
    small = compress_header and protocol < 0x100 and protocol & 1
    head = b"" if compress_header else _ADDRESS_CONTROL
    body = head + protocol.to_bytes(1 if small else 2, "big") + payload
    body += (fcs16(body) ^ 0xFFFF).to_bytes(2, "little")
    escaped = bytearray([FLAG])
    for octet in body:
        if octet < 0x20 or octet in (FLAG, ESCAPE):  # RFC 1662 4.2: the default map escapes all controls
            escaped += bytes([ESCAPE, octet ^ ESCAPE_XOR])
        else:
            escaped.append(octet)
    escaped.append(FLAG)
    return bytes(escaped)
