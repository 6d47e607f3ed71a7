"""Headers that name the protocol behind them: LLC and SNAP (IEEE 802.2), NLPIDs (RFC 2427, RFC 2684)."""

from __future__ import annotations

Payload = tuple[int, bytes]
"""EtherType, and the octets that it is of."""

IP, IPV6, MPLS, ETHERNET, PPP = 0x0800, 0x86DD, 0x8847, 0x6558, 0x880B
CHDLC_TYPES = (0x0F00, 0x8F00)
"""The first two octets of Cisco HDLC: unicast and broadcast."""
_NLPIDS = {0xCC: IP, 0x8E: IPV6, 0xCF: PPP}
_SNAP, _ISO, _IP = b"\xaa\xaa\x03", b"\xfe\xfe\x03", b"\x06\x06\x03"
"""The service access points of a protocol at both ends, and the control octet of unnumbered information."""
_BRIDGED = b"\x00\x80\xc2"
_BRIDGED_FRAMES = {b"\x00\x01": 2, b"\x00\x07": 2}
"""802.3 frames with and without their check sequence, behind two octets of padding (RFC 2684 5.2)."""


def if_ip(octets: bytes) -> Payload | None:
    """An IP packet by the version in its first octet."""
    kind = {4: IP, 6: IPV6}.get(octets[0] >> 4) if octets else None
    return None if kind is None else (kind, octets)


def llc(octets: bytes) -> Payload | None:
    """What follows an LLC header: SNAP, an NLPID (RFC 2684 5.1), or IP by its own access point (RFC 948)."""
    if octets.startswith(_SNAP):
        return after_snap(octets[3:])
    if octets.startswith(_ISO):
        return after_nlpid(octets[3:])
    return if_ip(octets[3:]) if octets.startswith(_IP) else None


def llc_or_ip(octets: bytes) -> Payload | None:
    """The same, or an IP packet without a header, where circuits may carry one protocol only (RFC 2684 6)."""
    return llc(octets) or if_ip(octets)


def after_snap(octets: bytes) -> Payload | None:
    """What follows organisation and protocol; with the bridges' number a whole Ethernet frame."""
    if len(octets) < 5:
        return None
    padding = _BRIDGED_FRAMES.get(octets[3:5]) if octets[:3] == _BRIDGED else None
    if padding is not None:
        return ETHERNET, octets[5 + padding :]
    return int.from_bytes(octets[3:5], "big"), octets[5:]


def after_nlpid(octets: bytes) -> Payload | None:
    """What follows a network layer protocol identifier."""
    if octets[:1] == b"\x80":
        return after_bridged(octets[1:])
    kind = _NLPIDS.get(octets[0]) if octets else None
    return None if kind is None else (kind, octets[1:])


def after_bridged(octets: bytes) -> Payload | None:
    """SNAP behind an NLPID: bridged frames have no padding there (RFC 2427 4.2)."""
    if octets[:3] == _BRIDGED and octets[3:5] in _BRIDGED_FRAMES:
        return ETHERNET, octets[5:]
    return after_snap(octets)


def frame_relay(record: bytes) -> Payload | None:
    """Behind an address of two to four octets a UI frame with its NLPID, or Cisco's EtherType."""
    size = next((at + 1 for at in range(min(4, len(record))) if record[at] & 1), 0)
    if size < 2 or len(record) < size + 2:
        return None
    if record[size] == 3:
        return after_nlpid(record[size + 1 :].removeprefix(b"\0"))
    return int.from_bytes(record[size : size + 2], "big"), record[size + 2 :]
