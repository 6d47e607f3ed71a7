"""The report of one analysis: verdict, accounting, findings, panels and tables in one HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer import parsers
from multitracer.analysis.display_filters import DisplayFilter, DisplayFilters
from multitracer.analysis.finding_evidence import evidence_lines
from multitracer.analysis.finding_rows import Row, rows
from multitracer.analysis.missing_inputs import not_looked_for
from multitracer.analysis.summary import Summary
from multitracer.analysis.title import title
from multitracer.model.vocabulary import CAUSES, LAYERS
from multitracer.report import (
    analysis_panels,
    colours,
    column_packs,
    connection_table,
    page_panels,
    page_template,
    panel_data,
)
from multitracer.report.directions import Directions, directions
from multitracer.report.fate_columns import FATE_COLUMNS
from multitracer.report.fate_marks import add_fate_marks
from multitracer.report.finding_ways import FindingWays
from multitracer.report.page_panels import Lane
from multitracer.report.time_bar import time_bar

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis

MOST_ROWS = 2_000
"""The most findings that the page's table lists."""
TOLD_EFFECTS = 6
"""Of what a finding set off, the most that are told of beside it: the list has all of them."""


def write(analysis: Analysis, concluded: Summary, path: Path) -> None:
    """Write the report of an analysis, of which `concluded` is the summary, to `path`."""
    path.write_text(html(analysis, concluded), encoding="utf-8", errors="backslashreplace")


def html(analysis: Analysis, concluded: Summary) -> str:
    """The report as one HTML document."""
    summary = concluded.document
    shown = directions(analysis)
    order, seen = list(shown.connections), panel_data.largest_first(analysis)
    way_of = FindingWays(analysis).of
    about = ((finding, way_of(finding)) for finding in summary["findings"])
    listing = connection_table.columns(summary["connections"], analysis.ends.main, about, seen)
    panels = analysis_panels.build(analysis, *shown.first, panel_data.extent(analysis))
    for made in (one for one in panels.figures if "sequence" in one.tags):
        add_fate_marks(made, (source for _, one in shown.groups for source in one.sources.values()))
    described = page_panels.take_over(panels.figures[1:])
    listed = rows(summary["findings"], MOST_ROWS)
    heading = title(summary["inputs"])
    values = {
        "summary": summary,
        "version": summary["multitracer"],
        "verdict": concluded.verdict,
        "story": concluded.story[1:],
        "layers": LAYERS,
        "bar": time_bar(summary, concluded.totals.limited_s),
        "panels": described,
        "first_figure": 1,
        "axis": "seconds since the start of the trace",
        "lanes": _lanes(analysis, summary),
        "lanes_title": "Time and findings",
        "lanes_label": "where the time went, and findings by layer",
        "most_lanes": len(LAYERS) + 1,
        "rows": listed,
        "way_of": way_of,
        "capture": _capture(analysis),
        "details": _details(analysis, summary, listed),
        "told_effects": TOLD_EFFECTS,
        "more_findings": len(summary["findings"]) - sum(row.members for row in listed),
        "layer_colours": colours.LAYERS,
        "not_looked_for": not_looked_for(summary["not_looked_for"]),
        "connections": len(order),
        "only": _named(analysis, order[0]) if len(order) == 1 else None,
        "heads": connection_table.heads(listing),
        "listed": min(len(seen), connection_table.MOST_LISTED),
        "not_listed": len(seen) - connection_table.MOST_LISTED,
        "left_out": len(seen) - len(order),
        "absent": [*panels.absent, *_unshaded(analysis)],
        "thinned": _thinned(shown),
        "notes": analysis.links.notes,
        "columns": column_packs.pack_all([
            *_columns(shown), *_accounting_columns(analysis), *_described(shown),
            *connection_table.packed(listing),
        ]),
        "causes": page_template.script_json(
            [{"cause": name, "name": CAUSES[name].name, "colour": colour} for name, colour in colours.CAUSES.items()]
        ),
        "extent": panel_data.extent(analysis),
    }
    return page_template.render("report", heading, panels.figures, values, apart=True)


class Detail(NamedTuple):
    """What the page tells of one finding when it is chosen."""

    number: int
    """Its place in the summary."""
    finding: dict[str, Any]
    evidence: list[str]
    filters: list[DisplayFilter]
    causes: list[int]
    """What set it off, the root first."""
    effects: list[int]


def _details(analysis: Analysis, summary: dict[str, Any], listed: Sequence[Row]) -> list[Detail]:
    """Of every finding that is listed: its evidence in words, the filters for its packets, and its chain."""
    filters = DisplayFilters(analysis)
    return [
        Detail(
            row.index, row.finding, list(evidence_lines(summary, row.finding)), filters.of(row.finding),
            [one.index for one in above], [one.index for one in row.effects],
        )
        for row, above in _chained(listed, ())
    ]  # fmt: skip


def _chained(listed: Sequence[Row], above: tuple[Row, ...]) -> Iterator[tuple[Row, tuple[Row, ...]]]:
    """Every row with the rows that it hangs below."""
    for row in listed:
        yield row, above
        yield from _chained(row.effects, (*above, row))


def _capture(analysis: Analysis) -> str:
    """What pictures of the panels are called after: a capture, at the sender if there is one, else the first input."""
    captures = ("pcap", "pcapng")
    inputs = sorted(analysis.trace.inputs, key=lambda one: (one.recording.format not in captures, one.role != "sender"))
    return parsers.without_endings(Path(inputs[0].path).name) if inputs else ""


def _lanes(analysis: Analysis, summary: dict[str, Any]) -> list[Lane]:
    """The lanes of the panel that shows where the time went: the causes, then each layer with findings."""
    layers = {one["layer"] for one in summary["findings"]}
    causes = [Lane("time", "time")] if len(analysis.main_accounting) else []
    return [*causes, *(Lane(layer, layer, meaning) for layer, meaning in LAYERS.items() if layer in layers)]


def _unshaded(analysis: Analysis) -> list[str]:
    """How many of the link's resets and pauses are not shaded in the panels."""
    count = 0 if analysis.links.intervals is None else len(analysis.links.intervals)
    if count <= analysis_panels.MOST_BANDS:
        return []
    return [f"Resets and pauses of the link: the first {analysis_panels.MOST_BANDS} of {count} are shaded."]


def _thinned(shown: Directions) -> list[str]:
    """What is not drawn whole, one sentence each."""
    own = [(f"connection {number}", way) for number, ways in shown.connections.items() for way in ways]
    parts = [(f"{name}, {way.title},", way.data) for name, way in own]
    parts += [(f"the link, {shown.titles[link]},", one) for link, one in shown.links.items()]
    return [
        f"Of {where} only one record in {one.step} of each series is in this page: there are more than "
        f"{panel_data.MOST_RECORDS:,}. Cut a window with --from and --to to see all."
        for where, one in parts
        if one.step > 1
    ]


def _named(analysis: Analysis, number: int) -> dict[str, Any]:
    """A connection for the reader: its number and its ends."""
    client, server = (analysis.connections[end].iat[number] for end in ("client", "server"))
    return {"id": number, "client": client, "server": server}


def _described(shown: Directions) -> list[column_packs.Values]:
    """What the page's scripts know of the ways of each connection that can be shown."""
    described = shown.described()
    columns = {"number": list(described), "described": [json.dumps(one) for one in described.values()]}
    return [
        column_packs.Values(connection_table.GROUP, "ways", "map", name, np.array(texts, dtype=object))
        for name, texts in columns.items()
    ]


def _accounting_columns(analysis: Analysis) -> list[column_packs.Values]:
    """Where the time went, stretch by stretch; a cause is its place in colours.CAUSES."""
    table = analysis.main_accounting
    if not len(table):
        return []
    place = {name: number for number, name in enumerate(colours.CAUSES)}
    columns = [
        ("left", table["start_ns"].to_numpy() - analysis.origin_ns, 10**9),
        ("right", table["end_ns"].to_numpy() - analysis.origin_ns, 10**9),
        ("cause", table["cause"].astype(str).map(place).to_numpy(), 1),
    ]
    return [column_packs.Values("accounting", "accounting", "map", *column) for column in columns]


def _columns(shown: Directions) -> list[column_packs.Values]:
    """Every column of every series that has records: of both directions of each connection, and of the link.

    Those of fates are groups of their own, "0 fates", that are decoded when they are asked for.
    """
    return [
        column_packs.Values(
            f"{group} fates" if name in FATE_COLUMNS else group, series, panel_data.KINDS[series], name, values,
            panel_data.divisor(series, name), one.step,
        )
        for group, one in shown.groups
        for series, source in one.sources.items()
        if len(source["x"])
        for name, values in source.items()
    ]  # fmt: skip
