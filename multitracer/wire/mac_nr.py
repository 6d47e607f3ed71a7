"""NR MAC PDUs decoded to the RLC PDUs inside (3GPP TS 38.321 6.1.2), and the mac-nr capture context."""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.wire.bits import MalformedPduError
from multitracer.wire.mac_lte import Context, number, tagged


@dataclass(frozen=True)
class Mac38321:
    """Constants of TS 38.321, tables 6.2.1-1 and 6.2.1-2: sizes of the elements without a length field."""

    padding: int = 63
    srbs: tuple[int, ...] = (1, 2, 3)
    drbs: tuple[int, ...] = tuple(range(4, 33))
    downlink_fixed: tuple[tuple[int, int], ...] = ((57, 4), (58, 1), (59, 0), (60, 0), (61, 1), (62, 6))
    uplink_fixed: tuple[tuple[int, int], ...] = ((0, 8), (52, 6), (57, 2), (58, 2), (59, 1), (61, 1))


SPEC = Mac38321()
UPLINK, DOWNLINK = 0, 1
C_RNTI, CS_RNTI = 3, 5
_FIXED = {UPLINK: dict(SPEC.uplink_fixed), DOWNLINK: dict(SPEC.downlink_fixed)}
_TAGS = {0x02: 2, 0x03: 2, 0x04: 2, 0x05: 1, 0x06: 1, 0x07: 4}
_PAYLOAD, _RNTI, _UE = 0x01, 0x02, 0x03


def context(octets: bytes) -> Context:
    """The context in front of a captured MAC PDU; raises MalformedPduError when there is none."""
    if len(octets) < 4 or octets[0] not in (1, 2) or octets[1] > 1 or octets[2] > 12:
        raise MalformedPduError("no mac-nr context")
    values = tagged(octets, 3, _TAGS)
    return Context(octets[1], octets[2], number(values, _RNTI), number(values, _UE), 0, True, values[_PAYLOAD])


def sdus(pdu: bytes, direction: int) -> list[tuple[int, bytes]]:
    """(LCID, MAC SDU) of each SDU of a DL-SCH or UL-SCH PDU: subPDUs R/F/LCID(/L); raises MalformedPduError."""
    fixed, found, at = _FIXED[direction], [], 0
    while at < len(pdu):
        lcid, wide = pdu[at] & 0x3F, pdu[at] & 0x40
        at += 1
        if lcid == SPEC.padding:
            break
        if lcid in fixed:
            size = fixed[lcid]
        else:
            step = 2 if wide else 1
            size = int.from_bytes(pdu[at : at + step], "big")
            at += step
        if at + size > len(pdu):
            raise MalformedPduError("a MAC SDU that reaches behind the end")
        if 0 < lcid <= SPEC.drbs[-1]:
            found.append((lcid, pdu[at : at + size]))
        at += size
    return found
