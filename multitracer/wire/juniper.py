"""Captures of Juniper routers: a header with a magic number, then a cookie of the interface card, then the frame.

Layouts as tcpdump's print-juniper.c reads them; Juniper has published no other description.
"""

from __future__ import annotations

from multitracer.wire.llc import CHDLC_TYPES, ETHERNET, PPP, Payload, after_nlpid, frame_relay, if_ip, llc_or_ip

(
    _MLPPP, _MLFR, _GGSN, _MFR, _ATM2, _SERVICES, _ATM1, _MONITOR, _PPPOE, _PPPOE_ATM, _ETHER, _PPP, _FRELAY, _CHDLC,
) = (130, 131, 133, 134, 135, 136, 137, 164, 167, 168, 178, 179, 180, 181)  # fmt: skip
LINK_TYPES = frozenset({
    _MLPPP, _MLFR, _GGSN, _MFR, _ATM2, _SERVICES, _ATM1, _MONITOR, _PPPOE, _PPPOE_ATM, _ETHER, _PPP, _FRELAY, _CHDLC,
})  # fmt: skip
_MAGIC = b"MGC"
_NO_LINK_HEADER, _EXTENDED = 0x02, 0x80
_COOKIE_BYTES = {_ATM1: 4, _ATM2: 8, _MLPPP: 2, _MLFR: 2, _MFR: 4, _GGSN: 8, _MONITOR: 8, _SERVICES: 8}
_LINK_SERVICES, _ADAPTIVE_SERVICES = 0x54, 0x47
"""First octets of a cookie that another card wrote."""


def payload(record: bytes, link_type: int) -> Payload | None:
    """EtherType and octets of the packet in a record of one of LINK_TYPES; None where it has none."""
    if record[:3] != _MAGIC or len(record) < 5:
        return None
    at = 4
    if record[3] & _EXTENDED:
        at += 2 + int.from_bytes(record[4:6], "big")
    if record[3] & _NO_LINK_HEADER:  # the address family comes first
        return if_ip(record[at + 4 :])
    at += _cookie_bytes(record[at : at + 1], link_type)
    return _frame(record[at:], link_type)


def _cookie_bytes(first: bytes, link_type: int) -> int:
    if link_type not in _COOKIE_BYTES or not first:
        return 0
    if first[0] == _ADAPTIVE_SERVICES:
        return 8
    if link_type == _MFR and first[0] & 0xC0 == 0xC0:  # a member of a bundle
        return 0
    return _COOKIE_BYTES[link_type] + 2 * (first[0] == _LINK_SERVICES)


def _frame(frame: bytes, link_type: int) -> Payload | None:
    if link_type in (_ETHER, _PPPOE):
        return ETHERNET, frame
    if link_type == _PPP:
        return PPP, frame
    if link_type == _FRELAY:
        return frame_relay(frame)
    if link_type == _CHDLC:
        return (int.from_bytes(frame[2:4], "big"), frame[4:]) if _is_chdlc(frame) else None
    if link_type == _PPPOE_ATM:
        return int.from_bytes(frame[:2], "big"), frame[2:]
    return _guessed(frame, link_type)


def _is_chdlc(frame: bytes) -> bool:
    return int.from_bytes(frame[:2], "big") in CHDLC_TYPES


def _guessed(frame: bytes, link_type: int) -> Payload | None:
    """A frame whose card does not say what it is: by its first octets."""
    if frame[:1] == b"\x03":
        return after_nlpid(frame[1:])
    found = llc_or_ip(frame)
    if found is None and link_type in (_MLPPP, _ATM2):
        return PPP, frame
    return found
