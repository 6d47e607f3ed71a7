"""Which captures lost records: those that lack octets which were acknowledged.

Wireshark says "ACKed segment that wasn't captured". Octets before the first and after the last that a capture holds of
a stream prove nothing: it may have begun later or ended sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK, MARKS

if TYPE_CHECKING:
    import pandas as pd

_NONE = -1
_CAPTURED_TWICE = MARKS["captured_twice"]


def lost_records(segments: pd.DataFrame, connections: int, points: int) -> list[int]:
    """Per point, how many stretches of octets its capture lacks though they were acknowledged."""
    names = ("connection", "point", "sender", "seq", "payload_bytes", "ack", "flags", "marks")
    columns = [segments[name].to_numpy() for name in names]
    top = np.full(2 * connections * points, _NONE, dtype=np.int64)
    acknowledged = np.full(2 * connections, _NONE, dtype=np.int64)
    above, below = (np.empty((len(segments), 3), dtype=np.int64) for _ in range(2))  # unwritten pages take no memory
    counts = np.zeros(2, dtype=np.int64)
    find_gaps(*columns, points, top, acknowledged, above, below, counts)
    lost = np.zeros(points, dtype=np.int64)
    count_gaps(_in_order(above[: counts[0]]), _in_order(below[: counts[1]]), acknowledged, lost)
    return [int(count) for count in lost]


def _in_order(spans: Any) -> Any:
    """Rows of (stream, from, to) in the order of their streams, and within one of where they begin."""
    return spans[np.lexsort((spans[:, 1], spans[:, 0]))]


@kernel
def find_gaps(
    connection: Any, point: Any, sender: Any, seq: Any, length: Any, ack: Any, flags: Any, marks: Any, points: int,
    top: Any, acknowledged: Any, gaps: Any, later: Any, counts: Any,
) -> None:  # fmt: skip
    """Find what each stream at each point skipped, and what it sent below that later, both as (stream, from, to).

    A packet that its point captured twice counts once: its copies would be half of what came later. `top` is the number
    after the highest octet of each stream at each point, `acknowledged` that which the other end has acknowledged, in
    any capture.
    """
    for row in range(len(connection)):
        if connection[row] < 0 or marks[row] & _CAPTURED_TWICE:
            continue
        end_of_path = 2 * np.int64(connection[row]) + np.int64(sender[row])
        if flags[row] & ACK:
            acknowledged[end_of_path ^ 1] = max(acknowledged[end_of_path ^ 1], np.int64(ack[row]))
        if length[row] == 0:
            continue
        stream = end_of_path * points + np.int64(point[row])
        first, end = np.int64(seq[row]), np.int64(seq[row]) + np.int64(length[row])
        if top[stream] >= 0 and first > top[stream]:
            gaps[counts[0], 0], gaps[counts[0], 1], gaps[counts[0], 2] = stream, top[stream], first
            counts[0] += 1
        elif first < top[stream]:
            later[counts[1], 0], later[counts[1], 1], later[counts[1], 2] = stream, first, end
            counts[1] += 1
        top[stream] = max(top[stream], end)


@kernel
def count_gaps(gaps: Any, later: Any, acknowledged: Any, lost: Any) -> None:
    """Count per point the gaps, acknowledged to their ends, of which some octet did not come later either.

    Gaps and what came later are in order: one pass over both finds how far each gap is filled.
    """
    at, stream, filled = 0, np.int64(_NONE), np.int64(_NONE)
    for row in range(len(gaps)):
        first, end = gaps[row, 1], gaps[row, 2]
        if gaps[row, 0] != stream:
            stream, filled = gaps[row, 0], np.int64(_NONE)
            while at < len(later) and later[at, 0] < stream:
                at += 1
        while at < len(later) and later[at, 0] == stream and later[at, 1] <= max(first, filled) and filled < end:
            filled = max(filled, later[at, 2])
            at += 1
        if end <= acknowledged[stream // len(lost)] and filled < end:
            lost[stream % len(lost)] += 1
