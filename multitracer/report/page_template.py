"""Makes one HTML file of a page: its template, styles, scripts, figures and columns. It loads nothing from elsewhere.

Everything lies in assets/: templates/base.html is what all pages share, and a page's own template fills
its blocks. Scripts share names through the one object MT. A page runs two scripts, Bokeh and its own, which are the
same for whatever it shows; its policy names their hashes, so that a browser runs no other.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from multitracer.analysis.durations import duration_text
from multitracer.report import page_ids

if TYPE_CHECKING:
    from markupsafe import Markup

STYLES = ("page", "tables", "panels")
_SHELL_STYLES = ("shell", "findings", "legend", "lanes")
OWN_STYLES = {
    "report": (*_SHELL_STYLES, "search", "pins", "print"),
    "compare": (*_SHELL_STYLES, "print", "compare"),
}
"""The styles that only one page has."""
SCRIPTS = (
    "namespace",
    "columns/search",
    "columns/decoding",
    "columns/series",
    "columns/loading",
    "drawing/colours",
    "drawing/layout",
    "drawing/picture",
    "drawing/panels",
    "drawing/marks",
    "drawing/composite",
    "drawing/engine",
    "reading/nearest",
    "reading/totals",
    "reading/values_at",
    "texts/numbers",
    "texts/status",
    "reading/cursor",
    "navigation/address",
    "navigation/views",
    "navigation/keys",
    "navigation/theme",
    "page",
)
"""The scripts of every page, in an order in which each finds what it uses."""
_SHELL = (
    "drawing/svg",
    "shell/frame",
    "shell/fitting",
    "shell/stack",
    "shell/legend",
    "shell/crosshair",
    "shell/pane",
    "shell/gestures",
    "shell/tooltip",
    "shell/time_axis",
    "shell/findings",
    "shell/lanes",
    "shell/lanes_picture",
    "shell/pictures",
    "shell/printing",
)
"""The scripts of pages with a first screen of bar, panels and findings."""
OWN_SCRIPTS = {
    "report": (
        *_SHELL,
        "report/copying",
        "report/stretches",
        "report/retransmissions",
        "report/overview",
        "report/fates",
        "report/segment_frames",
        "report/time_parts",
        "report/spread",
        "report/journeys",
        "report/selection",
        "report/directions",
        "shell/sorting",
        "report/lookup",
        "report/connection_table",
        "report/connections",
        "report/hits",
        "report/search_field",
        "report/pin_texts",
        "report/pins",
        "pages/report",
    ),
    "compare": (
        *_SHELL,
        "shell/sorting",
        "compare/alignment",
        "compare/same_event",
        "compare/bars",
        "compare/campaign",
        "pages/compare",
    ),
    "retrace": ("pages/retrace",),
    "erasures": ("pages/erasures",),
    "simulate": ("pages/simulate",),
    "emulated": ("pages/simulate",),
    "reproduce": ("shell/sorting", "reproduce/statements", "pages/reproduce"),
}
"""The scripts that only one page has; the last one starts it."""


def render(name: str, title: str, figures: Sequence[Any], values: dict[str, Any], *, apart: bool = False) -> str:
    """A page as one HTML document: NAME.html filled with `values`, of which `columns` are a list of Pack.

    Figures stand below one another in the page's element mt-panels; those that are `apart` each in an element of its
    own, mt-figure-0 and on.
    """
    from bokeh.layouts import column
    from jinja2 import Environment, FunctionLoader

    loader = FunctionLoader(lambda template: _asset("templates", template))
    # With autoescape every {{ value }} is escaped: names of files, notes and findings come from outside.
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["duration"] = duration_text
    roots = figures if apart else [column(*figures, sizing_mode="stretch_width")]
    targets = [f"mt-figure-{number}" for number in range(len(roots))] if apart else ["mt-panels"]
    scripts = [_bokeh(), _own_script(name)]
    shared = {
        "title": title,
        "style": "\n".join(_asset("styles", f"{part}.css") for part in (*STYLES, *OWN_STYLES.get(name, ()))),
        "scripts": scripts,
        "policy": policy(scripts),
        "figures": script_json({"doc": _document(roots), "targets": targets}),
    }
    return environment.get_template(f"{name}.html").render({**values, **shared})


def _document(roots: Sequence[Any]) -> Any:
    """Bokeh's document of these roots, as JSON."""
    from bokeh.document import Document
    from bokeh.embed.util import standalone_docs_json_and_render_items

    made = Document()
    for root in roots:
        made.add_root(root)
    documents, _ = standalone_docs_json_and_render_items(made)
    return page_ids.numbered(next(iter(documents.values())))


def policy(scripts: Sequence[str]) -> str:
    """The content security policy of a page that runs these scripts and no others, and loads nothing."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _bokeh() -> str:
    """The library that draws the figures; of its parts only the one for figures."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


@cache
def _own_script(page: str) -> str:
    return script(*SCRIPTS, *OWN_SCRIPTS[page])


def script(*names: str) -> str:
    """Scripts joined into one, each in a function of its own, so that what one declares is not seen by the others."""
    return "\n".join(f'(() => {{\n"use strict";\n{_asset("scripts", f"{name}.js")}}})();' for name in names)


def script_json(value: Any) -> Markup:
    """JSON for a script element; it is not escaped as HTML, because in such an element only `</` and `<!` count."""
    from markupsafe import Markup

    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))


def _asset(folder: str, name: str) -> str:
    return (files("multitracer.report") / "assets" / folder / name).read_text(encoding="utf-8")
