"""Sums of octets, against RFC 1071's definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multitracer.wire.octets import fold, ones_sum


@given(st.binary(max_size=50), st.integers(0, 5), st.integers(0, 0x1FFFF))
def test_a_sum_folds_as_that_of_its_16_bit_words(data: bytes, start: int, total: int) -> None:
    """However many octets there are, the last of an odd number padded with a zero."""
    part = data[start:]
    padded = part + bytes(len(part) % 2)
    words = [int.from_bytes(padded[at : at + 2], "big") for at in range(0, len(padded), 2)]
    octets = np.frombuffer(data, dtype=np.uint8)
    added = ones_sum.function(octets, min(start, len(data)), len(data), total)
    assert fold.function(added) == folded(total + sum(words))


def folded(total: int) -> int:
    """A number in 16 bits by one's complement addition: its remainder modulo 65535, which is 65535 and not 0."""
    return total if total == 0 else (total - 1) % 0xFFFF + 1
