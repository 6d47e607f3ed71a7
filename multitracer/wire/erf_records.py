"""What the records of Endace's ERF hold, by their types.

Sources: wiki.wireshark.org/ERF, and the types as Wireshark reads them. Records of colours and hashes differ from plain
ones in the header's last word only; those of a channelised line have a header of the channel before the frame.
"""

from __future__ import annotations

from typing import Any

HEADER_BYTES, EXTENSION_BYTES = 16, 8
MORE_HEADERS = 0x80
"""Of a type, and of the first octet of an extension header: another header follows."""
_HDLC, _ETHERNET, _CHANNEL, _IP = (1, 10, 15, 19), (2, 11, 16, 20), (5, 17), (22, 23)
_PAD_BYTES, _CHANNEL_BYTES = 2, 4
_LINK_ETHERNET, _LINK_RAW, _LINK_PPP, _LINK_CHDLC = 1, 101, 50, 104
_PPP_ADDRESS = b"\xff\x03"
HEADED_BYTES = _CHANNEL_BYTES + 2
"""Octets behind a record's headers of which `frame_of` needs to see no more."""


def behind_extensions(kind: int, data: Any, start: int, stop: int) -> int:
    """Where a record's content begins, whose headers after the first begin at `start`: each says if another follows."""
    more = kind & MORE_HEADERS
    while more and start + EXTENSION_BYTES <= stop:
        more = data[start] & MORE_HEADERS
        start += EXTENSION_BYTES
    return start


def frame_of(kind: int, octets: bytes) -> tuple[int, int] | None:
    """Link type of the frame in a record, and where it begins in the `octets` behind the record's headers.

    `kind` is the type without its highest bit; None for types that carry no IP.
    """
    if kind in _ETHERNET:
        return _LINK_ETHERNET, _PAD_BYTES
    if kind in _IP:
        return _LINK_RAW, 0
    if kind not in _HDLC and kind not in _CHANNEL:
        return None
    at = _CHANNEL_BYTES if kind in _CHANNEL else 0
    return _in_hdlc(octets[at : at + 2]), at


def _in_hdlc(first: bytes) -> int:
    """Nothing says what is in HDLC: PPP by its address and control octets (RFC 1662 3.1), else it is Cisco's."""
    return _LINK_PPP if first == _PPP_ADDRESS else _LINK_CHDLC
