"""Records a simulated run: what instruments would have logged of it, and the truth beside it.

Into a directory: both ends' captures, the data sender's TCP state, the logs of a link protocol that has one, which
frames the radio lost, and `truth.json`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from multitracer.parsers import pcap, tcpstats
from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.engine.loop import NO_SDU
from multitracer.replay.record.accounting_truth import LinkAccounting, accounting_of
from multitracer.replay.record.blame_truth import blame_of
from multitracer.replay.record.findings_truth import TrueFindings
from multitracer.replay.record.instruments import START_NS
from multitracer.replay.record.limits_truth import largest, limits
from multitracer.replay.record.link_frames import LOGGED, LinkFrames
from multitracer.replay.record.link_logs import SIDES, LinkLogs
from multitracer.replay.record.simulated_run import SimulatedRun, State, run_of
from multitracer.replay.record.tcp_truth import Resend, resends
from multitracer.replay.simulate.measures import REPEATED
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
    transfer = largest(run)
    logged = transfer is not None and run.scenario.word("link.protocol") in LOGGED
    side = frames.of(run, transfer.end) if transfer and logged else None
    if side is not None:
        side.note_left()
    accounting = accounting_of(side, transfer)
    true = _findings(accounting, frames)
    return {
        "parameters": run.scenario.parameters,
        "start_ns": START_NS + first_ns,
        "clocks": [{"file": name, "offset_s": 0.0, "drift_ppm": 0.0} for name in CAPTURES],
        "retransmissions": [_resend(one, first_ns, true) for one in resends(run)],
        "limits": limits(transfer) if transfer is not None else None,
        "accounting": accounting.shares if accounting is not None else None,
        "blame": _blame(true, first_ns) if true is not None else None,
        "findings": _told(true, first_ns) if true is not None else None,
        "links": links(run),
    }


def _findings(accounting: LinkAccounting | None, frames: LinkFrames) -> TrueFindings | None:
    """All that happened; None where the link's frames are not logged."""
    if accounting is None:
        return None
    side = accounting.side
    return TrueFindings(accounting, frames.of(side.run, 1 - side.side))


def _blame(true: TrueFindings, first_ns: int) -> list[dict[str, Any]]:
    """Stretches of time with the root to which each is charged, in order of time."""
    found = blame_of(true)
    return [
        {"cause": cause, "start_s": (start - first_ns) / 1e9, "end_s": (end - first_ns) / 1e9}
        for start, end, cause in sorted((*span, cause) for cause, spans in found.items() for span in spans)
    ]  # fmt: skip


def _told(true: TrueFindings, first_ns: int) -> list[dict[str, Any]]:
    """What happened, with the kinds of its chain from the root on; of an idle link, what left it idle."""
    return [
        {"kind": one.kind, "start_s": (one.start_ns - first_ns) / 1e9, "end_s": (one.end_ns - first_ns) / 1e9,
         "root": one.root.kind, "chain": one.chain} | ({"idle": one.idle} if one.idle else {})
        for one in sorted(true.found, key=lambda one: one.start_ns)
    ]  # fmt: skip


def _resend(one: Resend, first_ns: int, true: TrueFindings | None) -> dict[str, Any]:
    segment, root = one.copy.segment, one.root
    before = true.earlier(one.copy) if true is not None and root == "link-reset" else None
    if true is not None and before is not None:  # the link may have given the earlier copy up by itself
        loser = true.loser(before)
        root = loser.kind if loser is not None else None
    return {
        "time_s": (one.copy.sent_ns - first_ns) / 1e9, "connection": segment.flow.number, "seq": segment.seq,
        "payload_bytes": segment.payload_bytes, "trigger": one.trigger, "spurious": "yes" if one.spurious else "no",
        "root": root,
    }  # fmt: skip


def links(run: SimulatedRun) -> list[dict[str, Any]]:
    """What each direction of the link carried: its own frames, not what went past it."""
    counted = Counter((row.side, row.event) for row in run.link if row.what == NO_SDU)
    protocol, engine = run.scenario.word("link.protocol"), run.simulation.engine
    return [
        {
            "protocol": protocol, "sender": name, "frames_sent": counted[side, notes.SENT],
            "frames_retransmitted": _repeated(protocol, engine.protocol.counters(entity)),
            "frames_received": counted[1 - side, notes.RECEIVED], "frames_erased": counted[1 - side, notes.ERASED],
        }
        for side, (name, entity) in enumerate(zip(SIDES, (engine.a, engine.b), strict=True))
    ]  # fmt: skip


def _repeated(protocol: str, counters: Mapping[str, int]) -> int:
    """How many of an entity's frames were sent again."""
    return counters[REPEATED[protocol]] if protocol in REPEATED else 0
