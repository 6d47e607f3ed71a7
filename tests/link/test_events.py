"""Resets, releases and stops of a link, by its logs."""

from __future__ import annotations

import pandas as pd
import pytest
from shared_data import shared

from multitracer.link.events import FLOW_CONTROL, RELEASE, RESET, intervals
from multitracer.link.frames import number_frames
from multitracer.link.summary import rows
from multitracer.link.timing import timing
from multitracer.link.window import acknowledged, full_window
from multitracer.model.schema import build
from multitracer.parsers.shared.experiment import read

MS = 1_000_000
START = 1_700_000_000 * 10**9
LINKS = build(
    "links",
    {"link": [0, 1], "protocol": ["rlp"] * 2, "bearer": ["", ""], "sender": ["mobile", "network"], "reverse": [1, 0]},
)


def frames(*rows_: tuple[float, bool, str], l2r: dict[int, int] | None = None, **columns: list[int]) -> pd.DataFrame:
    """Frames of the mobile's log: (ms, sent, type)."""
    count = len(rows_)
    status = [(l2r or {}).get(place, -1) for place in range(count)]
    return build(
        "frames",
        {
            "input": [0] * count,
            "record": range(1, count + 1),
            "time_ns": [START + round(ms * MS) for ms, _, _ in rows_],
            "recorded_ns": [START + round(ms * MS) for ms, _, _ in rows_],
            "link": [0 if out else 1 for _, out, _ in rows_],
            "side": ["mobile"] * count,
            "sent": [out for _, out, _ in rows_],
            "type": [kind for _, _, kind in rows_],
            "l2r": status,
            **columns,
        },
    )


def events(*rows_: tuple[float, int, str]) -> pd.DataFrame:
    """Events of the mobile's log: (ms, link, event)."""
    times = [START + round(ms * MS) for ms, _, _ in rows_]
    return build(
        "link_events",
        {
            "input": [0] * len(rows_),
            "record": range(1000, 1000 + len(rows_)),
            "time_ns": times,
            "recorded_ns": times,
            "link": [link for _, link, _ in rows_],
            "side": ["mobile"] * len(rows_),
            "event": [event for _, _, event in rows_],
        },
    )


def found(log: pd.DataFrame, said: pd.DataFrame | None = None) -> list[tuple[str, float, float]]:
    """(Kind, start, end) in ms."""
    table = intervals(log, events() if said is None else said, LINKS)
    return [
        (kind, (start - START) / MS, (end - START) / MS)
        for kind, start, end in zip(table["kind"], table["start_ns"], table["end_ns"], strict=True)
    ]


def test_a_reset_lasts_from_the_first_request_to_the_first_answer() -> None:
    """Repeats and crossing requests are the same reset."""
    log = frames(
        (0, True, "I RR"),
        (10, True, "SABM"),
        (30, False, "SABM"),
        (40, True, "UA"),
        (60, False, "UA"),
        (90, True, "I RR"),
    )
    assert found(log) == [(RESET, 10, 40)]


def test_two_resets_with_data_between_are_two() -> None:
    """Each has its own answer."""
    log = frames(
        (-20, True, "I RR"),
        (0, True, "SABM"),
        (20, False, "UA"),
        (40, True, "I RR"),
        (60, True, "SABM"),
        (80, False, "UA"),
        (90, True, "I RR"),
    )
    assert found(log) == [(RESET, 0, 20), (RESET, 60, 80)]


def test_the_request_that_sets_a_link_up_is_no_reset() -> None:
    """Nothing had been sent before it, or not since the link was given up."""
    log = frames((0, True, "SABM"), (20, False, "UA"), (40, True, "I RR"), (60, True, "DISC"), (80, False, "UA"))
    again = frames((0, True, "I RR"), (60, True, "DISC"), (80, False, "UA"), (200, True, "SABM"), (220, False, "UA"))
    assert RESET not in [kind for kind, _, _ in found(log) + found(again)]


def test_a_request_repeated_while_data_is_in_flight_is_the_same_reset() -> None:
    """Frames that the peer sent before it received the request do not end the reset."""
    log = frames(
        (0, True, "I RR"), (10, True, "SABM"), (20, False, "I RR"), (510, True, "SABM"), (520, False, "I RR"),
        (700, False, "UA"), (720, True, "I RR"),
    )  # fmt: skip
    assert found(log) == [(RESET, 10, 700)]


def test_a_crossing_request_that_came_after_the_answer_is_the_same_reset() -> None:
    """Both ends ask; the mobile answers first, and what it had sent before its own request comes in between.

    Where the mobile's log lacks its request, the one that came counts.
    """
    mobile = frames(
        (0, True, "I RR"), (100, False, "SABM"), (110, True, "SABM"), (115, True, "UA"), (300, False, "UA"),
        (320, True, "I RR"),
    )  # fmt: skip
    network = frames(
        (10, True, "SABM"), (90, False, "I RR"), (150, False, "I RR"), (200, False, "SABM"), (210, True, "UA"),
        (215, False, "UA"), (420, False, "I RR"),
    ).assign(input=1, side="network")  # fmt: skip
    network["link"] = network["link"].map({0: 1, 1: 0}).astype(network["link"].dtype)
    log = pd.concat([mobile, network], ignore_index=True).sort_values("time_ns", kind="stable", ignore_index=True)
    assert found(log) == [(RESET, 10, 115)]
    lacking = log[~((log["type"] == "SABM") & (log["link"] == 0) & log["sent"])]
    assert found(lacking) == [(RESET, 10, 115), (RESET, 200, 210)]


def test_a_request_repeated_because_its_answer_was_lost_is_the_same_reset() -> None:
    """In the log of the end that answered, and went on."""
    log = frames(
        (0, False, "I RR"), (10, False, "SABM"), (20, True, "UA"), (40, True, "I RR"), (500, False, "SABM"),
        (520, True, "UA"), (900, False, "I RR"),
    )  # fmt: skip
    assert found(log) == [(RESET, 10, 20)]


def test_a_reset_known_from_an_event_only_ends_with_the_next_data() -> None:
    """It does not last to the end of the log; an event beside the frame of the same reset is no second reset."""
    log = frames((0, True, "I RR"), (300, True, "I RR"), (5000, True, "I RR"))
    assert found(log, events((100, 0, "reset"))) == [(RESET, 100, 300)]
    told = frames((0, True, "I RR"), (10, True, "SABM"), (400, False, "UA"), (420, True, "I RR"))
    assert found(told, events((9, 0, "reset"))) == [(RESET, 10, 400)]


def test_every_reason_says_whose_log_to_look_into() -> None:
    """Record numbers alone are those of any of the logs."""
    log = frames((0, True, "I RR"), (10, True, "SABM"), (40, False, "UA"))
    assert "record 2 of the mobile's log" in intervals(log, events(), LINKS)["because"].iloc[0]


def test_a_reset_without_an_answer_runs_to_the_end_of_the_log() -> None:
    """The finding says that no answer was seen."""
    log = frames((0, True, "I RR"), (10, True, "SABM"), (200, False, "BAD"))
    assert found(log) == [(RESET, 10, 200)]
    assert "no answer" in intervals(log, events(), LINKS)["because"].iloc[0]


def test_disc_releases_the_link() -> None:
    """The release lasts from DISC to its answer."""
    assert found(frames((0, True, "I RR"), (50, False, "DISC"), (60, True, "UA"))) == [(RELEASE, 50, 60)]


def test_the_status_octets_stop_bit_stops_the_sender() -> None:
    """XOFF to XON in frames that the peer sent; its own status octets stop nobody here."""
    log = frames(
        (0, True, "I RR"),
        (10, False, "I RR"),
        (20, False, "I RR"),
        (30, True, "I RR"),
        (90, False, "I RR"),
        l2r={0: 0x3F, 1: 0x1F, 2: 0x3F, 4: 0x1F},
    )
    assert found(log) == [(FLOW_CONTROL, 20, 90)]


def test_a_status_octet_counts_once_no_frame_before_it_is_missing() -> None:
    """XOFF in a frame that overtook one with XON stops the sender when that one has come; a repeat changes nothing."""
    log = frames(
        (0, True, "I RR"), (10, False, "I RR"), (20, False, "I RR"), (60, False, "I RR"), (70, False, "I RR"),
        (90, False, "I RR"),
        l2r={1: 0x1F, 2: 0x3F, 3: 0x1F, 4: 0x3F, 5: 0x1F}, sn_unwrapped=[-1, 0, 2, 1, 2, 3],
    )  # fmt: skip
    assert found(log) == [(FLOW_CONTROL, 60, 90)]


def test_an_event_that_repeats_a_frame_is_the_same_stop() -> None:
    """EVENT xoff a moment after the frame that says so."""
    log = frames((0, True, "I RR"), (20, False, "I RR"), (90, False, "I RR"), l2r={1: 0x3F, 2: 0x1F})
    assert found(log, events((20.1, 1, "xoff"), (90.1, 1, "xon"))) == [(FLOW_CONTROL, 20, 90)]


def test_receive_not_ready_stops_until_receive_ready() -> None:
    """RNR to RR."""
    log = frames((0, True, "I RR"), (10, False, "RNR"), (30, False, "RNR"), (50, False, "RR"))
    assert found(log) == [(FLOW_CONTROL, 10, 50)]


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "kind", "count"),
    [("rlp-xonxoff", FLOW_CONTROL, 7), ("rlp-reset", RESET, 1), ("rlc-reset", RESET, 1), ("rlp-good", RESET, 0)],
)
def test_events_of_real_logs_are_those_that_the_link_made(folder: str, kind: str, count: int) -> None:
    """As many of each kind as the link itself counted."""
    tables = read(*map(str, sorted(shared("linux", folder).glob("rl?dump.*")))).tables
    table = intervals(tables["frames"], tables["link_events"], tables["links"])
    assert int((table["kind"] == kind).sum()) == count


@pytest.mark.data
def test_the_timing_of_real_links_is_found() -> None:
    """RLP: 20 ms a frame, 9.6 kbit/s, an answer after some 400 ms; RLC: twelve PDUs in 10 ms."""
    for folder, dump, frame_ms, rate in (
        ("rlp-bad", "rlpdump.mobile.txt", 20.0, 9600.0),
        ("rlc-outseq", "rlcdump.network.txt.gz", 10 / 12, 364800.0),
    ):
        tables = read(str(shared("linux", folder, dump))).tables
        tables["frames"] = number_frames(tables["frames"], tables["links"], tables["link_events"])
        measured = timing(tables["frames"], 0, 1, str(tables["links"]["protocol"].iloc[0]))
        assert measured.frame_ns is not None
        assert measured.frame_ns / MS == pytest.approx(frame_ms, abs=1e-5)
        assert measured.rate_bps == pytest.approx(rate)
        assert measured.rtt_ns is not None
        assert 120 * MS < measured.rtt_ns < 450 * MS


def test_a_full_window_is_found() -> None:
    """61 unacknowledged frames of RLP, until the acknowledgement."""
    log = frames(
        *((20.0 * n, True, "I RR") for n in range(61)), (3000, False, "RR"), sn=[*range(61), -1], nr=[0] * 61 + [30]
    )
    log = number_frames(log, LINKS, events())
    found = full_window(log, LINKS, 0, 1)
    assert found is not None
    start, end = found
    assert [((a - START) / MS, (b - START) / MS) for a, b in zip(start, end, strict=True)] == [(1200, 3000)]
    assert [acknowledged(log, LINKS, 0, 1, START + ms * MS) for ms in (0, 3000, 3001)] == [None, 0, 30]


@pytest.mark.parametrize(("before", "until"), [(("SABM",), 1400), (("RR", "SABM"), 1400), (("RR",), 1500)])
def test_acknowledgements_count_until_a_poll_and_again_after_a_reset(before: tuple[str, ...], until: int) -> None:
    """A poll lets only its own answer count, here at 1,500 ms; a SABM has P = 1, too, but is none."""
    asked = [(10.0 * n, True, kind) for n, kind in enumerate(before)]
    sent = [(100 + 20.0 * n, True, "I RR") for n in range(61)]
    log = frames(
        *asked, (50, False, "UA"), *sent, (1400, False, "RR"), (1500, False, "RR"),
        sn=[-1] * (len(asked) + 1) + [*range(61), -1, -1], poll=[1] * (len(asked) + 1) + [0] * 62 + [1],
        nr=[0 if kind == "RR" else -1 for kind in before] + [-1] + [0] * 61 + [30] * 2,
        command=[1] * len(asked) + [0] + [1] * 61 + [0] * 2,
    )  # fmt: skip
    found = full_window(number_frames(log, LINKS, events()), LINKS, 0, 1)
    assert found is not None
    assert [(part[0] - START) // MS for part in found] == [1300, until]


def test_a_full_window_is_unknown_without_received_acknowledgements() -> None:
    """A log of sent frames, of both ends, does not show when acknowledgements arrived."""
    log = frames(*((20.0 * n, True, "I RR") for n in range(61)), sn=list(range(61)), nr=[0] * 61)
    log = number_frames(log, LINKS, events())
    assert full_window(log, LINKS, 0, 1) is None


@pytest.mark.data
def test_values_that_one_log_does_not_show_are_null() -> None:
    """The sender's log does not show what arrived, the receiver's not what was sent."""
    folder = shared("linux", "rlp-bad")
    for dump, known, unknown in (
        ("rlpdump.mobile.txt", "frames_sent", "frames_received"),
        ("rlpdump.network.txt", "frames_received", "frames_sent"),
    ):
        tables = read(str(folder / dump)).tables
        links = tables["links"]
        tables["frames"] = number_frames(tables["frames"], links, tables["link_events"])
        uplink = int(links.loc[links["sender"] == "mobile", "link"].iloc[0])
        stops = intervals(tables["frames"], tables["link_events"], links)
        row = rows(links, tables["frames"], stops, {})[uplink]
        assert row[known] is not None
        assert row[unknown] is None
