"""The pictures of docs/tutorial: the example's report as it opens, and with a retransmission chosen.

`python tests/support/tutorial_pictures.py` makes them. It needs Chromium and playwright.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from browsing import EXAMPLE, Opened
from finding_pictures import chromium, small
from repository import ROOT

from multitracer import analyze

FOLDER = ROOT / "docs" / "tutorial"
WIDTH, HEIGHT = 1280, 800
PICTURES = {"opened": (), "resent": ("c", "r")}
"""The keys that are pressed before each picture is taken."""


def make() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        report = Path(scratch) / "report.html"
        analyze(sorted(EXAMPLE.iterdir())).report(report)
        for name, keys in PICTURES.items():
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            Opened(page).open(report, "#theme=light")
            for key in keys:
                page.keyboard.press(key)
                page.wait_for_timeout(600)
            page.wait_for_timeout(600)
            (FOLDER / f"{name}.png").write_bytes(small(page.screenshot()))
            page.close()


if __name__ == "__main__":
    make()
