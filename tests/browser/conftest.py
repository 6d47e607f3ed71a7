"""A real browser, offline, that fails on any error or request."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paper_results
import pytest
import simulated
from browsing import EXAMPLE, Opened, Scripts
from labelled import analysed
from repository import EXAMPLES

from multitracer import Analysis, analyze, cli
from multitracer.model.schema import build
from multitracer.replay.papers import document as decided
from multitracer.replay.papers import plan as planned
from multitracer.replay.papers import results
from multitracer.replay.papers.figures import figures
from multitracer.replay.papers.runs import runs_of
from multitracer.replay.simulate.scenario_files import load
from multitracer.replay.simulate.sweep import document
from multitracer.replay.simulate.variants import plan
from multitracer.report import reproduce_page, simulate_page

STORY = "TCP waited for its timer while the link was reset and then stood idle, because nothing told it of the loss. "
PAGES = ("report.html", "compare.html", "retrace.html", "describe.html", "simulate.html", "reproduce.html")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium without a network."""
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: install it, or set CHROMIUM to its path")
    with sync.sync_playwright() as playwright:
        # Containers run tests as root, where Chromium's sandbox cannot be.
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture(scope="session")
def window(browser: Any) -> Iterator[Any]:
    """A window without a network; it stays, as opening one takes a fifth of the time of a test."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 1400})
    context.new_page()  # with its last page a window would close
    yield context
    context.close()


@pytest.fixture
def opened(window: Any) -> Iterator[Opened]:
    """A fresh page; at the end it must have complained of nothing and asked for nothing but its file."""
    page = Opened(window.new_page())
    yield page
    page.page.close()
    window.clear_permissions()
    assert page.complaints == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in page.requests)
    assert sum(url.startswith("file:") for url in page.requests) <= 1


@pytest.fixture(scope="session")
def scripts(browser: Any) -> Iterator[Scripts]:
    """The scripts of the report on an empty page, which must not complain."""
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield Scripts(page)
    page.close()
    assert errors == []


@pytest.fixture(scope="session")
def analysis() -> Analysis:
    """The example with both layers."""
    return analyze(sorted(EXAMPLE.iterdir()))


@pytest.fixture(scope="session")
def report(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    analysis.report(path)
    return path


@pytest.fixture(scope="session")
def recording(
    analysis: Analysis, report: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Analysis]]:
    """The report and the analysis of a folder of recordings, or of the "example".

    Each is made once, also where several processes run tests: one takes what another has left in the run's folder.
    """
    base = tmp_path_factory.getbasetemp()
    folder_of_run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    known = {"example": (report, analysis)}

    def of(folder: str) -> tuple[Path, Analysis]:
        if folder not in known:
            written = folder_of_run / f"recording-{folder}.html"
            if not written.exists():
                made = tmp_path_factory.mktemp(folder) / "report.html"
                analysed(folder).report(made)
                made.replace(written)
            known[folder] = written, analysed(folder)
        return known[folder]

    return of


@pytest.fixture(scope="session")
def open_report(
    browser: Any, crowded: Path, recording: Callable[[str], tuple[Path, Analysis]]
) -> Iterator[Callable[[str], Opened]]:
    """An open report of a folder, of the "example" or the "crowded" one, in a window of the smallest common size.

    Each is opened once: a test begins with what an earlier one left. At the end none must have complained.
    """
    pages: dict[str, Opened] = {}

    def open_one(folder: str) -> Opened:
        if folder not in pages:
            path = crowded if folder == "crowded" else recording(folder)[0]  # skips where the data are not there
            opened = Opened(browser.new_page(viewport={"width": 1280, "height": 800}))
            opened.open(path)
            opened.until("'mtFates' in document.documentElement.dataset")
            pages[folder] = opened
        return pages[folder]

    yield open_one
    for opened in pages.values():
        opened.page.close()
    assert [opened.complaints for opened in pages.values() if opened.complaints] == []


@pytest.fixture(scope="session")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the example with forty findings, none set off by another, and a story of 600 characters."""
    found = analyze(sorted(EXAMPLE.iterdir()))
    table = found.tables["findings"]
    many = {name: (list(table[name].astype(object)) * 2)[:40] for name in table.columns}
    found.tables["findings"] = build("findings", many | {"caused_by": [-1] * 40})
    found._summary.story[1:] = [(STORY * 8)[:600]]
    path = tmp_path_factory.mktemp("crowded") / "report.html"
    found.report(path)
    return path


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The comparison of both examples, each with its report beside it."""
    out = tmp_path_factory.mktemp("compared")
    inputs = [str(EXAMPLES / name) for name in ("rlp-reset", "loss2")]
    assert cli.run(["analyze", "--compare", *inputs, "-o", str(out), "-q"]) == 0
    return out / "compare.html"


@pytest.fixture(scope="session")
def retraced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a trace of ten minutes, retraced with its losses spread evenly too, and described."""
    out = tmp_path_factory.mktemp("retraced")
    channel, trace = str(EXAMPLES / "channels" / "bad.toml"), str(out / "bad-0.txt")
    assert cli.run(["erasures", "generate", channel, "--minutes", "10", "-o", str(out), "-q"]) == 0
    assert cli.run(["retrace", trace, "--even", "--bootstrap", "100", "-o", str(out), "-q"]) == 0
    assert cli.run(["erasures", "describe", trace, "-o", str(out), "-q"]) == 0
    return out


@pytest.fixture(scope="session")
def simulated_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a simulation with three lines of five points, whose runs cost nothing."""
    made = plan(load("media-contention"), {}, {})
    seeds = range(1, 4)
    runs = [[simulated.run(one.scenario, seed) for seed in seeds] for one in made.variants]
    path = tmp_path_factory.mktemp("simulated") / "simulate.html"
    simulate_page.write(made, document(made, seeds, runs), path)
    return path


@pytest.fixture(scope="session")
def reproduced_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two papers, of whose experiments the file transfers and the retraces were run at no cost."""
    papers, drawn = [], []
    for paper in ("rlc-sack", "multitracer"):
        runs = [run for run in planned.plan(paper, "quick") if run.experiment.startswith(("file", "retrace"))]
        points = results.points(runs, "c0ffee")
        found = {task.key: paper_results.RUNNERS[point.run.tool](task.scenario, task.seed)
                 for point in points for task in point.tasks}  # fmt: skip
        table = results.table(points, found)
        papers.append(decided.paper_document(paper, table, "quick", refused=results.refusals(points)))
        drawn += figures(paper, runs_of(paper, table))
    path = tmp_path_factory.mktemp("reproduced") / "reproduce.html"
    reproduce_page.write(decided.document("quick", "c0ffee", papers), drawn, path)
    return path


@pytest.fixture(params=PAGES)
def page_file(request: pytest.FixtureRequest) -> Path:
    """Each kind of page, as a command writes it."""
    kinds = {"report.html": "report", "compare.html": "compared", "simulate.html": "simulated_page",
             "reproduce.html": "reproduced_page"}  # fmt: skip
    made: Path = request.getfixturevalue(kinds.get(request.param, "retraced"))
    return made if made.is_file() else made / request.param
