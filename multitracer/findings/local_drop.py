"""Segments of which the link put no octet on the air: a queue in the sending host dropped them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import SEGMENT_FRAMES
from multitracer.findings.observations import Observations

KINDS = ("local-drop",)
NEEDS = (SEGMENT_FRAMES,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each group of dropped segments that were sent close together."""
    for columns, never, passed in _by_link(observed):
        yield from _on_link(observed, columns, never, passed)


def dropped(observed: Observations) -> set[int]:
    """Rows of the segments that were certainly dropped before the link; none without a link log."""
    rows: set[int] = set()
    for columns, never, passed in _by_link(observed):
        rows.update(columns["segment"][never & (passed >= 0) & (columns["matched_by"] == "payload")].tolist())
    return rows


def _by_link(observed: Observations) -> Iterator[tuple[dict[str, Any], Any, Any]]:
    """For each link its packets in the order sent: columns, which were never on the air, and `_passed_by`."""
    table = observed.segment_frames
    if table is None or not len(table):
        return
    table = table[(table["sent_ns"] >= 0).to_numpy()].sort_values("sent_ns", kind="stable")
    for link in table["link"].unique():
        columns = {name: table.loc[table["link"] == link, name].to_numpy() for name in table.columns}
        never = (columns["first_frame_ns"] < 0) & (columns["carried_bytes"] == 0)
        # The resets are on the link's clock, the times of sending on the capture's.
        late = max((error for (one, *_), error in observed.log_error_ns.items() if one == link), default=0)
        resets = [(start, end + late) for start, end in observed.resets(int(link))]
        yield columns, never, _passed_by(columns["sent_ns"], columns["first_frame_ns"], resets)


def _on_link(observed: Observations, columns: dict[str, Any], never: Any, passed: Any) -> Iterator[Finding]:
    sent = columns["sent_ns"]
    for connection in np.unique(columns["connection"][never]):
        gap_ns = observed.rtt_ns(int(connection)) * observed.thresholds.group_rtts
        mine = np.flatnonzero(never & (columns["connection"] == connection))
        for verdict, rows in (("confirmed", mine[passed[mine] >= 0]), ("undecided", mine[passed[mine] == -2])):
            for run in groups_without_gap(sent[rows], gap_ns):
                group = rows[run]
                yield _finding(observed, columns, group, verdict, passed)


def _passed_by(sent: Any, first: Any, resets: list[tuple[int, int]]) -> Any:
    """For each packet the row of a later one that the link carried: it overtook the packet, which was dropped.

    -1 where a reset in between may have flushed the packet; -2 where the link carried none later.
    """
    passed = np.full(len(sent), -2, dtype=np.int64)
    following = -1
    for row in range(len(sent) - 1, -1, -1):
        if following >= 0:
            flushed = any(start <= first[following] and end >= sent[row] for start, end in resets)
            passed[row] = -1 if flushed else following
        if first[row] >= 0:
            following = row
    return passed


def _finding(observed: Observations, columns: dict[str, Any], group: Any, verdict: str, passed: Any) -> Finding:
    sent = columns["sent_ns"]
    later = passed[group[-1]]
    because = (
        f"the link put no octet of {len(group)} segments on the air, and carried a packet that was sent "
        f"{(sent[later] - sent[group[-1]]) / 1e6:.1f} ms after the last of them, with no reset between"
        if verdict == "confirmed"
        else f"the link put no octet of {len(group)} segments on the air; undecided, because its log shows nothing "
        "that was sent after them"
    )
    return Finding(
        "local-drop", "host", int(columns["connection"][group[0]]), int(sent[group[0]]), int(sent[group[-1]]),
        verdict if set(columns["matched_by"][group]) <= {"payload"} else "undecided", because,
        {"count": len(group), "bytes": int(columns["payload_bytes"][group].sum()),
         "records": observed.references(columns["segment"][group])},
    )  # fmt: skip
