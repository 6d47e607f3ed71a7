"""When a link's window was full, by what its log has of frames and acknowledgements."""

from __future__ import annotations

from multitracer.link.window import lowest_open


def test_what_is_missing_below_the_acknowledgement_is_open() -> None:
    """The lowest of it is, else nothing below the acknowledgement."""
    assert lowest_open(20, [], 4096) == 20
    assert lowest_open(20, [15, 12, 18], 4096) == 12
    assert lowest_open(3, [4090], 4096) == 4090


def test_what_is_missing_above_the_acknowledgement_opens_nothing() -> None:
    """An acknowledgement that names the first missing number acknowledges nothing after it."""
    assert lowest_open(1564, [1564, 1774, 1782], 4096) == 1564
    assert lowest_open(4090, [2, 5], 4096) == 4090
