"""The table of all connections in a report: a row for each end, which the page makes when it is scrolled to.

The columns are in the page as the panels' are: as HTML, a thousand connections would take a megabyte.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from multitracer.analysis.plain_values import Tree
from multitracer.analysis.summary import Connections
from multitracer.model.vocabulary import LIMIT_NAMES
from multitracer.report.column_packs import Values

Finding: TypeAlias = Mapping[str, Any]
"""A finding of the summary."""
GROUP = "connections"
MOST_LISTED = 100_000
"""The most connections that a page lists."""
_COUNTS = {
    "packets": "packets", "unique_bytes": "unique", "retransmitted_segments": "resent",
    "out_of_order_segments": "disordered", "duplicate_acks": "duplicates", "max_outstanding_bytes": "outstanding",
}  # fmt: skip
"""Of the numbers that the summary has of an end, those of the table, with their names in the page."""


class Head(NamedTuple):
    """A column's name in the page, its heading, and the decimals of its numbers; None of a column of texts."""

    name: str
    heading: str
    digits: int | None = None


HEADS = (
    Head("number", "connection"), Head("sender", "sent by"), Head("start", "starts, s", 3),
    Head("duration", "lasts, s", 3), Head("unique", "unique bytes", 0), Head("goodput", "goodput, kbit/s", 2),
    Head("limits", "limited by"),
    Head("findings", "findings"), Head("packets", "packets", 0), Head("resent", "resent segments", 0),
    Head("needless", "needless", 0), Head("disordered", "out of order", 0), Head("duplicates", "dup. ACKs", 0),
    Head("outstanding", "most outstanding, B", 0), Head("rtt_min", "RTT least, ms", 1),
    Head("rtt_median", "RTT median, ms", 1), Head("rtt_max", "RTT most, ms", 1),
    Head("clocks", "kernel's clocks: busy / receiver's window full / send buffer full, s"),
)  # fmt: skip
_LEAST_SHARE = 0.01
"""Limits of a smaller share of the time are not listed."""
_ENDS = ("client", "server")
_CLOCKS = ("busy_s", "rwnd_limited_s", "sndbuf_limited_s")


def columns(
    connections: Connections, main: Any, findings: Iterable[tuple[Finding, int | None]], numbers: Sequence[int]
) -> dict[str, Any]:  # fmt: skip
    """The table's columns: two rows for each of `numbers`, first that of the end that sent most data, `main`.

    `findings` are those of the summary, each with the way that it is about: 0 that of this end, 1 the other's, None
    where it tells neither, which goes to the first. Numbers that the recordings do not tell are NaN.
    """
    listed = np.array(numbers[:MOST_LISTED], dtype=np.int64)
    if not len(listed):
        return {}
    tree = connections.columns(listed)
    ends = np.stack([main[listed], 1 - main[listed]], axis=1).ravel()
    both = _Both(tree["directions"], ends)
    return {
        "number": np.repeat(listed, 2),
        "end": ends,
        "sender": np.where(ends == 0, np.repeat(tree["client"], 2), np.repeat(tree["server"], 2)).astype(object),
        "start": np.repeat(tree["start_s"], 2),
        "duration": np.repeat(tree["duration_s"], 2),
        **{short: both.numbers(name) for name, short in _COUNTS.items()},
        "needless": both.numbers("spurious", "yes"),
        **{f"rtt_{name}": both.numbers("rtt_ms", name) for name in ("min", "median", "max")},
        "goodput": both.numbers("goodput_bps") / 1e3,
        "limits": _texts(limits_text(one) for one in both.items("limits")),
        "clocks": _texts(_clocks_text(one) for one in both.items("kernel_clocks")),
        "findings": _texts(_findings_texts(findings, listed)),
    }


def heads(found: dict[str, Any]) -> list[Head]:
    """The headings of the columns that tell anything, in their order."""
    return [head for head in HEADS if head.name in found and (head.name != "clocks" or any(found[head.name]))]


def packed(found: dict[str, Any]) -> list[Values]:
    """The columns for the page."""
    return [Values(GROUP, "rows", "map", name, values) for name, values in found.items()]


def limits_text(shares: dict[str, float] | None) -> str:
    """What limited an end, the most first."""
    known = sorted((shares or {}).items(), key=lambda one: -one[1])
    return ", ".join(f"{LIMIT_NAMES[name]} {100 * share:.0f} %" for name, share in known if share >= _LEAST_SHARE)


class _Both:
    """What the summary has of both ends of some connections, in the order of the table's rows."""

    def __init__(self, directions: dict[str, Tree], ends: Any) -> None:
        self._directions, self._ends = directions, ends

    def numbers(self, *path: str) -> Any:
        """A column of numbers; NaN where they are not known."""
        one, other = (self._column(end, path).astype(np.float64) for end in _ENDS)
        return np.where(self._ends == 0, np.repeat(one, 2), np.repeat(other, 2))

    def items(self, name: str) -> Iterator[dict[str, float] | None]:
        """Of each row a dict of numbers, or None where nothing is known."""
        both = [_items(self._directions[end][name]) for end in _ENDS]
        return (both[end][row // 2] for row, end in enumerate(self._ends.tolist()))

    def _column(self, end: str, path: Sequence[str]) -> Any:
        found: Any = self._directions[end]
        for name in path:
            found = found[name]
        return found


def _items(column: Any) -> list[Any]:
    """A column of dicts, or the dicts of a tree of columns."""
    if not isinstance(column, dict):
        return list(column)
    values = (column[name].tolist() for name in column)
    return [dict(zip(column, row, strict=True)) for row in zip(*values, strict=True)]


def _clocks_text(clocks: dict[str, float] | None) -> str:
    """The kernel's own clocks in seconds, as the table's heading names them; empty where none are known."""
    return " / ".join(f"{clocks[name]:.1f}" for name in _CLOCKS) if clocks else ""


def _findings_texts(findings: Iterable[tuple[Finding, int | None]], listed: Any) -> Iterator[str]:
    """For each row the kinds of its findings, the most frequent first, with how many there are of each."""
    kinds: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for finding, way in findings:
        if finding["connection"] is not None:
            kinds[finding["connection"], way or 0][finding["kind"]] += 1
    for row in product(listed.tolist(), (0, 1)):
        counted = kinds[row].most_common() if row in kinds else ()
        yield ", ".join(kind if count == 1 else f"{kind} ({count})" for kind, count in counted)


def _texts(values: Iterator[str]) -> Any:
    return np.array(list(values), dtype=object)
