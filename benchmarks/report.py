"""How large reports are, how long they take to write, to open and to redraw, by the number of records.

Makes captures of one transfer as its sender's side sees it (1 % of the segments resent, times by
chance, acknowledgements ten round trips of data behind), analyses them, writes the report and moves
about in it with headless Chromium. With --before, another installed version, in the same turns: ratios of
the medians. With --connections, as many records in few and in many connections, also how long one takes to
open. Usage:

    python benchmarks/report.py [--records 10000 100000 1000000 5000000 10000000] [--moves 200]
                                [--before PYTHON | --connections 10 1000] [--turns 5]
"""

from __future__ import annotations

import argparse
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ingest import CHUNK, MSS, START_S, packets
from playwright.sync_api import sync_playwright

from multitracer import Analysis, analyze
from multitracer.report.directions import directions

WRITE = "import sys, multitracer; multitracer.analyze([sys.argv[1]]).report(sys.argv[2])"

RECORDS_A_PACKET = 2.4
"""A packet is in several series: data or acknowledgements, window, outstanding bytes, round trip times."""
BEHIND = 20 * MSS
CHROMIUM = "/usr/bin/chromium"
MOVE = """async moves => {
  const xr = MT.engine.timeRange, start = xr.start, whole = xr.end - xr.start, took = [];
  let seed = 1;
  const chance = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
  for (let move = 0; move < moves; move++) {
    const width = whole * Math.pow(10, -5 * chance()), from = start + (whole - width) * chance();
    const begun = performance.now();
    xr.setv({start: from, end: from + width});
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    const canvases = document.querySelectorAll("#mt-stack canvas, #mt-panels canvas");
    for (const drawn of canvases) drawn.getContext("2d").getImageData(0, 0, 1, 1);
    took.push(performance.now() - begun);
  }
  return took;
}"""

OPEN = """async number => {
  const select = document.getElementById("mt-connection");
  const begun = performance.now();
  select.value = number;
  select.dispatchEvent(new Event("change"));
  while (document.documentElement.dataset.mtConnection !== number) await new Promise(done => setTimeout(done, 0));
  await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - begun;
}"""


def make(path: Path, count: int, nanoseconds: bool = False, connections: int = 1) -> None:
    """Write a capture of `count` packets."""
    chance, reached = np.random.default_rng(1), 0
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
        for first in range(0, count, CHUNK):
            made = packets(first, min(CHUNK, count - first), connections)
            # About a thousand records per second at random times, which compress badly.
            times = reached + np.cumsum(chance.integers(1, 2_000_000 if nanoseconds else 2_000, len(made)))
            reached = int(times[-1])
            second = 10**9 if nanoseconds else 10**6
            made["second"], made["micro"] = START_S + times // second, times % second
            acks = made["ack"].astype(np.int64)
            made["ack"] = np.where(acks > BEHIND, acks - BEHIND, acks) & 0xFFFFFFFF
            file.write(made.tobytes())


class Opened(NamedTuple):
    """Seconds until a report can be used, the sorted times of redraws and of opening connections in milliseconds."""

    ready: float
    redrawn: list[float]
    chosen: list[float]


def opened(path: Path, moves: int, choose: Sequence[int] = ()) -> Opened:
    """Open a report, move about in it, and choose some of its connections, by their places in the list."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        started = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector('html[data-mt-ready="1"]', timeout=120_000)
        ready = time.perf_counter() - started
        took = sorted(page.evaluate(MOVE, moves))
        numbers = page.locator("#mt-connection option").evaluate_all("all => all.map(one => one.value)")
        chosen = sorted(page.evaluate(OPEN, numbers[place]) for place in choose)
        browser.close()
    return Opened(ready, took, chosen)


def measured(directory: Path, records: int, moves: int, *, nanoseconds: bool) -> None:
    """Measure one size, and print a line."""
    capture, report = directory / "made.pcap", directory / "report.html"
    make(capture, max(100, round(records / RECORDS_A_PACKET)), nanoseconds)
    analysis: Analysis = analyze([capture])
    started = time.perf_counter()
    analysis.report(report)
    written = time.perf_counter() - started
    held = sum(one.records for _, one in directions(analysis).groups)
    ready, took, _ = opened(report, moves)
    print(
        f"{held:>11,} records ({'nano' if nanoseconds else 'micro'}seconds): written in {written:5.2f} s, "
        f"{report.stat().st_size / 1e6:6.1f} MB, ready in {ready:5.2f} s, "
        f"redraw median {statistics.median(took):4.0f} ms, 95 % below {took[int(0.95 * len(took))]:4.0f} ms",
        flush=True,
    )
    capture.unlink()


def compared(directory: Path, records: int, moves: int, turns: int, before: str) -> None:
    """Measure one size with both versions in turn, and print the ratios of their medians."""
    capture = directory / "made.pcap"
    make(capture, max(100, round(records / RECORDS_A_PACKET)))
    pages = {python: directory / f"{number}.html" for number, python in enumerate((sys.executable, before))}
    for python, page in pages.items():
        # Elsewhere than in a checkout, which `-c` would take the modules from, whatever the interpreter has.
        subprocess.run([python, "-c", WRITE, capture, page], check=True, cwd=directory)
    ready: dict[str, list[float]] = {python: [] for python in pages}
    redrawn: dict[str, list[float]] = {python: [] for python in pages}
    for _ in range(turns):
        for python, page in pages.items():
            seconds, took, _ = opened(page, moves)
            ready[python].append(seconds)
            redrawn[python].append(statistics.median(took))
    for python, name in zip(pages, ("this version", "the one before"), strict=True):
        print(
            f"{records:>11,} records, {name}: {pages[python].stat().st_size / 1e6:.1f} MB, ready in "
            f"{statistics.median(ready[python]):.2f} s, redraw {statistics.median(redrawn[python]):.0f} ms",
            flush=True,
        )
    size = pages[sys.executable].stat().st_size / pages[before].stat().st_size
    ratios = [statistics.median(times[sys.executable]) / statistics.median(times[before]) for times in (ready, redrawn)]
    print(f"ratios: size {size:.2f}, ready {ratios[0]:.2f}, redraw {ratios[1]:.2f}", flush=True)


def by_connections(directory: Path, records: int, moves: int, turns: int, counts: Sequence[int]) -> None:
    """Measure pages of as many records in few and in many connections in turn; print the ratios of their medians."""
    pages = {count: directory / f"{count}.html" for count in counts}
    for count, page in pages.items():
        capture = directory / "made.pcap"
        make(capture, round(records / RECORDS_A_PACKET), connections=count)
        analysis = analyze([capture])
        analysis.summary()
        started = time.perf_counter()
        analysis.report(page)
        written = time.perf_counter() - started
        held = sum(one.records for _, one in directions(analysis).groups)
        print(f"{count:>7,} connections, {held:,} records: written in {written:.1f} s", flush=True)
    found: dict[int, list[Opened]] = {count: [] for count in pages}
    for _ in range(turns):
        for count, page in pages.items():
            found[count].append(opened(page, moves, [count * part // 7 for part in range(1, 7)]))
    medians = {}
    for count, page in pages.items():
        size = page.stat().st_size / 1e6
        ready = statistics.median(one.ready for one in found[count])
        redrawn, chosen = (
            statistics.median(statistics.median(getattr(one, name)) for one in found[count])
            for name in ("redrawn", "chosen")
        )
        medians[count] = size, ready, redrawn, chosen
        print(
            f"{count:>7,} connections: {size:.1f} MB, ready in {ready:.2f} s, redraw {redrawn:.0f} ms, "
            f"a connection opens in {chosen:.0f} ms",
            flush=True,
        )
    few, many = medians[counts[0]], medians[counts[-1]]
    ratios = [two / one for one, two in zip(few, many, strict=True)]
    print(f"ratios: size {ratios[0]:.2f}, ready {ratios[1]:.2f}, redraw {ratios[2]:.2f}; opening a connection takes "
          f"{many[3] / many[2]:.1f} redraws", flush=True)  # fmt: skip


def main() -> None:
    """Run all benchmarks and print their results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = [10_000, 100_000, 1_000_000, 5_000_000, 10_000_000]
    parser.add_argument("--records", type=int, nargs="+", default=sizes)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--before", metavar="PYTHON")
    parser.add_argument("--connections", type=int, nargs=2, metavar=("FEW", "MANY"))
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for records in arguments.records:
            if arguments.connections:
                by_connections(Path(name), records, arguments.moves, arguments.turns, arguments.connections)
                continue
            if arguments.before:
                compared(Path(name), records, arguments.moves, arguments.turns, arguments.before)
                continue
            for nanoseconds in (False, True):
                measured(Path(name), records, arguments.moves, nanoseconds=nanoseconds)


if __name__ == "__main__":
    main()
