"""Since when each retransmission timer that ran out had been waited for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitracer.findings.directions import Direction
from multitracer.findings.observations import Observations
from multitracer.model.schema import OPTION_SACK
from multitracer.tcp.timer_waits import waited_from


def waits_begin(
    observed: Observations, direction: Direction, ran_out_ns: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """When the wait for each timer of a direction's sender began that ran out then, by the capture that shows most."""
    point = direction.sender_point if direction.sender_point >= 0 else direction.receiver_point
    rows = observed.rows(direction.connection, point)
    if not len(rows):
        return ran_out_ns
    time, sender, seq, payload, ack, options = (
        observed.column(name)[rows] for name in ("time_ns", "sender", "seq", "payload_bytes", "ack", "options")
    )
    mine = sender == direction.sender
    top = np.maximum.accumulate(np.where(mine, seq + payload, -1))
    covered = np.maximum.accumulate(np.where(~mine, ack, -1))
    since = waited_from(time, mine, top, covered, (options & OPTION_SACK) != 0)
    before = np.maximum(np.searchsorted(time, ran_out_ns) - 1, 0)
    return np.minimum(since[before], ran_out_ns)
