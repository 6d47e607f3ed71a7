"""Records a simulated run: what instruments would have logged of it, and the truth beside it.

Into a directory: both ends' captures, the data sender's TCP state, the logs of a link protocol that has one, which
frames the radio lost, and `truth.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from multitracer.parsers import pcap, tcpstats
from multitracer.replay.arq.notes import Log
from multitracer.replay.record.instruments import START_NS
from multitracer.replay.record.known_run import State
from multitracer.replay.record.link_frames import LinkFrames
from multitracer.replay.record.link_logs import LinkLogs
from multitracer.replay.record.run_truth import Truth
from multitracer.replay.record.simulated_run import SimulatedRun, run_of
from multitracer.replay.simulate.run import metrics
from multitracer.replay.simulate.scenario import Scenario
from multitracer.wire.layers import RAW_IP

CAPTURES = ("snd.pcap", "rcv.pcap")
"""Beside the data's sender, and beside its receiver."""
STATE, TRUTH = "tcpstats.txt", "truth.json"
NO_THRESHOLD = 1 << 30
"""From here on ssthresh limits nothing."""


def record_simulation(scenario: Scenario, seed: int, directory: Path) -> dict[str, Any]:
    """Run a seed of a scenario, and write its recording into a directory; gives the metrics."""
    run = recorded(scenario, seed, directory)
    return metrics(scenario, run.simulation, run.session)


def recorded(scenario: Scenario, seed: int, directory: Path) -> SimulatedRun:
    """The same; gives the run."""
    directory.mkdir(parents=True, exist_ok=True)
    logs = LinkLogs(directory, START_NS)
    frames = LinkFrames()

    def hear(run: SimulatedRun, log: Log) -> None:
        logs.hear(run, log)
        frames.hear(run, log)

    run = run_of(scenario, seed, START_NS, hear)
    logs.finish(run)
    for name, end in zip(CAPTURES, (run.sender, 1 - run.sender), strict=True):
        pcap.write(directory / name, [(START_NS + at, octets) for at, octets in run.captured[end]], RAW_IP)
    with (directory / STATE).open("w", encoding="utf-8", newline="\n") as stream:
        tcpstats.write(stream, _states(run))
    (directory / TRUTH).write_text(json.dumps(truth(run, frames), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return run


def _states(run: SimulatedRun) -> pd.DataFrame:
    """The data sender's windows, round trips and timers, as they were after each event."""
    payload = run.flows.form.payload_bytes
    rows = [_state(state, payload) for state in run.states if state.end == run.sender]
    return pd.DataFrame(rows, columns=["time_ns", "local", "remote", *tcpstats.KEYS.values()])


def _state(state: State, payload: int) -> tuple[Any, ...]:
    seen, known = state.seen, state.seen.srtt_ns > 0
    threshold = seen.ssthresh * payload if 0 < seen.ssthresh < NO_THRESHOLD else float("inf")
    return (
        START_NS + state.time_ns, state.flow.name(state.end), state.flow.name(1 - state.end), int(seen.cwnd * payload),
        threshold, seen.srtt_ns / 1e9 if known else float("nan"), seen.rttvar_ns / 1e9 if known else float("nan"),
        seen.rto_ns / 1e9,
    )  # fmt: skip


def truth(run: SimulatedRun, frames: LinkFrames) -> dict[str, Any]:
    """What an analysis of the recording should find; times are from the first packet of TCP on."""
    first_ns = run.copies[0].sent_ns if run.copies else 0
    true = Truth(run, frames, first_ns)
    return {
        "parameters": run.scenario.parameters,
        "start_ns": START_NS + first_ns,
        "clocks": [{"file": name, "offset_s": 0.0, "drift_ppm": 0.0} for name in CAPTURES],
        "retransmissions": [true.resend(one) for one in run.resends],
        **true.shares(),
    }
