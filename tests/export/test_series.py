"""The series under the original tool's names."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from multitracer.export.series import HOST_SERIES, RLC_SERIES, RLP_SERIES, TCP_SERIES, View, series, write
from multitracer.model.schema import ACK, MARKS, build

ORIGIN = 1_700_000_000_000_000_000
TWICE = MARKS["captured_twice"]


def segments(*rows: tuple[int, int, float, int, int, int, int]) -> pd.DataFrame:
    """Segments of connection 0 from (point, sender, time_s, seq, ack, payload, marks)."""
    point, sender, time, seq, ack, payload, marks = zip(*rows, strict=True)
    times = [ORIGIN + round(t * 1e9) for t in time]
    many = len(rows)
    same: dict[str, Any] = dict.fromkeys(("input", "connection", "tsval", "tsecr", "options", "checksum"), [0] * many)
    return build(
        "segments",
        same | {
            "record": range(1, many + 1), "point": point, "sender": sender,
            "time_ns": times, "recorded_ns": times, "seq": seq, "ack": ack,
            "payload_bytes": payload, "flags": [ACK] * many, "marks": marks,
            "wire_bytes": [40 + n for n in payload],
        },
    )  # fmt: skip


def state(times: list[float], *, source: int = 0, **columns: list[float]) -> pd.DataFrame:
    """State of connection 0's client."""
    many, when = len(times), [ORIGIN + round(t * 1e9) for t in times]
    return build(
        "tcp_state",
        {
            "input": [source] * many, "time_ns": when, "recorded_ns": when, "connection": [0] * many,
            "sender": [0] * many, "event": ["sample"] * many, **columns,
        },
    )  # fmt: skip


def frames(*rows: dict[str, Any]) -> pd.DataFrame:
    """Frames from rows that name what differs from a data frame without a poll."""
    usual: dict[str, Any] = {
        "input": 0, "link": 0, "side": "mobile", "sent": True, "sn": -1, "nr": -1, "poll": 0, "command": 0,
        "sn_unwrapped": -1, "epoch": 0, "transmission": -1, "payload_bytes": -1, "nacks": None,
    }  # fmt: skip
    full = [usual | row for row in rows]
    columns = {name: [row[name] for row in full] for name in (*usual, "type")}
    times = [ORIGIN + round(row["t"] * 1e9) for row in full]
    return build("frames", columns | {"time_ns": times, "recorded_ns": times})


def links(protocol: str) -> pd.DataFrame:
    """A link and its reverse."""
    rows = {"link": [0, 1], "protocol": [protocol] * 2, "bearer": [""] * 2, "sender": ["mobile", "network"]}
    return build("links", rows | {"reverse": [1, 0]})


def points(frame: pd.DataFrame) -> list[tuple[float, float]]:
    """The points of a series; None where it has no height."""
    values = [None if value != value else value for value in frame["value"].tolist()]
    return list(zip(frame["time_s"].round(9).tolist(), values, strict=True))


def test_segments_are_seen_from_both_ends() -> None:
    """Data and acknowledgements at the sender's and the receiver's point; what a capture doubled is once."""
    table = segments(
        (0, 0, 1.0, 1, 1, 100, 0), (0, 0, 1.1, 101, 1, 50, 0), (0, 0, 1.1, 101, 1, 50, TWICE),
        (0, 1, 1.5, 1, 101, 0, 0),
        (0, 0, 2.0, 1, 1, 100, MARKS["retransmission"]), (1, 0, 1.3, 1, 1, 100, 0), (1, 1, 1.4, 1, 101, 7, 0),
    )  # fmt: skip
    made = series({"segments": table}, 0, View(0, sender_point=0, receiver_point=1), ORIGIN)
    assert points(made["TcpSnd-data"]) == [(1.0, 1), (1.1, 101), (2.0, 1)]
    assert points(made["TcpSnd-ack"]) == [(1.5, 101)]
    assert points(made["TcpRcv-data"]) == [(1.3, 1)]
    assert points(made["TcpRcv-ack"]) == [(1.4, 101)]
    assert set(made) <= set(TCP_SERIES)


def test_what_no_input_supports_is_absent() -> None:
    """Without the receiver's capture there are no TcpRcv series, without logs no others."""
    table = segments((0, 0, 1.0, 1, 1, 100, 0))
    assert set(series({"segments": table}, 0, View(0, sender_point=0), ORIGIN)) == {"TcpSnd-data"}
    assert series({"segments": table}, 1, View(0, sender_point=0), ORIGIN) == {}
    assert series({}, 0, View(0, 0, 1, 0), ORIGIN) == {}


def test_windows_are_in_bytes_and_at_their_changes() -> None:
    """Segments become bytes by the largest segment seen; an unset threshold has no height."""
    tables = {
        "segments": segments((0, 0, 1.0, 1, 1, 1448, 0)),
        "tcp_state": state(
            [1, 2, 3, 4],
            cwnd_segments=[10, 10, 11, nan],
            ssthresh_segments=[inf, inf, 5, 5],
            srtt_s=[nan, 0.5, 0.5, 0.25],
        ),
    }
    made = series(tables, 0, View(0, sender_point=0), ORIGIN)
    assert points(made["TcpSnd-cwnd"]) == [(1, 14480), (3, 11 * 1448)]
    assert points(made["TcpSnd-sstrsh"]) == [(3, 5 * 1448)]
    assert points(made["TcpSnd-srtt"]) == [(2, 0.5), (4, 0.25)]
    assert "TcpSnd-vrtt" not in made


def test_what_a_host_counted_in_intervals_stands_at_their_ends() -> None:
    """Throughput in bit/s and segments sent again, each interval's own, of the log that has most of them."""
    log = state([1, 2, 4], interval_s=[1, 1, 2], interval_bytes=[1000, 1000, 500], interval_resends=[0, nan, 2])
    other = state([1], source=1, interval_s=[1.0], interval_bytes=[7.0], interval_resends=[7.0])
    tables = {"tcp_state": pd.concat([log, other], ignore_index=True)}
    made = series(tables, 0, View(0), ORIGIN)
    assert set(made) == set(HOST_SERIES)
    assert points(made["TcpSnd-throughput"]) == [(1, 8000), (2, 8000), (4, 2000)]
    assert points(made["TcpSnd-resends"]) == [(1, 0), (4, 2)]


def test_the_segment_size_of_a_log_is_used() -> None:
    """ss gives cwnd in segments and bytes; offloaded segments of a capture do not change its size."""
    log = state([1], cwnd_segments=[10.0], cwnd_bytes=[14480.0])
    fuller = state([1, 2], source=1, cwnd_segments=[10.0, 12.0])
    tables = {
        "segments": segments((0, 0, 1.0, 1, 1, 64_000, 0)),
        "tcp_state": pd.concat([log, fuller], ignore_index=True),
    }
    made = series(tables, 0, View(0, sender_point=0), ORIGIN)
    assert points(made["TcpSnd-cwnd"]) == [(1, 14480), (2, 12 * 1448)]


def test_the_peer_s_mss_limits_the_segment_size() -> None:
    """Both captures may show offloaded segments; no segment was sent that is larger than the MSS of the SYN."""
    connections = build(
        "connections",
        {
            "connection": [0], "flow": [0], "client": ["a:1"], "server": ["b:2"], "start_ns": [0],
            "end_ns": [1], "handshake_seen": [True], "closed": ["fin"],
            "isn_known_client": [True], "isn_known_server": [True],
            "window_scaled": [True], "mss_client": [1460], "mss_server": [1400],
        },
    )  # fmt: skip
    tables = {
        "segments": segments((0, 0, 1.0, 1, 1, 64_000, 0)), "tcp_state": state([1], cwnd_segments=[2.0]),
        "connections": connections,
    }  # fmt: skip
    assert points(series(tables, 0, View(0, sender_point=0), ORIGIN)["TcpSnd-cwnd"]) == [(1, 2800)]


def rlp() -> dict[str, pd.DataFrame]:
    """A mobile that sends 61, 62 (mod 62: 0), repeats 61, is polled for and answered."""
    data = {"type": "I RR"}
    sent = [
        {"t": 1.00, "sn": 61, "sn_unwrapped": 61, "transmission": 0, **data},
        {"t": 1.02, "sn": 0, "sn_unwrapped": 62, "transmission": 0, **data},
        {"t": 1.20, "sn": 61, "sn_unwrapped": 61, "transmission": 1, **data},
        {"t": 1.60, "type": "RR", "poll": 1, "command": 1},
        {"t": 1.62, "type": "SABM", "poll": 1, "command": 1},
    ]
    heard = [
        {"t": 1.10, "type": "SREJ", "nr": 61},
        {"t": 1.12, "type": "I RR", "nr": 61, "sn": 5, "sn_unwrapped": 5, "transmission": 0},
        {"t": 1.40, "type": "RR", "nr": 1},
        {"t": 1.80, "type": "RR", "nr": 1, "poll": 1},
        {"t": 1.82, "type": "UA", "poll": 1},
    ]
    table = frames(*sent, *[{"link": 1, "sent": False, **row} for row in heard])
    times = [ORIGIN + t * 10**8 for t in (16, 16, 20, 21, 30)]
    events = build(
        "link_events",
        {
            "input": [0] * 5, "time_ns": times, "recorded_ns": times, "link": [0, 1, 1, 1, 1],
            "side": ["mobile"] * 4 + ["network"], "event": ["reset", "reset", "xoff", "xon", "xoff"],
        },
    )  # fmt: skip
    return {"links": links("rlp"), "frames": table, "link_events": events}


def test_an_rlp_link_s_nine_series() -> None:
    """Numbers are unwrapped, N(R) too; SREJ acknowledges nothing; events stand where the sender saw them."""
    made = series(rlp(), 0, View(0, link=0), ORIGIN)
    assert {name: points(frame) for name, frame in made.items()} == {
        "RlpSnd-data": [(1.0, 61), (1.02, 62)],
        "RlpSnd-data-rexmt": [(1.2, 61)],
        "RlpSnd-ack": [(1.12, 61), (1.4, 63), (1.8, 63)],
        "RlpSnd-srej-rcv": [(1.1, 61)],
        "RlpSnd-poll-snd": [(1.6, None)],
        "RlpSnd-rpoll-rcv": [(1.8, None)],
        "RlpSnd-rst": [(1.6, None)],
        "RlpSnd-xoff": [(2.0, None)],
        "RlpSnd-xon": [(2.1, None)],
    }
    assert set(made) == set(RLP_SERIES)


def test_after_a_reset_numbers_are_placed_among_those_of_their_epoch() -> None:
    """An acknowledgement of the new epoch is not taken for one of the old."""
    old = [{"t": 1 + n / 50, "type": "I RR", "sn": n, "sn_unwrapped": n, "transmission": 0} for n in range(10)]
    new = {"t": 2.0, "type": "I RR", "sn": 0, "sn_unwrapped": 10, "transmission": 0, "epoch": 1}
    heard = {"link": 1, "sent": False, "type": "RR"}
    table = frames(
        *old, new, {"t": 1.9, "nr": 0, "epoch": 1, **heard}, {"t": 2.5, "nr": 1, "epoch": 1, **heard},
        {"t": 1.5, "nr": 7, **heard},
    )  # fmt: skip
    made = series({"links": links("rlp"), "frames": table}, 0, View(0, link=0), ORIGIN)
    assert points(made["RlpSnd-ack"]) == [(1.5, 7), (1.9, 10), (2.5, 11)]


def test_an_rlc_link_s_series() -> None:
    """A status report acknowledges up to ACK_SN and names what is missing, each on its own."""
    table = frames(
        {"t": 1.0, "type": "AMD", "sn": 4095, "sn_unwrapped": 4095, "transmission": 0},
        {"t": 1.1, "type": "AMD", "sn": 0, "sn_unwrapped": 4096, "transmission": 0, "poll": 1},
        {"t": 1.3, "type": "AMD", "sn": 4095, "sn_unwrapped": 4095, "transmission": 1},
        {"t": 1.4, "type": "MRW"},
        {"t": 1.2, "link": 1, "sent": False, "type": "STATUS", "nr": 1, "nacks": [(4095, -1, -1), (0, 0, 9)]},
        {"t": 1.5, "link": 1, "sent": False, "type": "STATUS", "nr": 1, "nacks": []},
    )
    made = series({"links": links("rlc-umts"), "frames": table}, 0, View(0, link=0), ORIGIN)
    assert {name: points(frame) for name, frame in made.items()} == {
        "RlcSnd-data": [(1.0, 4095), (1.1, 4096)],
        "RlcSnd-data-rexmt": [(1.3, 4095)],
        "RlcSnd-ack": [(1.2, 4097), (1.5, 4097)],
        "RlcSnd-nack-rcv": [(1.2, 4095), (1.2, 4096)],
        "RlcSnd-poll-snd": [(1.1, 4096)],
        "RlcSnd-status-rcv": [(1.2, None), (1.5, None)],
        "RlcSnd-mrw": [(1.4, None)],
    }
    assert set(made) < set(RLC_SERIES)


def test_files_are_named_and_written_exactly(tmp_path: Path) -> None:
    """Nine decimals of time; whole numbers whole; no height: an empty field; connection N has its suffix."""
    made = series(rlp(), 0, View(0, link=0), ORIGIN) | {
        "TcpSnd-data": pd.DataFrame({"time_s": [0.0, 12345.000000001], "value": np.array([1, 2])}),
        "TcpSnd-srtt": pd.DataFrame({"time_s": [1.0], "value": [0.081036]}),
    }
    write(made, tmp_path, connection=2)
    assert (tmp_path / "TcpSnd-data.2.csv").read_text() == "time_s,value\n0.000000000,1\n12345.000000001,2\n"
    assert (tmp_path / "TcpSnd-srtt.2.csv").read_text() == "time_s,value\n1.000000000,0.081036\n"
    assert (tmp_path / "RlpSnd-xoff.csv").read_text() == "time_s,value\n2.000000000,\n"
    assert len(list(tmp_path.iterdir())) == len(made)


@pytest.mark.parametrize("largest", [1023, 1024])
def test_the_modulus_follows_from_the_numbers_seen(largest: int) -> None:
    """LTE counts modulo 1024, or 65536 when a number is larger."""
    table = frames(
        {"t": 1.0, "type": "AMD", "sn": largest, "sn_unwrapped": largest, "transmission": 0},
        {"t": 1.2, "link": 1, "sent": False, "type": "STATUS", "nr": 0, "nacks": []},
    )
    made = series({"links": links("rlc-lte"), "frames": table}, 0, View(0, link=0), ORIGIN)
    assert points(made["RlcSnd-ack"]) == [(1.2, 1024 if largest == 1023 else 0)]
