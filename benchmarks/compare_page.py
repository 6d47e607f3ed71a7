"""How long the page of a campaign of 300 transfers takes until it can be used, against that of a comparison of 3.

Records simulated transfers over a GSM data call at four loss rates (`multitracer simulate gsm-call --record`), analyses
each once, and lists them under as many names as are asked for, in ten groups. Headless Chromium opens both pages in
turn. Usage:

    python benchmarks/compare_page.py [--transfers 300] [--against 3] [--recorded 24] [--turns 9]
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from multitracer.report import compare_page, kept_experiments
from multitracer.report.comparison import Experiment

CHROMIUM = "/usr/bin/chromium"
LOSSES = ("0", "0.02", "0.05", "0.1")
OCTETS = (8_000, 16_000, 30_000)
INSTRUMENTS = ("snd.pcap", "rcv.pcap", "rlpdump.mobile.txt", "rlpdump.network.txt")
GROUPS = 10
TARGET = 2.0


def multitracer(*arguments: str) -> None:
    """Run the command."""
    subprocess.run([sys.executable, "-m", "multitracer", *arguments, "-q"], check=True, stdout=subprocess.DEVNULL)


def record(folder: Path, number: int) -> Path:
    """What instruments would have logged of one transfer, without the truth."""
    keys = (f"channel.frame_loss_rate={LOSSES[number % len(LOSSES)]}",
            f"workload.file_bytes={OCTETS[number % len(OCTETS)] + 300 * number}")  # fmt: skip
    run, kept = folder / f"run-{number}", folder / f"call-{number}"
    chosen = [text for key in keys for text in ("--set", key)]
    multitracer("simulate", "gsm-call", "--seed", str(number + 1), "--seeds", "1", *chosen, "--record", str(run), "-o",
                str(folder / "simulated"), "--no-report")  # fmt: skip
    kept.mkdir()
    for name in INSTRUMENTS:
        (run / name).rename(kept / name)
    return kept


def analysed(inputs: Sequence[Path], out: Path) -> list[Experiment]:
    """The transfers as a comparison keeps them."""
    multitracer("analyze", "--compare", *map(str, inputs), "--no-report", "-o", str(out))
    folders = [out / path.name for path in inputs]
    found = [(kept_experiments.load(folder), folder) for folder in folders]
    return [kept_experiments.experiment(kept, folder) for kept, folder in found if kept is not None]


def page(every: Sequence[Experiment], count: int, path: Path) -> None:
    """Write the page of so many transfers: the same ones under other names, with links to reports."""
    several = [every[at % len(every)] for at in range(count)]
    rows = [
        one.row | {"name": f"group{at % GROUPS}-{at}", "report": f"group{at % GROUPS}-{at}/report.html"}
        for at, one in enumerate(several)
    ]
    named = [replace(one, row=row) for one, row in zip(several, rows, strict=True)]
    compare_page.write(named, path, "1", re.compile("^group[0-9]+"))


def opened(browser: Any, path: Path) -> float:
    """Seconds until a page can be used."""
    shown = browser.new_page(viewport={"width": 1280, "height": 800})
    started = time.perf_counter()
    shown.goto(path.as_uri())
    shown.wait_for_selector('html[data-mt-ready="1"]', timeout=120_000)
    took = time.perf_counter() - started
    shown.close()
    return took


def measured(pages: dict[int, Path], turns: int) -> dict[int, list[float]]:
    """The times of each page, opened in turn; a first turn is not counted."""
    found: dict[int, list[float]] = {count: [] for count in pages}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for turn in range(turns + 1):
            for count, path in pages.items():
                took = opened(browser, path)
                if turn:
                    found[count].append(took)
        browser.close()
    return found


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfers", type=int, default=300)
    parser.add_argument("--against", type=int, default=3)
    parser.add_argument("--recorded", type=int, default=24)
    parser.add_argument("--turns", type=int, default=9)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = analysed([record(folder, number) for number in range(asked.recorded)], folder / "compared")
        pages = {count: folder / f"{count}.html" for count in (asked.against, asked.transfers)}
        for count, path in pages.items():
            page(every, count, path)
        found = measured(pages, asked.turns)
        for count, path in pages.items():
            took = sorted(found[count])
            print(f"{count:>4} transfers: {path.stat().st_size / 1e6:.1f} MB, ready in {statistics.median(took):.2f} s "
                  f"(median of {len(took)}, {took[0]:.2f} to {took[-1]:.2f})")  # fmt: skip
    few, many = (statistics.median(found[count]) for count in pages)
    print(f"ratio: {many / few:.2f} (target: at most {TARGET:g})")


if __name__ == "__main__":
    main()
