"""Retransmissions that the sender's own log shows to be its timer's: it doubles its timeout then (RFC 6298 5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.model.schema import TRIGGERS

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

WITHIN_NS = 1_000_000
"""A log has the timeout doubled within this time of what the timer sent."""
_EXACT = 1e-3
"""Logs round timeouts: a doubled one is double the one before within this part of it."""


def with_doubled_timers(resent: pd.DataFrame, state: pd.DataFrame) -> pd.DataFrame:
    """The retransmissions, with the trigger `timeout` where `tcp_state` shows that the timeout doubled as one was sent.

    Its smoothed round trip is the same before and after. The first of what was sent then is the timer's.
    """
    doubled = state[_doubles(state)] if len(resent) and len(state) else state[:0]
    if not len(doubled):
        return resent
    rows = _first_resends(resent, doubled)
    changed = rows[(resent["trigger"].to_numpy()[rows] != "timeout")]
    if not len(changed):
        return resent
    import pandas as pd

    trigger, because = (np.array(resent[name], dtype=object) for name in ("trigger", "because"))
    in_doubt = resent["in_doubt"].to_numpy().copy()
    for row in changed.tolist():
        trigger[row] = "timeout"
        because[row] = f"the sender's log has its timeout doubled then; {because[row].partition('; ')[2]}"
    in_doubt[changed] = False
    return with_columns(
        resent, trigger=pd.Categorical(trigger, categories=TRIGGERS), because=because, in_doubt=in_doubt
    )


def _doubles(state: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which rows have twice the timeout of the row before of the same sender, and the same round trip."""
    place = np.lexsort((state["time_ns"].to_numpy(), state["local"].to_numpy(), state["connection"].to_numpy()))
    ordered = state.iloc[place]
    same = ordered["connection"].to_numpy()[1:] >= 0
    for name in ("connection", "local", "srtt_s"):
        same = same & (ordered[name].to_numpy()[1:] == ordered[name].to_numpy()[:-1])
    timeout = ordered["rto_s"].to_numpy()
    found = np.zeros(len(state), dtype=np.bool_)
    found[place[1:]] = same & (np.abs(timeout[1:] - 2 * timeout[:-1]) <= _EXACT * timeout[1:])
    return found


def _first_resends(resent: pd.DataFrame, doubled: pd.DataFrame) -> Ints:
    """The first row of `resent` that was sent within WITHIN_NS of each of these states, of the same sender."""
    time = resent["time_ns"].to_numpy()
    found = []
    for (connection, sender), own in doubled.groupby(["connection", "local"]):
        mine = np.flatnonzero(((resent["connection"] == connection) & (resent["sender"] == sender)).to_numpy())
        mine = mine[np.argsort(time[mine], kind="stable")]
        at = np.searchsorted(time[mine], own["time_ns"].to_numpy() - WITHIN_NS)
        near = np.append(time[mine], np.iinfo(np.int64).max)[at] <= own["time_ns"].to_numpy() + WITHIN_NS
        found.append(mine[at[near]])
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found]))
