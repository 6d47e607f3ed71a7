"""Five questions, each answered in at most four actions, by keyboard alone and by pointer alone, on any report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from browsing import Opened
from reading_pages import Reader
from shared_data import LINUX
from table_answers import TIMEOUTS, Answers

from multitracer import Analysis

pytestmark = pytest.mark.browser

MOST = 4
WAYS = ("keyboard", "pointer")
REPORTS = ["example", *(pytest.param(folder, marks=pytest.mark.data) for folder in LINUX)]
LOST = {"lost": "lost", "dropped": "dropped in the host", "flushed": "flushed by the link"}
SECONDS = re.compile(r"([\d.]+) s to ([\d.]+) s")

FATES_ARE_THERE = "document.documentElement.dataset.mtFates === document.documentElement.dataset.mtConnection"


class Question(NamedTuple):
    """An open report, the way in which it is read, and what its tables answer."""

    reader: Reader
    by_keyboard: bool
    answers: Answers


@pytest.fixture(params=WAYS)
def asked(
    request: pytest.FixtureRequest,
    open_report: Callable[[str], Opened],
    recording: Callable[[str], tuple[Path, Analysis]],
) -> Iterator[Callable[[str], Question]]:
    """Opens a report for one question, which takes no more than MOST actions."""
    readers: list[Reader] = []

    def ask(folder: str) -> Question:
        readers.append(Reader(open_report(folder)))
        readers[-1].begin()
        readers[-1].opened.until(FATES_ARE_THERE)
        return Question(readers[-1], request.param == "keyboard", Answers(recording(folder)[1]))

    yield ask
    assert all(0 < reader.actions <= MOST for reader in readers)


@pytest.mark.parametrize("folder", REPORTS)
def test_the_dearest_cause_is_found(asked: Callable[[str], Question], folder: str) -> None:
    """With its seconds and its share: by c, or by a click on the widest part of the bar that cost something."""
    reader, by_keyboard, answers = asked(folder)
    if by_keyboard:
        reader.press("c")
    else:
        reader.click("[data-key=c]")
    cause = answers.dearest_cause
    assert reader.sees("#mt-chosen", cause["cause"])
    told = reader.page.locator("#mt-chosen").inner_text()
    assert told.startswith(cause["cause"])
    assert f" {cause['share']:.0%}" in told
    value, unit = re.search(r" ([\d.]+) (s|ms) \d+%", told).groups()
    assert float(value) / (1000 if unit == "ms" else 1) == pytest.approx(cause["seconds"], rel=0.06)


@pytest.mark.parametrize("folder", REPORTS)
def test_the_frames_of_the_first_resent_segment_are_seen(asked: Callable[[str], Question], folder: str) -> None:
    """How many carried it, how many were repeats and how many arrived; where no log tells, that is said."""
    reader, by_keyboard, answers = asked(folder)
    if by_keyboard:
        reader.press("r")
    else:
        reader.click("[data-key=r]")
    resend = answers.first_resend
    if resend is None:
        assert reader.sees("#mt-status", "TCP sent nothing again")
        return
    assert reader.sees("#mt-chosen", f"bytes {resend['seq']:,} to {resend['seq'] + resend['payload_bytes']:,}")
    if not answers.has_link:
        assert reader.sees("#mt-chosen", "which frames carried it is not known")
        return
    carried = answers.carried(int(resend["segment"]))
    if not carried.frames:
        assert reader.sees("#mt-chosen", "no frame that was logged carried it")
        return
    counted = f"{carried.frames} frames, {carried.repeats} of them repeats"
    alone = f"1 frame, {'a repeat' if carried.repeats else 'not a repeat'}"
    assert reader.sees("#mt-chosen", f"carried by {alone if carried.frames == 1 else counted}")
    all_arrived = carried.arrived == carried.frames
    assert reader.sees("#mt-chosen", "all arrived" if all_arrived else f"{carried.arrived} arrived, ")


@pytest.mark.parametrize("folder", REPORTS)
def test_the_congestion_window_is_read_when_the_timer_ran_out(asked: Callable[[str], Question], folder: str) -> None:
    """In the legend, after the search for a timeout; where no timer ran out, no kind of finding is named so."""
    reader, by_keyboard, answers = asked(folder)
    expired = answers.first_of_kind(TIMEOUTS)
    if by_keyboard:
        reader.press("/")
        reader.type("timeout", enter=expired is not None)
    else:
        reader.click("#mt-search")
    if expired is None:
        hits = reader.page.locator("#mt-hits [role=option]").all_inner_texts()
        assert not any(re.match(r"(spurious-)?timeout: ", hit) for hit in hits)
        assert hits == [] or reader.sees("#mt-hits", "Kinds of findings") or by_keyboard
        assert not by_keyboard or reader.sees("#mt-hits-told", "No kind of finding is named so.")
        return
    if not by_keyboard:
        reader.click("#mt-hits [role=option]", f"{expired['kind']}: ")
    assert reader.sees("#mt-details article:not([hidden]) h3", expired["kind"])
    at = answers.seconds(expired["start_ns"])
    assert reader.sees("#mt-cursor-time", f"{at:.9f} s")
    window = answers.window_at(int(expired["connection"]), int(expired["start_ns"]))
    assert window is not None
    assert reader.sees("[data-mt-value=cwnd]", f"{window:,.0f}")


@pytest.mark.parametrize("folder", REPORTS)
def test_what_was_lost_between_two_times_is_counted(asked: Callable[[str], Question], folder: str) -> None:
    """By fate, with the bytes: the search takes two seconds, the button "part" and a drag take two places."""
    reader, by_keyboard, answers = asked(folder)
    gone = answers.sent[answers.sent["fate"].isin(list(LOST))]["at_s"]
    start = float(gone.iloc[0] if len(gone) else answers.sent["at_s"].iloc[0]) // 1 + 0.5
    end = start + 4
    if by_keyboard:
        reader.press("/")
        reader.type(f"{start}-{end} s")
    else:
        reader.click("#mt-select")
        reader.drag("sequence", start, end)
    assert reader.sees("#mt-selection-time", " s to ")
    told = SECONDS.search(reader.page.locator("#mt-selection-time").inner_text())
    assert told
    left, right = float(told[1]), float(told[2])
    assert (left, right) == pytest.approx((start, end), abs=1e-9 if by_keyboard else 0.2)
    found = answers.fates(left, right)
    rows = [row.split("\t") for row in reader.page.locator("#mt-selection tbody tr").all_inner_texts()]
    counted = {row[0]: (row[1], row[2]) for row in rows}
    for fate, label in LOST.items():
        assert counted[label] == tuple(f"{value:,}" for value in found[fate])
        assert reader.sees("#mt-selection tbody tr", label)
    assert reader.sees("#mt-selection tbody tr:nth-child(3) td:nth-child(3)", counted["lost"][1])


@pytest.mark.parametrize("folder", REPORTS)
def test_a_retransmission_leads_to_the_finding_that_explains_it(asked: Callable[[str], Question], folder: str) -> None:
    """By r and e, or two clicks; where none explains it, or nothing was sent again, that is said."""
    reader, by_keyboard, answers = asked(folder)
    if by_keyboard:
        reader.press("r")
    else:
        reader.click("[data-key=r]")
    resend = answers.first_resend
    if resend is None:
        assert reader.sees("#mt-status", "TCP sent nothing again")
        return
    finding = answers.explaining(resend)
    if finding is None:
        assert reader.sees("#mt-chosen", "No finding explains it.")
        return
    if by_keyboard:
        reader.press("e")
    else:
        reader.click("#mt-chosen [data-finding]")
    assert reader.sees("#mt-details article:not([hidden]) h3", finding["kind"])
    assert reader.sees("#mt-details article:not([hidden]) p", finding["because"][:60])
    assert reader.sees("#mt-findings [aria-selected=true] > .row .kind", finding["kind"])


def test_other_words_for_a_part_of_the_time_are_understood(report: Path, opened: Opened) -> None:
    """With dots, a dash or "to", in either order; outside of the trace there is none."""
    page = opened.open(report)
    for text in ("12.5..14", "12.5-14 s", "14 s to 12.5 s"):
        page.keyboard.press("/")
        page.keyboard.insert_text(text)
        page.keyboard.press("Enter")
        assert page.locator("#mt-selection-time").inner_text().startswith("12.500000000 s to 14.000000000 s")
        page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.insert_text("900-1000 s")
    page.keyboard.press("Enter")
    assert page.locator("#mt-hits-told").inner_text() == "Nothing found."
