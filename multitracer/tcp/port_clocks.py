"""Resends in captures whose directions have clocks of their own, as ports of a tap do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import distinct, rows_of_each
from multitracer.model.schema import ACK
from multitracer.tcp.connection_rows import Groups
from multitracer.vantage.taps import CLOCKS_NS

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]


class _Columns(NamedTuple):
    """What is read of the segments."""

    connection: Any
    point: Any
    sender: Any
    input: Any
    time_ns: Any
    seq: Any
    ack: Any
    flags: Any
    payload_bytes: Any


def nearest_acks(
    segments: pd.DataFrame, groups: Groups, resent: Ints, ports: Sequence[int]
) -> npt.NDArray[np.int32] | None:
    """Per segment, how far from it another port recorded an acknowledgement, if it may have come before or after.

    That is in ns, at least 1, for the rows `resent` at the points `ports` where another input recorded the first
    acknowledgement of a resent octet within CLOCKS_NS; 0 else. None where no point has several clocks.
    """
    if not ports:
        return None
    near = np.zeros(len(segments), dtype=np.int32)
    columns = _Columns(*(segments[name].to_numpy() for name in _Columns._fields))
    keys = np.stack([column[resent].astype(np.int64) for column in columns[:3]], axis=1)
    asked = np.isin(keys[:, 1], ports) & (keys[:, 0] >= 0)
    keys, resent = keys[asked], resent[asked]
    first, which = distinct(keys.T)
    for (connection, point, sender), mine in zip(keys[first].tolist(), rows_of_each(which, len(first)), strict=True):
        _note_nearest(columns, groups.rows(connection, point), sender, resent[mine], near)
    return near


def _note_nearest(columns: _Columns, rows: Ints, sender: int, resent: Ints, near: Any) -> None:
    """Fill `near` for the resends of one sender; `rows` are those of its connection at its point."""
    number, time, seq = columns.input, columns.time_ns, columns.seq[resent]
    rows = rows[(columns.sender[rows] != sender) & (columns.flags[rows] & ACK > 0)]
    ack = np.maximum.accumulate(columns.ack[rows])
    stop = seq + columns.payload_bytes[resent]
    first, last = np.searchsorted(ack, seq, "right"), np.searchsorted(ack, stop, "left")
    for row, start, end in zip(resent.tolist(), first.tolist(), last.tolist(), strict=True):
        answers = rows[start : end + 1]
        apart = np.abs(time[answers] - time[row])[number[answers] != number[row]].min(initial=CLOCKS_NS + 1)
        if apart <= CLOCKS_NS:
            near[row] = max(1, apart)
