"""The kernel's own clocks of a sending socket (struct tcp_info), as `ss -ti` prints them.

Each counts since the connection began: `busy` while data was unacknowledged or unsent, `rwnd_limited` and
`sndbuf_limited` the part of that in which the receiver's window, or the send buffer, was full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

CLOCKS = ("busy_s", "rwnd_limited_s", "sndbuf_limited_s")


def kernel_clocks(state: pd.DataFrame, connections: int, *, of_part: bool = False) -> Any:
    """What the clocks of each end show last, shape (2 * connections, 3), in s; NaN where no log has them.

    `state` is tcp_state with its connections; with `of_part`, where it is a window of the log, how far they went in it.
    """
    found = np.full((2 * connections, len(CLOCKS)), np.nan)
    known = (state["connection"].to_numpy() >= 0) & state["busy_s"].notna().to_numpy()
    if not known.any():
        return found
    logged = state[known].sort_values("time_ns", kind="stable")
    ends = 2 * logged["connection"].to_numpy().astype(np.int64) + logged["sender"].to_numpy()
    values = logged[list(CLOCKS)].to_numpy()
    found[ends] = values  # of several samples of an end the last one stays
    if of_part:
        first, where = np.unique(ends, return_index=True)
        found[first] -= values[where]
    return found
