"""The GSMTAP version 2 header, the fields that RLP captures use (libosmocore's gsmtap.h; osmocom.org)."""

from __future__ import annotations

import struct
from typing import NamedTuple

PORT = 4729
GSM_RLP = 0x14
UPLINK_BIT = 0x4000
_HEADER = struct.Struct(">BBBBHbbIBBBB")
_VERSION, _HEADER_WORDS = 2, 4


class Gsmtap(NamedTuple):
    """Fields of the header, and the frame that follows it (`payload`)."""

    type: int
    timeslot: int
    arfcn: int
    uplink: bool
    frame_number: int
    sub_type: int
    payload: bytes


def decode(octets: bytes) -> Gsmtap | None:
    """The header's fields and payload; None when the octets are not a GSMTAP version 2 header."""
    if len(octets) < _HEADER.size or octets[0] != _VERSION or octets[1] < _HEADER_WORDS:
        return None
    _, words, kind, timeslot, arfcn, _, _, number, sub_type, *_ = _HEADER.unpack_from(octets)
    payload = octets[4 * words :]
    return Gsmtap(kind, timeslot, arfcn & 0x3FFF, bool(arfcn & UPLINK_BIT), number, sub_type, payload)


def encode(payload: bytes, *, uplink: bool, frame_number: int = 0, timeslot: int = 0, arfcn: int = 0) -> bytes:
    """A GSMTAP datagram that carries an RLP frame."""
    header = _HEADER.pack(
        _VERSION, _HEADER_WORDS, GSM_RLP, timeslot, arfcn | (UPLINK_BIT if uplink else 0), 0, 0, frame_number,
        0, 0, 0, 0,
    )  # fmt: skip
    return header + payload
