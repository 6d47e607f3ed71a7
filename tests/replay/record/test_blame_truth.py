"""What is true of the link of a recorded run: how its time was spent, what happened, and who is to blame."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from simulations import scenario

from multitracer.compute import kernels
from multitracer.model.schema import CAUSES
from multitracer.replay.record.simulation import TRUTH, record_simulation
from multitracer.replay.simulate.run import run

RLP: dict[str, Any] = {
    "link__protocol": "rlp", "link__rate_bps": 12_000, "link__delay_s": 0.1, "link__frame_bytes": 30,
    "link__queue_frames": 0, "tcp__variant": "newreno", "tcp__model": "rfc", "tcp__header_bytes": 40,
    "workload__file_bytes": 8_000,
}  # fmt: skip


def recorded(folder: Path, **keys: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metrics and the truth of a recording, made as plain Python."""
    kernels.choose(0)
    metrics = record_simulation(scenario(**RLP | keys), 1, folder)
    truth: dict[str, Any] = json.loads((folder / TRUTH).read_text())
    return metrics, truth


def charged_s(truth: dict[str, Any]) -> dict[str, float]:
    """The seconds that each root is charged with."""
    found: dict[str, float] = {}
    for one in truth["blame"]:
        found[one["cause"]] = found.get(one["cause"], 0.0) + one["end_s"] - one["start_s"]
    return found


@pytest.mark.parametrize("protocol", ["rlp", "rlc-am"])
def test_every_instant_has_one_cause_and_one_root(protocol: str, tmp_path: Path) -> None:
    """The shares of the accounting add up to 1; blame has all but new data and overhead, no instant twice."""
    _, truth = recorded(
        tmp_path, link__protocol=protocol, channel__model="uniform", channel__frame_loss_rate=0.03,
        **{} if protocol == "rlp" else {"link__frame_bytes": 40},
    )  # fmt: skip
    accounting, blame = truth["accounting"], truth["blame"]
    assert list(accounting) == list(CAUSES)
    assert sum(accounting.values()) == pytest.approx(1, abs=1e-9)
    assert accounting["link_retransmitted"] > 0
    assert all(one["end_s"] <= other["start_s"] + 1e-9 for one, other in pairwise(blame))
    spent = 1 - accounting["new_data"] - accounting["link_overhead"]
    session_s = sum(charged_s(truth).values()) / spent
    assert session_s == pytest.approx(truth["blame"][-1]["end_s"], rel=0.05)


def test_without_losses_nothing_is_repeated_and_nobody_repairs(tmp_path: Path) -> None:
    """A perfect radio: no cause but the sender's windows and the queues that they fill, and what nothing explains."""
    _, truth = recorded(tmp_path)
    assert truth["accounting"]["link_retransmitted"] == truth["accounting"]["tcp_retransmitted"] == 0
    own = {"idle-link", "application-limited", "flow-control-gap", "excessive-queueing"}
    assert {one["kind"] for one in truth["findings"]} <= own


def test_a_forced_reset_bears_what_it_flushed(tmp_path: Path) -> None:
    """The timeout that follows is caused by the reset, and so is the wait for it."""
    _, truth = recorded(tmp_path, link__reset_at_s=[4.0])
    resets = [one for one in truth["findings"] if one["kind"] == "link-reset"]
    assert len(resets) == 1
    assert truth["accounting"]["link_reset"] > 0
    assert {one["root"] for one in truth["findings"] if one["kind"] == "timeout"} == {"link-reset"}
    assert charged_s(truth)["link-reset"] > resets[0]["end_s"] - resets[0]["start_s"]


def test_what_rlc_discards_is_no_resets_loss(tmp_path: Path) -> None:
    """RLC gives up SDUs by itself long before a reset that is forced; RLP gives up nothing."""
    _, truth = recorded(
        tmp_path, link__protocol="rlc-am", link__frame_bytes=40, link__rlc_am__max_dat=2, link__reset_at_s=[20.0],
        channel__model="uniform", channel__frame_loss_rate=0.05,
    )  # fmt: skip
    needed = [one for one in truth["retransmissions"] if one["spurious"] == "no"]
    before = [one for one in needed if one["time_s"] < 20]
    assert len(before) > 3
    assert "link-reset" not in {one["root"] for one in before}
    assert "link-reset" not in {one["root"] for one in truth["findings"] if one["end_s"] < 20}


def test_no_log_no_accounting(tmp_path: Path) -> None:
    """Of links whose frames are not logged nothing is told."""
    _, truth = recorded(tmp_path, link__protocol="raw", link__frame_bytes=1500)
    assert truth["accounting"] is truth["blame"] is truth["findings"] is None


def test_the_utilization_of_a_run_is_that_of_its_truth(tmp_path: Path) -> None:
    """With and without a recording: idle time and what TCP had sent before are no use."""
    keys = {"channel__model": "uniform", "channel__frame_loss_rate": 0.02, "link__reset_at_s": [3.0]}
    metrics, truth = recorded(tmp_path, **keys)
    accounting = truth["accounting"]
    wasted = sum(accounting[name] for name in accounting if name.startswith("idle_") or name == "tcp_retransmitted")
    assert metrics["utilization_percent"] == pytest.approx(100 * (1 - wasted), abs=0.01)
    assert metrics["link_recovery_hole_s"] > 0
    assert run(scenario(**RLP | keys), 1) == metrics
