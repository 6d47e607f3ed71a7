"""When a link's own window was full: its sender had to wait for an acknowledgement."""

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
"""A window is negotiated, and not in the log: fewer frames than this are not held to be one."""


def full_window(frames: pd.DataFrame, links: pd.DataFrame, link: int, reverse: int) -> tuple[Ints, Ints] | None:
    """(Start, end) of the times in which as many frames were unacknowledged as ever were.

    RLP's window is the default (24.022 5.2.1); other protocols' is taken to be the most that was ever
    open. Times begin when the frame that filled it was sent, and end with the acknowledgement. None
    where no log tells when acknowledgements came: in a capture of the air they show where they left.
    """
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
    """Frames sent and not acknowledged, after each frame sent and each acknowledgement that came."""
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
