"""Segments of which the link put no octet on the air: a queue in the sending host dropped them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.correlation.queue_fates import DROPPED, NOT_LOGGED, NOT_OVERTAKEN, UNKNOWN
from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import SEGMENT_FRAMES
from multitracer.findings.observations import Observations

KINDS = ("local-drop",)
NEEDS = (SEGMENT_FRAMES,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each group of dropped segments that were sent close together."""
    table, fates = observed.segment_frames, observed.fates
    assert table is not None  # by NEEDS
    assert fates is not None  # by NEEDS
    columns = {name: table[name].to_numpy() for name in ("link", "connection", "sent_ns", "matched_by")}
    segment = table["segment"].to_numpy()
    came = (segment >= 0) & (observed.arrived[segment] == 1)
    never = (fates.fate == UNKNOWN) & (columns["sent_ns"] >= 0) & ~came
    never &= np.isin(fates.overtaken_by, (NOT_OVERTAKEN, NOT_LOGGED))
    keys = columns["link"].astype(np.int64) << 32 | columns["connection"].astype(np.int64)
    for key in np.unique(keys[(fates.fate == DROPPED) | never]):
        for verdict, which in (("confirmed", fates.fate == DROPPED), ("undecided", never)):
            yield from _of_connection(observed, columns, np.flatnonzero((keys == key) & which), verdict)


def _of_connection(observed: Observations, columns: dict[str, Any], rows: Any, verdict: str) -> Iterator[Finding]:
    rows = rows[np.argsort(columns["sent_ns"][rows], kind="stable")]
    if not len(rows):
        return
    gap_ns = observed.rtt_ns(int(columns["connection"][rows[0]])) * observed.thresholds.group_rtts
    for run in groups_without_gap(columns["sent_ns"][rows], gap_ns):
        group = rows[run]
        certain = verdict == "confirmed" and set(columns["matched_by"][group]) <= {"payload"}
        yield _finding(observed, columns["sent_ns"], group, "confirmed" if certain else "undecided")


def _finding(observed: Observations, sent: Any, group: Any, verdict: str) -> Finding:
    table, fates = observed.segment_frames, observed.fates
    assert table is not None
    assert fates is not None
    own, later = table.iloc[group], fates.overtaken_by[group[-1]]
    because = f"the link put no octet of {len(group)} segments on the air"
    if later >= 0:
        because += (
            f", and carried a packet that was sent {(sent[later] - sent[group[-1]]) / 1e6:.1f} ms after the last of"
            " them, with no reset between"
        )
    elif fates.fate[group[-1]] == DROPPED:
        because += ", and as many packets waited when they were sent as whenever the queue dropped one elsewhere"
    if verdict == "undecided" and fates.fate[group[-1]] == DROPPED:
        because += "; undecided, because they are matched by size or time alone"
    elif verdict == "undecided" and (fates.overtaken_by[group] == NOT_LOGGED).any():
        because += "; undecided, because its log lacks frames between them and what was sent after them"
    elif verdict == "undecided":
        because += "; undecided, because its log shows nothing that was sent after them"
    segments = own["segment"].to_numpy()
    return Finding(
        "local-drop", "host" if verdict == "confirmed" else "unknown", int(own["connection"].iloc[0]),
        int(sent[group[0]]), int(sent[group[-1]]), verdict, because,
        {"count": len(group), "bytes": int(own["payload_bytes"].sum()), "records": observed.references(segments)},
        segments=segments,
    )  # fmt: skip
