"""The page of paper 002's sessions under the machine's own TCP, beside the paper's table and our modelled Linux 2.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from bokeh.layouts import row
from bokeh.models import NumeralTickFormatter, Range1d

from multitracer.model.version import VERSION
from multitracer.replay.emulate.delivery_order import COMPARED
from multitracer.report import page_template
from multitracer.report.erasure_figures import plain_figure
from multitracer.report.interval_curves import add_curve
from multitracer.report.metric_texts import title_of, unit_of
from multitracer.report.panels import add_tooltip, place_legend

_HEIGHT, _NARROW = 280, 290
_SIDE_BY_SIDE = {"flex": "1 1 380px", "min-width": "min(100%, 380px)"}
ORDERS = {"in": "in sequence", "out": "out of sequence"}
_ERASED = "frames erased, %"
Cell = Mapping[str, Any]


def write(document: Mapping[str, Any], path: Path) -> None:
    """Write the page of what `reproduce --emulate` found (see docs/reproduction.md)."""
    path.write_text(html(document), encoding="utf-8", errors="backslashreplace")


def html(document: Mapping[str, Any]) -> str:
    """The page as one HTML document."""
    cells = document["cells"]
    values = {
        "version": VERSION,
        "verdict": document["said"][0],
        "said": document["said"][1:],
        "kernel": document["kernel"],
        "scale": document["scale"],
        "resends": document["resends"],
        "changes": document["changes"],
        "rows": [{**one, "tcp": tcp_text(one), "order": ORDERS[one["order"]]} for one in cells],
        "metrics": COMPARED,
        "heads": [title_of(name) for name in COMPARED],
        "units": [unit_of(name)[1] for name in COMPARED],
        "columns": [],
    }
    title = "MultiTracer: delivery-order under this machine's TCP"
    return page_template.render("emulated", title, _figures(cells), values)


def tcp_text(cell: Cell) -> str:
    """What a cell asks of the kernel's TCP."""
    rack = {0: "no RACK", 1: "RACK", 5: "RACK, no threshold"}[cell["recovery"]]
    return f"{'SACK' if cell['sack'] else 'no SACK'}, {'F-RTO' if cell['frto'] else 'no F-RTO'}, {rack}"


def _figures(cells: Sequence[Cell]) -> list[Any]:
    """For each rate and kind of TCP a row of figures: a metric along the frames erased, a curve a delivery order."""
    shared = Range1d(0, 1.05 * max(one["fer"] for one in cells), name="xr", min_interval=1e-3)
    rates = sorted({one["rate"] for one in cells}, reverse=True)
    kinds = sorted({(one["frto"], one["recovery"]) for one in cells if one["recovery"]}, reverse=True)
    return [
        row(*(_figure(own, metric, shared) for metric in COMPARED), sizing_mode="stretch_width",
            styles={"flex-wrap": "wrap"})
        for rate, kind in product(rates, kinds)
        if (own := [one for one in cells if one["rate"] == rate and (one["frto"], one["recovery"]) == kind])
    ]  # fmt: skip


def _figure(cells: Sequence[Cell], metric: str, shared: Range1d) -> Any:
    first = cells[0]
    tcp = tcp_text(first).partition(", ")[2]
    made = plain_figure(f"{first['rate']} kbit/s, {tcp}", _HEIGHT, styles=_SIDE_BY_SIDE, x_range=shared)
    made.xaxis.axis_label, made.yaxis.axis_label = _ERASED, title_of(metric)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    dots = [
        add_curve(made, f"{made.title.text} {metric} {place}", curve, place, name, shaded=False)
        for place, (name, curve) in enumerate(_curves(cells, metric))
    ]
    tips = [("", "@option"), (_ERASED, "@x"), ("mean", "@y{0,0.000}"), ("95 %", "@low to @high")]
    add_tooltip(made, dots, tips)
    place_legend(made, width=_NARROW)
    return made


def _curves(cells: Sequence[Cell], metric: str) -> Iterator[tuple[str, dict[str, Any]]]:
    scale = unit_of(metric)[1]
    for order, sack in product(ORDERS, (True, False)):
        own = sorted((one for one in cells if (one["order"], one["sack"]) == (order, sack)), key=lambda one: one["fer"])
        known = [(one["fer"], one["metrics"][metric]) for one in own if one["metrics"][metric]]
        if known:
            name = f"{ORDERS[order]}, {'SACK' if sack else 'no SACK'}"
            mean = [found["mean"] / scale for _, found in known]
            half = [(found["ci95"] or 0.0) / scale for _, found in known]
            yield name, {
                "x": [fer for fer, _ in known], "y": mean, "option": [name] * len(known),
                "low": [one - by for one, by in zip(mean, half, strict=True)],
                "high": [one + by for one, by in zip(mean, half, strict=True)],
            }  # fmt: skip
