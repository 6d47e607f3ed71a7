"""The page: words, tables and panels put together into one file that asks for nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.report import drawn, panels, shell
from multitracer.report.blobs import encode
from multitracer.summary import summarize
from multitracer.threads import concurrently
from multitracer.verdict import CAUSE_NAMES, verdict

if TYPE_CHECKING:
    from multitracer.analysis import Analysis

SHOWN_CONNECTIONS = 12
"""So many connections can be chosen in the page; the largest come first."""
MOST_ROWS = 2_000
"""Of the findings' table."""


def write(analysis: Analysis, path: Path) -> None:
    """Write the report of an analysis to `path`."""
    path.write_text(html(analysis), encoding="utf-8", errors="backslashreplace")


def html(analysis: Analysis) -> str:
    """The report as one HTML document."""
    summary = summarize(analysis)
    shown = shown_in(analysis)
    order = list(shown)
    link = drawn.link(analysis)
    made = panels.build(analysis, _first(shown), link, _extent(analysis))
    title = "MultiTracer: " + (", ".join(Path(entry["path"]).name for entry in summary["inputs"][:3]) or "report")
    values = {
        "summary": summary,
        "verdict": verdict(summary, analysis.totals),
        "bar": _bar(summary["accounting"]),
        "findings": summary["findings"][:MOST_ROWS],
        "more_findings": max(len(summary["findings"]) - MOST_ROWS, 0),
        "connections": summary["connections"].of(np.array(order, dtype=np.int64)),
        "left_out": len(analysis.connections) - len(order),
        "absent": [*made.absent, *_unshaded(analysis)],
        "thinned": _thinned(shown, link),
        "notes": analysis.links.notes,
        "columns": [*_columns(shown, link), *_accounting_columns(analysis)],
        "causes": json.dumps([{"cause": name, "colour": colour} for name, colour in panels.CAUSE_COLOURS.items()]),
        "extent": _extent(analysis),
    }
    return shell.page("report", title, made.figures, values)


def shown_in(analysis: Analysis) -> dict[int, drawn.Drawn]:
    """The connections of most data, as many as a page holds at ease."""
    shown: dict[int, drawn.Drawn] = {}
    room = drawn.MOST_RECORDS
    for number in drawn.by_data(analysis)[:SHOWN_CONNECTIONS]:
        one = drawn.connection(analysis, number)
        if shown and one.records > room:
            break
        shown[number] = one
        room -= one.records
    return shown


def _first(shown: dict[int, drawn.Drawn]) -> drawn.Drawn:
    """The connection drawn first, with an empty place for each series that only others have."""
    every = {name: source for one in shown.values() for name, source in one.sources.items() if len(source["x"])}
    nothing = {name: {column: values[:0] for column, values in source.items()} for name, source in every.items()}
    return drawn.Drawn({**nothing, **(next(iter(shown.values())).sources if shown else {})})


def _extent(analysis: Analysis) -> tuple[float, float]:
    """The first and the last time of what is drawn, in seconds from the trace's start."""
    names = ["segments", "frames"]
    if len(analysis.tables["segments"]):
        names.append("tcp_state")  # else nothing tells where its clock stands
    times = [analysis.tables[name]["time_ns"] for name in names if len(analysis.tables[name])]
    first = min((int(column.min()) for column in times), default=analysis.origin_ns)
    last = max((int(column.max()) for column in times), default=analysis.origin_ns + 1)
    start = (first - analysis.origin_ns) / 1e9
    return start, max((last - analysis.origin_ns) / 1e9, start + 1e-3)


def _bar(shares: dict[str, float] | None) -> list[dict[str, Any]]:
    """The accounting bar's parts, in order, with colour and words."""
    if shares is None:
        return []
    return [
        {"key": name, "cause": CAUSE_NAMES[name], "share": share, "colour": panels.CAUSE_COLOURS[name]}
        for name, share in shares.items()
        if share > 0
    ]


def _unshaded(analysis: Analysis) -> list[str]:
    """What of the link's resets and pauses is not shaded in the panels."""
    count = 0 if analysis.links.intervals is None else len(analysis.links.intervals)
    if count <= panels.MOST_BANDS:
        return []
    return [f"Resets and pauses of the link: the first {panels.MOST_BANDS} of {count} are shaded."]


def _thinned(shown: dict[int, drawn.Drawn], link: drawn.Drawn) -> list[str]:
    """What is not drawn whole, one sentence each."""
    parts = [*((f"connection {number}", one) for number, one in shown.items()), ("the link", link)]
    return [
        f"Of {where} only one record in {one.step} of each series is in this page: there are more than "
        f"{drawn.MOST_RECORDS:,}. Cut a window with --from and --to to see all."
        for where, one in parts
        if one.step > 1
    ]


def _accounting_columns(analysis: Analysis) -> list[shell.Column]:
    """Where the time went, stretch by stretch; causes by their place among panels.CAUSE_COLOURS."""
    table = panels.accounted(analysis)
    if not len(table):
        return []
    place = {name: number for number, name in enumerate(panels.CAUSE_COLOURS)}
    columns = {
        "left": encode(table["start_ns"].to_numpy() - analysis.origin_ns, 10**9),
        "right": encode(table["end_ns"].to_numpy() - analysis.origin_ns, 10**9),
        "cause": encode(table["cause"].astype(str).map(place).to_numpy()),
    }
    return [
        shell.Column("accounting", "accounting", "map", name, blob.text, json.dumps(blob.meta))
        for name, blob in columns.items()
    ]


def _columns(shown: dict[int, drawn.Drawn], link: drawn.Drawn) -> list[shell.Column]:
    """Every column of every series: of each connection, and of the link."""
    wanted = [
        (group, series, name, values, one.step)
        for group, one in (*((str(number), one) for number, one in shown.items()), ("link", link))
        for series, source in one.sources.items()
        if len(source["x"])
        for name, values in source.items()
    ]
    blobs = concurrently(lambda it: encode(it[3], panels.divisor(it[1], it[2])), wanted)
    return [
        shell.Column(group, series, drawn.KINDS[series], name, blob.text, json.dumps(blob.meta), step)
        for (group, series, name, _, step), blob in zip(wanted, blobs, strict=True)
    ]
