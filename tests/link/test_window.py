"""When a link's window was full, and its sender silent, by what its log has of frames and acknowledgements."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pytest

from multitracer.link import window
from multitracer.link.acknowledgements import lowest_open
from multitracer.link.silence import long_silences
from multitracer.link.window import acknowledged, full_window


def test_what_is_missing_below_the_acknowledgement_is_open() -> None:
    """The lowest of it is, else nothing below the acknowledgement."""
    assert lowest_open(20, [], 4096) == 20
    assert lowest_open(20, [15, 12, 18], 4096) == 12
    assert lowest_open(3, [4090], 4096) == 4090


def test_what_is_missing_above_the_acknowledgement_opens_nothing() -> None:
    """An acknowledgement that names the first missing number acknowledges nothing after it."""
    assert lowest_open(1564, [1564, 1774, 1782], 4096) == 1564
    assert lowest_open(4090, [2, 5], 4096) == 4090


def test_who_counted_anew_alone_is_acknowledged_in_its_peers_epoch() -> None:
    """RLP's entity that answered a repeated request: what its peer acknowledges from then on are the new frames."""
    frames = logged(
        (0, "I RR", True, 0, -1, 1), (1, "I RR", True, 1, -1, 1), (2, "RR", False, -1, 1, 1),
        (3, "I RR", True, 0, -1, 2), (4, "I RR", True, 1, -1, 2), (5, "I RR", True, 2, -1, 2),
        (6, "RR", False, -1, 2, 1),
    )  # fmt: skip
    assert [acknowledged(frames, RLP, 0, 1, before) for before in (3, 6, 7)] == [1, 0, 2]


def test_who_asked_for_a_reset_heeds_acknowledgements_after_it() -> None:
    """The P bit of a SABM is answered by a UA, which has no N(R); only a poll with one is answered by one."""
    frames = logged(
        (0, "SABM", True, -1, -1, 1), (1, "UA", False, -1, -1, 1),
        (2, "I RR", True, 0, 0, 1), (3, "I RR", True, 1, 0, 1), (4, "RR", False, -1, 1, 1),
        (5, "RR", True, -1, 0, 1), (6, "RR", False, -1, 2, 1), (7, "RR", False, -1, 2, 1),
    )  # fmt: skip
    frames.loc[[0, 5], ["poll", "command"]] = 1
    frames.loc[[1, 7], "poll"] = 1
    assert [acknowledged(frames, RLP, 0, 1, before) for before in (4, 5, 7, 8)] == [0, 1, 1, 2]


def test_a_peer_that_is_an_epoch_ahead_is_heeded_by_its_answers_only() -> None:
    """Counting anew alone is no reset: between a poll and its answer an older acknowledgement does not count."""
    frames = logged(
        (0, "I RR", True, 0, 0, 1), (1, "I RR", True, 1, 0, 1), (2, "RR", False, -1, 1, 2),
        (3, "RR", True, -1, 0, 1), (4, "RR", False, -1, 2, 2), (5, "RR", False, -1, 2, 2),
    )  # fmt: skip
    frames.loc[3, ["poll", "command"]] = 1
    frames.loc[5, "poll"] = 1
    heeded = window._heeded(frames[frames["sent"]], frames[~frames["sent"]])
    assert heeded.tolist() == [True, False, True]


@pytest.mark.parametrize(("rest", "again", "lowest"), [(20, None, 5), (120, None, 1), (120, 115, 1)])
def test_what_waited_in_the_device_may_be_known_to_have_come(rest: int, again: int | None, lowest: int) -> None:
    """All below 5 was acknowledged when two frames had been on the air: it counts if the rest followed at once.

    What was told before a pause, and again after it, is not of what followed then.
    """
    told = (12, *([again] if again is not None else []))
    frames = logged(
        (0, "I RR", True, 0, -1, 1), (10, "I RR", True, 1, -1, 1), (11, "RR", False, -1, 1, 1),
        *((at, "RR", False, -1, 5, 1) for at in told),
        *((rest + 10 * n, "I RR", True, 2 + n, -1, 1) for n in range(3)),
    )  # fmt: skip
    assert acknowledged(frames, RLP, 0, 1, rest + 100) == lowest


def test_a_peer_that_counted_anew_alone_acknowledges_the_epoch_that_its_peer_is_in() -> None:
    """The answer to a repeated request begins an epoch for who answers; who asked goes on with its frames."""
    frames = logged(
        (0, "I RR", True, 0, 0, 1), (1, "RR", False, -1, 0, 1), (2, "I RR", True, 1, 0, 1),
        (3, "RR", False, -1, 2, 2), (4, "I RR", True, 2, 0, 1), (5, "RR", False, -1, 3, 2),
    )  # fmt: skip
    assert [acknowledged(frames, RLP, 0, 1, before) for before in (3, 4, 6)] == [0, 2, 3]


def test_a_reset_empties_a_full_window_though_no_data_follows() -> None:
    """RLC that answers a RESET counts anew: what it sent before is flushed, and it may wait for TCP's timer."""
    rows = [(n, "AMD", True, n, -1, 0) for n in range(21)]
    rows += [(5, "STATUS", False, -1, 1, 0), (100, "RESET_ACK", True, -1, -1, 1)]
    rows += [(400, "AMD", True, 0, -1, 1), (500, "STATUS", False, -1, 1, 1)]
    found = full_window(logged(*sorted(rows)), RLP.assign(protocol="rlc-umts"), 0, 1)
    assert found is not None
    assert [times.tolist() for times in found] == [[20], [100]]


BUSY, POLL, ANSWER = 610, 700, 900


def paused(
    poll: float | None = POLL, *, busy_until: float = POLL, waits: float = 300, after: Iterable[int] = ()
) -> tuple[list[int], list[int]]:
    """When the window was full of an entity that sends 61 frames, one each 10 ms, all acknowledged but the last ones.

    Then control frames until `busy_until`, a `poll`, others `after` it, its answer at 900, and the next frame `waits`
    ms after the poll.
    """
    rows = [(10 * n, "I RR", True, n, 0, 1) for n in range(61)]
    rows += [(10 * n + 5, "RR", False, -1, n, 1) for n in range(61)]
    rows += [(at, "RR", True, -1, 0, 1) for at in (*range(BUSY, int(busy_until), 10), *after)]
    rows += [] if poll is None else [(poll, "RR", True, -1, 0, 1)]
    rows += [(ANSWER, "RR", False, -1, 61, 1), (POLL + waits, "I RR", True, 61, 0, 1)]
    frames = logged(*sorted(rows))
    frames.loc[(frames["time_ns"] == poll) & frames["sent"], ["poll", "command"]] = 1
    frames.loc[frames["time_ns"] == ANSWER, "poll"] = 1
    found = full_window(frames, RLP, 0, 1)
    assert found is not None
    return found[0].tolist(), found[1].tolist()


def test_a_window_is_full_while_a_poll_waits_in_the_device_though_all_seems_acknowledged() -> None:
    """The entity heeds no acknowledgement from when it polled; that was before the frame that filled its window."""
    assert paused() == ([600], [ANSWER])


@pytest.mark.parametrize(("last", "next_ms", "found"), [(880, 901, [600]), (890, 901, []), (905, 920, [])])
def test_a_window_is_full_until_the_answer_to_a_poll_sets_off_a_new_frame(
    last: int, next_ms: int, found: list[int]
) -> None:
    """A device with other frames to send is hardly silent; one that waits behind them was not set off by the answer."""
    after = [*range(POLL + 10, min(last, 890) + 1, 10), *([last] if last > ANSWER else [])]
    assert paused(after=after, waits=next_ms - POLL)[0] == found


@pytest.mark.parametrize(
    ("poll", "busy_until", "waits"),
    [(None, POLL, 300), (POLL, 650, 300), (POLL, POLL, 20), (620, BUSY, 300)],
    ids=["no poll", "a device without anything to send", "no silence after it", "a poll behind new frames alone"],
)
def test_another_pause_is_no_full_window(poll: float | None, busy_until: float, waits: float) -> None:
    """A poll that waits keeps the device busy, and an entity that may send new frames does so after it."""
    assert paused(poll, busy_until=busy_until, waits=waits) == ([], [])


@pytest.mark.parametrize(("polls", "silent"), [((), []), ((140,), [100]), ((141,), []), ((140, 160), [])])
def test_a_sender_of_rlp_that_has_no_data_for_long_took_all_for_acknowledged(
    polls: tuple[int, ...], silent: list[int]
) -> None:
    """For longer than seven times T1, as far as polls are apart; data comes after 135 ms."""
    rows = [(0, "I RR", True, 0, -1, 1), (55, "I RR", True, 1, -1, 1), (100, "I RR", True, 2, -1, 1)]
    rows += [(at, "RR", True, -1, 0, 1) for at in ((121, *polls) if polls else ())] + [(235, "I RR", True, 0, -1, 1)]
    frames = logged(*sorted(rows))
    frames.loc[frames["time_ns"].isin((121, *polls)), ["poll", "command"]] = 1
    assert long_silences(frames, RLP, 0).tolist() == silent
    assert long_silences(frames, RLP.assign(protocol="rlc-umts"), 0).tolist() == []


RLP = pd.DataFrame({"link": [0, 1], "protocol": ["rlp"] * 2, "reverse": [1, 0]})


def logged(*rows: tuple[int, str, bool, int, int, int]) -> pd.DataFrame:
    """What one end logged of a link and its reverse: time, type, whether it sent that, N(S), N(R), epoch."""
    frames = pd.DataFrame(rows, columns=["time_ns", "type", "sent", "sn", "nr", "epoch"])
    frames = frames.assign(input=0, poll=0, command=0, nacks=None, transmission=0)
    frames["link"], frames["sn_unwrapped"] = frames["sent"].map({True: 0, False: 1}), frames["sn"]
    return frames
