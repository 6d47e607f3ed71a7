"""Whether a timer that sent again what had arrived had to: no acknowledgement of it was on its way any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.model.paths import NOWHERE, Paths

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.tcp.connection_rows import Groups

_NEVER = np.iinfo(np.int64).max


def answers_lost(
    resent: pd.DataFrame, segments: pd.DataFrame, connection: int, sender: int, paths: Paths, groups: Groups
) -> npt.NDArray[np.bool_]:
    """Of each of a sender's resends by a timer, whether an earlier copy had come and all answers to it were lost.

    As captures beside both ends show; False where there are none. What the receiver sends after another copy has come
    may answer that one.
    """
    found = np.zeros(len(resent), dtype=np.bool_)
    near, far = (int(points[connection, sender]) for points in (paths.sender_point, paths.receiver_point))
    if NOWHERE in (near, far):
        return found
    time, seq, size, ack, side = (
        segments[name].to_numpy() for name in ("time_ns", "seq", "payload_bytes", "ack", "sender")
    )
    own, theirs = groups.rows(connection, near), groups.rows(connection, far)
    own, theirs = own[side[own] == sender], theirs[side[theirs] != sender]
    by_seq, by_time = own[np.argsort(seq[own], kind="stable")], theirs[np.argsort(time[theirs], kind="stable")]
    numbers, times = seq[by_seq], time[by_time]
    row, when, first, length = (resent[name].to_numpy() for name in ("segment", "time_ns", "seq", "payload_bytes"))
    for number in np.flatnonzero(resent["trigger"].isin(("timeout", "probe")).to_numpy()).tolist():
        begin, end = np.searchsorted(numbers, (first[number], first[number] + 1))
        copies = by_seq[begin:end]
        copies = copies[size[copies] >= length[number]]
        came = _came(copies[(time[copies] < when[number]) & (copies != row[number])], time, paths)
        if came > when[number]:
            continue
        until = _came(copies[time[copies] >= when[number]], time, paths)
        answers = by_time[slice(*np.searchsorted(times, (came, until)))]
        answers = answers[ack[answers] >= first[number] + length[number]]
        found[number] = len(answers) > 0 and bool((paths.arrived[answers] == 0).all())
    return found


def _came(copies: npt.NDArray[np.int64], time_ns: npt.NDArray[np.int64], paths: Paths) -> int:
    """When the first of these copies arrived."""
    arrived = copies[(paths.arrived[copies] == 1) & (paths.arrival[copies] >= 0)]
    return int(time_ns[paths.arrival[arrived]].min(initial=_NEVER))
