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


def with_doubled_timers(resent: pd.DataFrame, state: pd.DataFrame, told: npt.NDArray[np.bool_]) -> pd.DataFrame:
    """The retransmissions, with the trigger `timeout` where `tcp_state` shows that the timeout doubled as one was sent.

    Its smoothed round trip is the same in the row before, and since then the sender has sent nothing else again: a log
    of samples may show the doubling late. `told` are rows of which a kernel's log says more.
    """
    doubled, since_ns = _doubled(state) if len(resent) and len(state) else (state[:0], np.empty(0, dtype=np.int64))
    if not len(doubled):
        return resent
    rows = _sent_then(resent, doubled, since_ns)
    rows = rows[~told[rows]]
    import pandas as pd

    trigger, because = (np.array(resent[name], dtype=object) for name in ("trigger", "because"))
    in_doubt = resent["in_doubt"].to_numpy().copy()
    for row in rows[trigger[rows] != "timeout"].tolist():
        trigger[row] = "timeout"
        because[row] = f"the sender's log has its timeout doubled then; {because[row].partition('; ')[2]}"
    in_doubt[rows] = False
    return with_columns(
        resent, trigger=pd.Categorical(trigger, categories=TRIGGERS), because=because, in_doubt=in_doubt
    )


def _doubled(state: pd.DataFrame) -> tuple[pd.DataFrame, Ints]:
    """The rows that have twice the timeout of the row before of the same log and sender, and the same round trip.

    Also when that row is of (ns).
    """
    state = state[(state["connection"] >= 0).to_numpy()]  # others may name no socket
    names = ("time_ns", "local", "connection", "input")
    ordered = state.iloc[np.lexsort([state[name].to_numpy() for name in names])]
    same = np.ones(max(len(ordered) - 1, 0), dtype=np.bool_)
    for name in ("input", "connection", "local", "srtt_s"):
        same = same & (ordered[name].to_numpy()[1:] == ordered[name].to_numpy()[:-1])
    timeout, time = ordered["rto_s"].to_numpy(), ordered["time_ns"].to_numpy()
    doubles = np.flatnonzero(same & (np.abs(timeout[1:] - 2 * timeout[:-1]) <= _EXACT * timeout[1:]))
    return ordered.iloc[doubles + 1], time[doubles]


def _sent_then(resent: pd.DataFrame, doubled: pd.DataFrame, since_ns: Ints) -> Ints:
    """The rows of `resent` sent within WITHIN_NS of one of these states by its sender, alone since the state before."""
    ends = dict.fromkeys(zip(doubled["connection"].tolist(), doubled["local"].tolist(), strict=True))
    known = {end: number for number, end in enumerate(ends)}
    sent = zip(resent["connection"].tolist(), resent["sender"].tolist(), strict=True)
    end = np.array([known.get(one, -1) for one in sent], dtype=np.int64)
    rows = np.flatnonzero(end >= 0)
    time = resent["time_ns"].to_numpy()
    rows = rows[np.lexsort((time[rows], end[rows]))]
    first = np.searchsorted(end[rows], np.arange(len(known) + 1))
    found = []
    states = zip(doubled["connection"].tolist(), doubled["local"].tolist(), doubled["time_ns"].tolist(), strict=True)
    for (connection, local, at), since in zip(states, since_ns.tolist(), strict=True):
        number = known[connection, local]
        mine = rows[first[number] : first[number + 1]]
        low, high = np.searchsorted(time[mine], (min(since, at - WITHIN_NS) + 1, at + WITHIN_NS + 1))
        if high == low + 1 and time[mine[low]] >= at - WITHIN_NS:
            found.append(int(mine[low]))
    return np.array(found, dtype=np.int64)
