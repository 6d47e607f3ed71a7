"""When an end of a link had nothing to send, by the times at which its log has its frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.link.frames import DATA_TYPES
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

SILENT_FRAMES = 3
"""What sends nothing for longer than so many usual distances of frames has nothing to send."""


def usual_distance(sent_ns: Ints) -> int:
    """The median distance in ns of frames sent at these times, in order; 0 unknown."""
    return int(np.median(np.diff(sent_ns))) if len(sent_ns) > 1 else 0


def silent_from(sent_ns: Ints) -> Ints:
    """After which of the frames sent at these times, in order, their end had nothing to send for a while."""
    return sent_ns[:-1][np.diff(sent_ns) > SILENT_FRAMES * usual_distance(sent_ns)]


def long_silences(frames: pd.DataFrame, links: pd.DataFrame, link: int) -> Ints:
    """After which information RLP's sender of a link had none for so long that it took all for acknowledged, in order.

    What is unacknowledged is asked for N2 times at most, T1 apart (24.022 5.2), and when T1 has run out once more sent
    again, or flushed by a reset. T1 is how far polls are apart without information between them; where no poll is
    repeated it is not known. Of other protocols nothing is told.
    """
    if str(links["protocol"].iloc[link]) != "rlp":
        return np.empty(0, dtype=np.int64)
    sent = frames[((frames["link"] == link) & frames["sent"]).to_numpy()].sort_values("time_ns", kind="stable")
    time, polls, data = sent["time_ns"].to_numpy(), polls_of(sent), sent["type"].isin(DATA_TYPES).to_numpy()
    asking = polls[polls | data]
    apart = np.diff(time[polls | data])[asking[1:] & asking[:-1]]
    if not len(apart):
        return np.empty(0, dtype=np.int64)
    informing = time[data]
    return informing[:-1][np.diff(informing) > (rlp.MOST_REPEATS + 1) * np.median(apart)]


def polls_of(sent: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which of an RLP entity's frames ask for an answer."""
    asking: npt.NDArray[np.bool_] = ((sent["poll"] == 1) & (sent["command"] == 1) & (sent["nr"] >= 0)).to_numpy()
    return asking
