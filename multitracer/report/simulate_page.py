"""The page of a simulation: every metric against the key that is varied, a line for each of the other variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.models import NumeralTickFormatter, Range1d

from multitracer.model.version import VERSION
from multitracer.replay.simulate.metrics import METRICS
from multitracer.replay.simulate.variants import Plan
from multitracer.report import page_template
from multitracer.report.erasure_figures import MOST_OVERLAID, plain_figure
from multitracer.report.interval_curves import add_curve
from multitracer.report.metric_texts import title_of, unit_of
from multitracer.report.panels import add_tooltip, place_legend

_HEIGHT = 300
_MARGIN = 0.05
MOST_PAIRS = 2000
"""Differences that the page lists; the JSON file has all."""


def write(plan: Plan, document: Mapping[str, Any], path: Path) -> None:
    """Write the page of a finished simulation, of which `document` is the JSON."""
    path.write_text(html(plan, document), encoding="utf-8", errors="backslashreplace")


def html(plan: Plan, document: Mapping[str, Any]) -> str:
    """The page as one HTML document."""
    variants = document.get("variants") or [{"name": plan.name, **_only(document)}]
    names = [name for name in METRICS if any(_mean(one, name) is not None for one in variants)]
    axis = _Axis(plan)
    pairs = document.get("pairs") or []
    values = {
        "version": VERSION,
        "verdict": _verdict(plan, document),
        "variants": [_shown(one) for one in variants],
        "names": names,
        "heads": [title_of(name) for name in names],
        "pairs": pairs[:MOST_PAIRS],
        "notes": _notes(plan, document, axis, pairs),
        "keys": _keys(variants),
        "columns": [],
    }
    figures = [_figure(name, axis, variants) for name in names]
    return page_template.render("simulate", f"MultiTracer: {plan.name} simulated", figures, values)


class _Axis:
    """Where variants stand from left to right, and on which line."""

    def __init__(self, plan: Plan) -> None:
        points = [variant.point for variant in plan.variants]
        numeric = bool(plan.axis) and all(_is_number(point) for point in points)
        self.title = plan.axis or "variant"
        texts = [_point_text(point) if plan.axis else variant.line for point, variant in zip(
            points, plan.variants, strict=True)]  # fmt: skip
        self.ticks = {} if numeric else dict(enumerate(dict.fromkeys(texts)))
        places = {text: place for place, text in self.ticks.items()}
        self.x = [float(point) if numeric else float(places[text]) for point, text in zip(points, texts, strict=True)]
        self.texts = texts
        lines: dict[str, list[int]] = {}
        for at, variant in enumerate(plan.variants):
            lines.setdefault(variant.line if plan.axis else "", []).append(at)
        self.left_out = max(len(lines) - MOST_OVERLAID, 0)
        self.lines = {name: sorted(at, key=self.x.__getitem__) for name, at in list(lines.items())[:MOST_OVERLAID]}
        low, high = min(self.x), max(self.x)
        margin = _MARGIN * (high - low) or 0.5
        self.range = Range1d(low - margin, high + margin, name="xr", min_interval=margin / 1000)


def _figure(name: str, axis: _Axis, variants: Sequence[Mapping[str, Any]]) -> Any:
    """One metric's means with their intervals."""
    made = plain_figure(title_of(name), _HEIGHT, name=name, x_range=axis.range)
    made.xaxis.axis_label, made.yaxis.axis_label = axis.title, unit_of(name)[0]
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    if axis.ticks:
        made.xaxis.ticker = list(axis.ticks)
        made.xaxis.major_label_overrides = axis.ticks
    dots = [
        add_curve(made, f"{name} {place}", _curve(name, axis, at, variants, line), place, line or axis.title)
        for place, (line, at) in enumerate(axis.lines.items())
    ]
    tips = [("variant", "@line"), (axis.title, "@text"), ("mean", "@y{0,0.000}"), ("95 %", "@low to @high")]
    add_tooltip(made, dots, tips)
    if len(axis.lines) > 1:
        place_legend(made)
    else:
        made.legend.visible = False
    return made


def _curve(
    name: str, axis: _Axis, at: Sequence[int], variants: Sequence[Mapping[str, Any]], line: str
) -> dict[str, Any]:
    scale = unit_of(name)[1]
    mean = np.array([_number(_mean(variants[one], name)) for one in at]) / scale
    half = np.array([_number(_width(variants[one], name)) for one in at]) / scale
    return {
        "x": np.array([axis.x[one] for one in at]), "y": mean, "low": mean - half, "high": mean + half,
        "text": [axis.texts[one] for one in at], "line": [line] * len(at),
    }  # fmt: skip


def _only(document: Mapping[str, Any]) -> dict[str, Any]:
    return {"metrics": document["metrics"], "parameters": document["parameters"]}


def _mean(one: Mapping[str, Any], name: str) -> float | None:
    found = one["metrics"].get(name)
    return found["mean"] if isinstance(found, dict) else None


def _width(one: Mapping[str, Any], name: str) -> float | None:
    found = one["metrics"].get(name)
    return found["ci95"] if isinstance(found, dict) else None


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _point_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown(one: Mapping[str, Any]) -> dict[str, Any]:
    """A variant with its means in the units of the page."""
    metrics = {}
    for name in METRICS:
        mean, width, scale = _mean(one, name), _width(one, name), unit_of(name)[1]
        metrics[name] = None if mean is None else {
            "mean": mean / scale, "ci95": None if width is None else width / scale
        }  # fmt: skip
    return {"name": one["name"], "metrics": metrics}


def _verdict(plan: Plan, document: Mapping[str, Any]) -> str:
    seeds = f"{document['seeds']} seed{'s' if document['seeds'] > 1 else ''}"
    variants = document.get("variants")
    if not variants:
        return f"{plan.name} with {seeds}."
    known = [one for one in variants if _mean(one, "throughput_bps") is not None]
    if not known:
        return f"{len(variants)} variants of {plan.name} with {seeds} each."
    best = max(known, key=lambda one: one["metrics"]["throughput_bps"]["mean"])
    rate = best["metrics"]["throughput_bps"]["mean"] / 1000
    many = f"{len(variants)} variants of {plan.name} with {seeds} each"
    return f"{many}; most was carried, {rate:,.2f} kbit/s, by {best['name']}."


def _notes(plan: Plan, document: Mapping[str, Any], axis: _Axis, pairs: Sequence[Any]) -> list[str]:
    notes = [f"{len(plan.unused)} keys have no effect: {', '.join(plan.unused)}."] if plan.unused else []
    if axis.left_out:
        notes.append(f"{axis.left_out} more lines are listed only.")
    if document["seeds"] == 1:
        notes.append("One seed: there are no intervals.")
    if document.get("pairs", ()) is None:
        notes.append("Too many variants to compare each with each other.")
    if len(pairs) > MOST_PAIRS:
        notes.append(f"Of the differences {len(pairs) - MOST_PAIRS:,} are in simulate.json only.")
    return notes


def _keys(variants: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Every key with its value, or with all that the variants have."""
    named = dict.fromkeys(key for one in variants for key in one["parameters"])
    return [(key, _value(key, variants)) for key in named]


def _value(key: str, variants: Sequence[Mapping[str, Any]]) -> str:
    texts = dict.fromkeys(_text(one["parameters"][key]) for one in variants if key in one["parameters"])
    return " | ".join(texts)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_point_text, value)) or "none"
    return {None: "by default", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else (
        _point_text(value)
    )  # fmt: skip
