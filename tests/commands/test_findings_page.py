"""docs/findings.md: every kind is explained, and its picture is there and shows it."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from struct import unpack

import pytest
from finding_pictures import FOLDER, MOST_BYTES, PICTURES, WIDTH, analysed, chosen
from repository import ROOT

from multitracer.commands.finding_texts import EXPLAINED
from multitracer.model.vocabulary import KINDS

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
OF_FOLDER = defaultdict(list)
for _kind, _picture in PICTURES.items():
    OF_FOLDER[_picture.recorded].append(_kind)


def test_every_kind_is_explained() -> None:
    """In the order of the vocabulary, each with all of its texts."""
    assert list(EXPLAINED) == list(KINDS)
    assert all(text.endswith((".", ".)")) for texts in EXPLAINED.values() for text in texts)
    assert re.findall(r"^## (\S+)$", PAGE, re.MULTILINE) == list(KINDS)


def test_every_kind_has_a_picture() -> None:
    """As wide as the page that it is made for, and small."""
    assert set(PICTURES) == set(KINDS)
    assert {path.stem for path in FOLDER.glob("*.png")} == set(KINDS)
    for path in FOLDER.glob("*.png"):
        head = path.read_bytes()
        assert (unpack(">I", head[16:20])[0], len(head) <= MOST_BYTES) == (WIDTH, True), path.name


def test_every_link_of_the_page_leads_somewhere() -> None:
    """To a picture, or to the heading of a kind."""
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert link[1:] in KINDS if link.startswith("#") else (ROOT / "docs" / link).exists(), link


@pytest.mark.data
@pytest.mark.parametrize("recorded", OF_FOLDER)
def test_the_recordings_show_what_the_pictures_were_made_for(recorded: str, tmp_path: Path) -> None:
    """Each picture's finding is in the part of the recording that it shows, and is not undecided."""
    analysis = analysed(recorded, tmp_path)
    for kind in OF_FOLDER[recorded]:
        assert chosen(kind, analysis)[1]["verdict"] in ("confirmed", "likely")
