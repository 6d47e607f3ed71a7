"""What the only capture of a direction tells of it when that is beside the receiver: whether its window was closed.

What the sender knew and when is not seen there, so that only a window too small for a segment, with nothing on the
way, is certain to have limited it. Where there was no such window the rows need not be followed one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.sending_events import FIRST_NS, LAST_ACKED_NS, PROBES
from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK
from multitracer.tcp.packed_rows import FLAGS, LENGTH


@kernel
def window_was_open(rows: Any, words: Any, direction: int, capture: Any, state: Any) -> bool:
    """Whether every window that the receiver advertised had room for the longest segment that came.

    If so, FIRST_NS and LAST_ACKED_NS of `state` are as `follow` sets them; `words` are the packed words of `rows`.
    """
    longest, least = np.int64(0), np.int64(2**62)
    now = una = top = np.int64(0)
    first_ns = last_acked_ns = np.int64(-1)
    for index in range(len(rows)):
        row, word = np.uint64(rows[index]), words[index]
        now, length = max(now, capture.time_ns[row]), word >> LENGTH
        if word & 1 != direction:
            if word >> FLAGS & ACK:
                if capture.window_bytes[row] >= 0:
                    least = min(least, np.int64(capture.window_bytes[row]))
                if una < top and capture.ack[row] > una:
                    una, last_acked_ns = min(capture.ack[row], top), now
        elif length > 1 or (length == 1 and not capture.marks[row] & PROBES):
            longest = max(longest, length)
            if first_ns < 0:
                first_ns, una = now, capture.seq[row]
                top = una
            top = max(top, capture.seq[row] + length)
    state[FIRST_NS], state[LAST_ACKED_NS] = first_ns, last_acked_ns
    return bool(least >= longest)
