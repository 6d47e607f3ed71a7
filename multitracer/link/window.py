"""When the link's transmit window was full, so that its sender had to wait for an acknowledgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.link.frames import DATA_TYPES, modulus_of
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

_LEAST_WINDOW = 16
"""The negotiated window is not in the log. If fewer frames than this were ever open, no window was reached."""


def full_window(frames: pd.DataFrame, links: pd.DataFrame, link: int, reverse: int) -> tuple[Ints, Ints] | None:
    """(Start, end) in ns of the intervals in which the transmit window was full.

    RLP's window is the default (24.022 5.2.1); other protocols' is taken to be the largest number of
    frames that were ever unacknowledged. An interval begins when the frame that filled the window was sent,
    and ends with the acknowledgement. None if no log has the acknowledgements as the sender received them:
    a capture of the air has the times at which they were sent. None of Wi-Fi, whose frames nobody limits so.
    """
    if str(links["protocol"].iloc[link]) == "wifi":
        return None
    own = frames[(frames["link"] == link) & frames["sent"] & frames["type"].isin(DATA_TYPES)]
    log = own["input"].iloc[0] if len(own) else -1
    back = frames[(frames["link"] == reverse) & ~frames["sent"] & (frames["input"] == log) & (frames["nr"] >= 0)]
    back = back[~back["type"].isin(("SREJ", "I SREJ"))]
    if not len(own) or not len(back):
        return None
    empty = np.empty(0, dtype=np.int64)
    time, open_ = _outstanding(own, back, modulus_of(frames, links, link))
    protocol = str(links["protocol"].iloc[link])
    window = rlp.LARGEST_WINDOW if protocol == "rlp" else int(open_.max())
    if window < _LEAST_WINDOW:
        return empty, empty
    full = np.concatenate([[False], open_ >= window, [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(full))
    return time[edges[::2]], time[np.minimum(edges[1::2], len(time) - 1)]


def _outstanding(own: pd.DataFrame, back: pd.DataFrame, modulus: int) -> tuple[Ints, Ints]:
    """(Times, number of unacknowledged frames) after each frame sent and each acknowledgement received."""
    lowest = np.array(
        [
            (nr - max((nr - nack[0]) % modulus for nack in nacks)) % modulus if nacks else nr
            for nacks, nr in zip(back["nacks"], back["nr"].tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    time = np.concatenate([own["time_ns"].to_numpy(), back["time_ns"].to_numpy()])
    is_ack = np.concatenate([np.zeros(len(own), dtype=np.bool_), np.ones(len(back), dtype=np.bool_)])
    value = np.concatenate([own["sn_unwrapped"].to_numpy(), lowest])
    epoch = np.concatenate([own["epoch"].to_numpy(), back["epoch"].to_numpy()])
    order = np.argsort(time, kind="stable")
    top, acked, current = 0, 0, -1
    open_ = np.zeros(len(order), dtype=np.int64)
    for place, row in enumerate(order.tolist()):
        if epoch[row] != current:
            top, acked, current = 0, 0, epoch[row]
            if not is_ack[row]:
                top = acked = int(value[row])
        if is_ack[row]:
            behind = (top - int(value[row])) % modulus
            if behind <= top - acked:
                acked = max(acked, top - behind)
        else:
            top = max(top, int(value[row]) + 1)
        open_[place] = top - acked
    return time[order], open_
