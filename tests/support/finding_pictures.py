"""The pictures of docs/findings: a report's first screen with a finding chosen, and the panels that show it.

`python tests/support/finding_pictures.py [KIND ...]` makes them, of every kind when none is named. It needs Chromium,
playwright, and the folder that MULTITRACER_DATA names.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import labelled
from browsing import Opened
from PIL import Image
from repository import EXAMPLES, ROOT

from multitracer import Analysis, AnalyzeOptions, analyze

FOLDER = ROOT / "docs" / "findings"
WIDTH, HEIGHT, MOST_BYTES = 1280, 660, 90_000
COLOURS = (256, 128, 64, 32)
"""How many colours a picture may keep; the first that makes it small enough."""
SEQUENCE, WINDOWS, DELAYS, FRAMES, GOODPUT = "sequence", "windows", "delays", "frames", "goodput"


class Picture(NamedTuple):
    """Where a kind of finding is seen."""

    recorded: str
    """A folder of examples/ or of the shared data."""
    start_s: float
    end_s: float
    """The part of the time axis; the finding is the first of its kind that begins there."""
    panels: tuple[str, ...]
    """The panels below the findings."""


PICTURES = {
    "link-release": Picture("released", 16, 30, (SEQUENCE, FRAMES)),
    "link-reset": Picture("examples/rlp-reset", 16, 38, (SEQUENCE, FRAMES)),
    "link-outage": Picture("linux/rlc-reset", 5, 13, (SEQUENCE, FRAMES)),
    "header-decompression-failure": Picture("linux/rlp-vj-reset", 10, 40, (SEQUENCE, FRAMES)),
    "path-stall": Picture("blame/stall", 1.5, 6.5, (SEQUENCE, DELAYS)),
    "spurious-timeout": Picture("linux/stall", 12.9, 16.5, (SEQUENCE, WINDOWS)),
    "local-drop": Picture("examples/rlp-reset", 5, 17.5, (SEQUENCE, DELAYS)),
    "competing-recovery": Picture("linux/rlc-outseq", 0.3, 0.6, (SEQUENCE, FRAMES)),
    "flow-control-gap": Picture("linux/rlp-xonxoff", 10, 22, (SEQUENCE, FRAMES)),
    "timeout": Picture("blame/timeout", 2.2, 5.2, (SEQUENCE, WINDOWS)),
    "burst-loss": Picture("linux/overflow", 5.8, 6.6, (SEQUENCE, WINDOWS)),
    "excessive-queueing": Picture("linux/rlc-inseq", 0, 10, (SEQUENCE, DELAYS)),
    "spurious-fast-retransmit": Picture("linux/rlc-outseq", 1.2, 1.7, (SEQUENCE, FRAMES)),
    "link-recovery-hole": Picture("linux/rlp-bad", 10.2, 13, (SEQUENCE, FRAMES)),
    "zero-window": Picture("blame/receiver", 0.9, 3, (SEQUENCE, WINDOWS)),
    "receiver-window-limited": Picture("blame/receiver", 3.5, 4.5, (SEQUENCE, WINDOWS)),
    "fast-retransmit": Picture("linux/loss2", 5.0, 5.6, (SEQUENCE, WINDOWS)),
    "link-retransmissions": Picture("linux/rlp-bad", 3.9, 5.5, (SEQUENCE, FRAMES)),
    "ack-loss": Picture("linux/reset", 5.6, 6.4, (SEQUENCE,)),
    "reordering": Picture("stacks/paws", 1.5, 1.9, (SEQUENCE,)),
    "application-limited": Picture("blame/application", 1.5, 5.5, (SEQUENCE, GOODPUT)),
    "idle-link": Picture("examples/rlp-reset", 20, 38, (SEQUENCE, FRAMES)),
    "ack-compression": Picture("linux/stall", 9.2, 9.7, (SEQUENCE, DELAYS)),
    "probe": Picture("linux/xonxoff", 2.8, 4.4, (SEQUENCE, WINDOWS)),
    "handshake-retry": Picture("stacks/lone-probe", -0.1, 1.6, (SEQUENCE,)),
}


def analysed(recorded: str, scratch: Path) -> Analysis:
    """The analysis of all inputs of a folder; what is made for it is written into `scratch`."""
    if recorded == "released":
        return analyze(_released(scratch), AnalyzeOptions(to_s=30.0))
    top, name = recorded.split("/")
    if top == "examples":
        return analyze(sorted((EXAMPLES / name).iterdir()))
    return labelled.analysed(recorded.removeprefix("linux/"))


def _released(into: Path) -> list[Path]:
    """The example of a reset as if the link had been released: its logs with DISC for SABM."""
    for file in (EXAMPLES / "rlp-reset").iterdir():
        content = file.read_bytes()
        (into / file.name).write_bytes(content.replace(b" SABM ", b" DISC ") if "rlpdump" in file.name else content)
    return sorted(into.iterdir())


def chosen(kind: str, analysis: Analysis) -> tuple[int, dict[str, Any]]:
    """The finding that the picture shows, as the summary has it, and its index; LookupError if it is not there."""
    picture = PICTURES[kind]
    for index, one in enumerate(analysis.summary()["findings"]):
        if one["kind"] == kind and one["verdict"] != "undecided" and picture.start_s <= one["start_s"] <= picture.end_s:
            return index, dict(one)
    raise LookupError(f"no {kind} from {picture.start_s} to {picture.end_s} s of {picture.recorded}")


def photograph(opened: Opened, report: Path, kind: str, index: int, finding: dict[str, Any]) -> bytes:
    """A PNG of the report's first screen with the finding chosen, and the panels that show it."""
    picture = PICTURES[kind]
    folded = (name for name in (SEQUENCE, FRAMES, WINDOWS, DELAYS, GOODPUT) if name not in picture.panels)
    stack = ",".join(["+time", *(f"+{name}" for name in picture.panels), *(f"-{name}" for name in folded)])
    page = opened.open(report, f"#theme=light&panels={quote(stack)}")
    if page.locator("#mt-connection").count() and finding["connection"] is not None:
        page.select_option("#mt-connection", str(finding["connection"]))
        page.wait_for_selector(f'html[data-mt-connection="{finding["connection"]}"]')
    page.evaluate(f"document.querySelector('#mt-findings [data-mt-finding=\"{index}\"] .row').click()")
    opened.look(picture.start_s, picture.end_s)
    page.mouse.move(0, 0)
    page.wait_for_timeout(600)
    png: bytes = page.screenshot()
    return png


def small(png: bytes) -> bytes:
    """The same picture with as many colours as make it no larger than MOST_BYTES."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in COLOURS:
        file = io.BytesIO()
        few = picture.quantize(colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(file, "PNG", optimize=True)
        if file.tell() <= MOST_BYTES:
            break
    return file.getvalue()


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser that takes the pictures."""
    from playwright.sync_api import sync_playwright  # the tests that read the table above run without it

    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def make(kinds: Iterable[str]) -> None:
    """Write the pictures of these kinds."""
    FOLDER.mkdir(exist_ok=True)
    with chromium() as browser:
        for kind in kinds:
            with tempfile.TemporaryDirectory() as scratch:
                inputs, report = Path(scratch) / "inputs", Path(scratch) / "report.html"
                inputs.mkdir()
                analysis = analysed(PICTURES[kind].recorded, inputs)
                analysis.report(report)
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                png = photograph(Opened(page), report, kind, *chosen(kind, analysis))
                (FOLDER / f"{kind}.png").write_bytes(small(png))
                page.close()


if __name__ == "__main__":
    make(sys.argv[1:] or PICTURES)
