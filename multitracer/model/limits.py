"""What limited each direction of each connection: the type that the analysis computes and the summary shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.model.vocabulary import LIMIT_NAMES

LIMITS = tuple(LIMIT_NAMES)

RATE_FROM = ("", "told", "found")
"""Where a path's rate is from: stated by the user, or found from arrivals or acknowledgements behind a queue."""

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]


class Stretches(NamedTuple):
    """Stretches of time in which one cause limited one end without a break; arrays, an element each, by end and time.

    Only those that may make a finding are kept: of the application, the receiver's window, and a path that stood still,
    and longer than a threshold of round trips.
    """

    end: Ints
    """2 * connection + sender."""
    cause: Ints
    """An index of LIMITS."""
    start_ns: Ints
    stop_ns: Ints


class RateChanges(NamedTuple):
    """The rates of paths that had several, one after the other; arrays, by end and time."""

    end: Ints
    start_ns: Ints
    """When each began to hold; the first holds before, too."""
    rate_bps: Floats

    def of(self, end: int) -> tuple[Ints, Floats]:
        """When the rates of an end began, and what they are; empty where its path had one, or it is not known."""
        mine = self.end == end
        return self.start_ns[mine], self.rate_bps[mine]


@dataclass(frozen=True)
class Limits:
    """What limited what each end sent; ends are numbered 2 * connection + sender."""

    shares: Floats
    """Shape (ends, causes): shares of the time from the first data octet to its last acknowledgement.

    NaN for an end that sent no data, or whose data was never acknowledged.
    """
    rate_bps: Floats
    """The rate of the path of each end, in bit/s; 0 unknown, NaN where `shares` is."""
    rate_from: npt.NDArray[np.int8]
    """Where that rate is from, an index of RATE_FROM; 0 where too little of the end's own agrees on it to report it."""
    start_ns: npt.NDArray[np.int64]
    """When each end sent its first data octet; -1 for none."""
    end_ns: npt.NDArray[np.int64]
    """When the last of its data was acknowledged; -1 for never."""
    stretches: Stretches
    by_arrivals: npt.NDArray[np.bool_]
    """Whether the receiver's capture, or a link's log, showed when each end's data arrived; else acknowledgements stand
    for it.
    """
    changes: RateChanges
    sure: npt.NDArray[np.bool_]
    """False where neither the deliveries of an end, nor others of its path, nor the user tell the rate that it has."""

    def shown_bps(self) -> Floats:
        """The rate of the path of each end that had one throughout, in bit/s; 0 where nothing shows it."""
        shown = np.where(self.sure, np.nan_to_num(self.rate_bps), 0.0)
        shown[self.changes.end] = 0.0
        return shown
