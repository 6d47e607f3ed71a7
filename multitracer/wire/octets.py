"""Numbers in a packet's octets, and a spread of numbers over a table, inside kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel


@kernel
def big16(data: Any, at: int) -> int:
    """Two octets, most significant first."""
    first = np.uint64(at)  # no index counts from the end, which lets the compiler join the loads
    return int(np.int64(data[first]) << 8 | np.int64(data[first + np.uint64(1)]))


@kernel
def big32(data: Any, at: int) -> int:
    """Four octets, most significant first."""
    first = np.uint64(at)
    return int(
        np.int64(data[first]) << 24
        | np.int64(data[first + np.uint64(1)]) << 16
        | np.int64(data[first + np.uint64(2)]) << 8
        | np.int64(data[first + np.uint64(3)])
    )


@kernel
def little32(data: Any, at: int) -> int:
    """Four octets, least significant first."""
    first = np.uint64(at)
    return int(
        np.int64(data[first])
        | np.int64(data[first + np.uint64(1)]) << 8
        | np.int64(data[first + np.uint64(2)]) << 16
        | np.int64(data[first + np.uint64(3)]) << 24
    )


@kernel
def word(data: Any, at: int, little: bool) -> int:
    """Four octets in a file's own byte order."""
    return little32(data, at) if little else big32(data, at)


@kernel
def mixed(one: int, other: int) -> int:
    """A spread of two numbers; factors are kept below 2**31 and 2**32, so that no product overflows."""
    spread = (one & 0x7FFFFFFF) * np.int64(0x9E3779B1)
    spread = ((spread ^ spread >> 31 ^ other) & 0x7FFFFFFF) * np.int64(0x85EBCA77)
    return int(spread ^ spread >> 29)
