"""Damage to logs of text: their numbers, fields, lines and octets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

_DIGITS = re.compile(rb"\d+")
_FIELD = re.compile(rb"[^\s,;:=/]+")


def extreme(rng: Random) -> bytes:
    """A text where a number stood: too long, negative, of another base, of no number at all."""
    return rng.choice([
        b"0", b"1", b"-1", b"+1", b"00", b"-0", b"0x1f", b"0xffffffff", b"1e9", b"1e308", b"1e-300", b"1e999", b"nan",
        b"NaN", b"inf", b"-inf", b"Infinity", b"", b".", b"-", b"1_000", b"1.2.3", "\u0661".encode(), b"\xff", b"%d",
        b"32767", b"32768", b"65535", b"65536", b"2147483647", b"2147483648", b"4294967295", b"4294967296",
        b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"-9223372036854775809",
        b"253402300800", b"9223372036", b"9223372037", b"9" * rng.choice([10, 18, 19, 20, 40, 400, 4301, 9000]),
        b"1" + b"0" * rng.choice([8, 9, 18, 400]), b"0." + b"0" * rng.choice([9, 320]) + b"1",
        b"f" * rng.choice([8, 16, 40]),
        str(rng.getrandbits(rng.choice([8, 16, 31, 32, 33, 63, 64, 65]))).encode(),
    ])  # fmt: skip


def _number(text: bytes, rng: Random) -> bytes:
    return _replaced(text, list(_DIGITS.finditer(text)), extreme(rng), rng)


def _field(text: bytes, rng: Random) -> bytes:
    """One field becomes another's text, or an extreme number."""
    fields = list(_FIELD.finditer(text))
    other = rng.choice(fields)[0] if fields and rng.random() < 0.7 else extreme(rng)
    return _replaced(text, fields, other, rng)


def _replaced(text: bytes, places: list[re.Match[bytes]], new: bytes, rng: Random) -> bytes:
    if not places:
        return text + new
    place = rng.choice(places)
    return text[: place.start()] + new + text[place.end() :]


def _lines(text: bytes, rng: Random) -> bytes:
    """Lines exchanged, repeated, removed, joined or cut."""
    lines = text.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            lines[one], lines[other] = lines[other], lines[one]
        case 1:
            lines[one:one] = [lines[other]] * rng.choice([1, 2, 30])
        case 2:
            del lines[one]
        case 3:
            rng.shuffle(lines)
        case 4:
            lines[one] = lines[one][: rng.randrange(len(lines[one]) + 1)]
        case 5:
            lines[one : one + 2] = [b"".join(lines[one : one + 2])]
    return b"\n".join(lines)


def _long_line(text: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice([b"7", b"a", b" ", b"\t", b","]) * rng.choice([100, 70_000]) + text[at:]


def octets(text: bytes, rng: Random) -> bytes:
    """Bits flipped, parts removed, repeated, overwritten or cut off: for any format."""
    data = bytearray(text)
    at = rng.randrange(len(data)) if data else 0
    match rng.randrange(6):
        case 0 if data:
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            del data[at:]
        case 2:
            del data[at : at + rng.choice([1, 2, 4, 16, 200])]
        case 3:
            data[at:at] = data[at : at + rng.choice([1, 4, 16, 60, 400])]
        case 4:
            data[at : at + 4] = rng.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0"])
        case 5:
            data[at:at] = rng.randbytes(rng.choice([1, 2, 7, 40]))
    return bytes(data)


def damaged(text: bytes, rng: Random) -> bytes:
    """The text with one to four kinds of damage, mostly to its numbers."""
    kinds = (_number, _number, _number, _field, _lines, _lines, octets, _long_line)
    weights = (6, 6, 6, 6, 4, 4, 4, 0.3)
    for kind in rng.choices(kinds, weights, k=rng.choice([1, 1, 2, 4])):
        text = kind(text, rng)
    return text


def reordered(several: Sequence[Item], rng: Random) -> list[Item]:
    """Two exchanged, one repeated at the place of another, one removed, or all shuffled."""
    one, other = rng.randrange(len(several)), rng.randrange(len(several))
    made = list(several)
    match rng.randrange(4):
        case 0:
            made[one], made[other] = made[other], made[one]
        case 1:
            made[one:one] = [made[other]] * rng.choice([1, 3])
        case 2 if len(made) > 1:
            del made[one]
        case 3:
            rng.shuffle(made)
    return made
