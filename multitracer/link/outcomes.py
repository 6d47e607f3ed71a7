"""What became of each transmission of a frame, as the log of the end that it was sent to tells it.

A transmission arrived if that log has its number one transit time later. It came damaged if the log has, when it was
due, as many damaged frames as there are transmissions that it has not. Of what was due where the log lacks frames it
tells nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.link.coverage import one_log
from multitracer.link.frames import DATA_TYPES
from multitracer.link.recovery import Ints, Sent, least_apart, pair, transmissions

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.analysis import Covered

UNTOLD, UNHEARD, ARRIVED, DAMAGED = -1, 0, 1, 2
"""No log tells; the receiver's has nothing of it; arrived; came damaged."""
_FAR = np.int64(1) << 61


def outcomes(frames: pd.DataFrame, link: int, covered: Covered) -> Ints:
    """The outcome of each frame of a link in its sender's log, shape (frames,); of all others UNTOLD.

    `covered` says when the log of its receiver has every frame.
    Of Wi-Fi the acknowledgements tell that a monitor heard: one that was not heard says nothing.
    """
    found = np.full(len(frames), UNTOLD, dtype=np.int64)
    numbered = frames.reset_index(drop=True)
    own = numbered[numbered["link"] == link]
    if (own["acked"] >= 0).any():
        found[own.index[own["acked"] == 1]] = ARRIVED
        return found
    is_data = own["type"].isin(DATA_TYPES) & (own["sn"] >= 0)
    sent = transmissions(own[is_data & own["sent"] & (own["sn_unwrapped"] >= 0)])
    heard = numbered.loc[one_log(numbered, own.index[~own["sent"]].to_numpy())]
    came = heard[is_data[heard.index]]
    if sent is None or not len(came):
        return found
    bad = heard["time_ns"][heard["type"] == "BAD"].to_numpy()
    found[sent.row] = _of(sent, came, np.sort(bad), covered)
    return found


def _of(sent: Sent, came: pd.DataFrame, bad_ns: Ints, covered: Covered) -> Ints:
    """The outcome of each transmission by the frames that came and the times of damaged ones."""
    told = np.full(len(sent.time), UNTOLD, dtype=np.int64)
    apart = least_apart(sent.sn, sent.time)
    heard = pair(sent, int(_FAR) if apart is None else apart, came["time_ns"].to_numpy(), came["sn"].to_numpy())
    if heard is None:
        return told
    due, half = sent.time + heard.transit_ns, _usual_spacing(sent.time) // 2
    arrived = heard.transmission[heard.transmission >= 0]
    told[covered.covers(due - half, due + half)] = UNHEARD
    told[arrived] = ARRIVED
    missing = np.delete(due, arrived)  # in a hole too: these may be what came damaged
    unheard = np.flatnonzero(told == UNHEARD)
    told[unheard[_within(bad_ns, due[unheard], half) >= _within(missing, due[unheard], half)]] = DAMAGED
    return told


def _usual_spacing(times: Ints) -> int:
    gaps = np.diff(times)
    return int(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 0


def _within(times: Ints, at: Ints, half: int) -> Ints:
    """How many of `times`, in order, lie no farther than `half` from each of `at`."""
    return np.searchsorted(times, at + half, side="right") - np.searchsorted(times, at - half, side="left")
