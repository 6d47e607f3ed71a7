"""The character-oriented layer above RLP, L2RCOP (3GPP TS 27.002): status octets and flow control.

Every information field begins with a status octet: the flow control condition X, and how many
characters follow before the next status octet. What the specification says of fields of 240 and
576 bits is applied to fields of any size: addresses of more than 26 characters are extended ones
of 6 bits, and as many stretches follow one another as are needed.
"""

from __future__ import annotations

from multitracer.compute.kernels import kernel
from multitracer.wire.rlp import XOFF_BIT, user_octets

# Addresses of the status octet (27.002 5.2).
EXTENDED, FULL, EMPTY = 27, 30, 31
LONGEST, LONGEST_EXTENDED = 26, 63
NANO = 1_000_000_000
"""Levels are counted in billionths of an octet, so that draining them is exact."""


@kernel
def stretches(count: int) -> int:
    """How many octets of status and address `count` characters need in a field that is not full."""
    rest = count % LONGEST_EXTENDED
    return 2 * (count // LONGEST_EXTENDED) + (0 if rest == 0 else 1 if rest <= LONGEST else 2)


@kernel
def first_octet(count: int, room: int, x: int) -> int:
    """The status octet that begins a field of `count` characters, of at most `room`, with condition `x`."""
    address = EXTENDED
    if count == room:
        address = FULL
    elif count == 0:
        address = EMPTY
    elif count <= LONGEST:
        address = count
    elif count + stretches(count) > room + 1:
        address = 1  # nearly full: single characters, until the rest of the field is full of them
    return address | (XOFF_BIT if x else 0)


def field(characters: bytes, room: int, x: bool = False) -> bytes:
    """The information field, of `room` + 1 octets, that carries the characters; the inverse of `characters_of`."""
    flow = XOFF_BIT if x else 0
    out, at, count = bytearray(), 0, len(characters)
    singles = count < room and count > LONGEST and count + stretches(count) > room + 1
    while at < count:
        left = room - len(out)
        size = min(count - at, LONGEST_EXTENDED)
        if count - at == left:
            out.append(FULL | flow)
            size = left
        elif singles:
            size = 1
            out.append(size | flow)
        elif size <= LONGEST:
            out.append(size | flow)
        else:
            out += bytes([EXTENDED | flow, size])
        out += characters[at : at + size]
        at += size
    if len(out) <= room:
        out.append(EMPTY | flow)
    return bytes(out).ljust(room + 1, b"\0")


def characters_of(information: bytes) -> bytes:
    """The characters that an information field carries, status octets and fill left out."""
    return b"".join(information[start:end] for start, end in user_octets(information))


@kernel
def drained(level: int, bytes_per_s: int, elapsed_ns: int) -> int:
    """What is left, `elapsed_ns` later, of a buffer that is emptied at a rate (level in billionths of an octet)."""
    return max(0, level - bytes_per_s * elapsed_ns)


@kernel
def condition(x: int, level: int, high_bytes: int, low_bytes: int) -> int:
    """Flow control with hysteresis: on from the high mark, off from the low one (level in billionths)."""
    if level >= high_bytes * NANO:
        return 1
    if level <= low_bytes * NANO:
        return 0
    return x
