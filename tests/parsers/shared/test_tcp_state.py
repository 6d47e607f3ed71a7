"""Collecting rows of tcp_state."""

from __future__ import annotations

from math import inf, isnan

import pytest

from multitracer.model.errors import InputError
from multitracer.parsers.shared.source import Source
from multitracer.parsers.shared.tcp_state import StateLog, ssthresh


def test_values_missing_in_a_row_are_null() -> None:
    """Columns first told in a later row are null in the earlier ones, and the other way round."""
    log = StateLog()
    log.add(1, 10, "recv", "a:1", "b:2", cwnd_segments=10)
    log.add(2, 20, "retransmit", None, None)
    log.add(3, 30, "sample", "a:1", "b:2", srtt_s=0.5)
    table = log.recording("x", Source("x", b"abc")).tables["tcp_state"]
    assert table["cwnd_segments"].tolist()[0] == 10
    assert [isnan(value) for value in table["cwnd_segments"]] == [False, True, True]
    assert [isnan(value) for value in table["srtt_s"]] == [True, True, False]
    assert table["event"].tolist() == ["recv", "retransmit", "sample"]
    assert table["local"].tolist() == ["a:1", None, "a:1"]
    assert table["time_ns"].tolist() == table["recorded_ns"].tolist() == [10, 20, 30]


def test_times_that_step_back_are_noted() -> None:
    """A log out of order is kept in its order, with a note."""
    log = StateLog()
    for record, time_ns in enumerate((10, 30, 20), start=1):
        log.add(record, time_ns, "recv", None, None)
    recording = log.recording("x", Source("x", b"abc"))
    assert recording.notes == ["Its times step back 1 times, first after record number 2 of those read."]


def test_a_log_without_a_record_is_an_input_error() -> None:
    """The message says what stood in the way."""
    log = StateLog()
    log.losses.add("all wrong", 7, 70)
    with pytest.raises(InputError, match="record 7: holds no record of the x format"):
        log.recording("x", Source("x", b"abc"))


def test_linux_infinity_is_infinity() -> None:
    """0x7fffffff is no threshold of two thousand million segments."""
    assert ssthresh(0x7FFFFFFF) == inf
    assert ssthresh(58) == 58
