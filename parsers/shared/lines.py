"""For logs of lines of text: whole lines, exact times, socket addresses, and counts of what was skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from multitracer.model.trace import Skip

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

SECOND_NS = 1_000_000_000
_MAPPED = "::ffff:"
HEAD_LINES = 50
"""The number of lines that a sniff compares with a pattern, at most."""


def nanoseconds(text: str) -> int:
    """Decimal seconds as nanoseconds, without digits beyond the ninth; raises ValueError for any other text."""
    whole, dot, fraction = text.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) <= 10) or (
        dot and not (fraction.isascii() and fraction.isdigit())
    ):
        raise ValueError(f"not a time in seconds: {text[:40]}")
    total = int(whole) * SECOND_NS + (int(fraction[:9].ljust(9, "0")) if dot else 0)
    if total >= 1 << 63:
        raise ValueError(f"a time beyond the year 2262: {text[:40]}")
    return total


def seconds(nanoseconds_: int) -> str:
    """Nanoseconds as decimal seconds with nine decimals, exactly."""
    sign = "-" if nanoseconds_ < 0 else ""
    whole, rest = divmod(abs(nanoseconds_), SECOND_NS)
    return f"{sign}{whole}.{rest:09d}"


def endpoint(address: str, port: str | int) -> str:
    """A socket's end as `ip:port`, or `[ip]:port` for IPv6; an IPv4 address mapped into IPv6 becomes IPv4."""
    bare = address.strip("[]").partition("%")[0]
    if bare[:7].lower() == _MAPPED and "." in bare:
        bare = bare[7:]
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


def split_endpoint(text: str) -> str:
    """An end in any of the spellings that logs use, as `endpoint` writes it; raises ValueError for any other text."""
    address, colon, port = text.rpartition(":")
    if not (colon and address and port.isascii() and port.isdigit() and int(port[:6]) < 65536):
        raise ValueError(f"not an address and port: {text[:60]}")
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
    ended = source.data[-1:] == b"\n"
    size = len(source)
    for number, offset, text in source.lines():
        if not ended and offset + len(text) >= size and text.strip():
            losses.add(CUT, number, offset)
        elif len(text) > LINE_BYTES:
            losses.add("a line too long for a log", number, offset)
        elif text and not text.isspace():
            yield number, offset, text


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
