"""The pages' content security policy: it names the scripts that run by their hashes."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from page_parts import PageParts
from repository import EXAMPLES

from multitracer import analyze, cli
from multitracer.report import compare_page
from multitracer.report.comparison import failed


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PageParts]:
    """A page of each kind, taken apart."""
    out = tmp_path_factory.mktemp("pages")
    channel, trace = str(EXAMPLES / "channels" / "bad.toml"), str(out / "bad-0.txt")
    assert cli.run(["erasures", "generate", channel, "--minutes", "1", "-o", str(out), "-q"]) == 0
    assert cli.run(["retrace", trace, "-o", str(out), "-q"]) == 0
    assert cli.run(["erasures", "describe", trace, "-o", str(out), "-q"]) == 0
    analyze(EXAMPLES / "loss2").report(out / "report.html")
    compared = compare_page.html([failed("a", "a", "not readable"), failed("b", "b", "not readable")], "1")
    (out / "compare.html").write_text(compared)
    return {path.name: PageParts(path.read_text()) for path in out.glob("*.html")}


@pytest.mark.slow
def test_the_policy_names_exactly_the_scripts_that_run(pages: dict[str, PageParts]) -> None:
    """Each by the SHA-256 of its text, and no other source of scripts."""
    assert sorted(pages) == ["compare.html", "describe.html", "report.html", "retrace.html"]
    for page in pages.values():
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in page.scripts]
        assert page.directive("script-src") == [f"'sha256-{one}'" for one in hashes]
        assert len(hashes) == 2


@pytest.mark.slow
def test_a_page_loads_nothing(pages: dict[str, PageParts]) -> None:
    """Everything is forbidden but its own scripts and styles, and pictures and fonts that stand in it."""
    for page in pages.values():
        assert page.directive("default-src") == ["'none'"]
        assert page.directive("style-src") == ["'unsafe-inline'"]
        assert page.directive("img-src") == ["data:", "blob:"]
        assert page.directive("font-src") == ["data:"]
        assert page.directive("base-uri") == page.directive("form-action") == ["'none'"]
        assert "unsafe-eval" not in page.policy


@pytest.mark.slow
def test_no_element_runs_a_handler_or_leads_elsewhere(pages: dict[str, PageParts]) -> None:
    """No attribute is an event handler; links lead to files beside the page only."""
    assert [page.active for page in pages.values()] == [[]] * len(pages)


@pytest.mark.slow
def test_scripts_do_not_depend_on_what_was_recorded(pages: dict[str, PageParts], tmp_path: Path) -> None:
    """Two reports have the same policy: nothing from the inputs is in a script that runs."""
    analyze(EXAMPLES / "rlp-reset" / "snd.pcap").report(tmp_path / "other.html")
    assert PageParts((tmp_path / "other.html").read_text()).policy == pages["report.html"].policy
