"""The accounting by the path's rate: what is carried, what the path holds, and when it is idle."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limiting import measured
from sending import Segment, ack, again, blocks, data, judged, syn_ack, table
from two_ends import MS, START, Path, transfer

from multitracer.accounting.by_rate import Captured, account_by_rate
from multitracer.accounting.limits import Told, find_limits
from multitracer.accounting.session import Accounting
from multitracer.compute import kernels
from multitracer.model.limits import Limits
from multitracer.model.paths import Paths
from multitracer.tcp.connection_rows import Groups

RATE_BPS = 112_000
"""A segment of 100 octets, 140 with its headers, takes 10 ms."""


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def captured(segments: tuple[Segment, ...], frame: pd.DataFrame, paths: Paths, resent: pd.DataFrame) -> Captured:
    """The tables of one connection between two hosts, the client's data measured beside it."""
    connections = pd.DataFrame({"client": ["10.0.0.1:1000"], "server": ["10.0.0.2:80"]})
    return Captured(frame, blocks(segments), connections, measured(frame), resent, Groups(frame, 1), paths)


def accounted(*segments: Segment, rate_bps: float | None = RATE_BPS) -> Accounting | None:
    """The accounting of the client, from the capture beside it."""
    frame = table(segments)
    frame["wire_bytes"] = frame["payload_bytes"] + 40
    nowhere = (np.full(len(frame), -1, dtype=np.int32), np.full(len(frame), -1, dtype=np.int8))
    tables = captured(segments, frame, Paths(np.array([[0, -1]]), np.array([[-1, 0]]), *nowhere), judged(*segments))
    return account_by_rate(0, limited(tables, rate_bps), tables)


def limited(tables: Captured, rate_bps: float | None) -> Limits:
    """What limited the client, by a stated rate."""
    return find_limits(
        tables.segments, tables.sacks, tables.measures, tables.groups, tables.paths, tables.retransmissions,
        Told(rate_bps),
    )  # fmt: skip


def milliseconds(found: Accounting | None) -> dict[str, float]:
    """How long each cause lasted, without those that never did."""
    assert found is not None
    lasted = {name: share * found.utilization["session_s"] * 1000 for name, share in found.shares.items()}
    return {name: round(ms, 3) for name, ms in lasted.items() if ms}


def test_what_is_in_flight_for_longer_than_the_rate_needs_is_held() -> None:
    """10 ms to carry it, 90 ms until it is acknowledged; then nothing is in flight until more is sent."""
    found = accounted(data(0, 1, 101), ack(100, 101), data(500, 101, 201), ack(600, 201))
    assert milliseconds(found) == {"new_data": 20, "path_held": 180, "idle_sender": 400}


def test_packets_are_carried_one_after_the_other() -> None:
    """Three sent at once take three times as long, and no longer than until they are acknowledged."""
    flight = [data(0, 1 + 100 * n, 101 + 100 * n) for n in range(3)]
    assert milliseconds(accounted(*flight, ack(100, 301))) == {"new_data": 30, "path_held": 70}
    assert milliseconds(accounted(*flight, ack(25, 301))) == {"new_data": 25}


def test_what_was_lost_is_neither_carried_nor_in_flight() -> None:
    """The wait for the timer is recovery; the resend is carried as new data. A duplicate would be reported."""
    script = (
        syn_ack(0), data(0, 1, 101, stamp=1), ack(100, 101, echo=1), ack(100, 101, dsack=(1, 101), echo=1),
        data(101, 101, 201, stamp=101), again(700, 101, 201, stamp=700), ack(800, 201, echo=700),
    )  # fmt: skip
    assert milliseconds(accounted(*script)) == {
        "new_data": 20, "path_held": 180, "idle_sender": 1, "idle_recovery": 599,
    }  # fmt: skip


def test_the_wait_before_a_needless_resend_is_the_paths() -> None:
    """The first copy was in flight all the time; octets that came twice are not new."""
    script = (
        data(0, 1, 101, stamp=1), again(300, 1, 101, stamp=300), ack(400, 101, echo=1),
        ack(401, 101, dsack=(1, 101), echo=1), data(450, 101, 201, stamp=450), ack(550, 201, echo=450),
    )  # fmt: skip
    spent = milliseconds(accounted(*script))
    assert spent["tcp_retransmitted"] == pytest.approx(10 * 100 / 140, abs=0.001)
    assert spent["path_held"] == pytest.approx(400 - 20 + 90, abs=0.001)
    assert "idle_recovery" not in spent


def test_a_selective_acknowledgement_ends_the_flight_of_what_it_covers() -> None:
    """The hole was lost: after the SACK nothing is in flight until it is resent."""
    script = (
        syn_ack(0), data(0, 1, 101, stamp=1), data(1, 101, 201, stamp=1), ack(100, 1, (101, 201), echo=1),
        again(500, 1, 101, stamp=500), ack(600, 201, echo=500),
    )  # fmt: skip
    spent = milliseconds(accounted(*script))
    assert (spent["new_data"], spent["path_held"]) == (20, 89 + 90)


def test_a_closed_window_is_the_windows_although_all_is_acknowledged() -> None:
    """Nothing is in flight, and the sender may not send."""
    found = accounted(data(0, 1, 101), ack(100, 101, window=0), ack(600, 101), data(601, 101, 201), ack(700, 201))
    assert milliseconds(found)["idle_window_limited"] == 500


def test_without_a_rate_there_is_no_accounting() -> None:
    """Neither told nor found."""
    assert accounted(data(0, 1, 101), ack(100, 101), rate_bps=None) is None


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(0, 0.2), st.floats(1, 40), st.floats(1e4, 1e7))
def test_every_instant_has_one_cause(seed: int, loss: float, spacing_ms: float, rate_bps: float) -> None:
    """Shares of any transfer add up to 1, and its intervals follow one another without a gap."""
    frame, _, _ = transfer(Path(loss=loss), 2.0, spacing_ms, seed)
    frame["time_ns"] = np.maximum.accumulate(frame["time_ns"].to_numpy())
    nowhere = (np.full(len(frame), -1, dtype=np.int32), np.full(len(frame), -1, dtype=np.int8))
    tables = captured((), frame, Paths(np.array([[0, -1]]), np.array([[-1, 0]]), *nowhere), judged())
    limits = limited(tables, rate_bps)
    found = account_by_rate(0, limits, tables)
    if found is None:
        assert not limits.rate_from[0] or limits.end_ns[0] < 0
        return
    assert sum(found.shares.values()) == pytest.approx(1, abs=1e-9)
    start, end, cause = found.intervals
    assert (start[1:] == end[:-1]).all()
    assert (cause[1:] != cause[:-1]).all()
    assert START <= start[0] < end[-1] < START + 10_000 * MS
