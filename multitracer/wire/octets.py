"""Numbers read from a packet's octets, their checksum, and a hash of two numbers, inside kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel


@kernel
def big16(data: Any, at: int) -> int:
    """The 16-bit number at `at`, most significant octet first."""
    first = np.uint64(at)  # an unsigned index cannot count from the end: the compiler joins the loads
    return int(np.int64(data[first]) << 8 | np.int64(data[first + np.uint64(1)]))


@kernel
def big32(data: Any, at: int) -> int:
    """The 32-bit number at `at`, most significant octet first."""
    first = np.uint64(at)
    return int(
        np.int64(data[first]) << 24
        | np.int64(data[first + np.uint64(1)]) << 16
        | np.int64(data[first + np.uint64(2)]) << 8
        | np.int64(data[first + np.uint64(3)])
    )


@kernel
def little32(data: Any, at: int) -> int:
    """The 32-bit number at `at`, least significant octet first."""
    first = np.uint64(at)
    return int(
        np.int64(data[first])
        | np.int64(data[first + np.uint64(1)]) << 8
        | np.int64(data[first + np.uint64(2)]) << 16
        | np.int64(data[first + np.uint64(3)]) << 24
    )


@kernel
def word(data: Any, at: int, little: bool) -> int:
    """The 32-bit number at `at` in the byte order of a capture file."""
    return little32(data, at) if little else big32(data, at)


@kernel
def ones_sum(data: Any, start: int, end: int, total: int) -> int:
    """`total` plus the 16-bit words of data[start:end], an odd last octet padded (RFC 1071).

    Words are added two at a time, which folds to the same sum: 2**16 is 1 modulo 2**16 - 1.
    """
    at = start
    while at + 3 < end:
        total += big32(data, at)
        at += 4
    if at + 1 < end:
        total += big16(data, at)
        at += 2
    if at < end:
        total += int(np.int64(data[at]) << 8)
    return total


@kernel
def fold(total: int) -> int:
    """A sum of 16-bit words in 16 bits, carries added back (RFC 1071)."""
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@kernel
def hash_pair(one: int, other: int) -> int:
    """A hash of two numbers. The factors are below 2**31 and 2**32, so that no product overflows int64."""
    hashed = (one & 0x7FFFFFFF) * np.int64(0x9E3779B1)
    hashed = ((hashed ^ hashed >> 31 ^ other) & 0x7FFFFFFF) * np.int64(0x85EBCA77)
    return int(hashed ^ hashed >> 29)
