"""What a browser lets a page do: run the two scripts that its policy names by their hashes, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browsing import Opened
from page_parts import PageParts

pytestmark = pytest.mark.browser

OWN_CODE = "MT.page = { start, drawAll, keepStill };"
"""A line of the script that every page has of its own."""


def refused(browser: Any, path: Path) -> tuple[bool, list[str]]:
    """Whether a page becomes ready within a second, and what the browser complains of."""
    page = browser.new_page()
    opened = Opened(page)
    page.goto(path.as_uri())
    page.wait_for_timeout(1000)
    ready = page.evaluate("document.documentElement.dataset.mtReady === '1'")
    page.close()
    return ready, opened.complaints


def test_a_script_with_one_other_octet_does_not_run(browser: Any, report: Path, tmp_path: Path) -> None:
    """The browser says that the policy forbids it."""
    text = report.read_text()
    assert text.count(OWN_CODE) == 1
    altered = tmp_path / "altered.html"
    altered.write_text(text.replace(OWN_CODE, OWN_CODE.replace("{ ", "{\t")))
    ready, complaints = refused(browser, altered)
    assert not ready
    assert any("Content Security Policy" in said for said in complaints)


@pytest.mark.parametrize(
    "injected",
    ["<script>document.title = 'mine'</script>", "<img src=x onerror=\"document.title = 'mine'\">",
     "<script src=\"data:text/javascript,document.title='mine'\"></script>"],
    ids=["script", "handler", "data"],
)  # fmt: skip
def test_markup_that_got_in_does_not_run(browser: Any, report: Path, tmp_path: Path, injected: str) -> None:
    """Neither a script, nor a handler, nor a script from a data URL; the page itself works."""
    path = tmp_path / "injected.html"
    path.write_text(report.read_text().replace("<main>", f"<main>{injected}", 1))
    page = browser.new_page()
    complaints = Opened(page).complaints
    page.goto(path.as_uri())
    page.wait_for_selector('html[data-mt-ready="1"]')
    assert page.title() != "mine"
    page.close()
    assert any("Content Security Policy" in said for said in complaints)


def test_a_page_is_ready_without_a_violation_and_evaluates_no_text(opened: Opened, page_file: Path) -> None:
    """Panels are drawn without a complaint; then text cannot be made into a function, as the policy allows none."""
    page = opened.open(page_file)
    assert page.locator("canvas").count() > 0
    assert opened.complaints == []
    parts = PageParts(page_file.read_text())
    assert "unsafe-eval" not in parts.policy
    # In a timer, because a debugger's own evaluation is exempt from the policy.
    page.evaluate(
        "setTimeout(() => { try { new Function('return 1'); window.evaluated = 'yes'; }"
        " catch (error) { window.evaluated = error.name; } }, 0)"
    )
    opened.until("window.evaluated !== undefined")
    assert page.evaluate("window.evaluated") == "EvalError"
    opened.complaints[:] = [said for said in opened.complaints if "unsafe-eval" not in said]
