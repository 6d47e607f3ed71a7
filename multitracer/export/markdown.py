"""The summary as GitHub's Markdown: for an issue, a merge request, or a page of notes.

No HTML, and nothing of what names and texts from outside hold acts as markup of CommonMark, or of a table. GitHub
makes links of addresses, mentions and references in plain text by itself: these are shown as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from typing import Any

from multitracer.analysis.durations import duration_text
from multitracer.analysis.finding_evidence import evidence_lines
from multitracer.analysis.finding_rows import Row, rows
from multitracer.analysis.missing_inputs import not_looked_for
from multitracer.analysis.summary import Summary
from multitracer.analysis.time_bar import Part, time_bar
from multitracer.analysis.title import title
from multitracer.model.vocabulary import LIMIT_NAMES

MOST_FINDINGS = 200
MOST_CONNECTIONS = 20
"""Those that carried most data."""
LONGEST_EVIDENCE = 200
"""Characters of a line of evidence."""
DEEPEST = 6
"""Lists within lists; what a longer chain set off stands at the same depth."""

_BREAKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
_MARKUP = re.compile(r"([\\`*\[\]<>&|~$!{}])|(?<![^\W_])_|_(?![^\W_])")
_BEGINNING = re.compile(r"^([-+](?= |$)|[#=]|\d+(?=[.)](?: |$)))")
_UNKNOWN = "?"

Cells = Sequence[str]


def markdown(summary: Summary) -> str:
    """The summary, one section after the other; those of which nothing is known are left out."""
    document = summary.document
    sections = [
        _head(summary),
        _bar(time_bar(document, summary.totals.limited_s)),
        _findings(document),
        _connections(document["connections"]),
        _links(document["links"]),
        _inputs(document["inputs"]),
        _missing(document),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def escaped(text: object) -> str:
    """A text on one line, of which nothing is taken for markup of CommonMark, or of a table."""
    line = _BREAKS.sub(" ", str(text)).strip()
    line = _MARKUP.sub(lambda found: f"\\{found[0]}", line)
    return _BEGINNING.sub(lambda found: f"\\{found[0]}" if found[0] in "-+#=" else f"{found[0]}\\", line)


def _head(summary: Summary) -> list[str]:
    story = [escaped(sentence) for sentence in summary.story]
    rest = ["", *(f"- {sentence}" for sentence in story[1:])] if story[1:] else []
    return [f"# {escaped(title(summary.document['inputs']))}", "", f"**{story[0]}**", *rest]


def _bar(parts: Sequence[Part]) -> list[str]:
    if not parts:
        return []
    listed = [
        (escaped(one.label), one.layer.replace("unknown", ""), _length(one.seconds), _percent(one.share))
        for one in parts
    ]
    return ["## Where the time went", "", *_table(("part", "layer", "time", "share"), listed, 2)]


# Findings


def _findings(document: dict[str, Any]) -> list[str]:
    listed = rows(document["findings"], MOST_FINDINGS)
    if not listed:
        return ["## Findings", "", "None."]
    left = len(document["findings"]) - sum(row.members for row in listed)
    more = ["", f"{left} more are in summary.json."] if left else []
    first = "dearest" if document["blame"] is not None else "longest"
    return [f"## Findings, {first} first", "", *_items(document, listed, 0), *more]


def _items(document: dict[str, Any], listed: Iterable[Row], depth: int) -> Iterator[str]:
    """Every finding, below it its evidence and what it set off."""
    indent = "  " * min(depth, DEEPEST)
    for row in listed:
        finding = row.finding
        yield f"{indent}- **{escaped(finding['kind'])}** ({_facts(document, finding)}): {escaped(finding['because'])}"
        for line in evidence_lines(document, finding):
            yield f"{indent}  - evidence: {escaped(_shortened(line))}"
        if row.effects:
            yield from _items(document, row.effects, depth + 1)


def _facts(document: dict[str, Any], finding: dict[str, Any]) -> str:
    """Layer, verdict, when, and what it cost or what set it off."""
    facts = f"{finding['layer']}, {finding['verdict']}, {finding['start_s']:.3f} to {finding['end_s']:.3f} s"
    if finding["caused_by"] is not None:
        cause = document["findings"][finding["caused_by"]]
        return f"{facts}, set off by {escaped(cause['kind'])} at {cause['start_s']:.1f} s"
    return facts if finding["lost_s"] is None else f"{facts}, cost {_length(finding['lost_s'])}"


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_EVIDENCE else f"{line[: LONGEST_EVIDENCE - 3]}..."


# Tables


def _connections(connections: Any) -> list[str]:
    """Every direction that carried data, of the connections with most."""
    if not len(connections):
        return []
    largest = nlargest(MOST_CONNECTIONS, connections, key=_unique_bytes)
    listed = [
        _direction(one, end) for one in largest for end, sent in one["directions"].items() if sent["unique_bytes"]
    ]
    heads = ("connection", "sent by", "limited by", "unique bytes", "resent", "needless", "RTT median", "kbit/s")
    left = len(connections) - len(largest)
    more = ["", f"{left} smaller connections are in summary.json."] if left else []
    return ["## Connections", "", *_table(heads, listed, 3), *more]


def _unique_bytes(connection: dict[str, Any]) -> int:
    return sum(one["unique_bytes"] or 0 for one in connection["directions"].values())


def _direction(connection: dict[str, Any], end: str) -> Cells:
    one = connection["directions"][end]
    limits = sorted((one["limits"] or {}).items(), key=lambda item: -item[1])
    limited = ", ".join(f"{LIMIT_NAMES[name]} {_percent(share)}" for name, share in limits if share >= 0.01)
    median_ms = one["rtt_ms"]["median"]
    return (
        str(connection["id"]), escaped(connection[end]), escaped(limited or _UNKNOWN), _number(one["unique_bytes"]),
        _number(one["retransmitted_segments"]), _number(one["spurious"]["yes"]),
        _length(None if median_ms is None else median_ms / 1e3), _number(one["goodput_bps"], 1e3, 1),
    )  # fmt: skip


def _links(links: Sequence[dict[str, Any]]) -> list[str]:
    if not links:
        return []
    listed = [
        (
            str(one["id"]), escaped(one["protocol"]), escaped(one["sender"] or _UNKNOWN), _number(one["frames_sent"]),
            _number(one["frames_retransmitted"]), _number(one["frames_erased"]), _number(one["resets"]),
            _length(one["busy_s"]), _length(one["idle_s"]), _number(one["throughput_bps"], 1e3, 1),
        )
        for one in links
    ]  # fmt: skip
    heads = ("link", "protocol", "sent by", "frames", "repeated", "erased", "resets", "busy", "idle", "kbit/s")
    return ["## Links", "", *_table(heads, listed, 3)]


def _inputs(inputs: Sequence[dict[str, Any]]) -> list[str]:
    heads = ("file", "format", "role", "clock", "records", "skipped", "clock's offset, s", "error", "at worst")
    listed = [
        (
            escaped(one["path"]), escaped(one["format"]), escaped(one["role"] or ""),
            escaped((one["clock"] or {}).get("how") or ""), _number(one["records"]), _number(one["skipped"]),
            *_clock(one["clock"]),
        )
        for one in inputs
    ]  # fmt: skip
    notes = [f"- {escaped(one['path'])}: {escaped(note)}" for one in inputs for note in _said(one)]
    told = "The error of a clock is that if both ways take equally long."
    return ["## Inputs", "", *_table(heads, listed, 4), "", told, *([""] if notes else []), *notes]


def _clock(clock: dict[str, Any] | None) -> Cells:
    """Offset, error and worst error."""
    if clock is None:
        return "", "", ""
    offset_s = clock["offset_s"]
    return (
        _UNKNOWN if offset_s is None else f"{offset_s:.6f}", _length(clock["error_s"]), _length(clock["worst_s"]),
    )  # fmt: skip


def _said(entry: dict[str, Any]) -> Iterator[str]:
    """What was skipped of an input, and what else is to be known of it."""
    yield from (f"skipped {loss['count']}: {loss['reason']}" for loss in entry["losses"])
    yield from entry["notes"]
    if entry["out_of_scope"]:
        yield f"not analysed: {', '.join(f'{count} {name}' for name, count in entry['out_of_scope'].items())}"


def _missing(document: dict[str, Any]) -> list[str]:
    """What other inputs would tell."""
    told = [*document["notes"], *document["missing"], *not_looked_for(document["not_looked_for"])]
    return ["## What is missing", "", *(f"- {escaped(sentence)}" for sentence in told)] if told else []


def _table(heads: Cells, listed: Iterable[Cells], words: int) -> list[str]:
    """A table whose first `words` columns are text; those of numbers stand at the right."""
    marks = ["---" if place < words else "---:" for place in range(len(heads))]
    return [_row(heads), f"|{'|'.join(marks)}|", *map(_row, listed)]


def _row(cells: Cells) -> str:
    return f"| {' | '.join(cells)} |"


# Numbers


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _number(value: float | None, unit: float = 1, digits: int = 0) -> str:
    return _UNKNOWN if value is None else f"{value / unit:,.{digits}f}"


def _length(seconds: float | None) -> str:
    return _UNKNOWN if seconds is None else duration_text(seconds)
