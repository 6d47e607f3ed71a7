"""Transfers by ns-2.35 with listed losses, as scenarios: the same time, and packets sent again."""

from __future__ import annotations

import csv
from math import hypot
from typing import Any

import pytest
from shared_data import shared

from multitracer.replay.simulate.run import run
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed
from multitracer.replay.simulate.statistics import summary

VARIANTS = {"Reno": "reno", "Newreno": "newreno", "Sack1": "sack", "Fack": "fack"}
BAD_S = {"0.015": 0.1, "0.025": 0.2, "0.054": 0.5, "0.098": 1.0}
"""Mean length of the bad state for each stated loss rate."""
TWO_STATE = {
    "channel.model": "two-state", "channel.good_s": 10, "channel.good_ber": 1e-6, "channel.bad_ber": 1e-2,
    "channel.rule": "end", "channel.start": "good",
}  # fmt: skip
"""ns-2 judged a frame by the state at its end, and began in the good one."""
SEEDS = range(1, 11)
ASUNDER = 1.5
"""So many times the root of the sum of both half-widths' squares means may lie from each other."""
SLOW_WIRE = {"wired.rate_bps": 2_000_000, "wired.delay_s": 0.05}


def rows(name: str) -> list[dict[str, str]]:
    """What ns-2 printed."""
    with shared("..", "facts", name).open(newline="") as file:
        return list(csv.DictReader(file))


def result(seed: int = 1, **keys: Any) -> dict[str, Any]:
    """The metrics of one run; `__` stands for a dot."""
    given = {"link.hand_down": "eager"} | {name.replace("__", "."): value for name, value in keys.items()}
    return run(resolve("", dict(parsed(name, value) for name, value in given.items())), seed)


def of_row(row: dict[str, str]) -> dict[str, Any]:
    """The keys that make a row's transfer; ns-2's clock ticked 0.5 ms before it began."""
    segment = 290 if row["hdr"] == "1" else 250
    return {
        "tcp.variant": VARIANTS[row["tcp"]], "tcp.segment_bytes": segment, "link.frame_bytes": segment,
        "tcp.window_segments": int(row["window"]), "tcp.min_rto_s": float(row["minrto_s"]),
        "tcp.delayed_ack": "second" if row["sink"] == "delack" else "none", "tcp.tick_phase_s": 0.0005,
        "workload.segments": 200, "channel.model": "listed",
        "channel.forward.frames": row["drop_data_packets"].split(), "channel.reverse.frames": row["drop_acks"].split(),
    } | (SLOW_WIRE if row["wired"] == "2M50" else {})  # fmt: skip


@pytest.mark.data
@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("agent", VARIANTS)
def test_scenarios_with_listed_losses_take_as_long_as_in_ns_2(agent: str) -> None:
    """To the millisecond that ns-2 printed, with as many packets sent and sent again."""
    ours, theirs = [], []
    for row in (row for row in rows("ns2_deterministic.csv") if row["tcp"] == agent):
        found = result(**of_row(row))
        ours.append((f"{found['completion_s'][0]:.3f}", found["packets_sent"], found["tcp_retransmissions"]))
        theirs.append((row["time_s"], int(row["sent"]), int(row["rexmit"])))
    assert len(theirs) > 14
    assert ours == theirs


@pytest.mark.data
@pytest.mark.compiled
@pytest.mark.slow
def test_lossless_transfers_are_as_fast_as_in_ns_2() -> None:
    """10 MB, to 0.01 kbit/s."""
    lossless = [row for row in rows("ns2_raw_link.csv") if row["error_model"] == "none" or float(row["flr"]) == 0]
    assert len(lossless) == 2
    for row in lossless:
        wire = SLOW_WIRE if row["wired"] == "2M50" else {}
        found = result(tcp__variant=VARIANTS[row["tcp"]], **wire)
        assert found["throughput_bps"] / 1000 == pytest.approx(float(row["throughput_kbps_mean"]), abs=0.01)


@pytest.mark.data
@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("agent", ["Reno", "Sack1"])
@pytest.mark.parametrize("errors", ["uniform", "two_state"])
def test_transfers_with_random_losses_are_as_fast_as_in_ns_2(agent: str, errors: str) -> None:
    """10 MB at each loss rate: the mean of ten runs within what both intervals allow."""
    lossy = [row for row in rows("ns2_raw_link.csv") if (row["tcp"], row["error_model"]) == (agent, errors)]
    assert len(lossy) == 4
    for row in lossy:
        rate = {"channel.model": "uniform", "channel.frame_loss_rate": float(row["flr"])}
        losses = rate if errors == "uniform" else TWO_STATE | {"channel.bad_s": BAD_S[row["flr"]]}
        wire = SLOW_WIRE if row["wired"] == "2M50" else {}
        given = {"tcp.variant": VARIANTS[agent], **losses, **wire}
        ours = summary([result(seed, **given)["throughput_bps"] / 1000 for seed in SEEDS])
        allowed = ASUNDER * hypot(ours["ci95"], float(row["ci95"]))
        assert ours["mean"] == pytest.approx(float(row["throughput_kbps_mean"]), abs=allowed)
