"""A kernel's log of TCP state: whose records they are, and where its clock stands."""

from __future__ import annotations

import numpy as np
import pandas as pd
from two_ends import MS, START, segments

from multitracer.model.schema import ACK, build
from multitracer.model.trace import Input, Recording
from multitracer.tcp.state_logs import LEAST_ACKS, assigned, place

CLIENT, SERVER = "10.0.0.1:1", "10.0.0.2:2"
UPTIME_NS = 4_000 * 10**9
ISN = 2**32 - 5000
COUNT = 20


def connections(*starts: int) -> pd.DataFrame:
    """Connections between the same two sockets, one after the other."""
    count = len(starts)
    return build(
        "connections",
        {
            "connection": range(count), "flow": [0] * count, "client": [CLIENT] * count, "server": [SERVER] * count,
            "start_ns": starts, "end_ns": [start + 10**9 for start in starts], "handshake_seen": [True] * count,
            "closed": ["fin"] * count, "isn_known_client": [True] * count, "isn_known_server": [True] * count,
            "window_scaled": [True] * count,
        },
    )  # fmt: skip


def logged(times: np.ndarray, una: np.ndarray, local: str = CLIENT, remote: str = SERVER) -> pd.DataFrame:
    """Records made whenever a segment arrived, with snd_una as it was before."""
    return build(
        "tcp_state",
        {
            "record": range(1, len(times) + 1), "time_ns": times, "recorded_ns": times, "local": [local] * len(times),
            "remote": [remote] * len(times), "event": ["recv"] * len(times), "snd_una": una.astype(np.float64),
            "input": [0] * len(times),
        },
    )  # fmt: skip


def captured(arrivals: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Acknowledgements of 1000 bytes each, as the sender's capture saw them, and their raw numbers."""
    raw = ((ISN + 1000 * np.arange(1, len(arrivals) + 1)) % 2**32).astype(np.uint32)
    table = segments({"time_ns": arrivals, "sender": np.ones(len(arrivals)), "flags": np.full(len(arrivals), ACK)})
    return table, raw


def placed(clock: str, beside: int = 0, count: int = COUNT) -> tuple[pd.DataFrame, Input]:
    """The log of a host that started UPTIME before, put on the capture's clock."""
    arrivals = START + np.arange(count) * 30 * MS
    table, raw = captured(arrivals)
    before = np.concatenate([[ISN], raw[:-1]]).astype(np.int64)
    times = arrivals - START + UPTIME_NS + 5_000 if clock == "monotonic" else arrivals + 5_000
    entry = Input(0, "probe", Recording("tcp_probe", clock=clock))
    ends = np.array([[beside, -1]])
    state, [entry] = place(logged(times, before), table, raw, connections(START), ends, [entry], "snd.pcap", {})
    return state, entry


def test_uptime_is_placed_by_acknowledgements() -> None:
    """Each record lands on the arrival that caused it, within the error stated."""
    state, entry = placed("monotonic")
    arrivals = START + np.arange(COUNT) * 30 * MS
    assert entry.clock is not None
    assert entry.clock.error_s is not None
    assert np.abs(state["time_ns"].to_numpy() - arrivals).max() <= entry.clock.error_s * 1e9
    assert entry.clock.error_s <= 0.002


def test_a_log_that_no_capture_stands_beside_is_left_out() -> None:
    """Acknowledgements seen at the other end place nothing: the records go, and a note says so."""
    state, entry = placed("monotonic", beside=-1)
    assert len(state) == 0
    assert any("Left out" in note for note in entry.recording.notes)


def test_too_few_acknowledgements_place_no_clock() -> None:
    """With fewer acknowledgements than the least number nothing is guessed."""
    state, _ = placed("monotonic", count=LEAST_ACKS - 1)
    assert len(state) == 0


def test_a_calendar_clock_is_taken_as_the_captures_and_says_so() -> None:
    """Calendar times stay as they are, with no error claimed."""
    state, entry = placed("epoch")
    assert (state["time_ns"] == state["recorded_ns"]).all()
    assert entry.clock is not None
    assert entry.clock.error_s is None
    assert "calendar" in entry.clock.how


def test_records_know_their_connection_and_end() -> None:
    """The socket tells the connection; of two uses of it, the time does."""
    times = START + np.array([5, 10_000]) * MS
    state = logged(times, np.array([1, 1]), local=SERVER, remote=CLIENT)
    state = assigned(state, connections(START, START + 9_000 * MS))
    assert state["connection"].tolist() == [0, 1]
    assert state["sender"].tolist() == [1, 1]


def test_a_socket_that_no_capture_saw_belongs_to_no_connection() -> None:
    """Unknown sockets keep the null connection."""
    state = logged(START + np.array([5]) * MS, np.array([1]), local="10.9.9.9:9")
    state = assigned(state, connections(START))
    assert state["connection"].tolist() == [-1]
