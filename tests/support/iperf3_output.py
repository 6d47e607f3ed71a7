"""iperf3's JSON, written out: as one document, or as a line for each event."""

from __future__ import annotations

import json
from typing import Any

SECOND = 1_700_000_000


def transfer(streams: int = 2, intervals: int = 8, *, sends: bool = True, **start: Any) -> dict[str, Any]:
    """A test of some streams; stream n's window grows by n kilobytes an interval."""
    connected = [
        {"socket": 5 + n, "local_host": "10.0.0.1", "local_port": 5000 + n,
         "remote_host": "10.0.0.2", "remote_port": 5201}
        for n in range(streams)
    ]  # fmt: skip
    about = {
        "connected": connected, "version": "iperf 3.12",
        "timestamp": {"time": "Tue, 14 Nov 2023 22:13:20 GMT", "timesecs": SECOND},
        "test_start": {"protocol": "TCP", "num_streams": streams, "omit": 0, "duration": intervals},
    }  # fmt: skip
    samples = [{"streams": [_sample(n, at, sends) for n in range(streams)], "sum": _sum(at)} for at in range(intervals)]
    ends = [{"sender": {"socket": 5 + n, "start": 0, "end": intervals, "max_snd_cwnd": 9}} for n in range(streams)]
    return {"start": about | start, "intervals": samples, "end": {"streams": ends}}


def _sample(stream: int, at: int, sends: bool) -> dict[str, Any]:
    state = {"retransmits": at, "snd_cwnd": 1000 * (stream + 1) * (at + 1), "rtt": 20_000, "rttvar": 500, "pmtu": 1500}
    return {
        "socket": 5 + stream, "start": at, "end": at + 1.0, "seconds": 1, "bytes": 125_000, "bits_per_second": 1e6,
        **(state if sends else {}), "omitted": False, "sender": sends,
    }  # fmt: skip


def _sum(at: int) -> dict[str, Any]:
    return {"start": at, "end": at + 1.0, "bytes": 250_000, "retransmits": 2 * at, "omitted": False, "sender": True}


def document(test: dict[str, Any]) -> bytes:
    return json.dumps(test, indent="\t", separators=(",", ":\t")).encode() + b"\n"


def stream(test: dict[str, Any]) -> bytes:
    """As --json-stream prints it."""
    events = [{"event": "start", "data": test["start"]}]
    events += [{"event": "interval", "data": interval} for interval in test["intervals"]]
    events += [{"event": "end", "data": test["end"]}]
    return "".join(json.dumps(event) + "\n" for event in events).encode()
