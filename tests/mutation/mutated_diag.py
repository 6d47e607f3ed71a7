"""Damage to handset logs within frames whose check sequences are right: it reaches what is read behind them."""

from __future__ import annotations

from random import Random

from handset import enveloped, hdlc
from mutated_captures import EXTREMES
from mutated_text import octets, reordered

from multitracer.parsers.shared import diag


def damaged(data: bytes, rng: Random) -> bytes:
    """The log with a few frames damaged, wrapped, exchanged, repeated or removed."""
    packets = [packet for _, frame in diag.frames(data) if (packet := diag.content(frame)) is not None]
    if not packets or rng.random() < 0.2:
        return octets(data, rng)
    for _ in range(rng.choice([1, 1, 2, 4])):
        packets = reordered(packets, rng) if rng.random() < 0.15 else _changed(packets, rng)
    made = b"".join(map(hdlc, packets))
    return octets(made, rng) if rng.random() < 0.1 else made


def _changed(packets: list[bytes], rng: Random) -> list[bytes]:
    """One packet, or each, with the same kind of damage."""
    change, at = rng.choice((_field, _field, _field, octets, _enveloped)), rng.randrange(len(packets))
    everywhere = rng.random() < 0.2
    return [change(one, rng) if everywhere or place == at else one for place, one in enumerate(packets)]


def _field(packet: bytes, rng: Random) -> bytes:
    """A field of one to eight octets, little endian, becomes an extreme, or a neighbour of what it was."""
    at, size = rng.randrange(len(packet) + 1), rng.choice([1, 1, 2, 2, 4, 8])
    near = int.from_bytes(packet[at : at + size], "little") + rng.choice([-1, 1])
    value = near if rng.random() < 0.3 else rng.choice([*EXTREMES, (1 << 63) - 1, 1 << 63, rng.getrandbits(64)])
    return packet[:at] + (value & (1 << 8 * size) - 1).to_bytes(size, "little") + packet[at + size :]


def _enveloped(packet: bytes, rng: Random) -> bytes:
    """In an envelope of handsets with several radios, or in two."""
    made = enveloped(packet, rng.choice([0, 1, 2, 0xFFFFFFFF]))
    return enveloped(made) if rng.random() < 0.2 else made
