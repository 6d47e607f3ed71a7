"""Where each end's segments were seen leaving and arriving, and which of them arrived."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]

NOWHERE = -1


@dataclass(frozen=True)
class Paths:
    """`sender_point` and `receiver_point` have shape (connections, 2): per end, where what it sent was seen.

    `arrival` is per row of segments the row of the same packet at the receiving point (-1: none),
    `arrived` whether it got there intact (1 yes, 0 no, -1 not known).
    """

    sender_point: Ints
    receiver_point: Ints
    arrival: npt.NDArray[np.int32]
    arrived: npt.NDArray[np.int8]

    @cached_property
    def seen_at(self) -> Ints:
        """Per connection and end, the point that saw best what it sent: the nearest to it."""
        return np.where(self.sender_point != NOWHERE, self.sender_point, self.receiver_point)
