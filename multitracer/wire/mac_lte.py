"""LTE MAC PDUs decoded to the RLC PDUs inside (3GPP TS 36.321 6.1.2), and the mac-lte capture context."""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.wire.bits import MalformedPduError


@dataclass(frozen=True)
class Mac36321:
    """Constants of TS 36.321, tables 6.2.1-1 and 6.2.1-2: sizes of control elements without a length."""

    padding: int = 0x1F
    srbs: tuple[int, ...] = (1, 2)
    drbs: tuple[int, ...] = tuple(range(3, 11))
    downlink_elements: tuple[tuple[int, int], ...] = (
        (0x18, 4), (0x1A, 0), (0x1B, 1), (0x1C, 6), (0x1D, 1), (0x1E, 0), (0x1F, 0),
    )  # fmt: skip
    uplink_elements: tuple[tuple[int, int], ...] = (
        (0x1A, 1), (0x1B, 2), (0x1C, 1), (0x1D, 1), (0x1E, 3), (0x1F, 0),
    )  # fmt: skip


SPEC = Mac36321()
UPLINK, DOWNLINK = 0, 1
C_RNTI, SPS_RNTI = 3, 5
_SIZES = {UPLINK: dict(SPEC.uplink_elements), DOWNLINK: dict(SPEC.downlink_elements)}


@dataclass(frozen=True, slots=True)
class Context:
    """The context fields that a capture records with a MAC PDU, and the PDU itself."""

    direction: int
    rnti_type: int
    rnti: int
    ue: int
    retransmission: int
    """Number of the HARQ retransmission; 0 is the first transmission."""
    crc_ok: bool
    pdu: bytes


# Sizes in octets of the tagged fields of Wireshark's mac-lte framing.
_TAGS = {0x02: 2, 0x03: 2, 0x04: 2, 0x05: 1, 0x06: 1, 0x07: 1, 0x08: 0, 0x09: 2, 0x0A: 1, 0x0C: 0, 0x0D: 0,
         0x0E: 1, 0x0F: 1, 0x10: 1}  # fmt: skip
_PAYLOAD, _RNTI, _UE, _RETX, _CRC, _PHY = 0x01, 0x02, 0x03, 0x06, 0x07, 0x0B


def context(octets: bytes) -> Context:
    """The context in front of a captured MAC PDU; raises MalformedPduError when there is none."""
    if len(octets) < 4 or octets[0] not in (1, 2) or octets[1] > 1 or octets[2] > 6:
        raise MalformedPduError("no mac-lte context")
    values = tagged(octets, 3, _TAGS, counted=_PHY)
    return Context(
        direction=octets[1],
        rnti_type=octets[2],
        rnti=number(values, _RNTI),
        ue=number(values, _UE),
        retransmission=number(values, _RETX),
        crc_ok=number(values, _CRC, 1) == 1,
        pdu=values[_PAYLOAD],
    )


def tagged(octets: bytes, start: int, sizes: dict[int, int], counted: int = -1) -> dict[int, bytes]:
    """Values by tag, up to and including the payload (tag 1), which takes all remaining octets.

    `sizes` gives each tag's size in octets; the field `counted` begins with its own size. Raises
    MalformedPduError for an unknown tag or a missing payload.
    """
    values: dict[int, bytes] = {}
    at = start
    while at < len(octets):
        tag = octets[at]
        at += 1
        if tag == _PAYLOAD:
            values[tag] = octets[at:]
            return values
        if tag == counted and at < len(octets):
            size = 1 + octets[at]
        elif tag in sizes:
            size = sizes[tag]
        else:
            raise MalformedPduError(f"unknown tag {tag} in the capture context")
        values[tag] = octets[at : at + size]
        at += size
    raise MalformedPduError("a capture context without a PDU")


def number(values: dict[int, bytes], tag: int, otherwise: int = 0) -> int:
    """A tagged field as an unsigned number, `otherwise` when it is absent."""
    return int.from_bytes(values[tag], "big") if tag in values else otherwise


def sdus(pdu: bytes, direction: int) -> list[tuple[int, bytes]]:
    """(LCID, MAC SDU) of each SDU of a DL-SCH or UL-SCH PDU (6.1.2); raises MalformedPduError."""
    headers, at = _subheaders(pdu, _SIZES[direction])
    found = []
    for lcid, length in headers:
        size = len(pdu) - at if length is None else length
        if at + size > len(pdu):
            raise MalformedPduError("a MAC SDU that reaches behind the end")
        if lcid not in _SIZES[direction] and lcid <= SPEC.drbs[-1]:
            found.append((lcid, pdu[at : at + size]))
        at += size
    return found


def _subheaders(pdu: bytes, elements: dict[int, int]) -> tuple[list[tuple[int, int | None]], int]:
    """(LCID, size) per subheader R/F2/E/LCID(/F/L), size None for all remaining octets; and the subheaders' end."""
    headers: list[tuple[int, int | None]] = []
    at, more = 0, True
    while more:
        if at >= len(pdu):
            raise MalformedPduError("ends within its MAC subheaders")
        lcid, wide, more = pdu[at] & 0x1F, bool(pdu[at] & 0x40), bool(pdu[at] & 0x20)
        at += 1
        if lcid in elements:
            headers.append((lcid, None if lcid == SPEC.padding and not more else elements[lcid]))
        elif 0x0B <= lcid <= 0x17:
            raise MalformedPduError("a reserved logical channel")
        elif not more:
            headers.append((lcid, None))
        else:
            step = 2 if wide or (at < len(pdu) and pdu[at] & 0x80) else 1
            length = int.from_bytes(pdu[at : at + step], "big")
            headers.append((lcid, length if wide else length & (0x7FFF if step == 2 else 0x7F)))
            at += step
    return headers, at
