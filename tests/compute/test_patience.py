"""Who reads very many records in plain Python is told that it takes longer, and how far it is."""

from __future__ import annotations

import io
import sys

import pytest

from multitracer.compute import patience
from multitracer.compute.patience import Patience


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said; ten records are many, and every fourth is told."""
    said: list[str] = []
    monkeypatch.setattr(patience, "MANY", 10)
    monkeypatch.setattr(patience, "_EVERY", 4)
    monkeypatch.setattr(patience, "on_waiting", [said.append])
    return said


def pieces(sizes: list[int], octets: int = 0) -> list[int]:
    """Records of pieces of 100 octets each, of a file of so many octets, as they come out."""
    opened, rows = Patience("opening"), iter(range(sum(sizes)))
    found: list[int] = []
    for number, size in enumerate(sizes, 1):
        found += opened.told([next(rows) for _ in range(size)], 100 * number, octets)
    return found


def test_many_records_are_announced_with_the_first_piece_of_a_file(told: list[str]) -> None:
    """What a piece of known size holds tells how many there are; each piece ends what is shown."""
    assert pieces([6, 6], 200) == list(range(12))
    of_12 = "of about 12 records, which takes longer"
    assert told == [f"opening: {done} {of_12}" if done >= 0 else "" for done in (0, 4, -1, 6, 10, -1)]


def test_of_an_input_of_unknown_size_they_are_told_once_many_have_come(told: list[str]) -> None:
    """No single piece has many."""
    assert pieces([6, 3, 2, 6]) == list(range(17))
    assert told == [f"opening: {done} records, which takes longer" if done >= 0 else "" for done in (9, -1, 11, 15, -1)]


def test_few_records_are_not_told(told: list[str]) -> None:
    """Nine in all, in a file that ends with them."""
    assert pieces([4, 5], 200) == list(range(9))
    assert told == []


def test_what_is_shown_ends_where_the_work_fails(told: list[str]) -> None:
    """An error in the middle leaves no progress behind."""

    def fail() -> None:
        for row in Patience("opening").told(range(12), 100, 100):
            if row == 5:
                raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        fail()
    assert told[-1] == ""


def test_without_a_progress_bar_it_is_said_once_on_a_terminal(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook's or script's call of `read`: with what it is that takes longer."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(patience, "on_waiting", [patience.say_once])
    monkeypatch.setattr(patience, "_said", set())
    pieces([6, 6, 6], 300)
    assert screen.getvalue() == "opening: 0 of about 18 records, which takes longer\n"
    assert told == []
