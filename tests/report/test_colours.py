"""The colours of marks, against the grounds of the pages."""

from __future__ import annotations

import re

import pytest

from multitracer.report import colours
from multitracer.report.page_template import _asset

GROUNDS = re.findall(r"--bg: (#[0-9a-f]{6})", _asset("styles", "page.css"))


def _colours(value: object) -> set[str]:
    """All colours in a constant, which may be in tuples and dicts."""
    if isinstance(value, str):
        return {value} if re.fullmatch("#[0-9a-f]{6}", value) else set()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return {colour for part in parts for colour in _colours(part)}


MARKS = sorted(
    {colour for name, value in vars(colours).items() if not name.startswith("__") for colour in _colours(value)}
    - {colours.BLACK}
)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_there_are_a_light_and_a_dark_ground() -> None:
    """What the other test compares with is found in the style sheet."""
    assert sorted(luminance(ground) > 0.5 for ground in GROUNDS) == [False, True]
    assert len(MARKS) > 15


@pytest.mark.parametrize("colour", MARKS)
def test_marks_stand_out_from_both_grounds(colour: str) -> None:
    """At least 3:1, as WCAG 2.1 (1.4.11) asks of what is needed to understand a graphic."""
    for ground in GROUNDS:
        low, high = sorted((luminance(colour), luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 3
