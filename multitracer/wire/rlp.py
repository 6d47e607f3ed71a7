"""GSM RLP frames of versions 0 and 1, decoded and encoded (3GPP TS 24.022 5).

A frame of 240 bits has 25 octets of information, one of 576 bits has 67; both have 16 bits of header and 24
of frame check sequence. Version 2 (24-bit headers) is not supported.
"""

from __future__ import annotations

from typing import NamedTuple

MODULUS = 62
"""24.022 5.2.1: N(S) 62 marks an S frame, 63 a U frame."""
LARGEST_WINDOW = 61
MOST_REPEATS = 6
"""24.022, N2: how often a frame is sent again before the link begins anew, by default."""
FRAME_BYTES = {240: 30, 576: 72}
HEADER_BYTES, FCS_BYTES = 2, 3
SMALLEST_BYTES = 6
"""Header, check sequence and one octet of information: the minimum with `any_size`."""
_S_FRAME, _U_FRAME = 62, 63

SUPERVISORY = ("RR", "RNR", "REJ", "SREJ")
UNNUMBERED = {
    0x07: "SABM", 0x0C: "UA", 0x08: "DISC", 0x03: "DM", 0x0F: "NULL", 0x00: "UI", 0x17: "XID", 0x1C: "TEST",
    0x11: "REMAP",
}  # fmt: skip
_COMMANDS = {name: code for code, name in UNNUMBERED.items()}

# 24.022 4.4: x^24+x^23+x^21+x^20+x^19+x^17+x^16+x^15+x^13+x^8+x^7+x^5+x^4+x^2+1, bits reflected.
_POLYNOMIAL, _ONES = 0xAD85DD, 0xFFFFFF

# L2R status octet of the character-oriented relay (27.002 5.2).
XOFF_BIT = 0x20
_ADDRESS = 0x1F
_EXTENDED, _BREAK_ACK, _BREAK, _FULL, _EMPTY = 27, 28, 29, 30, 31
_LONGEST_STRETCH = {25: 23, 67: 26}


class Frame(NamedTuple):
    """One RLP frame. `ns` and `nr` are -1 where the frame has none.

    `type` is BAD when the frame check sequence is wrong or a field has a value that is not defined.
    """

    type: str
    ns: int = -1
    nr: int = -1
    poll: int = 0
    command: int = 0
    information: bytes = b""


def _table() -> list[int]:
    table = []
    for octet in range(256):
        register = octet
        for _ in range(8):
            register = register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)
        table.append(register)
    return table


_TABLE = _table()


def fcs(octets: bytes) -> int:
    """The frame check sequence of a frame's header and information (24.022 4.4)."""
    register = _ONES
    for octet in octets:
        register = register >> 8 ^ _TABLE[(register ^ octet) & 0xFF]
    return register ^ _ONES


def decode(octets: bytes, *, any_size: bool = False) -> Frame:
    """Decode a frame; its type is BAD when it is damaged.

    Raises ValueError for a size other than 30 or 72 octets; with `any_size`, frames of SMALLEST_BYTES or
    more are decoded by the same layout.
    """
    if len(octets) not in FRAME_BYTES.values() and not (any_size and len(octets) >= SMALLEST_BYTES):
        raise ValueError(f"an RLP frame has 30 or 72 octets, not {len(octets)}")
    if fcs(octets[:-FCS_BYTES]) != int.from_bytes(octets[-FCS_BYTES:], "little"):
        return Frame("BAD")
    first, second = octets[:HEADER_BYTES]
    command, supervisory, ns = first & 1, SUPERVISORY[first >> 1 & 3], first >> 3 | (second & 1) << 5
    poll, nr = second >> 1 & 1, second >> 2
    information = octets[HEADER_BYTES:-FCS_BYTES]
    if ns == _U_FRAME:
        kind = UNNUMBERED.get(nr & 0x1F)
        return Frame("BAD") if kind is None else Frame(kind, -1, -1, poll, command, information)
    if nr >= MODULUS:
        return Frame("BAD")
    if ns == _S_FRAME:
        return Frame(supervisory, -1, nr, poll, command)
    return Frame(f"I {supervisory}", ns, nr, poll, command, information)


def encode(frame: Frame, bits: int = 240) -> bytes:
    """The frame's octets; `bits` is a multiple of 8, at least 48.

    Raises ValueError for such a size, for too much information, or for an N(S) or N(R) out of range.
    """
    if bits % 8 or bits < 8 * SMALLEST_BYTES:
        raise ValueError(f"a frame of {bits} bits; it must have whole octets, {SMALLEST_BYTES} or more")
    room = bits // 8 - HEADER_BYTES - FCS_BYTES
    if len(frame.information) > room:
        raise ValueError(f"{len(frame.information)} octets of information in a frame of {bits} bits (at most {room})")
    supervisory, ns, nr = 0, frame.ns, frame.nr
    if frame.type in _COMMANDS:
        ns, nr = _U_FRAME, _COMMANDS[frame.type]
    else:
        name = frame.type.removeprefix("I ")
        supervisory = SUPERVISORY.index(name)
        ns = ns if frame.type.startswith("I ") else _S_FRAME
        if not 0 <= nr < MODULUS or not (ns == _S_FRAME or 0 <= ns < MODULUS):
            raise ValueError(f"N(S) {frame.ns} and N(R) {frame.nr} must be 0 to {MODULUS - 1}")
    header = bytes([frame.command | supervisory << 1 | (ns & 0x1F) << 3, ns >> 5 | frame.poll << 1 | nr << 2])
    body = header + frame.information.ljust(room, b"\0")
    return body + fcs(body).to_bytes(FCS_BYTES, "little")


def user_octets(information: bytes) -> list[tuple[int, int]]:
    """(start, end) of each run of user characters in an information field (27.002 5.2).

    Status octets, fill and break signals are left out; an invalid address ends the field.
    """
    stretches: list[tuple[int, int]] = []
    at, longest = 0, _LONGEST_STRETCH.get(len(information), len(information))
    while at < len(information):
        address = information[at] & _ADDRESS
        at += 1
        if address == _FULL:
            stretches.append((at, len(information)))
            break
        if address == _EXTENDED and at < len(information):
            address, longest = information[at] & 0x3F, len(information)
            at += 1
        elif address in (_EMPTY, 0) or address > longest:
            break
        if at + address > len(information):
            break
        stretches.append((at, at + address))
        at += address
    return stretches
