"""Fingerprints of packets: 64-bit hashes of columns, and the packets that two recordings have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import inlined, kernel

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

COPY_KEY = (
    "flow", "direction", "raw_seq", "raw_ack", "payload_bytes", "flags", "raw_window", "tsval", "tsecr",
    "ip_id", "checksum",
)  # fmt: skip
_FEW = 20_000
"""Fewer fingerprints are sorted sooner than a kernel is loaded."""
_MOST_STEPS = 500
"""In a hash table half full, of 10**7 keys that are random none is more than a hundred slots away from its own."""


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


@inlined
def mix_word(mixed: Any, word: Any) -> int:
    """Hash one more number below 2**63 into a fingerprint below 2**63, inside kernels; no product overflows int64."""
    word = mixed ^ word
    word = (word & 0x7FFFFFFF) * np.int64(0x9E3779B1) ^ (word >> 31) * np.int64(0x7FEB352D)
    return int(word ^ word >> 32)


def repeated(key: npt.NDArray[Any], most: int) -> Ints:
    """Positions of the fingerprints that occur more than once, but no more than `most` times; ascending."""
    if len(key) >= _FEW:
        slots = np.zeros(1 << (2 * len(key)).bit_length(), dtype=np.int32)  # at most half full
        counts, found = np.zeros(len(key), dtype=np.int32), np.empty(len(key), dtype=np.int32)
        number = find_repeated(key.view(np.int64), most, slots, counts, found)
        if number >= 0:
            return found[:number].astype(np.int64)
    _, which, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.flatnonzero((count[which] > 1) & (count[which] <= most))


@kernel
def find_repeated(key: Any, most: int, slots: Any, counts: Any, found: Any) -> int:
    """Fill `found` with the positions of the keys that occur 2 to `most` times; returns their number.

    `slots` is a hash table of 1 + the position at which a key occurs first, where `counts` says how often it occurs.
    Returns -1 where a key is far from its own slot: packets may be made so that many keys have the same one.
    """
    mask = np.int64(len(slots) - 1)
    for at in range(len(key)):
        slot, steps = key[at] & mask, 0
        while slots[slot] > 0 and key[slots[slot] - 1] != key[at]:
            slot, steps = (slot + 1) & mask, steps + 1
            if steps > _MOST_STEPS:
                return -1
        if slots[slot] == 0:
            slots[slot] = at + 1
        found[at] = slots[slot] - 1
        counts[found[at]] += 1
    number = 0
    for at in range(len(key)):
        if 1 < counts[found[at]] <= most:
            found[number] = at
            number += 1
    return number


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
