"""Rare headers as dpkt decodes them; what it raises on octets that are no such header ends here.

The number of the protocol behind a header is hidden from dpkt, which would decode the payload too, and fail with it.
"""

from __future__ import annotations

import struct
from typing import Any

_NO_PROTOCOL = b"\xff"
_NO_ETHERTYPE = b"\xff\xff"


def gre(octets: bytes) -> Any | None:
    """A GRE header of version 0 or 1: `v`, `data`, and `key`, `seq`, `callid` where it has them."""
    import dpkt

    header = _decoded(dpkt.gre.GRE, octets[:2] + _NO_ETHERTYPE + octets[4:])
    return header if header and header.v in (0, 1) else None


def ah(octets: bytes) -> Any | None:
    """An authentication header: `data` is what it is before."""
    import dpkt

    return _decoded(dpkt.ah.AH, _NO_PROTOCOL + octets[1:])


def esp(octets: bytes) -> Any | None:
    """An ESP header: `spi`, `seq`, and `data`, what is encrypted or not."""
    import dpkt

    return _decoded(dpkt.esp.ESP, octets)


def _decoded(kind: Any, octets: bytes) -> Any | None:
    import dpkt

    try:
        header = kind(octets)
    except (dpkt.UnpackError, struct.error, IndexError, ValueError):
        return None
    return header if isinstance(header.data, bytes) else None
