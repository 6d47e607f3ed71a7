"""What a report is called."""

from __future__ import annotations

import pytest

from multitracer.analysis.title import title


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ([], "MultiTracer: report"),
        ([("a/snd.pcap", "pcap"), ("b/notes.txt", "unknown")], "MultiTracer: snd.pcap"),
        ([("notes.txt", "unknown")], "MultiTracer: notes.txt"),
        ([(f"{name}.pcap", "pcap") for name in "abcde"], "MultiTracer: a.pcap, b.pcap, c.pcap and 2 more"),
    ],
)
def test_a_report_is_called_by_what_was_read(inputs: list[tuple[str, str]], text: str) -> None:
    """By at most three names; files of no format that is read are left out."""
    assert title([{"path": path, "format": format_} for path, format_ in inputs]) == text
