"""The summary as Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from repository import EXAMPLES

from multitracer import Analysis, analyze, cli
from multitracer.analysis.finding_rows import rows
from multitracer.analysis.time_bar import time_bar
from multitracer.export.markdown import LONGEST_EVIDENCE, escaped

RLP = EXAMPLES / "rlp-reset"
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """The example with both layers."""
    return analyze(RLP)


@pytest.fixture(scope="module")
def text(analysis: Analysis) -> str:
    """Its summary as Markdown."""
    return analysis.markdown()


def shown(markdown: str) -> str:
    """What a reader sees: all texts, cells of a table behind one another."""
    inline = [token for block in READER.parse(markdown) for token in block.children or []]
    return " ".join(token.content for token in inline if token.content)


def tables(markdown: str) -> list[list[list[str]]]:
    """The tables: their rows of cells, heads first."""
    found: list[list[list[str]]] = []
    tokens = READER.parse(markdown)
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            inline = tokens[place + 1].children or []
            found[-1][-1].append("".join(child.content for child in inline))
    return found


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@example("<img src=x onerror=alert(1)>.pcap")
@example("a | b\n\n# c")
@example("1. `x` **y** [z](http://a) ![w](b) ~~v~~ &amp; __u__ $e$")
@example("- x")
@example("+")
@example("12) x")
@example("a_b _c_ \\")
@example("===")
def test_an_escaped_text_reads_as_it_is_and_is_no_markup(outside: str) -> None:
    """In a paragraph, a list and a table, on one line."""
    made = escaped(outside)
    plain = outside.translate(dict.fromkeys((*range(33), *range(127, 160), 0x2028, 0x2029), " "))
    plain = " ".join(part for part in plain.split(" ") if part)
    assert "\n" not in made
    for markdown in (f"x {made}", f"- {made}", f"| a | b |\n|---|---|\n| x | {made} |"):
        kinds = {child.type for block in READER.parse(markdown) for child in block.children or []}
        assert kinds <= {"text", "text_special"}, markdown
    assert tables(f"| a | b |\n|---|---|\n| x | {made} |")[0][1][1].strip() == plain.strip()


def test_the_story_comes_first(text: str, analysis: Analysis) -> None:
    """Its first sentence in bold, the others as a list."""
    first, *rest = analysis.verdict.splitlines()
    title = "# MultiTracer: rcv.pcap, rlpdump.mobile.txt, rlpdump.network.txt and 2 more"
    assert text.startswith(f"{title}\n\n**{first}**\n\n- {rest[0]}\n")


def test_the_bar_is_a_table_of_all_its_parts(text: str, analysis: Analysis) -> None:
    """With seconds and shares, in the order of the report."""
    heads, *listed = tables(text)[0]
    assert heads == ["part", "layer", "time", "share"]
    parts = time_bar(analysis.summary(), analysis.ends.limited_s)
    assert [row[0] for row in listed] == [part.label for part in parts]
    assert [row[3] for row in listed] == [f"{100 * part.share:.0f} %" for part in parts]
    assert listed[2] == ["link-outage", "link", "17.1 s", "30 %"]


def test_the_findings_stand_in_chains_the_dearest_first(text: str, analysis: Analysis) -> None:
    """Each with its reason; what another set off stands below that and names it."""
    lines = [line for line in text.splitlines() if line.lstrip().startswith("- **")]
    found: list[tuple[int, Any]] = []

    def collect(listed: Any, depth: int) -> None:
        for row in listed:
            found.append((depth, row.finding))
            collect(row.effects, depth + 1)

    collect(rows(analysis.summary()["findings"], 1000), 0)
    assert len(lines) == len(found) > 20
    for line, (depth, finding) in zip(lines, found, strict=True):
        assert line.startswith(f"{'  ' * depth}- **{finding['kind']}** ({finding['layer']}, {finding['verdict']}, ")
        assert shown(line.strip()).endswith(" ".join(finding["because"].split()))
        assert ("set off by " in line.split("): ")[0]) == (finding["caused_by"] is not None)
    assert "cost 17.1 s" in lines[0]
    assert "set off by link-outage at 18.1 s" in lines[1]


def test_evidence_is_shortened(text: str) -> None:
    """A line has at most so many characters."""
    evidence = [line.split("evidence: ", 1)[1] for line in text.splitlines() if "- evidence: " in line]
    assert "erased 338, sent 54, duration_ms 3400.072, under_way 10" in evidence
    assert max(len(shown(line)) for line in evidence) <= LONGEST_EVIDENCE


def test_connections_links_and_inputs_are_tables(text: str, analysis: Analysis) -> None:
    """The values of the summary; of connections only directions with data."""
    _, connections, links, inputs = tables(text)
    summary = analysis.summary()
    assert [row[1] for row in connections[1:]] == [summary["connections"][0]["client"]]
    assert connections[1][3] == f"{summary['connections'][0]['directions']['client']['unique_bytes']:,}"
    assert [row[3] for row in links[1:]] == [f"{one['frames_sent']:,}" for one in summary["links"]]
    assert [row[0] for row in inputs[1:]] == [one["path"] for one in summary["inputs"]]
    assert [row[3] for row in inputs[1:]] == [one["clock"]["how"] for one in summary["inputs"]]


def test_what_is_missing_is_said() -> None:
    """One end's capture alone: what other inputs would tell, and an unknown value is no 0."""
    found = analyze(EXAMPLES / "loss2" / "snd.pcap").markdown()
    assert "## What is missing" in found
    assert "Not looked for: " in found
    assert "\n## Links\n" not in found


def test_it_is_written_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside summary.json, with --summary-only too; the next run without it removes it."""
    command = ["analyze", str(RLP), "-o", str(tmp_path), "--summary-only", "-q"]
    assert cli.run([*command, "--markdown"]) == 0
    assert str(tmp_path / "summary.md") in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {".multitracer", "summary.json", "summary.md"}
    assert (tmp_path / "summary.md").read_text().startswith("# MultiTracer: rcv.pcap")
    assert cli.run(command) == 0
    assert not (tmp_path / "summary.md").exists()


def test_every_compared_experiment_has_one(tmp_path: Path) -> None:
    """In its own directory."""
    names = ("rlp-reset", "loss2")
    inputs = [str(EXAMPLES / name) for name in names]
    assert cli.run(["analyze", "--compare", *inputs, "-o", str(tmp_path), "--summary-only", "--markdown", "-q"]) == 0
    for name in names:
        assert (tmp_path / name / "summary.md").read_text().startswith("# MultiTracer: ")


def test_anonymized_it_names_no_file_and_no_address(tmp_path: Path) -> None:
    """What summary.json leaves out is not in it."""
    command = ["analyze", str(RLP), "-o", str(tmp_path), "--summary-only", "--markdown", "--anonymize", "-q"]
    assert cli.run(command) == 0
    text = (tmp_path / "summary.md").read_text()
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert not [secret for secret in ("10.9.0", "rlpdump.mobile", "snd.pcap", "rlp-reset") if secret in text]
    assert summary["connections"][0]["client"] in text


@pytest.mark.parametrize("name", ["<b>a|b`c*d_e.pcap", "[x](y).pcap"])
def test_names_of_files_are_no_markup(tmp_path: Path, name: str) -> None:
    """Wherever they stand: title, evidence, inputs."""
    (tmp_path / name).write_bytes((EXAMPLES / "loss2" / "snd.pcap").read_bytes())
    text = analyze(tmp_path / name).markdown()
    kinds = {child.type for block in READER.parse(text) for child in block.children or []}
    kinds |= {block.type for block in READER.parse(text)}
    assert not kinds & {"html_inline", "html_block", "link_open", "image", "em_open", "code_inline"}
    assert name in shown(text)
