"""A report open in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Opened:
    """A report in a page, with what it complained of and what it asked for."""

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
        """Load a report from disk, and wait until it can be used."""
        self.page.goto(path.as_uri() + fragment)
        self.page.wait_for_selector('html[data-mt-ready="1"]', timeout=30_000)
        return self.page

    def view(self) -> tuple[float, float]:
        """What part of the time axis is in view."""
        start, end = self.page.evaluate(
            "(() => { const r = Bokeh.documents[0].get_model_by_name('xr'); return [r.start, r.end]; })()"
        )
        return float(start), float(end)

    def look(self, start: float, end: float) -> None:
        """Bring a part of the time axis into view, and wait until it is drawn."""
        self.page.evaluate(
            "async ([start, end]) => { const before = MT.draws; MT.engine.xr.setv({start: start, end: end});"
            " while (MT.draws === before) await new Promise(done => setTimeout(done, 1)); }",
            [start, end],
        )
