"""Runs of retrace's models, recorded: in parts and whole, of either end, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import rlp_story
from recorded import COLUMNS, OUTAGE, frames_in, losses, rows

from multitracer import cli
from multitracer.model.errors import UsageError
from multitracer.parsers.shared.experiment import read
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.rlc import RLC_AM_OCTETS
from multitracer.replay.engine.rlp import RLP
from multitracer.replay.record.instruments import START_NS
from multitracer.replay.record.recording import record, record_run
from multitracer.replay.retrace.models import MS, Air, named
from multitracer.replay.retrace.rlc import Acknowledged
from multitracer.replay.retrace.rlp import Rlp


def air(frame_bytes: int = 30, slots: int = 1300) -> Air:
    """What retrace runs a protocol over, with an outage."""
    return Air(losses(1, slots), losses(2, slots), frame_bytes, 20 * MS, 1, 200 * MS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("rlp", {"n2": "3"}),
        (
            "rlc-am",
            {"max_dat": "4", "sdu_bytes": "100", "max_rst": "64", "tx_window": "64", "poll_window_percent": "50"},
        ),
    ],
)
def test_analyze_finds_the_reset_of_a_recorded_run(model: str, given: dict[str, str], tmp_path: Path) -> None:
    """Status 0, nothing skipped, the capture known as the same frames again, and a reset in the outage."""
    record(model, given, air(), tmp_path / "run")
    assert cli.run(["analyze", str(tmp_path / "run"), "-o", str(tmp_path / "out"), "-q", "--no-report"]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert sorted(told["format"] for told in summary["inputs"])[-3] == "pcap"
    assert not any(told["skipped"] for told in summary["inputs"])
    resets = [found for found in summary["findings"] if found["kind"] == "link-reset"]
    assert any(OUTAGE.start <= found["start_s"] / 0.02 <= OUTAGE.stop for found in resets)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "given"), [("rlp", {"n2": "3"}), ("rlc-am", {"max_dat": "4", "max_rst": "64"})])
def test_a_run_recorded_in_parts_is_as_one_recorded_whole(model: str, given: dict[str, str], tmp_path: Path) -> None:
    """Every file, octet by octet."""
    over = air()
    files = record(model, given, over, tmp_path / "parts")
    known = named(model, given)
    if isinstance(known, Rlp):
        run = known.engine(over, 30_000).run((len(over.forth) - 1) * over.frame_ns)
    else:
        assert isinstance(known, Acknowledged)
        run = known.engine(over, 30_000, RLC_AM_OCTETS).run((len(over.forth) - 1) * over.frame_ns)
    whole = record_run(model, run, tmp_path / "whole")
    assert [path.name for path in files] == [path.name for path in whole]
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in whole]


@pytest.mark.slow
def test_the_ends_may_be_the_other_way_round(tmp_path: Path) -> None:
    """If A is the network, its frames go downlink, and its log is the network's."""
    record("rlp", {}, air(slots=500), tmp_path / "one")
    record("rlp", {}, air(slots=500), tmp_path / "other", side_a="network", start_ns=0)
    tables = [read(str(tmp_path / name / "frames.pcap")).tables for name in ("one", "other")]
    for (first, second), start in zip((("mobile", "network"), ("network", "mobile")), (START_NS, 0), strict=True):
        one = tables[0]["frames"][tables[0]["frames"]["side"] == first]
        other = tables[1]["frames"][tables[1]["frames"]["side"] == second]
        assert rows(one, COLUMNS[1:]) == rows(other, COLUMNS[1:])
        assert (one["time_ns"].to_numpy() - START_NS).tolist() == other["time_ns"].tolist(), start


@pytest.mark.parametrize("size", [7, 60, 72, 260])
def test_frames_of_other_sizes_are_read_back(size: int, tmp_path: Path) -> None:
    """RLP frames that no bearer of the specification has are logged like any."""
    record("rlp", {}, air(size, 400), tmp_path)
    table = frames_in(tmp_path / "rlpdump.network.txt")
    came = table[~table["sent"] & (table["sn"] >= 0)]
    assert (came["length_bytes"] == size - 5).all()
    assert came["payload_bytes"].max() == size - 6


def test_what_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    """With the value and its range."""
    with pytest.raises(UsageError, match=r"65500 octets.* 7 to 65400"):
        record("rlp", {}, air(65_500), tmp_path)
    with pytest.raises(UsageError, match=r"65500 octets.* at most 65400"):
        record("rlc-am", {}, air(65_500), tmp_path)
    with pytest.raises(UsageError, match=r"'sr' cannot be recorded\nThose that can are: rlp, rlc-am"):
        record("sr", {}, air(), tmp_path)
    with pytest.raises(UsageError, match="'handset'; it must be mobile or network"):
        record("rlp", {}, air(), tmp_path, side_a="handset")
    with pytest.raises(UsageError, match="start_ns is -1; it must be from 0"):
        record("rlp", {}, air(), tmp_path, start_ns=-1)
    with pytest.raises(UsageError, match="0 frames forth"):
        record("rlp", {}, Air(np.zeros(0), np.zeros(0), 30, 20 * MS, 1, 200 * MS), tmp_path)
    air_of = Direction(MS, MS)
    full = Engine(RLP, (rlp_story.Parameters(), rlp_story.Parameters()), air_of, air_of, keep=Keep(log=9)).run(9 * MS)
    with pytest.raises(UsageError, match="log of 9 rows is full"):
        record_run("rlp", full, tmp_path)
