"""The packets of one interface of one capture, before it is known which of them were taken at one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import runs

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass
class Source:
    """The packets of one place in one input: an interface, or one side of what the interface saw twice."""

    number: int
    place: int
    rows: slice | Ints
    first_ns: int
    last_ns: int

    @property
    def key(self) -> tuple[int, int]:
        """(input, place)."""
        return self.number, self.place

    @property
    def row_numbers(self) -> Ints:
        """Its rows of packets."""
        return np.arange(self.rows.start, self.rows.stop) if isinstance(self.rows, slice) else self.rows


def find_sources(packets: pd.DataFrame, place: Any) -> list[Source]:
    """The packets of each (input, place), with slices where the rows are contiguous; `place` is one per packet."""
    number, time = packets["input"].to_numpy(), packets["time_ns"].to_numpy()
    found: list[Source] = []
    for start, stop in runs(number):
        seen = place[start:stop]
        whole = seen.min() == seen.max()
        for rows in [slice(start, stop)] if whole else _by_place(seen, start):
            times = time[rows]
            found.append(Source(int(number[start]), int(place[rows][0]), rows, int(times.min()), int(times.max())))
    return found


def _by_place(seen: Any, start: int) -> list[Ints]:
    """The rows of each place in one input, which begins at row `start`; sorted once, however many places there are."""
    order = np.argsort(seen, kind="stable")
    return np.split(start + order, np.flatnonzero(np.diff(seen[order])) + 1)
