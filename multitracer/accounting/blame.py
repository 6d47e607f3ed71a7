"""Who is to blame: every instant that carried no new data, charged to the root of the chain of the finding behind it.

An instant with a cause is explained by the finding that holds it and whose kind can leave that cause
(`vocabulary.KINDS`); of several by the one that began last. What TCP sent again on the air is charged to what lost the
earlier copy, or made TCP resend.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.accounting.intervals import Ints
from multitracer.model.analysis import Blame
from multitracer.model.schema import CAUSES
from multitracer.model.vocabulary import CAUSES as CAUSE_WORDS
from multitracer.model.vocabulary import KINDS, UNEXPLAINED

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.accounting.session import Accounting

Floats: TypeAlias = npt.NDArray[np.float64]

CARRIED = ("new_data", "link_overhead")
"""What is charged to nobody."""


class Resends(NamedTuple):
    """When what TCP sent again was on the air, and the finding to which that belongs; arrays of one length."""

    start_ns: Ints
    end_ns: Ints
    finding: Ints


class Charged(NamedTuple):
    """Nanoseconds of one session."""

    finding_ns: Ints
    """Charged to each finding itself, not yet to its root."""
    unexplained_ns: dict[str, int]
    """Charged to nothing, by the cause of the accounting."""
    session_ns: int


def find_blame(accounting: Accounting, findings: pd.DataFrame, resends: Resends) -> tuple[Floats, list[Blame]]:
    """(Seconds lost to each finding that is a root, NaN for others; who is to blame, dearest first).

    `findings` is the findings table with its column caused_by, in the order that `resends` refers to.
    """
    charged = charge(accounting, findings, resends)
    root = roots(findings["caused_by"].to_numpy())
    lost = np.bincount(root, weights=charged.finding_ns, minlength=len(findings)).astype(np.int64)
    kind, layer, because = (findings[name].tolist() for name in ("kind", "layer", "because"))
    entries: dict[tuple[str, str], list[int]] = {}
    for number in np.flatnonzero(lost).tolist():
        entries.setdefault((kind[number], layer[number]), []).append(number)
    blame = [
        Blame(*key, int(lost[numbers].sum()), charged.session_ns, numbers, _because(numbers, lost, because))
        for key, numbers in entries.items()
    ]
    left = sum(charged.unexplained_ns.values())
    if left:
        blame.append(Blame(UNEXPLAINED, "unknown", left, charged.session_ns, [], _nobody(charged.unexplained_ns)))
    return np.where(root == np.arange(len(root)), lost / 1e9, np.nan), sorted(blame, key=lambda one: -one.lost_ns)


def _nobody(unexplained: dict[str, int]) -> str:
    """What is unexplained, in words: the causes that make up nine tenths of it."""
    total, told, parts = sum(unexplained.values()), 0, []
    for name, lost in sorted(unexplained.items(), key=lambda one: -one[1]):
        if told < 0.9 * total:
            parts.append(f"{CAUSE_WORDS[name].name} {lost / 1e9:.1f} s")
            told += lost
    return "no finding explains it (" + ", ".join(parts) + ")"


def _because(numbers: list[int], lost: Ints, because: list[str]) -> str:
    """The reason of the root that cost most, and how many others there are."""
    dearest = max(numbers, key=lambda number: lost[number])
    others = f"; and {len(numbers) - 1} more" if len(numbers) > 1 else ""
    return because[dearest] + others


def roots(caused_by: Ints) -> Ints:
    """For each finding the root of its chain: itself where nothing caused it."""
    root = np.arange(len(caused_by))
    for _ in range(len(KINDS)):
        cause = caused_by[root]
        root = np.where(cause >= 0, cause, root)
    return root


def charge(accounting: Accounting, findings: pd.DataFrame, resends: Resends) -> Charged:
    """The time of the session that each finding explains; `findings` in the order that `resends` refers to."""
    start, end, cause = accounting.intervals
    charged = np.zeros(len(findings), dtype=np.int64)
    decided = (findings["verdict"] != "undecided").to_numpy()
    left: dict[str, int] = {}
    for code, name in enumerate((*CAUSES, "unknown")):
        mine = cause == code
        if name in CARRIED or not mine.any():
            continue
        time = _TimeOf(start[mine], end[mine])
        left[name] = left.get(name, 0) + time.total
        leaving = decided & findings["kind"].map(lambda kind, name=name: name in KINDS[kind].leaves).to_numpy()
        numbers = np.flatnonzero(leaving)
        explaining = list(
            zip(findings["start_ns"].to_numpy()[numbers].tolist(), findings["end_ns"].to_numpy()[numbers].tolist(),
                numbers.tolist(), strict=True)
        )  # fmt: skip
        if name == "tcp_retransmitted":
            own = resends.finding >= 0
            # What was on the air tells more than any finding's interval.
            explaining = list(zip(*(column[own].tolist() for column in resends), strict=True)) or explaining
        for begin, stop, number in latest_to_begin(explaining):
            explained = time.between(begin, stop)
            charged[number] += explained
            left[name] -= explained
    return Charged(charged, left, int((end - start).sum()))


def latest_to_begin(intervals: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Pieces (start, end, number) of intervals, of those that overlap the one that began last, without overlaps."""
    ordered = sorted(one for one in intervals if one[1] > one[0])
    edges = sorted({edge for start, end, _ in ordered for edge in (start, end)})
    open_: list[tuple[int, int, int]] = []
    at = 0
    for begin, stop in pairwise(edges):
        while at < len(ordered) and ordered[at][0] <= begin:
            start, end, number = ordered[at]
            heapq.heappush(open_, (-start, end, number))
            at += 1
        while open_ and open_[0][1] <= begin:
            heapq.heappop(open_)
        if open_:
            yield begin, stop, open_[0][2]


class _TimeOf:
    """How much of any interval lies in some sorted intervals that do not overlap, in ns."""

    def __init__(self, start: Ints, end: Ints) -> None:
        self._start, self._long = start, end - start
        self._before = np.concatenate([[0], np.cumsum(self._long)])

    @property
    def total(self) -> int:
        return int(self._before[-1])

    def _until(self, time_ns: int) -> int:
        at = int(np.searchsorted(self._start, time_ns, side="right"))
        if not at:
            return 0
        return int(self._before[at - 1] + min(time_ns - self._start[at - 1], self._long[at - 1]))

    def between(self, begin: int, stop: int) -> int:
        return self._until(stop) - self._until(begin)
