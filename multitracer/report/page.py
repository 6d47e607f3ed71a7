"""The page: words, tables and panels put together into one file that asks for nothing else."""

from __future__ import annotations

import base64
import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.report import drawn, panels
from multitracer.verdict import verdict

if TYPE_CHECKING:
    from multitracer.analysis import Analysis

SHOWN_CONNECTIONS = 12
"""So many connections can be chosen in the page; the largest come first."""
MOST_ROWS = 2_000
"""Of the findings' table."""
_CAUSES = {
    "new_data": "new data", "tcp_retransmitted": "resent by TCP", "link_retransmitted": "repeated by the link",
    "link_overhead": "link overhead", "link_control": "link control", "flow_controlled": "flow controlled",
    "link_reset": "link reset", "idle_window_limited": "idle: window limited", "idle_sender": "idle: sender",
    "idle_recovery": "idle: recovery", "unknown": "unknown",
}  # fmt: skip


def write(analysis: Analysis, path: Path) -> None:
    """Write the report of an analysis to `path`."""
    path.write_text(html(analysis), encoding="utf-8")


def html(analysis: Analysis) -> str:
    """The report as one HTML document."""
    from bokeh.embed import file_html
    from bokeh.layouts import column
    from bokeh.resources import INLINE

    summary = analysis.summary()
    order = drawn.by_data(analysis)[:SHOWN_CONNECTIONS]
    shown = {number: drawn.connection(analysis, number) for number in order}
    first = shown[order[0]] if order else drawn.Drawn({})
    link = drawn.link(analysis)
    made = panels.build(analysis, first, link, _extent(analysis))
    title = "MultiTracer: " + (", ".join(Path(entry["path"]).name for entry in summary["inputs"][:3]) or "report")
    values = {
        "summary": summary,
        "verdict": verdict(summary),
        "bar": _bar(summary["accounting"]),
        "findings": summary["findings"][:MOST_ROWS],
        "more_findings": max(len(summary["findings"]) - MOST_ROWS, 0),
        "connections": _connections(summary, order),
        "left_out": len(analysis.connections) - len(order),
        "absent": made.absent,
        "thinned": _thinned(shown, link),
        "notes": analysis.links.notes,
        "data": _embedded(shown),
        "style": _asset("style.css"),
        "script": _asset("page.js"),
        "extent": _extent(analysis),
    }
    layout = column(*made.figures, sizing_mode="stretch_width")
    return file_html(layout, INLINE, title=title, template=_asset("page.html"), template_variables=values)


def _extent(analysis: Analysis) -> tuple[float, float]:
    times = [
        analysis.tables[name]["time_ns"] for name in ("segments", "frames", "tcp_state") if len(analysis.tables[name])
    ]
    last = max((int(column.max()) for column in times), default=analysis.origin_ns + 1)
    return 0.0, max((last - analysis.origin_ns) / 1e9, 1e-3)


def _bar(shares: dict[str, float] | None) -> list[dict[str, Any]]:
    """The accounting bar's parts, in order, with colour and words."""
    if shares is None:
        return []
    return [
        {"cause": _CAUSES[name], "share": share, "colour": panels.CAUSE_COLOURS[name]}
        for name, share in shares.items()
        if share > 0
    ]


def _connections(summary: dict[str, Any], order: list[int]) -> list[dict[str, Any]]:
    by_number = {one["id"]: one for one in summary["connections"]}
    return [by_number[number] for number in order]


def _thinned(shown: dict[int, drawn.Drawn], link: drawn.Drawn) -> list[str]:
    """What is not drawn whole, one sentence each."""
    parts = [*((f"connection {number}", one) for number, one in shown.items()), ("the link", link)]
    return [
        f"Of {where}, {name.replace('_', ' ')}: every {step}th point is drawn."
        " Cut a window with --from and --to to see all."
        for where, one in parts
        for name, step in one.thinned.items()
    ]


def _embedded(shown: dict[int, drawn.Drawn]) -> dict[int, str]:
    """Each connection's sources as JSON; numbers as base64 of little-endian doubles."""
    if len(shown) < 2:
        return {}
    return {number: _safe(json.dumps(_plain(one.sources))) for number, one in shown.items()}


def _plain(sources: dict[str, drawn.Source]) -> dict[str, dict[str, Any]]:
    return {name: {column: _column(values) for column, values in source.items()} for name, source in sources.items()}


def _column(values: Any) -> Any:
    if values.dtype == object:
        return values.tolist()
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


def _safe(text: str) -> str:
    """JSON inside a script element: nothing in it ends the element or begins markup."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return (files("multitracer.report") / name).read_text(encoding="utf-8")
