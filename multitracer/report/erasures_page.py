"""The page of `erasures describe`: how losses cluster, how long the channel remembers, and where it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.models import Span

from multitracer.model.version import VERSION
from multitracer.replay.erasures.description import Description
from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.report import colours, page_template
from multitracer.report.erasure_figures import (
    MOST_OVERLAID,
    NANO,
    Line,
    OverTime,
    lengths,
    lost,
    plain_figure,
    steps,
)  # fmt: skip
from multitracer.report.panels import place_legend


def write(traces: Sequence[ErasureTrace], found: Sequence[Description], path: Path) -> None:
    """Write the page."""
    path.write_text(html(traces, found), encoding="utf-8", errors="backslashreplace")


def html(traces: Sequence[ErasureTrace], found: Sequence[Description]) -> str:
    """The page as one HTML document."""
    drawn, labels = list(traces[:MOST_OVERLAID]), [trace.name for trace in traces[:MOST_OVERLAID]]
    over_time = OverTime(drawn)
    over_time.lines("lost", labels, lambda place: lost(drawn[place]), ("Blocks lost", "%", 220))
    frame = ("Error rate as long as it stayed the same, as far as can be told", "%", 180)
    over_time.lines("rate", labels, lambda place: _rates(found[place]), frame)
    over_time.bursts(labels, drawn)
    title = f"MultiTracer: {', '.join(labels[:3])}{', ...' if len(traces) > 3 else ''} described"
    values = {
        "version": VERSION,
        "traces": [
            {"name": trace.name, "notes": trace.notes, **asdict(one)} for trace, one in zip(traces, found, strict=True)
        ],
        "left_out": len(traces) - len(drawn),
        "names": page_template.script_json(labels),
        "columns": over_time.columns(),
    }
    memory = _autocorrelation(labels, found)
    figures = [lengths(drawn), *([memory] if memory.renderers else []), *over_time.figures()]
    return page_template.render("erasures", title, figures, values)


def _rates(found: Description) -> Line:
    """The error rate of each stretch, in thousandths of a percent."""
    starts = np.array([round(part.start_s * NANO) for part in found.stretches], dtype=np.int64)
    rates = np.array([round(part.error_rate * 100_000) for part in found.stretches], dtype=np.int64)
    return steps(starts, rates, round(found.duration_s * NANO), 1000)


def _autocorrelation(labels: Sequence[str], found: Sequence[Description]) -> Any:
    """How strongly losses depend on each other, by how many blocks they are apart."""
    made = plain_figure("Memory: autocorrelation of losses", 260, name="autocorrelation")
    made.xaxis.axis_label, made.yaxis.axis_label = "blocks apart", "correlation"
    made.add_layout(Span(location=0, dimension="width", line_color=colours.GREY, line_dash="dashed"))
    for place, (label, one) in enumerate(zip(labels, found[: len(labels)], strict=True)):
        if one.autocorrelation is not None and len(one.autocorrelation) > 1:
            values = one.autocorrelation[1:]
            style = colours.line_style(place)
            made.line(np.arange(1, len(values) + 1), values, line_width=1.5, legend_label=label, **style)
    place_legend(made)
    return made
