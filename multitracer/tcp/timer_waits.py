"""Since when a sender's retransmission timer is waited for, by the segments of both ends."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]


def waited_from(times: Ints, mine: Any, top: Ints, covered: Ints, sacks: Any) -> Ints:
    """Since when, after each segment, the timer is waited for: news of the peer, or the first data sent since then.

    The segments are those of both ends, `mine` the sender's, in the order of `times`; `top` and `covered` are the ends
    of what had been sent and acknowledged with each, and `sacks` says which acknowledge selectively.
    """
    row = np.arange(len(times))
    news = ~mine & (sacks | (np.diff(covered, prepend=-1) > 0))
    last = np.maximum.accumulate(np.where(news, row, 0))
    beyond = np.flatnonzero(mine & (np.diff(top, prepend=-1) > 0))
    sent_after = np.append(beyond, len(times) - 1)[np.searchsorted(beyond, last)]
    return times[np.minimum(np.where(top[last] > covered[last], last, sent_after), row)]
