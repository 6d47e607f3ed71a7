"""Verdicts about resends in captures whose directions have clocks of their own, as ports of a tap do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.model.schema import ACK, SPURIOUS
from multitracer.tcp.connection_rows import Groups
from multitracer.vantage.taps import CLOCKS_NS

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

_UNDECIDED = (
    "needless or not cannot be told: another port, whose clock may be {apart:.0f} ms off, recorded an acknowledgement "
    "of it {near:.1f} ms away"
)


def without_near_verdicts(
    resent: pd.DataFrame, segments: pd.DataFrame, groups: Groups, ports: Sequence[int]
) -> pd.DataFrame:
    """The retransmissions, undecided where the order of a resend and its acknowledgement is not known.

    That is at the points `ports`, where another input recorded the first acknowledgement of a resent octet within
    CLOCKS_NS of the resend: it may have come before, or after.
    """
    if not ports or not len(resent):
        return resent
    rows = resent["segment"].to_numpy()
    near = _nearest_acks(segments, groups, rows)
    unsure = np.isin(segments["point"].to_numpy()[rows], ports) & (near <= CLOCKS_NS)
    unsure &= (resent["spurious"] != "unknown").to_numpy()
    spurious = resent["spurious"].to_numpy(dtype=object)
    because = resent["because"].to_numpy(dtype=object).copy()
    for at in np.flatnonzero(unsure).tolist():
        trigger = because[at].partition(";")[0]
        because[at] = f"{trigger}; {_UNDECIDED.format(apart=CLOCKS_NS / 1e6, near=near[at] / 1e6)}"
    return with_columns(resent, spurious=_categories(np.where(unsure, "unknown", spurious)), because=because)


def _categories(values: Any) -> Any:
    import pandas as pd

    return pd.Categorical(values, SPURIOUS)


def _nearest_acks(segments: pd.DataFrame, groups: Groups, resent: Ints) -> Floats:
    """How far in ns from each resend another input recorded the first acknowledgement of any of its octets."""
    columns = {name: segments[name].to_numpy() for name in ("connection", "point", "sender", "input", "time_ns", "seq")}
    stop = columns["seq"] + segments["payload_bytes"].to_numpy()
    near = np.full(len(resent), np.inf)
    keys = np.stack([columns[name][resent] for name in ("connection", "point", "sender")], axis=1)
    for connection, point, sender in np.unique(keys, axis=0).tolist():
        rows = groups.rows(connection, point)
        rows, ack = _acks(segments, rows[columns["sender"][rows] != sender])
        for at in np.flatnonzero((keys == (connection, point, sender)).all(axis=1)).tolist():
            row = resent[at]
            first, last = np.searchsorted(ack, columns["seq"][row], "right"), np.searchsorted(ack, stop[row], "left")
            answers = rows[first : last + 1]
            answers = answers[columns["input"][answers] != columns["input"][row]]
            if len(answers):
                near[at] = np.abs(columns["time_ns"][answers] - columns["time_ns"][row]).min()
    return near


def _acks(segments: pd.DataFrame, rows: Ints) -> tuple[Ints, Ints]:
    """Those of the rows that acknowledge, and the highest number that each or one before it acknowledges."""
    rows = rows[segments["flags"].to_numpy()[rows] & ACK > 0]
    return rows, np.maximum.accumulate(segments["ack"].to_numpy()[rows])
