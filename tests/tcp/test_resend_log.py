"""A kernel's log of retransmissions: placed by the resends in a capture, and the triggers that its stacks show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_ends import MS, START

from multitracer.model.schema import TRIGGERS, build
from multitracer.model.trace import Clock, ClockPiece, Input, Recording
from multitracer.tcp.resend_log import LEAST_RESENDS, Times, place, with_kernel_triggers

CLIENT, SERVER = "10.0.0.1:1", "10.0.0.2:2"
UPTIME_NS = 4_000 * 10**9
SECOND = 10**9
OPEN, RECOVERY, LOSS = 0.0, 3.0, 4.0
TIMER, PROBE, ACKS = 0.0, 1.0, 2.0


def pair(resent_s: list[float], lost: tuple[int, ...] = (), delay_ns: int = 40_000) -> Times:
    """Resends at these seconds, and the log's events for all but those in `lost`, on the clock of the uptime."""
    resent = START + np.round(np.array(resent_s) * SECOND).astype(np.int64)
    logged = np.delete(resent, lost) - START + UPTIME_NS + delay_ns
    return Times(logged, resent)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20_000), min_size=6, max_size=60, unique=True), st.integers(0, 10**6))
def test_a_log_is_placed_within_its_error_or_not_at_all(times_ms: list[int], seed: int) -> None:
    """Irregular resends place the log within its error, though some of the events are missing; else it is left out."""
    chosen = sorted(times_ms)
    missing = tuple(np.random.default_rng(seed).choice(len(chosen), len(chosen) // 6, replace=False).tolist())
    clock = place([pair([ms / 1e3 for ms in chosen], missing)], "snd.pcap", UPTIME_NS, [])
    if clock.pieces:
        assert clock.error_s is not None
        assert abs(clock.pieces[0].offset_ns - (UPTIME_NS - START)) <= clock.error_s * 1e9 <= 4 * MS


def test_irregular_resends_place_a_log() -> None:
    """The offset is that of the events to their own resends; the reason counts them."""
    clock = place([pair([1.0, 1.7, 3.1, 8.45, 9.0])], "snd.pcap", UPTIME_NS, [])
    assert clock.pieces[0].offset_ns == UPTIME_NS - START + 40_000
    assert clock.how.startswith("placed by 5 retransmissions")


@pytest.mark.parametrize(
    "resent_s", [[1.0, 1.5], np.arange(0, 20, 0.5).tolist()], ids=["too few", "as regular as a clock"]
)
def test_resends_that_fit_shifted_too_place_nothing(resent_s: list[float]) -> None:
    """Fewer than LEAST_RESENDS, or equally spaced ones, of which the log lacks some, leave the clock open."""
    assert len(resent_s) < LEAST_RESENDS or np.ptp(np.diff(resent_s)) < 1e-9
    assert not place([pair(resent_s, lost=(0,))], "snd.pcap", UPTIME_NS, []).pieces


def test_the_clock_of_another_log_of_the_kernel_is_taken_if_the_resends_confirm_it() -> None:
    """A single resend confirms it; one that disagrees does not."""
    known = [("tcp_probe.txt", UPTIME_NS - START, 0.001)]
    clock = place([pair([2.0])], "snd.pcap", UPTIME_NS, known)
    assert clock.pieces[0].offset_ns == UPTIME_NS - START
    assert "tcp_probe.txt" in clock.how
    assert not place([pair([2.0], delay_ns=300 * MS)], "snd.pcap", UPTIME_NS, known).pieces


def log(*records: tuple[float, str, float]) -> pd.DataFrame:
    """Records at these ms: state changes (ms, "state", state) and retransmissions (ms, "retransmit", resent by)."""
    count = len(records)
    value = np.array([value for _, _, value in records])
    changes = np.array([event == "state" for _, event, _ in records])
    return build(
        "tcp_state",
        {
            "record": range(1, count + 1), "time_ns": [START + round(ms * MS) for ms, _, _ in records],
            "recorded_ns": [START + round(ms * MS) for ms, _, _ in records],
            "local": [CLIENT] * count, "remote": [SERVER] * count, "event": [event for _, event, _ in records],
            "connection": [0] * count, "sender": [0] * count, "input": [1] * count,
            "ca_state": np.where(changes, value, np.nan), "resent_by": np.where(changes, np.nan, value),
        },
    )  # fmt: skip


def triggers(
    resent_ms: list[float], state: pd.DataFrame, held: str = "unknown", error_s: float | None = 0.001,
    in_doubt: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """The triggers of resends at these ms that were held to be of one kind, with the kernel's log."""
    count = len(resent_ms)
    resent = build(
        "retransmissions",
        {
            "record": range(1, count + 1), "connection": [0] * count, "sender": [CLIENT] * count,
            "time_ns": [START + round(ms * MS) for ms in resent_ms], "seq": range(count),
            "payload_bytes": [100] * count, "trigger": pd.Categorical([held] * count, categories=TRIGGERS),
            "spurious": ["no"] * count, "because": ["no timer had run out; it was lost"] * count,
            "in_doubt": [in_doubt] * count,
        },
    )  # fmt: skip
    clock = Clock("snd.pcap", 0.0, 0.0, error_s, error_s, "", (ClockPiece(START, 0),))
    inputs = [Input(1, "retransmit.txt", Recording("tcp_probe"), clock=clock)]
    return with_kernel_triggers(resent, state, inputs)


def test_stacks_name_the_triggers() -> None:
    """A timer, a probe, and what acknowledgements set off: the first of a recovery is fast, the rest recovery."""
    state = log(
        (10, "retransmit", PROBE), (500, "state", LOSS), (500.1, "retransmit", TIMER), (600, "retransmit", ACKS),
        (700, "state", OPEN), (800, "state", RECOVERY), (800.1, "retransmit", ACKS), (850, "retransmit", ACKS),
    )  # fmt: skip
    found = triggers([10, 500.1, 600, 800.1, 850], state)
    assert found["trigger"].tolist() == ["probe", "timeout", "recovery", "fast", "recovery"]
    assert found["because"].str.endswith("; it was lost").all()
    assert found["because"].str.startswith("the kernel's log shows").all()


@pytest.mark.parametrize(
    ("held", "found"),
    [("unknown", ["unknown", "recovery", "recovery"]), ("fast", ["fast", "fast", "recovery"])],
)
def test_the_resend_after_a_lost_stack_need_not_be_the_first_of_its_recovery(held: str, found: list[str]) -> None:
    """What was held of it stays where that is one of both; the one after it is not the first."""
    state = log((1, "state", RECOVERY), (1.1, "retransmit", np.nan), (50, "retransmit", ACKS), (99, "retransmit", ACKS))
    assert triggers([1.1, 50, 99], state, held)["trigger"].tolist() == found


@pytest.mark.parametrize(("kind", "in_doubt"), [(ACKS, False), (np.nan, True)])
def test_a_stack_settles_what_was_in_doubt(kind: float, in_doubt: bool) -> None:
    """A resend that may have been another recovery's is not in doubt once the log names its trigger."""
    found = triggers([1.1], log((1, "state", RECOVERY), (1.1, "retransmit", kind)), held="fast", in_doubt=True)
    assert found["trigger"].tolist() == ["fast"]
    assert found["in_doubt"].tolist() == [in_doubt]


def test_one_event_of_several_segments_names_them_all() -> None:
    """What is logged once and captured as several segments: one timeout, or one recovery and its first resend."""
    state = log((1, "state", RECOVERY), (1.1, "retransmit", ACKS), (500, "retransmit", TIMER))
    found = triggers([1.1, 1.11, 500, 500.01, 500.02], state)
    assert found["trigger"].tolist() == ["fast", "recovery", "timeout", "timeout", "timeout"]


@pytest.mark.parametrize(
    ("records", "error_s"),
    [
        ([(1, "retransmit", np.nan)], 0.001),
        ([(900, "retransmit", TIMER)], 0.001),
        ([(1, "retransmit", TIMER), (1.2, "retransmit", ACKS)], 0.001),
        ([(1, "retransmit", TIMER)], None),
    ],
    ids=["no stack", "another time", "two at once", "unknown clock"],
)
def test_a_log_that_does_not_tell_changes_nothing(records: list, error_s: float | None) -> None:
    """Without a stack, near it in time, of one kind and on a known clock, the verdict stays."""
    found = triggers([1], log(*records), held="probe", error_s=error_s)
    assert found["trigger"].tolist() == ["probe"]
    assert found["because"].tolist() == ["no timer had run out; it was lost"]
