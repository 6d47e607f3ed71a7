"""mahimahi's link schedules."""

from __future__ import annotations

import pytest
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import mahimahi
from multitracer.parsers.shared.source import Source, open_source


def test_opportunities_are_counted_in_milliseconds() -> None:
    """A repeated value is several opportunities; one that falls back, and words, are losses."""
    recording = mahimahi.read(Source("x", b"0\n10\n10\n9\nten\n25\n"))
    assert recording.metadata["opportunities_ms"].tolist() == [0, 10, 10, 25]
    assert [(skip.reason, skip.record) for skip in recording.skips] == [
        ("an opportunity before the one above it", 4),
        ("not a whole number of milliseconds", 5),
    ]
    with pytest.raises(InputError):
        mahimahi.read(Source("x", b"ten\n"))


@pytest.mark.parametrize("head", [b"3\n2\n1\n", b"0\n0\n1\n1\n", b"5\n", b"1.5\n2.5\n", b"1 2\n3 4\n"])
def test_other_numbers_are_not_a_schedule(head: bytes) -> None:
    """Falling numbers, noughts and ones only, a single one, fractions, pairs."""
    assert not mahimahi.sniff(head)


@pytest.mark.data
def test_a_real_schedule_is_read_whole() -> None:
    """156,262 opportunities in 928.4 s."""
    source = open_source(str(shared("public", "link_traces", "mahimahi_TMobile-UMTS-driving.down.gz")))
    recording = mahimahi.read(source)
    assert (recording.records, recording.skips) == (156_262, [])
    assert recording.metadata["opportunities_ms"][-1] == 928_424
