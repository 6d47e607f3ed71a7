"""Times before 1970: the analysis moves all times on, because to it negative times mean that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from multitracer.compute.arrays import with_columns
from multitracer.model.errors import UsageError
from multitracer.model.schema import SCHEMA
from multitracer.model.trace import Input, Trace

if TYPE_CHECKING:
    import pandas as pd

_DAY_NS = 86_400 * 1_000_000_000
_RECORDED = ("time_ns", "recorded_ns")
_MOMENTS = (
    "time_ns", "recorded_ns", "start_ns", "end_ns", "sent_ns", "first_frame_ns", "last_frame_ns", "delivered_ns",
)  # fmt: skip
"""Columns that say when something was; the other columns in ns say how long it took."""


def without_negative_times(trace: Trace) -> Trace:
    """The trace with all times moved on by `shift_ns`, whole days; the trace itself if none is negative.

    Raises UsageError where the times of inputs are centuries apart: 64 bits do not hold both, moved on.
    """
    timed = {name: table for name, table in trace.tables.items() if "time_ns" in table and len(table)}
    first = min((int(table["time_ns"].min()) for table in timed.values()), default=0)
    last = max((int(table["time_ns"].max()) for table in timed.values()), default=0)
    shift = -(first // _DAY_NS) * _DAY_NS
    if first >= 0:
        return trace
    if max(shift, last + shift) > np.iinfo(np.int64).max:
        raise UsageError(
            "the times in these inputs begin in 1677, or are centuries apart: they are of no one experiment\n"
            "Analyze them one by one, or leave out the one whose clock was wrong."
        )
    tables = trace.tables | {name: _moved(table, shift) for name, table in timed.items()}
    return Trace([_later(entry, shift) for entry in trace.inputs], tables, shift)


def _moved(table: pd.DataFrame, shift_ns: int) -> pd.DataFrame:
    return with_columns(table, **{name: table[name].to_numpy() + shift_ns for name in _RECORDED if name in table})


def _later(entry: Input, shift_ns: int) -> Input:
    if entry.first_ns is None or entry.last_ns is None:
        return entry
    return replace(entry, first_ns=entry.first_ns + shift_ns, last_ns=entry.last_ns + shift_ns)


def as_recorded(tables: Mapping[str, pd.DataFrame], shift_ns: int) -> Mapping[str, pd.DataFrame]:
    """Tables of an analysis with their times as they were before they were moved on."""
    if not shift_ns:
        return tables
    return {name: _moved_back(name, table, shift_ns) for name, table in tables.items()}


def _moved_back(name: str, table: pd.DataFrame, shift_ns: int) -> pd.DataFrame:
    moments = [column for column in _MOMENTS if column in table]
    nulls = {column.name: column.null for column in SCHEMA[name].columns} if name in SCHEMA else {}
    values = {column: table[column].to_numpy() for column in moments}
    return with_columns(
        table, **{column: np.where(time == nulls.get(column), time, time - shift_ns) for column, time in values.items()}
    )
