"""Frames of the SR, ASR and Raw links: their fields, and their octets.

The header is our own, because the paper gives none. Octet 0 holds the kind (bits 0-1) and whether N(R) is
there (bit 2; bits 3-7 are zero), octet 1 N(S), octet 2 N(R), octet 3 the NACK identifier; fields that a
kind lacks are zero. Zeros fill the header up to its size, and in a data frame the SDU follows to the end. There is no
check sequence: the layer below says which frames are erased.

    kind   N(S)                N(R)                     identifier
    DATA   the frame's own     piggybacked, if bit 2    of the last NACK answered (the echo)
    ACK    0                   next frame expected      0
    NACK   the missing frame   0                        this NACK's
    SKIP   the frame given up  piggybacked, if bit 2    as DATA
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import codes, numbers

MODULUS = 256
"""N(S), N(R) and the NACK identifier have 8 bits each: a window of 127 needs at least 254 numbers."""

DATA, ACK, NACK, SKIP = codes(4)
KINDS = ("DATA", "ACK", "NACK", "SKIP")

FRAME = numbers("kind ns has_nr nr id", "sdu start octets")
"""A frame in a simulation: its header; its SDU's number, place in the stream and size, all 0 without one."""

SMALLEST_HEADER = 4
"""Octets that the fields need."""
_NR_BIT, _UNUSED_BITS = 0x04, 0xF8


class Header(NamedTuple):
    """The fields that are on the air."""

    kind: int
    ns: int
    has_nr: int
    nr: int
    id: int


def encode(frame: Any, sdu: bytes = b"", header_bytes: int = 6) -> bytes:
    """The octets of a frame with these header fields, `sdu` after them; raises ValueError where they do not fit."""
    header = Header(*(int(getattr(frame, name)) for name in Header._fields))
    if header_bytes < SMALLEST_HEADER:
        raise ValueError(f"a header has at least {SMALLEST_HEADER} octets, not {header_bytes}")
    if any(not 0 <= field < MODULUS for field in (header.ns, header.nr, header.id)):
        raise ValueError(
            f"N(S) {header.ns}, N(R) {header.nr} and identifier {header.id} must be 0 to {MODULUS - 1}"
        )
    problem = _misfit(header, len(sdu))
    if problem:
        raise ValueError(problem)
    fields = bytes([header.kind | _NR_BIT * header.has_nr, header.ns, header.nr, header.id])
    return fields.ljust(header_bytes, b"\0") + sdu


def decode(octets: bytes, header_bytes: int = 6, control_bytes: int = 6) -> tuple[Header, bytes]:
    """A frame's header and its SDU; raises ValueError for octets that are no frame."""
    if len(octets) < SMALLEST_HEADER:
        raise ValueError(f"a frame has at least {SMALLEST_HEADER} octets, not {len(octets)}")
    first, ns, nr, identifier = octets[:SMALLEST_HEADER]
    header = Header(first & 3, ns, int(first & _NR_BIT != 0), nr, identifier)
    size = header_bytes if header.kind == DATA else control_bytes
    sdu = octets[size:]
    problem = _misfit(header, len(sdu))
    if len(octets) < size or first & _UNUSED_BITS or any(octets[SMALLEST_HEADER:size]):
        problem = f"a header of {size} octets has zeros where no field is, not {octets[:size].hex()}"
    if problem:
        raise ValueError(problem)
    return header, sdu


def _misfit(header: Header, octets: int) -> str:
    """Why no frame has this header and `octets` octets of SDU; empty when one has."""
    kind, ns, has_nr, nr, identifier = header
    if not DATA <= kind <= SKIP:
        return f"kind {kind} must be {DATA} to {SKIP}"
    if (kind == DATA) != (octets > 0):
        return f"a frame of kind {KINDS[kind]} cannot carry {octets} octets"
    if has_nr not in (0, 1) or (kind in (ACK, NACK) and has_nr != int(kind == ACK)) or (nr and not has_nr):
        return f"a frame of kind {KINDS[kind]} cannot have N(R) {nr} with its bit {has_nr}"
    if kind == ACK and (ns or identifier):
        return f"an ACK has neither N(S) {ns} nor identifier {identifier}"
    return ""


@kernel
def copy_frame(frame: Any, to: Any, octets: int) -> None:
    """Copy a frame into another."""
    to.kind, to.ns, to.has_nr, to.nr, to.id = frame.kind, frame.ns, frame.has_nr, frame.nr, frame.id
    to.sdu, to.start, to.octets = frame.sdu, frame.start, frame.octets
