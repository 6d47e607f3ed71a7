"""A report in a headless browser, and its page's scripts without the page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from multitracer.report.page_template import OWN_SCRIPTS, SCRIPTS, script

WAIT_S = 30
"""As long as Playwright itself waits: other tests load the machine."""
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rlp-reset"


def figure(panel: str) -> str:
    """A JavaScript expression for the figure of the panel with this name."""
    return f"MT.engine.figures.find(f => f.tags[0] === '{panel}')"


def page_of(window: Any, width: int = 1280, height: int = 800, theme: str = "light") -> Any:
    """A new page of a window, of another size than the window's."""
    page = window.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    return page


class Opened:
    """A report loaded in a page, with its console errors and its requests."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path, fragment: str = "") -> Any:
        """Load a report from disk, and wait until it is ready."""
        self.page.goto(path.as_uri() + fragment)
        self.page.wait_for_selector('html[data-mt-ready="1"]', timeout=1000 * WAIT_S)
        return self.page

    def values(self, source: str, column: str) -> list[float]:
        """A column of a source as the browser holds it."""
        found: list[float] = self.page.evaluate(
            "([s, c]) => Array.from(Bokeh.documents[0].get_model_by_name(s).data[c])", [source, column]
        )
        return found

    def view(self) -> tuple[float, float]:
        """The visible part of the time axis, (start, end) in seconds."""
        start, end = self.page.evaluate(
            "(() => { const r = Bokeh.documents[0].get_model_by_name('xr'); return [r.start, r.end]; })()"
        )
        return float(start), float(end)

    def look(self, start: float, end: float) -> None:
        """Show a part of the time axis, and wait until it is drawn."""
        self.page.evaluate(
            "async ([start, end]) => { const before = MT.draws; MT.engine.timeRange.setv({start: start, end: end});"
            " while (MT.draws === before) await new Promise(done => setTimeout(done, 1)); }",
            [start, end],
        )

    def until(self, expression: str) -> None:
        """Poll a condition until it is true; Playwright's own waiting needs eval, which the page's CSP forbids."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"never true: {expression}")

    def place(self, panel: str, x: float, y: float) -> tuple[float, float]:
        """The page coordinates of a point of a panel."""
        found = self.page.evaluate(
            f"([x, y]) => {{ const view = Bokeh.index.find_one({figure(panel)});"
            " const at = view.el.getBoundingClientRect();"
            " return [at.left + view.frame.x_scale.compute(x), at.top + view.frame.y_scale.compute(y)]; }",
            [float(x), float(y)],
        )
        return float(found[0]), float(found[1])

    def click(self, panel: str, x: float, y: float) -> None:
        """Click on a point of a panel, given in data units."""
        self.page.mouse.click(*self.place(panel, x, y))

    def select(self, panel: str, start: float, end: float) -> None:
        """Drag over a part of the time axis in a panel, with Shift held."""
        middle = self.page.evaluate(f"(r => (r.start + r.end) / 2)({figure(panel)}.y_range)")
        self.page.keyboard.down("Shift")
        self.page.mouse.move(*self.place(panel, start, middle))
        self.page.mouse.down()
        self.page.mouse.move(*self.place(panel, (start + end) / 2, middle))
        self.page.mouse.move(*self.place(panel, end, middle))
        self.page.mouse.up()
        self.page.keyboard.up("Shift")


class Scripts:
    """The scripts of a page without the page, to test functions that need no document."""

    def __init__(self, page: Any) -> None:
        own = dict.fromkeys(name for page_name in ("report", "compare") for name in OWN_SCRIPTS[page_name])
        page.add_script_tag(content=script(*SCRIPTS, *(name for name in own if "pages/" not in name)))
        self._page = page

    def call(self, function: str, *arguments: Any) -> Any:
        """The result of a JavaScript function for these arguments."""
        return self._page.evaluate(f"arguments => ({function})(...arguments)", list(arguments))
