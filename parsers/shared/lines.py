"""For logs of lines of text: whole lines, exact times, socket addresses, and counts of what was skipped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from multitracer.model.trace import Skip

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

SECOND_NS = 1_000_000_000
INT16, INT32, UINT32, INT64 = (1 << 15) - 1, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1
"""The largest number that a column of each type holds."""
_MOST_DIGITS = 20
"""More digits than any column holds; reading thousands takes time, and Python refuses more than 4,300."""
_MAPPED = "::ffff:"
HEAD_LINES = 50
"""The number of lines that a sniff compares with a pattern, at most."""


class FieldError(ValueError):
    """A field that is no number, or none that it can hold: its record is lost, and the message says why."""


def whole(text: str, most: int, least: int = 0) -> int:
    """A decimal whole number from `least` to `most`; raises FieldError for any other text."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise FieldError("a field that is no whole number")
    number = int(digits) if len(digits) <= _MOST_DIGITS else int(digits.lstrip("0")[: _MOST_DIGITS + 1] or "0")
    number = -number if len(digits) < len(text) else number
    if not least <= number <= most:
        raise FieldError(f"a field out of range, of at most {most}")
    return number


def fits(name: str, number: float, most: float) -> float:
    """The number, if it is from 0 to `most`, or NaN for one that is not known; raises FieldError for any other."""
    if number < 0 or number > most:
        raise FieldError(f"a field out of range: {name}")
    return number


def nanoseconds(text: str) -> int:
    """Decimal seconds as nanoseconds, without digits beyond the ninth; raises FieldError for any other text."""
    whole, dot, fraction = text.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) <= 10) or (
        dot and not (fraction.isascii() and fraction.isdigit())
    ):
        raise FieldError("a field that is not a time in seconds")
    total = int(whole) * SECOND_NS + (int(fraction[:9].ljust(9, "0")) if dot else 0)
    if total > INT64:
        raise FieldError("a time beyond the year 2262")
    return total


def seconds(nanoseconds_: int) -> str:
    """Nanoseconds as decimal seconds with nine decimals, exactly."""
    sign = "-" if nanoseconds_ < 0 else ""
    whole, rest = divmod(abs(nanoseconds_), SECOND_NS)
    return f"{sign}{whole}.{rest:09d}"


def endpoint(address: str, port: str | int) -> str:
    """A socket's end as `ip:port`, or `[ip]:port` for IPv6; an IPv4 address mapped into IPv6 becomes IPv4."""
    bare = address.partition("%")[0].strip("[]")  # ss: [fe80::1]%eth0, others: [fe80::1%eth0]
    if bare[:7].lower() == _MAPPED and "." in bare:
        bare = bare[7:]
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


def split_endpoint(text: str) -> str:
    """An end in any of the spellings that logs use, as `endpoint` writes it; raises FieldError for any other text."""
    address, colon, port = text.rpartition(":")
    if not (colon and address and port.isascii() and port.isdigit() and int(port[:6]) < 65536):
        raise FieldError("a field that is not an address and port")
    return endpoint(address, int(port))


_PACE = {
    "frame_ms": re.compile(r"\d{1,6}(\.\d{1,6})?\Z", re.ASCII),
    "tti_ms": re.compile(r"\d{1,6}(\.\d{1,6})?\Z", re.ASCII),
    "frames_per_tti": re.compile(r"\d{1,4}\Z", re.ASCII),
}


def keep_header(header: dict[str, str], key: str, text: str) -> bool:
    """Keep a header's first value; False for a frame's duration, or number in a TTI, that is no positive number."""
    form = _PACE.get(key)
    if form is not None and not (form.match(text) and float(text) > 0):
        return False
    header.setdefault(key, text)
    return True


@dataclass
class Losses:
    """What had to be skipped: for each reason one Skip, with its first place and its count."""

    _first: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, record: int | None = None, offset: int | None = None, count: int = 1) -> None:
        """Count a loss; `record` and `offset` are kept of the first one of a reason."""
        self._first.setdefault(reason, (record, offset))
        self._count[reason] = self._count.get(reason, 0) + count

    def __contains__(self, reason: str) -> bool:
        return reason in self._count

    @property
    def uncut(self) -> bool:
        """Whether the log ends with a line end."""
        return CUT not in self._count

    @property
    def skips(self) -> list[Skip]:
        """The losses, in the order in which their reasons first occurred."""
        return [Skip(reason, *place, self._count[reason]) for reason, place in self._first.items()]


CUT = "the last line has no end: it may be cut off"
LINE_BYTES = 1 << 16
"""No log has longer lines; a longer one is skipped, which bounds the time that a pattern takes."""


def whole_lines(source: Source, losses: Losses) -> Iterator[tuple[int, int, str]]:
    """Every line that is neither blank nor cut off: its number, byte offset and text.

    A last line without a line end may have lost digits of its last number, which could not be noticed:
    it is counted as a loss.
    """
    for number, offset, line, ended in source.octet_lines(LINE_BYTES):
        if not line or line.isspace():
            continue
        if not ended:
            losses.add(CUT, number, offset)
        elif len(line) > LINE_BYTES:
            losses.add("a line too long for a log", number, offset)
        else:
            yield number, offset, line.decode("utf-8", "backslashreplace").rstrip("\r")


Taker = Callable[[int, int, str], object]
"""Reads one line, given its number, byte offset and text; raises ValueError for a record that it cannot read."""


def take_lines(source: Source, losses: Losses, take: Taker, otherwise: str) -> None:
    """Give every whole line to `take`; where it raises, the line is a loss, for the reason `otherwise`.

    A field that is out of range (FieldError) is a reason of its own. So one bad record is lost, never the others.
    What `take` refused it would refuse again: the same line below is only counted, in a third of the time.
    """
    refused, why = "", otherwise
    for number, offset, text in whole_lines(source, losses):
        if text == refused:
            losses.add(why)
            continue
        try:
            take(number, offset, text)
        except FieldError as error:
            refused, why = text, str(error)
            losses.add(why, number, offset)
        except (ValueError, OverflowError):
            refused, why = text, otherwise
            losses.add(why, number, offset)
        else:
            refused = ""


def head_lines(head: bytes) -> list[str]:
    """The first lines of a text, without blank lines and without a last line that has no line end.

    Empty when the octets are not text.
    """
    if b"\0" in head:
        return []
    whole = head[: head.rfind(b"\n") + 1]
    lines = whole.decode("utf-8", "backslashreplace").split("\n")
    return [line for line in (line.rstrip("\r") for line in lines) if line and not line.isspace()]


def records_match(head: bytes, pattern: re.Pattern[str]) -> bool:
    """Whether records match the pattern: the first one, and nine in ten of the first fifty."""
    records = [line for line in head_lines(head) if not line.startswith("#")][:HEAD_LINES]
    fits = [bool(pattern.match(line)) for line in records]
    return bool(fits) and fits[0] and sum(fits) >= 0.9 * len(fits)
