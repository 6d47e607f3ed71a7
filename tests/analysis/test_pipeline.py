"""The pipeline: what it is given stays as it was, and a part of a trace is placed by the whole."""

from __future__ import annotations

import copy
from dataclasses import replace

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from repository import EXAMPLES
from shared_data import shared

from multitracer import Trace, analyze, read
from multitracer.model.options import AnalyzeOptions
from multitracer.model.trace import Input

RLP = EXAMPLES / "rlp-reset"

OPTIONS = {
    "whole": AnalyzeOptions(),
    "window": AnalyzeOptions(from_s=20.0, to_s=40.0),
    "connection": AnalyzeOptions(connections=(0,)),
    "anonymous": AnalyzeOptions(anonymize=True),
    "rate": AnalyzeOptions(link_rate_bps=9600.0),
}


def copied(trace: Trace) -> Trace:
    """A trace of its own, down to the values in its columns."""
    inputs = [copy.deepcopy(entry) for entry in trace.inputs]
    return Trace(inputs, {name: table.copy(deep=True) for name, table in trace.tables.items()})


def assert_same_tables(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> None:
    """The same names, columns, types and values, in the same order."""
    assert list(one) == list(other)
    for name, table in one.items():
        assert_frame_equal(table, other[name], obj=name)


def described(trace: Trace) -> list[Input]:
    """The inputs without the tables that were read from them, which == does not compare."""
    return [replace(entry, recording=replace(entry.recording, tables={})) for entry in trace.inputs]


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_an_analysis_does_not_change_its_trace_and_can_be_repeated(name: str) -> None:
    """Every table and every input is equal before and after, and a second analysis concludes the same."""
    trace = read(RLP)
    before = copied(trace)
    first = analyze(trace, OPTIONS[name])
    assert_same_tables(trace.tables, before.tables)
    assert described(trace) == described(before)
    second = analyze(trace, OPTIONS[name])
    assert first.summary() == second.summary()
    assert_same_tables(first.tables, second.tables)
    assert_same_tables(first.trace.tables, second.trace.tables)


@pytest.mark.data
def test_a_part_does_not_repeat_the_notes_of_the_whole() -> None:
    """A link log that is left out because another holds its frames is noted once, cut or not."""
    folder = shared("linux", "rlc-reset")
    paths = [folder / "rlc.network.pcap.gz", *sorted(folder.glob("rlcdump.*")), folder / "snd.pcap"]
    for options in (AnalyzeOptions(), AnalyzeOptions(from_s=5.0)):
        notes = [note for entry in analyze(paths, options).trace.inputs for note in entry.recording.notes]
        assert sum("recorded once more" in note for note in notes) == 1
