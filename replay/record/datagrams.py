"""Link frames in UDP over IPv4, as a monitor of a radio link passes them to a capture.

Uplink frames go from the mobile's address to the network's, downlink frames the other way; the addresses are
those for documentation (RFC 5737).
"""

from __future__ import annotations

import struct

from multitracer.wire import gsmtap
from multitracer.wire.layers import PROTOCOL_UDP

MOBILE, NETWORK = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
RLC_PORT = 9999
"""Any port will do for RLC: Wireshark recognises the framing by its content."""
RADIO_BEARER = 5
"""The first radio bearer with user data: 0 to 4 are for signalling (25.331 13.6)."""

LARGEST_BYTES = 65_400
"""Of a frame, so that it has room in an IPv4 packet behind its headers."""

_IP_BYTES, _UDP_BYTES, _HOPS = 20, 8, 64
_HYPERFRAME, _TDMA_FRAMES, _TDMA_NS = 2_715_648, 26, 120_000_000
"""Frame numbers are counted modulo the first (45.002 4.3.3); 26 TDMA frames last 120 ms."""


def of_rlp(frame: bytes, *, uplink: bool, time_ns: int) -> bytes:
    """The packet that carries an RLP frame in GSMTAP; `time_ns` gives its TDMA frame number."""
    number = time_ns * _TDMA_FRAMES // _TDMA_NS % _HYPERFRAME
    return udp(gsmtap.encode(frame, uplink=uplink, frame_number=number), gsmtap.PORT, uplink=uplink)


def of_umts_rlc(pdu: bytes, *, uplink: bool, li_bits: int) -> bytes:
    """The packet that carries a UMTS RLC PDU of acknowledged mode, as Wireshark's umts-rlc has it.

    Tags: 3 mode (2: acknowledged), 4 direction, 7 size of length indicators, 5 U-RNTI, 6 radio bearer, 1 the PDU.
    """
    way, size = 0 if uplink else 1, 1 if li_bits == 7 else 2
    framing = struct.pack(">8sBBBBBBBIBBB", b"umts-rlc", 3, 2, 4, way, 7, size, 5, 0, 6, RADIO_BEARER, 1)
    return udp(framing + pdu, RLC_PORT, uplink=uplink)


def udp(payload: bytes, port: int, *, uplink: bool) -> bytes:
    """An IPv4 packet (RFC 791) with this in UDP (RFC 768), from and to one port, with both checksums."""
    ends = MOBILE + NETWORK if uplink else NETWORK + MOBILE
    size = _UDP_BYTES + len(payload)
    body = struct.pack(">HHHH", port, port, size, 0) + payload
    right = checksum(ends + struct.pack(">HH", PROTOCOL_UDP, size) + body) or 0xFFFF
    fixed = struct.pack(">BBHIBB", 0x45, 0, _IP_BYTES + size, 0, _HOPS, PROTOCOL_UDP)
    header = fixed + struct.pack(">H", checksum(fixed + ends)) + ends
    return header + body[:6] + right.to_bytes(2, "big") + payload


def checksum(octets: bytes) -> int:
    """The complement of the sum of 16-bit words, the last octet padded (RFC 1071)."""
    even = octets + b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f">{len(even) // 2}H", even))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF
