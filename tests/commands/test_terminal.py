"""The summary for people."""

from __future__ import annotations

import copy
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from repository import EXAMPLES

from multitracer import analyze, read
from multitracer.analysis.display_filters import DisplayFilters
from multitracer.analysis.story import story
from multitracer.analysis.summary import Findings, Summary, summarize
from multitracer.commands.terminal import _CAUSES, BAR_CELLS, print_summary, printable
from multitracer.export.json_text import json_text
from multitracer.model.analysis import Totals
from multitracer.model.limits import LIMITS
from multitracer.model.schema import CAUSES, SPURIOUS, empty

EXAMPLE = EXAMPLES / "rlp-reset"


@pytest.fixture(scope="module")
def totals() -> Totals:
    """The totals of the example with both layers."""
    return summarize(analyze(read(str(EXAMPLE)))).totals


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    """Its summary document; as JSON has it, but for the findings."""
    document = summarize(analyze(read(str(EXAMPLE)))).document
    return {**json.loads(json_text(document)), "findings": document["findings"]}


class Terminal(io.StringIO):
    """A terminal without colours."""

    def isatty(self) -> bool:
        """Always."""
        return True


def printed(document: dict[str, Any], totals: Totals) -> str:
    """What goes to a file."""
    out = io.StringIO()
    print_summary(Summary(document, totals, story(document, totals)), "in multitracer-out", out)
    return out.getvalue()


@pytest.mark.slow
def test_the_summary_fits_a_screen(totals: Totals, summary: dict[str, Any]) -> None:
    """What was captured, verdict, bar, findings and where the results are, within 25 lines."""
    text = printed(summary, totals)
    assert len(text.splitlines()) <= 25
    for said in ("5 inputs", "10.9.0.1:43142 > 10.9.0.2:5301", "40.0 kbyte", "link-reset", "in multitracer-out"):
        assert said in text
    assert "\x1b" not in text


def test_the_bar_has_the_proportions_of_the_accounting(totals: Totals, summary: dict[str, Any]) -> None:
    """One letter per cause, each explained below."""
    letters = {letter: name for name, (letter, _) in _CAUSES.items()}
    lines = printed(summary, totals).splitlines()
    bar = next(line for line in lines if len(line) == BAR_CELLS and set(line) <= set(letters))
    for letter, name in letters.items():
        assert abs(bar.count(letter) - BAR_CELLS * summary["accounting"][name]) <= 1


def test_without_an_accounting_it_says_what_limited_the_transfer(totals: Totals, summary: dict[str, Any]) -> None:
    """The largest share first, and nothing below 1 %."""
    shares = dict.fromkeys(LIMITS, 0.0) | {"path_rate": 0.375, "receiver_window": 0.62, "application": 0.005}
    text = printed(copy.deepcopy(summary) | {"accounting": None, "limits": shares}, replace(totals, limited_s=50.0))
    assert "What limited it: the receiver's window 31.0 s (62 %), the path's rate 18.8 s (38 %)." in text


def test_the_kernels_own_clocks_are_shown(totals: Totals, summary: dict[str, Any]) -> None:
    """Of the direction with most data, where a log has them."""
    assert "kernel's own clocks" not in printed(summary, totals)
    known = copy.deepcopy(totals)
    clocks = {"busy_s": 9.98, "rwnd_limited_s": 0.47, "sndbuf_limited_s": 0.86}
    for sent in known.busiest[0]["directions"].values():
        sent["kernel_clocks"] = clocks if sent["unique_bytes"] > 10_000 else None
    text = printed(summary, known)
    assert "busy 10.0 s, of that 0.5 s with the receiver's window full, 0.9 s with the send buffer full." in text


def test_every_cause_has_a_letter_of_its_own() -> None:
    """The bar can show any cause."""
    assert set(_CAUSES) == set(CAUSES)
    assert len({letter for letter, _ in _CAUSES.values()}) == len(CAUSES)


def test_a_summary_without_values_says_what_is_unknown(summary: dict[str, Any]) -> None:
    """No accounting, findings or numbers: the summary says which inputs would tell more."""
    bare = copy.deepcopy(summary)
    bare |= {"accounting": None, "utilization": None, "missing": ["Give more."]}
    bare |= {"findings": Findings(empty("findings"), 0), "links": []}
    for one in bare["connections"]:
        for end in one["directions"].values():
            end |= {"goodput_bps": None, "unique_bytes": None, "data_segments": None, "retransmitted_segments": None}
            end["spurious"] = dict.fromkeys(end["spurious"])
    for entry in bare["inputs"]:
        entry["clock"] = None
    text = printed(bare, Totals(1, 0, dict.fromkeys(SPURIOUS, 0), bare["connections"], None))
    assert "no link log" in text
    assert "Give more." in text
    assert "None" not in text


def test_the_connections_with_most_data_are_listed(summary: dict[str, Any]) -> None:
    """A line for each of the busiest, and the number of the others."""
    one = summary["connections"][0]
    totals = Totals(100_000, 128, dict.fromkeys(SPURIOUS, 0), [one | {"id": number} for number in (7, 3)], None)
    lines = printed(summary, totals).splitlines()
    assert "100,000 connections" in lines[0]
    assert [line.split(":")[0] for line in lines[1:3]] == ["  7", "  3"]
    assert lines[3] == "  and 99,998 connections with less data"


def test_control_characters_of_inputs_are_escaped() -> None:
    """Escape sequences and newlines become visible; letters of any script are unchanged."""
    assert printable("a\x1b[2Jb\nc\u202e") == "a\\x1b[2Jb\\nc\\u202e"
    assert printable("Messung größer 測") == "Messung größer 測"


@pytest.mark.slow
def test_lines_are_cut_to_a_terminal_and_whole_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a program gets all of a finding's reason."""
    found = summarize(analyze(EXAMPLE))
    reason = max((one["because"] for one in found.document["findings"] if one["kind"] == "link-reset"), key=len)
    for name, value in (("COLUMNS", "100"), ("TERM", "xterm"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    out, terminal = io.StringIO(), Terminal()
    print_summary(found, "results", out)
    print_summary(found, "results", terminal)
    assert reason in out.getvalue()
    assert reason not in terminal.getvalue()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    cut = [line for line in plain.splitlines() if line.endswith("…")]
    assert cut
    assert max(map(len, cut)) <= 100


@pytest.mark.slow
def test_every_finding_can_be_shown_with_its_evidence() -> None:
    """Each with its reason, every value of its evidence, what set it off, and a filter for its packets."""
    analysis = analyze(EXAMPLE)
    found, out = summarize(analysis), io.StringIO()
    print_summary(found, "results", out, DisplayFilters(analysis))
    text = out.getvalue()
    for number, one in enumerate(found.document["findings"]):
        assert f"  {number:4}  {one['verdict']:9}  {one['start_s']:.3f} s" in text
        assert one["because"] in text
        for name in one["evidence"]:
            assert name == "records" or f"{name} " in text
    assert "set off by: 2 (local-drop)" in text
    assert f"evidence: records 49, 52 of {EXAMPLE / 'snd.pcap'}" in text
    assert f"display filter for {EXAMPLE / 'snd.pcap'}: frame.number in {{49, 52}}" in text
