"""What pages are made of: the files in assets, and what a template does with text from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multitracer.report import compare_page, page_template
from multitracer.report.comparison import failed

ASSETS = Path(page_template.__file__).parent / "assets"
MARKUP = "</script><script>alert('x')</script>"


def test_every_script_is_in_a_page() -> None:
    """And every name in the lists is a script of assets/; several pages may have one."""
    there = {path.relative_to(ASSETS / "scripts").with_suffix("").as_posix() for path in ASSETS.rglob("*.js")}
    listed = [*page_template.SCRIPTS, *(name for names in page_template.OWN_SCRIPTS.values() for name in names)]
    assert set(listed) == there


def test_every_style_is_in_a_page() -> None:
    """And every name in the lists is a style sheet of assets/; several pages may have one."""
    listed = [*page_template.STYLES, *(name for names in page_template.OWN_STYLES.values() for name in names)]
    assert set(listed) == {path.stem for path in (ASSETS / "styles").iterdir()}


@pytest.mark.parametrize("path", sorted(ASSETS.rglob("*.*")), ids=lambda path: path.name)
def test_lines_of_assets_are_short(path: Path) -> None:
    """At most 120 characters."""
    assert max(len(line) for line in path.read_text(encoding="utf-8").splitlines()) <= 120


def test_a_script_declares_no_globals() -> None:
    """Each is a function of its own, in strict mode."""
    joined = page_template.script("namespace", "columns/search")
    assert joined.count('(() => {\n"use strict";') == joined.count("})();") == 2


def test_json_in_a_page_never_ends_its_element() -> None:
    """Whatever text it holds, which is read back unchanged."""
    made = page_template.script_json({"name": MARKUP})
    assert "<" not in made
    assert json.loads(made) == {"name": MARKUP}


def test_text_from_outside_is_escaped() -> None:
    """A path, a name and an error with markup are shown as they are; the page allows no connection and no eval."""
    made = compare_page.html([failed(MARKUP, MARKUP, MARKUP), failed("b", "b", "not readable")], "1")
    assert MARKUP not in made
    assert "&lt;/script&gt;&lt;script&gt;alert(&#39;x&#39;)" in made
    assert "default-src 'none'" in made
    assert "unsafe-eval" not in made
