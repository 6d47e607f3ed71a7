"""`multitracer formats` and the pages made from the program."""

from __future__ import annotations

import json

import pytest
from repository import ROOT

from multitracer import cli
from multitracer.commands.docs import pages
from multitracer.parsers import FORMATS

DOCS = ROOT / "docs"


def test_the_table_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each format below the heading, with what it is recognised by."""
    assert cli.run(["formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [entry.name for entry in FORMATS]
    assert all(entry.recognised_by in line for entry, line in zip(FORMATS, lines[1:], strict=True))


def test_as_json_it_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """--json gives the same as data."""
    assert cli.run(["formats", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == [entry.name for entry in FORMATS]


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_generated_pages_are_up_to_date(name: str) -> None:
    """The pages in docs/ equal what `python -m multitracer.commands.docs` writes."""
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name]
