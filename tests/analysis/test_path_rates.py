"""What is said about the rates of the path."""

from __future__ import annotations

import pytest
from blamed import SENDER, analysed
from repository import EXAMPLES

from multitracer import AnalyzeOptions, analyze, read
from multitracer.analysis.path_rates import path_notes, path_rate


@pytest.mark.slow
def test_a_stated_rate_that_arrivals_contradict_is_said() -> None:
    """They come twice as fast, or half as fast behind a queue; of one that is right nothing is said."""
    trace = read(EXAMPLES / "loss2" / "snd.pcap")
    (found,) = path_rate(analyze(trace)) or []
    for factor in (0.5, 2):
        (note,) = path_notes(analyze(trace, AnalyzeOptions(link_rate_bps=factor * found["rate_bps"])))
        assert note.startswith("The stated rate of")
        assert note.endswith("kbit/s, which is used.")
    assert path_notes(analyze(trace, AnalyzeOptions(link_rate_bps=found["rate_bps"]))) == []
    assert path_notes(analyze(trace)) == []


@pytest.mark.data
def test_one_rate_holds_from_the_first_data_to_the_last_acknowledgement() -> None:
    """Where it does not change there is one entry."""
    analysis = analysed("stall", SENDER)
    (rate,) = path_rate(analysis)
    limits, end = analysis.ends.limits, analysis.ends.largest
    assert rate["how"] == "found"
    assert rate["end_s"] - rate["start_s"] == pytest.approx((limits.end_ns[end] - limits.start_ns[end]) / 1e9)
