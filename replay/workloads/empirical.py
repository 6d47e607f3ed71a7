"""Distributions given by what was counted: a value, and how often it was seen."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Counted:
    """Values in rising order, and how many of all counted are of each value or less."""

    values: Any
    """int64."""
    up_to: Any
    """int64, rising to the number of all."""

    @property
    def mean(self) -> float:
        """The mean of what was counted."""
        return float(np.diff(self.up_to, prepend=0) @ self.values / self.up_to[-1])

    def at(self, uniform: Any) -> Any:
        """The least values at which the distribution reaches those shares (0 to 1): steps, nothing in between."""
        rank = np.ceil(np.asarray(uniform) * self.up_to[-1])
        return self.values[np.searchsorted(self.up_to, rank)]


@cache
def counted(name: str) -> Counted:
    """A distribution of data/, by the name of its file."""
    packed = (files(__package__) / "data" / f"{name}.csv.gz").read_bytes()
    rows = csv.reader(io.StringIO(gzip.decompress(packed).decode()))
    next(rows)
    values, counts = np.array([[int(one) for one in row] for row in rows], np.int64).T
    return Counted(values, np.cumsum(counts))
