"""CONTRIBUTING.md and docs/architecture.md say what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repository import ROOT

PAGES = (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md")
TOP = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build"}  # what `pip install .` leaves behind
EXAMPLE = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def named_paths(text: str) -> set[str]:
    """What a page says in code that begins with a folder of the repository, as words of commands too."""
    code = re.findall(r"`([^`\n]+)`|^    (.+)$", text, re.MULTILINE)
    words = {word for alternatives in code for word in " ".join(alternatives).split()}
    return {word for word in words if word.split("/")[0] in TOP and "/" in word}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_is_named_exists(page: Path) -> None:
    """Files and folders of the repository, and the pages that are linked to."""
    text = page.read_text()
    paths = named_paths(text)
    assert len(paths) > 10
    assert not {path for path in paths if not (ROOT / path).exists()}
    links = {link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link}
    assert not {link for link in links if not (page.parent / link).exists()}


def test_every_line_of_an_example_is_in_the_file_that_it_is_taken_from() -> None:
    """Each example follows a sentence that ends with the name of its file."""
    text = PAGES[0].read_text()
    found = list(EXAMPLE.finditer(text))
    assert len(found) > 8
    for example in found:
        file = re.findall(r"`([^`\n]+/[^`\n]+)`", text[: example.start()])[-1]
        lines = set((ROOT / file).read_text().splitlines())
        assert not [line for line in example[1].splitlines() if line and line not in lines], file


def test_the_rooms_of_the_table_are_the_rooms() -> None:
    """docs/architecture.md has one row for each folder of the product that stands on a floor."""
    rows = re.findall(r"^\| `([a-z/]+)/` \|", PAGES[1].read_text(), re.MULTILINE)
    folders = {f"multitracer/{path.parent.name}" for path in (ROOT / "multitracer").glob("*/__init__.py")}
    assert sorted(rows) == sorted({"parsers", "replay"} | folders)
