"""A link's rate as mahimahi recorded it: how many frames each millisecond carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer import parsers
from multitracer.model.errors import InputError
from multitracer.parsers.shared.source import Room, open_source

SLOT_S = 0.001
MOST_AT_ONCE = 1000
"""What the link has room for."""


def load(path: str) -> Any:
    """The frames of each millisecond until the schedule's last, from which on it begins anew; InputError if it is none.

    An opportunity of mahimahi's is for 1504 octets; here it is for a frame of the link.
    """
    source = open_source(path, Room())
    recording = parsers.read(source)
    if recording.format != "mahimahi":
        raise InputError(path, f"is no link schedule of mahimahi's, but {recording.format}")
    times = recording.metadata["opportunities_ms"]
    frames = np.bincount(times % times[-1], minlength=int(times[-1]))
    if frames.max() > MOST_AT_ONCE:
        raise InputError(path, f"has {frames.max()} opportunities in a millisecond; {MOST_AT_ONCE} are the most")
    return frames
