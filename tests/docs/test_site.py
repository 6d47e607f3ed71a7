"""The site out of docs/: it is built without a warning, and its pages say what there is."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_commands import DOCS
from repository import ROOT

import multitracer

BUILDERS = ("sphinx", "furo", "myst_parser", "sphinx_click")
MISSING = [name for name in BUILDERS if importlib.util.find_spec(name) is None]
TEMPLATES = ROOT / "multitracer" / "report" / "assets" / "templates"
HOSTED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "examples" / "README.md"]
"""Pages that are read on the hosting site, as docs/ is."""


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_it_is_built_without_a_warning(tmp_path: Path) -> None:
    """Warnings are errors: links, headings that they lead to, pages that no other names, references in docstrings."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", str(DOCS), str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = (tmp_path / "site" / "cli.html").read_text(encoding="utf-8")
    assert "cmdoption-multitracer-analyze-link-rate" in page
    assert 'id="multitracer.analyze"' in (tmp_path / "site" / "api.html").read_text(encoding="utf-8")


def test_the_python_interface_is_what_the_package_offers() -> None:
    """docs/api.md names each public name once, and no other."""
    named = re.findall(r"^\.\. auto\w+:: (\w+)", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(multitracer.__all__)


def test_the_page_on_the_report_has_its_keys() -> None:
    """docs/reading.md lists the keys that the report's own list has."""
    listed = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("base.html", "report.html"))
    keys = {one.replace("&larr;", "←").replace("&rarr;", "→") for one in re.findall(r"<kbd>(.*?)</kbd>", listed)}
    rows = re.findall(r"^\| (`.*`) \| ", (DOCS / "reading.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\S+)`", row)} == keys


@pytest.mark.parametrize("page", HOSTED, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_outside_lead_to_files_and_headings(page: Path) -> None:
    """Links of the pages that are no part of the site lead to what is there, as the hosting site names headings."""
    for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not heading or heading in headings(file), f"{target}#{heading}"


def headings(page: Path) -> set[str]:
    """The names by which a page's headings are linked to."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
