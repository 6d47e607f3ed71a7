"""Frames numbered: through the modulus, across resets, repeats told from what is new."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import shared

from multitracer.link.frames import number_frames
from multitracer.model.schema import build
from multitracer.parsers.shared.experiment import read

NO_EVENTS = ("record", "time_ns", "recorded_ns", "link", "side", "event")
START = 1_700_000_000 * 10**9


def log(
    *rows: tuple[bool, str, int],
    protocol: str = "rlp",
    so: list[int] | None = None,
    size: list[int] | None = None,
) -> pd.DataFrame:
    """Frames of one log, numbered: (sent, type, number)."""
    frames = build(
        "frames",
        {
            "input": [0] * len(rows),
            "record": range(1, len(rows) + 1),
            "time_ns": [START + n for n in range(len(rows))],
            "recorded_ns": [START + n for n in range(len(rows))],
            "link": [0 if sent else 1 for sent, _, _ in rows],
            "side": ["mobile"] * len(rows),
            "sent": [sent for sent, _, _ in rows],
            "type": [kind for _, kind, _ in rows],
            "sn": [sn for _, _, sn in rows],
            "so": so or [-1] * len(rows),
            "payload_bytes": size or [24] * len(rows),
        },
    )
    links = build(
        "links",
        {
            "link": [0, 1],
            "protocol": [protocol] * 2,
            "bearer": ["", ""],
            "sender": ["mobile", "network"],
            "reverse": [1, 0],
        },
    )
    events = build("link_events", {name: [] for name in ("record", "time_ns", "recorded_ns", "link", "side", "event")})
    return number_frames(frames, links, events)


def sent(*numbers: int) -> list[tuple[bool, str, int]]:
    """I frames as the sender logs them."""
    return [(True, "I RR", number) for number in numbers]


def test_numbers_count_on_through_the_modulus() -> None:
    """RLP counts modulo 62: after 61 comes 0, which is 62."""
    frames = log(*sent(*range(62), 0, 1))
    assert frames["sn_unwrapped"].tolist() == [*range(64)]
    assert set(frames["transmission"]) == {0}


def test_a_number_that_is_not_the_next_is_a_repeat() -> None:
    """Each repeat of the same frame counts one more."""
    frames = log(*sent(0, 1, 2, 1, 3, 1))
    assert frames["sn_unwrapped"].tolist() == [0, 1, 2, 1, 3, 1]
    assert frames["transmission"].tolist() == [0, 0, 0, 1, 0, 2]


@given(st.lists(st.integers(0, 60), max_size=150))
@settings(deadline=None, max_examples=50)
def test_a_senders_repeats_are_distinguished_from_new_frames(choices: list[int]) -> None:
    """Whatever a sender within its window of 61 repeats."""
    truth, top = [], 0
    for choice in choices:
        old = choice and top and choice <= min(top, 60)
        truth.append(top - choice if old else top)
        top += not old
    frames = log(*sent(*(number % 62 for number in truth))) if truth else None
    if frames is not None:
        assert frames["sn_unwrapped"].tolist() == truth


def test_a_reset_begins_a_new_epoch_at_zero() -> None:
    """A crossing SABM and its repeats are the same reset."""
    frames = log(
        *sent(0, 1),
        (True, "SABM", -1),
        (False, "SABM", -1),
        (True, "UA", -1),
        *sent(0, 1),
        (True, "SABM", -1),
        *sent(0),
    )
    assert frames["epoch"].tolist() == [0, 0, 1, 1, 1, 1, 1, 2, 2]
    assert frames["sn_unwrapped"].tolist()[5:7] == [0, 1]
    assert set(frames.loc[frames["sn_unwrapped"] >= 0, "transmission"]) == {0}


def test_what_was_in_flight_when_a_reset_began_keeps_its_epoch() -> None:
    """The peer counts anew only when it takes part; a request repeated meanwhile is the same reset."""
    frames = log(
        *sent(0), (False, "I RR", 0), (True, "SABM", -1), (False, "I RR", 1), (True, "SABM", -1), (False, "I RR", 2),
        (False, "UA", -1), *sent(0), (False, "I RR", 0),
    )  # fmt: skip
    assert frames["epoch"].tolist() == [0, 0, 1, 0, 1, 0, 1, 1, 1]
    assert frames["transmission"].tolist()[7] == 0


def test_who_answers_a_repeated_request_after_it_had_sent_data_counts_anew_once_more() -> None:
    """RLP's peer does not: it has had its answer. The next reset is one for both again."""
    request, answer = (False, "SABM", -1), (True, "UA", -1)
    frames = log(
        *sent(5, 6), request, answer, *sent(0, 1), request, answer, *sent(0, 1), (False, "I RR", 0),
        request, answer, *sent(0), (False, "I RR", 0),
    )  # fmt: skip
    assert frames["epoch"].tolist() == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 1, 3, 3, 3, 3]
    assert set(frames.loc[frames["sent"] & (frames["sn_unwrapped"] >= 0), "transmission"]) == {0}


def test_setting_a_link_up_is_no_reset() -> None:
    """The numbers after it are of the first epoch."""
    frames = log((True, "SABM", -1), (False, "UA", -1), *sent(0, 1), (False, "I RR", 0))
    assert set(frames["epoch"]) == {0}


def test_a_reset_leaves_other_bearers_alone() -> None:
    """One log may hold several; each has its own numbers."""
    rows = [(0, "AMD", 10), (2, "AMD", 500), (0, "RESET", -1), (1, "RESET_ACK", -1), (2, "AMD", 501), (0, "AMD", 0)]
    times = [START + n for n in range(len(rows))]
    frames = build(
        "frames",
        {
            "input": [0] * 6, "record": range(1, 7), "time_ns": times, "recorded_ns": times,
            "link": [r[0] for r in rows],
            "side": ["network"] * 6, "sent": [True] * 6, "type": [r[1] for r in rows], "sn": [r[2] for r in rows],
        },
    )  # fmt: skip
    links = build(
        "links",
        {
            "link": range(4), "protocol": ["rlc-umts"] * 4, "bearer": ["RB 5", "RB 5", "RB 6", "RB 6"],
            "sender": ["network", "mobile"] * 2, "reverse": [1, 0, 3, 2],
        },
    )  # fmt: skip
    frames = number_frames(frames, links, build("link_events", dict.fromkeys(NO_EVENTS, ())))
    assert frames["epoch"].tolist() == [0, 0, 1, 1, 0, 1]
    assert frames["sn_unwrapped"].tolist() == [10, 500, -1, -1, 501, 0]


def test_what_a_log_begins_after_is_not_taken_for_the_next_round() -> None:
    """A frame from before the first one logged: numbered below it, or not at all."""
    assert log(*((False, "I RR", number) for number in (1, 0, 2, 3)))["sn_unwrapped"].tolist() == [1, -1, 2, 3]
    assert log(*((False, "I RR", number) for number in (0, 61, 1)))["sn_unwrapped"].tolist() == [0, -1, 1]
    frames = log(*sent(20, 5, 21, 6, 22))
    assert frames["sn_unwrapped"].tolist() == [20, 5, 21, 6, 22]
    assert frames["transmission"].tolist() == [0, -1, 0, -1, 0]


def test_segments_of_one_number_are_new_until_octets_come_twice() -> None:
    """NR sends a packet in segments under one number; only octets sent before are a repeat."""
    rows = [(True, "AMD", 5)] * 4
    frames = log(*rows, protocol="rlc-nr", so=[0, 100, 200, 100], size=[100, 100, 50, 100])
    assert frames["transmission"].tolist() == [0, 0, 0, 1]


def test_a_number_that_no_field_holds_is_left_without_one() -> None:
    """A damaged line of a log: the frames around it keep theirs, and nothing outside an array is touched."""
    frames = log(*((True, "AMD", number) for number in (5, 99_999, 6, 4096, 7)), protocol="rlc-umts")
    assert frames["sn_unwrapped"].tolist() == [5, -1, 6, -1, 7]
    assert frames["transmission"].tolist() == [0, -1, 0, -1, 0]


def test_supervisory_frames_have_no_number() -> None:
    """Their columns stay null."""
    frames = log((True, "RR", -1), (False, "BAD", -1))
    assert frames["sn_unwrapped"].tolist() == [-1, -1]
    assert frames["transmission"].tolist() == [-1, -1]


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "dump", "repeats"),
    [
        ("rlp-bad", "rlpdump.mobile.txt", 134),
        ("rlp-good", "rlpdump.mobile.txt", 22),
        ("rlc-inseq", "rlcdump.network.txt.gz", 1171),
        ("rlc-outseq", "rlcdump.network.txt.gz", 2464),
        ("rlc-reset", "rlcdump.network.txt.gz", 230),
    ],
)
def test_real_logs_have_the_repeats_that_their_links_made(folder: str, dump: str, repeats: int) -> None:
    """As the links themselves counted."""
    tables = read(str(shared("linux", folder, dump))).tables
    frames = number_frames(tables["frames"], tables["links"], tables["link_events"])
    assert int((frames["sent"] & (frames["transmission"] > 0)).sum()) == repeats


@pytest.mark.data
def test_both_ends_number_alike() -> None:
    """Of what arrived, the receiver's numbers are among the sender's, epoch by epoch."""
    folder = shared("linux", "rlp-reset")
    tables = read(str(folder / "rlpdump.mobile.txt"), str(folder / "rlpdump.network.txt")).tables
    frames = number_frames(tables["frames"], tables["links"], tables["link_events"])
    frames = frames[frames["sn_unwrapped"] >= 0]
    for link in (0, 1):
        own = frames[frames["link"] == link]
        keys = [
            set(map(tuple, own.loc[own["sent"] == side, ["epoch", "sn_unwrapped"]].to_numpy()))
            for side in (True, False)
        ]
        assert keys[1] <= keys[0]
        assert len(keys[1]) > 0.8 * len(keys[0])
    assert np.all(frames["epoch"] <= 1)
