"""Fingerprints of packets: 64-bit hashes of columns, and the packets that two recordings have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

COPY_KEY = (
    "flow", "direction", "raw_seq", "raw_ack", "payload_bytes", "flags", "raw_window", "tsval", "tsecr",
    "ip_id", "checksum",
)  # fmt: skip


def fingerprint(some: pd.DataFrame, names: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of the named integer columns, shape (rows,); equal rows have equal hashes."""
    mixed = np.full(len(some), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name in names:
        mixed = mix(mixed, some[name].to_numpy())
    return mixed


def mix(mixed: npt.NDArray[np.uint64], values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Hash one more integer column into 64-bit fingerprints (the finaliser of splitmix64)."""
    word = mixed + values.astype(np.int64).view(np.uint64)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def match_copies(some: pd.DataFrame, others: pd.DataFrame) -> tuple[Ints, Ints]:
    """Positions of the same packets in both, one to one and in order."""
    mine, other = _occurrence_keys(some), _occurrence_keys(others)
    _, at_some, at_others = np.intersect1d(mine, other, assume_unique=True, return_indices=True)
    return at_some.astype(np.int64), at_others.astype(np.int64)


def _occurrence_keys(some: pd.DataFrame) -> npt.NDArray[np.uint64]:
    """Fingerprints in which the n-th of several equal packets has n hashed in."""
    key = fingerprint(some, COPY_KEY)
    return mix(key, occurrence(key))


def occurrence(key: npt.NDArray[Any]) -> Ints:
    """For every element, the number of equal ones before it."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(key) else np.zeros(0, np.int64)
    count = np.empty(len(key), dtype=np.int64)
    count[order] = np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)]))
    return count
