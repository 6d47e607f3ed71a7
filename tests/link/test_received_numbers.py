"""The numbers of RLP frames in their receiver's log: those that they had been sent with, or unknown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rlp_story
from rlp_story import SLOT_NS

from multitracer.link.frames import number_frames
from multitracer.model.schema import build
from multitracer.parsers.shared.experiment import read
from multitracer.replay.record.recording import record_run

START = 1_700_000_000 * 10**9
LINKS = build(
    "links",
    {"link": [0, 1], "protocol": ["rlp"] * 2, "bearer": ["", ""], "sender": ["mobile", "network"], "reverse": [1, 0]},
)
NO_EVENTS = build("link_events", dict.fromkeys(("record", "time_ns", "recorded_ns", "link", "side", "event"), ()))
SEEN = 100
"""So many frames came before a fade."""


class Receiver:
    """A receiver's log, written opportunity by opportunity."""

    def __init__(self, *, octets: str = "different") -> None:
        self.octets, self.slot, self.rows, self.sent = octets, 0, [], []

    def gets(self, *numbers: int) -> Receiver:
        """Frames of these numbers come, one in each opportunity."""
        for number in numbers:
            data = {"different": f"{number}".encode(), "same": b"z", "unknown": None}[self.octets]
            self._add(False, "I RR", number % 62, 0, data)
            self.sent.append(number)
            self.slot += 1
        return self

    def loses(self, opportunities: int) -> Receiver:
        """Nothing comes for so many opportunities."""
        self.slot += opportunities
        return self

    def says(self, kind: str, number: int, *, final: bool = False) -> Receiver:
        """It sends a supervisory frame."""
        self._add(True, kind, -1, number % 62, None, final=final)
        return self

    def idles(self, opportunities: int) -> Receiver:
        """Frames without a number come."""
        for _ in range(opportunities):
            self._add(False, "RR", -1, 0, None)
            self.slot += 1
        return self

    def numbers(self) -> list[int]:
        """The numbers found for the frames that came."""
        columns = ("record", "sent", "type", "sn", "nr", "data", "poll", "time_ns")
        table = dict(zip(columns, zip(*self.rows, strict=True), strict=True))
        size = len(self.rows)
        frames = build(
            "frames",
            table
            | {
                "input": [0] * size, "side": ["network"] * size, "link": [int(way) for way in table["sent"]],
                "recorded_ns": table["time_ns"], "command": [0] * size,
            },
        )  # fmt: skip
        numbered = number_frames(frames, LINKS, NO_EVENTS)
        return numbered["sn_unwrapped"][~numbered["sent"] & (numbered["sn"] >= 0)].tolist()

    def _add(self, sent: bool, kind: str, sn: int, nr: int, data: bytes | None, *, final: bool = False) -> None:
        self.rows.append((len(self.rows) + 1, sent, kind, sn, nr, data, int(final), START + self.slot * SLOT_NS))


def before_fade(octets: str = "different") -> Receiver:
    """The log of a receiver to which some frames came and that acknowledged each."""
    log = Receiver(octets=octets)
    for number in range(SEEN):
        log.gets(number).says("RR", number + 1)
    return log


@pytest.mark.parametrize("octets", ["different", "same", "unknown"])
@pytest.mark.parametrize("lost", [1, 30, 31, 45, 59, 60])
def test_after_a_fade_numbers_go_on_where_the_sender_is(lost: int, octets: str) -> None:
    """Nothing was asked for, so that nothing comes again; what is asked for then, comes."""
    log = before_fade(octets).loses(lost).gets(SEEN + lost)
    for number in range(SEEN, SEEN + lost):
        log.says("SREJ", number)
    log.gets(*range(SEEN, SEEN + lost)).says("RR", SEEN + lost + 1)
    log.gets(*range(SEEN + lost + 1, SEEN + lost + 50))
    assert log.numbers() == log.sent


@pytest.mark.parametrize("lost", [61, 62, 63, 200])
def test_after_a_fade_of_all_that_the_window_allows_the_sender_goes_back(lost: int) -> None:
    """It has sent 61 frames; then it polls, and begins again with the first that did not come."""
    log = before_fade("same").loses(lost).idles(1).says("RR", SEEN, final=True).loses(10)
    assert log.gets(*range(SEEN, SEEN + 61)).numbers() == log.sent


def test_a_frame_comes_twice_that_was_asked_for_twice() -> None:
    """No new one with its number can have been sent so early."""
    log = before_fade().loses(1).gets(101).says("SREJ", 100).gets(102, 103).says("SREJ", 100)
    log.gets(100).says("RR", 104).gets(104, 105, 100, 106)
    assert log.numbers() == log.sent


@pytest.mark.parametrize(("octets", "known"), [("different", True), ("same", False), ("unknown", False)])
def test_what_may_be_new_or_have_come_again_is_new_by_its_octets_alone(octets: str, known: bool) -> None:
    """Number 100 was asked for twice; 162 can have been sent after a fade, too."""
    log = before_fade(octets).loses(1).gets(101).says("SREJ", 100).gets(102, 103).says("SREJ", 100)
    log.gets(100).says("RR", 104).gets(*range(104, 110)).says("RR", 110).loses(52).gets(162)
    assert log.numbers() == [*log.sent[:-1], 162 if known else -1]


def test_octets_tell_an_old_frame_from_no_other() -> None:
    """The same octets may have been sent under the next number that is written alike."""
    log = before_fade("same").loses(1).gets(101).says("SREJ", 100).gets(102, 103).says("SREJ", 100)
    log.gets(100).says("RR", 104).gets(*range(104, 110)).says("RR", 110).loses(60).gets(100)
    assert log.numbers() == [*log.sent[:-1], -1]


def test_what_comes_while_a_reset_is_asked_for_has_no_number() -> None:
    """The answer may be lost: its sender may have counted anew, or not yet."""
    log = before_fade().says("SABM", 0)
    log.rows[-1] = (*log.rows[-1][:4], -1, *log.rows[-1][5:])
    assert log.gets(100, 101).numbers() == [*range(SEEN), -1, -1]


@pytest.mark.parametrize("slower_ppm", [-100, 0, 100])
def test_a_clock_that_is_wrong_does_not_move_numbers_in_a_long_log(slower_ppm: int) -> None:
    """Over so many frames its error amounts to many opportunities."""
    log = before_fade("same")
    for number in range(SEEN, 30_000, 10):
        lost = range(number, number + 5) if number == 1000 else range(0)
        log.loses(len(lost)).gets(*range(number + len(lost), number + 10))
        for one in lost:
            log.says("SREJ", one)
        log.gets(*lost).says("RR", number + 10)
    late = np.random.default_rng(1).integers(0, SLOT_NS // 10, len(log.rows))
    for place, row in enumerate(log.rows):
        elapsed = (row[-1] - START) * (1_000_000 - slower_ppm) // 1_000_000
        log.rows[place] = (*row[:-1], START + elapsed + int(late[place]))
    assert log.numbers() == log.sent


def test_a_repeat_at_the_beginning_of_a_log_that_tells_nothing_has_no_number() -> None:
    """It may as well be a new frame after a fade."""
    assert Receiver().gets(160, *range(105, 109), 161).numbers() == [36, -1, -1, -1, -1, 37]


@pytest.mark.slow
@pytest.mark.parametrize("t1_slots", [3, 8, 14])
@pytest.mark.parametrize("seed", range(6))
def test_numbers_received_are_those_sent_or_unknown(seed: int, t1_slots: int, tmp_path: Path) -> None:
    """Whatever fades there are, and if T1 is below the round trip of 5 slots so that frames come again."""
    frames = numbered(faded(seed, t1_slots), tmp_path)
    for link in (0, 1):
        way = frames[(frames["link"] == link) & (frames["sn"] >= 0)]
        sent, received = way[way["sent"]], way[~way["sent"]]
        number = dict(zip(sent["time_ns"], sent["sn_unwrapped"], strict=True))
        truth = np.array([number[at - 2 * SLOT_NS] for at in received["time_ns"]])
        found = received["sn_unwrapped"].to_numpy()
        assert len(found) > 100
        assert found[found >= 0].tolist() == truth[found >= 0].tolist()
        assert (found < 0).mean() < (0.15 if t1_slots == 3 else 0.03)


def faded(seed: int, t1_slots: int) -> rlp_story.Run:
    """A link with losses and fades both ways that is never reset."""
    draw, slots, lost = np.random.default_rng(seed), 1500, []
    for _ in range(2):
        erased = draw.random(slots) < 0.05
        for begin in draw.integers(5, slots, 6).tolist():
            erased[begin : begin + int(draw.choice([20, 31, 45, 61, 62, 100]))] = True
        lost.append(tuple(np.flatnonzero(erased).tolist()))
    settings = {"t1_ns": t1_slots * SLOT_NS, "n2": 10_000, "persistent": True}
    return rlp_story.link(slots, lost_a=lost[0], lost_b=lost[1], a=None, b=None, **settings).carry()


def numbered(run: rlp_story.Run, folder: Path) -> pd.DataFrame:
    """The frames of both ends' logs."""
    record_run("rlp", run.engine, folder)
    tables = read(*map(str, sorted(folder.glob("rlpdump.*")))).tables
    return number_frames(tables["frames"], tables["links"], tables["link_events"])
