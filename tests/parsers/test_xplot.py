"""xplot commands."""

from __future__ import annotations

import pytest
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import xplot
from multitracer.parsers.shared.source import Source, open_source

_HEAD = "timeval double\ntitle\na_==>_b (time sequence graph)\nxlabel\ntime\nylabel\nsequence number\n"


def test_commands_take_their_colour_and_text() -> None:
    """A colour holds until the next; a command may carry its own; text stands on the line below."""
    text = _HEAD + (
        "white\ndot 880735413.926564 152\natext 880735413.926564 20 magenta\nRST_IN\nred\n"
        "line 1.5 1 2.5 3\ngo\nafter the end\n"
    )
    recording = xplot.read(Source("x", text.encode()))
    plot = recording.metadata["plot"]
    table = plot["commands"]
    assert (plot["title"], plot["x_kind"]) == ("a_==>_b (time sequence graph)", "timeval")
    assert table["command"].tolist() == ["dot", "atext", "line"]
    assert table["colour"].tolist() == ["white", "magenta", "red"]
    assert table["text"].tolist() == ["", "RST_IN", ""]
    assert table["x"].tolist() == [880_735_413_926_564_000, 880_735_413_926_564_000, 1_500_000_000]
    assert (table["x2"][2], table["y2"][2]) == (2_500_000_000, 3)
    assert table["record"].tolist() == [9, 10, 13]


def test_lines_that_are_not_commands_are_counted() -> None:
    """Unknown words and numbers that are none cost their line."""
    text = _HEAD + "dot 1 2\nscribble 1 2\ndot one two\ndot 3 4\n"
    recording = xplot.read(Source("x", text.encode()))
    assert recording.records == 2
    assert [skip.record for skip in recording.skips] == [9, 10]
    with pytest.raises(InputError):
        xplot.read(Source("x", _HEAD.encode()))


@pytest.mark.data
def test_a_real_graph_is_read_whole() -> None:
    """Every command of tcptrace's graph of a bulk transfer."""
    recording = xplot.read(open_source(str(shared("public", "xplot", "lteCUBIC.sender.c2d_tsg.xpl.gz"))))
    assert (recording.records, recording.skips) == (29_573, [])
    assert recording.metadata["plot"]["commands"]["command"].value_counts()["line"] == 15_609
