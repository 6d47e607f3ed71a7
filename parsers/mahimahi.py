"""mahimahi's link schedule: one line a delivery opportunity, in whole milliseconds since the start.

At each opportunity one packet of 1504 octets may pass; mahimahi repeats the file from its end on. It
records when a saturated link delivered, not what it lost.
"""

from __future__ import annotations

import re
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import Losses, head_lines, whole_lines

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

PACKET_BYTES = 1504
_WHOLE = re.compile(r"\d{1,12}\Z", re.ASCII)


def sniff(head: bytes) -> bool:
    """Whether it holds whole numbers in ascending order, one a line, and not only 0 and 1."""
    lines = [line.strip() for line in head_lines(head)]
    if len(lines) < 2 or not all(_WHOLE.match(line) for line in lines):
        return False
    times = [int(line) for line in lines]
    return times[-1] > 1 and all(before <= after for before, after in pairwise(times))


def read(source: Source) -> Recording:
    """The opportunities as `metadata["opportunities_ms"]`, an int64 array."""
    losses, times = Losses(), array("q")
    for number, offset, text in whole_lines(source, losses):
        text = text.strip()
        if not _WHOLE.match(text):
            losses.add("not a whole number of milliseconds", number, offset)
        elif times and int(text) < times[-1]:
            losses.add("an opportunity before the one above it", number, offset)
        else:
            times.append(int(text))
    if not times:
        raise InputError(source.path, "holds no delivery opportunity")
    return Recording(
        "mahimahi", {}, len(times), losses.skips, bytes_read=len(source), clock="relative",
        complete=losses.uncut, counts={"delivery opportunities": len(times)},
        metadata={"opportunities_ms": np.array(times, np.int64)},
    )  # fmt: skip
