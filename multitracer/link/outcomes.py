"""What became of each transmission of a frame, as the log of the end that it was sent to tells it.

A transmission arrived if that log has its number one transit time later. It came damaged if the log has, when it was
due, as many damaged frames as there are transmissions that it has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.link.frames import DATA_TYPES
from multitracer.link.recovery import Ints, Sent, least_apart, pair, transmissions

if TYPE_CHECKING:
    import pandas as pd

UNTOLD, UNHEARD, ARRIVED, DAMAGED = -1, 0, 1, 2
"""No log tells; the receiver's has nothing of it; arrived; came damaged."""
_FAR = np.int64(1) << 61


def outcomes(frames: pd.DataFrame, link: int) -> Ints:
    """The outcome of each frame of a link in its sender's log, shape (frames,); of all others UNTOLD.

    Of Wi-Fi the acknowledgements tell that a monitor heard: one that was not heard says nothing.
    """
    found = np.full(len(frames), UNTOLD, dtype=np.int64)
    numbered = frames.reset_index(drop=True)
    own = numbered[numbered["link"] == link]
    if (own["acked"] >= 0).any():
        found[own.index[own["acked"] == 1]] = ARRIVED
        return found
    data = own[own["type"].isin(DATA_TYPES) & (own["sn"] >= 0)]
    sent = transmissions(data[data["sent"] & (data["sn_unwrapped"] >= 0)])
    came = data[~data["sent"]]
    if sent is None or not len(came):
        return found
    log = came["input"].mode().iloc[0]
    bad = own[~own["sent"] & (own["type"] == "BAD") & (own["input"] == log)]["time_ns"].to_numpy()
    found[sent.row] = _of(sent, came[came["input"] == log], np.sort(bad), numbered["time_ns"][numbered["input"] == log])
    return found


def _of(sent: Sent, came: pd.DataFrame, bad_ns: Ints, logged_ns: Any) -> Ints:
    """The outcome of each transmission; `logged_ns` are the times of all that the receiver logged."""
    told = np.full(len(sent.time), UNTOLD, dtype=np.int64)
    apart = least_apart(sent.sn, sent.time)
    heard = pair(sent, int(_FAR) if apart is None else apart, came["time_ns"].to_numpy(), came["sn"].to_numpy())
    if heard is None:
        return told
    due = sent.time + heard.transit_ns
    told[(due >= logged_ns.min()) & (due <= logged_ns.max())] = UNHEARD
    told[heard.transmission[heard.transmission >= 0]] = ARRIVED
    missing = np.flatnonzero(told == UNHEARD)
    told[missing[_within(bad_ns, due[missing], sent.time) >= _within(due[missing], due[missing], sent.time)]] = DAMAGED
    return told


def _within(times: Ints, at: Ints, sent_ns: Ints) -> Ints:
    """How many of `times`, in order, lie no farther from each of `at` than half the usual spacing of what was sent."""
    gaps = np.diff(sent_ns)
    half = int(np.median(gaps[gaps > 0])) // 2 if (gaps > 0).any() else 0
    return np.searchsorted(times, at + half, side="right") - np.searchsorted(times, at - half, side="left")
