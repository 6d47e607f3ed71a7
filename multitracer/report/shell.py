"""What every page is made in: its policy, style, keys, engine and columns, in one file that asks for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

SCRIPTS = ("codec.js", "engine.js", "shell.js")


@dataclass(frozen=True)
class Column:
    """One column of a series, as it stands in the page."""

    group: str
    """What is loaded together."""
    series: str
    kind: str
    """How the series is drawn: line, beam, cloud, event; a map is not."""
    name: str
    text: str
    meta: str
    step: int = 1
    """Of a series too large for a page only every so manieth record is in it."""


def page(name: str, title: str, figures: Sequence[Any], values: dict[str, Any]) -> str:
    """A page as one HTML document: NAME.html in the shell, with NAME.js, NAME_keys.html and NAME_help.html.

    `values` are for its templates; `columns` among them are Columns.
    """
    from bokeh.embed import file_html
    from bokeh.layouts import column
    from bokeh.resources import INLINE

    template = _asset("shell.html")
    for place, asset in (("contents", f"{name}.html"), ("keys", f"{name}_keys.html"), ("help", f"{name}_help.html")):
        template = template.replace(f"[[{place}]]", _asset(asset).rstrip("\n") + ("\n" if place != "help" else ""))
    assets = {"style": _asset("style.css"), "script": "\n".join(map(_asset, (*SCRIPTS, f"{name}.js")))}
    layout = column(*figures, sizing_mode="stretch_width")
    return file_html(layout, INLINE, title=title, template=template, template_variables={**values, **assets})


def _asset(name: str) -> str:
    return (files("multitracer.report") / name).read_text(encoding="utf-8")
