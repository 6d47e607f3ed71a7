"""The congestion window at each captured segment, where the sender's host logged it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.accounting.idle_causes import congestion_window
from multitracer.compute.arrays import with_columns
from multitracer.model.paths import NOWHERE, Paths
from multitracer.tcp.connection_rows import Groups

if TYPE_CHECKING:
    import pandas as pd


def with_windows(segments: pd.DataFrame, state: pd.DataFrame, groups: Groups, paths: Paths) -> pd.DataFrame:
    """The segments with `cwnd_bytes`: of the sender beside whom each was captured, -1 unknown; unchanged without a log.

    Where both ends of a connection logged, and one point stands beside both, it is that of the end with more data.
    """
    known = (state["connection"].to_numpy() >= 0) & (state["cwnd_segments"].notna() | state["cwnd_bytes"].notna())
    if not known.any():
        return segments
    windows = np.full(len(segments), -1, dtype=np.int64)
    time_ns, payload, source = (segments[name].to_numpy() for name in ("time_ns", "payload_bytes", "sender"))
    streams = []
    for (connection, sender), logged in state[known].groupby(["connection", "sender"]):
        point = paths.sender_point[connection, sender]
        rows = groups.rows(int(connection), int(point)) if point != NOWHERE else np.empty(0, dtype=np.int64)
        data = payload[rows[source[rows] == sender]]
        if data.any():
            streams.append((int(data.sum()), rows, int(data.max()), logged))
    for _, rows, mss, logged in sorted(streams, key=lambda one: one[0]):
        found = congestion_window(logged, time_ns[rows], mss)
        windows[rows] = np.where(np.isnan(found), -1, np.nan_to_num(found, posinf=-1)).astype(np.int64)
    return with_columns(segments, cwnd_bytes=windows)
