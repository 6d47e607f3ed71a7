"""Stretches of time in which one cause limited one end, put together where they follow one another closely."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import distinct, rows_with
from multitracer.findings.finding_columns import FindingColumns
from multitracer.findings.observations import MS, Ints, Observations
from multitracer.model.limits import LIMITS
from multitracer.model.schema import MARKS


class Limited(NamedTuple):
    """Times in which one cause limited one end again and again, with gaps of about a round trip at most.

    Arrays, an element each, by end and time: a capture may hold a hundred thousand.
    """

    end: Ints
    """2 * connection + sender."""
    start_ns: Ints
    stop_ns: Ints
    cost_ns: Ints
    """How long the cause applied."""
    rtt_ns: Ints
    pieces: Ints
    hole: npt.NDArray[np.bool_]
    """The capture lost records that this might rest on."""

    def at(self, rows: Any) -> Limited:
        """Those of these rows."""
        return Limited(*(column[rows] for column in self))


def limited(observed: Observations, cause: str, *, group_rtts: float) -> Limited:
    """The stretches of a cause, of every end with a known round trip; gaps up to `group_rtts` do not divide them."""
    assert observed.limits is not None  # by NEEDS
    found = observed.limits.stretches
    mine = np.flatnonzero((found.cause == LIMITS.index(cause)) & (observed.by_end.least_rtt_ns[found.end] > 0))
    end, start, stop = found.end[mine], found.start_ns[mine], found.stop_ns[mine]
    rtt = observed.by_end.least_rtt_ns[end]
    cut = np.ones(len(mine), dtype=np.bool_)
    cut[1:] = (end[1:] != end[:-1]) | (start[1:] - stop[:-1] > group_rtts * rtt[1:])
    first = np.flatnonzero(cut)
    last = np.append(first, len(mine))[1:] - 1
    cost = np.add.reduceat(stop - start, first)
    whole = Limited(end[first], start[first], stop[last], cost, rtt[first], last - first + 1, first < 0)
    # A record that is missing moves an end of a stretch by up to a round trip.
    short = (whole.cost_ns <= 2 * whole.rtt_ns) & incomplete(observed, whole.end)
    return whole._replace(hole=short | _holds_unseen(observed, whole))


def distinct_stretches(found: Limited, *told: Any) -> tuple[Ints, Ints]:
    """Where stretches first occur that differ in more than when and at whose end, and which of these each is like.

    `told` are columns of what else is told of each.
    """
    return distinct([found.end % 2, found.cost_ns, found.rtt_ns, found.pieces, found.hole, *told])


def incomplete(observed: Observations, ends: Ints) -> npt.NDArray[np.bool_]:
    """Beside which of these ends, or their peers, a capture lost records."""
    lossy = np.flatnonzero(observed.lost_records)
    near, far = observed.by_end.sender_point[ends], observed.by_end.receiver_point[ends]
    return np.isin(near, lossy) | np.isin(far, lossy)


def _holds_unseen(observed: Observations, whole: Limited) -> npt.NDArray[np.bool_]:
    """Up to a round trip after which stretches their end was sent an acknowledgement of data that its capture lacks."""
    if not len(whole.end):
        return np.zeros(0, dtype=np.bool_)
    marked = rows_with(observed.column("marks"), MARKS["acks_unseen"])
    connection, sender, time = (
        observed.column(name)[marked].astype(np.int64) for name in ("connection", "sender", "time_ns")
    )
    told, holds = 2 * connection + 1 - sender, np.zeros(len(whole.end), dtype=np.bool_)
    asked = np.isin(told, whole.end)
    told, time = told[asked], time[asked]
    order = np.lexsort((time, told))
    told, time = told[order], time[order]
    for end in np.unique(told).tolist():
        mine = slice(*np.searchsorted(whole.end, [end, end + 1]))
        when = time[slice(*np.searchsorted(told, [end, end + 1]))]
        over = whole.stop_ns[mine] + whole.rtt_ns[mine]
        holds[mine] = np.searchsorted(when, whole.start_ns[mine]) < np.searchsorted(when, over, side="right")
    return holds


class Doubts(NamedTuple):
    """Why findings are not confirmed, an element each; both "" of those that are."""

    verdicts: list[str]
    reasons: list[str]


_SENDERS = np.array(["client", "server"], dtype=object)
_RECORDS_LOST = "undecided", "undecided, because the capture lost records here"


def findings_of(
    kind: str, found: Limited, layers: Iterable[str], whats: Iterable[str], doubts: Doubts | None = None,
    evidence: Mapping[str, npt.NDArray[Any]] | None = None,
) -> FindingColumns:  # fmt: skip
    """A finding of a kind for each stretch; `whats` say what was seen. Undecided where the capture lost records.

    Made column by column, as a capture may hold a hundred thousand.
    """
    connection, sender = np.divmod(found.end, 2)
    verdicts, becauses = _said(found, whats, doubts)
    seen: dict[str, npt.NDArray[Any]] = {
        "limited_s": found.cost_ns / 1e9, "count": found.pieces, "round_trip_ms": found.rtt_ns / MS,
        "sender": _SENDERS[sender], **(evidence or {}),
    }  # fmt: skip
    items: list[dict[str, Any]] = [{} for _ in becauses]
    for name, column in seen.items():  # fills them fastest
        for item, value in zip(items, column.tolist(), strict=True):
            item[name] = value
    count, nothing = len(items), [()] * len(items)
    return FindingColumns.of_fields(
        [kind] * count, list(islice(layers, count)), connection, found.start_ns, found.stop_ns, verdicts, becauses,
        items, nothing, nothing, np.full(count, -1),
    )  # fmt: skip


def of_each(made: FindingColumns, which: Ints, found: Limited) -> FindingColumns:
    """The findings of all stretches: which of those made each is like, in all but when and at whose end."""
    return replace(made.at(which), connection=found.end // 2, start_ns=found.start_ns, end_ns=found.stop_ns)


def _said(found: Limited, whats: Iterable[str], doubts: Doubts | None) -> tuple[list[str], list[str]]:
    """The verdicts, and the sentences that say why."""
    costs = (column.tolist() for column in (found.pieces, found.cost_ns / 1e9, found.cost_ns / found.rtt_ns))
    becauses = [
        f"{what}: {f'in {pieces} stretches ' if pieces > 1 else ''}it cost {seconds:.2f} s ({trips:.1f} round trips)"
        for what, pieces, seconds, trips in zip(whats, *costs, strict=False)
    ]
    verdicts, reasons = doubts or Doubts([""] * len(becauses), [""] * len(becauses))
    for place in np.flatnonzero(found.hole).tolist():
        verdicts[place], reasons[place] = _RECORDS_LOST
    said = zip(reasons, becauses, strict=True)
    return (
        [verdict or "confirmed" for verdict in verdicts],
        [f"{reason}; it looks as if {because}" if reason else because for reason, because in said],
    )
