"""Tables for people: times in seconds from the trace's start instead of nanoseconds since the epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.schema import SCHEMA, Column

if TYPE_CHECKING:
    import pandas as pd

DURATIONS = ("error_ns", "queue_ns")
"""Columns of how long something took; all others in ns say when it was."""


def in_seconds(name: str, table: pd.DataFrame, origin_ns: int) -> pd.DataFrame:
    """The table of that name of the schema, of which `origin_ns` is the trace's start; unknown times are NaN."""
    import pandas as pd

    public = [column for column in SCHEMA[name].columns if not column.private and column.name in table]
    columns = {}
    for column in public:
        values = table[column.name]
        if column.unit == "ns":
            columns[f"{column.name.removesuffix('_ns')}_s"] = _seconds(column, values.to_numpy(), origin_ns)
        else:
            columns[column.name] = values
    return pd.DataFrame(columns, index=table.index)


def _seconds(column: Column, time_ns: Any, origin_ns: int) -> Any:
    """Subtracted as integers, because a float cannot hold the nanoseconds of an epoch."""
    since = time_ns - (0 if column.name in DURATIONS else origin_ns)
    return since / 1e9 if column.null is None else np.where(time_ns == column.null, np.nan, since / 1e9)
