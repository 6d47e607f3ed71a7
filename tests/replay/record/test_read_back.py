"""What was recorded is read back as it was, at every frame size: erasures, rates, busy time."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import losses

import multitracer
from multitracer.replay.erasures.loading import load
from multitracer.replay.record.recording import record
from multitracer.replay.retrace.models import Air
from multitracer.replay.retrace.settings import LARGEST_BLOCKS

SLOTS = 160
OVERHEAD = {"rlp": 6, "rlc-am": 2}
"""Octets of a full frame that carry no user data: 24.022 5.1 and L2R's status; 25.322 9.2.1.3."""
FAR = {"mobile": "network", "network": "mobile"}
SIZES = (1, 2, 3, 7, 10, 25, 49, LARGEST_BLOCKS)


def recorded(model: str, blocks: int, block_bytes: int, block_ns: int, folder: Path) -> Air:
    """A run at one frame size, recorded."""
    rtt_ns = 20 * block_ns
    lost = losses(1, SLOTS), losses(2, SLOTS)
    air = Air(*lost, blocks * block_bytes, block_ns, blocks, rtt_ns)
    # An SDU spans frames, so that some are full of it, without a length indicator.
    asked = {"queue_sdus": "8", "sdu_bytes": str(max(1500, 3 * air.frame_bytes))} if model == "rlc-am" else {}
    record(model, asked, air, folder)
    return air


def rows_of(*paths: Path) -> dict[str, dict[str, Any]]:
    """The rows of links[] that these files give, by who sends."""
    return {row["sender"]: row for row in multitracer.analyze([str(path) for path in paths]).summary()["links"]}


def lines(log: Path, direction: str) -> list[list[str]]:
    """The frames of a log in one direction, as words."""
    split = [line.split() for line in log.read_text().splitlines() if not line.startswith("#")]
    return [words for words in split if words[1] == direction and words[2] != "EVENT"]


def carrying(words: list[str]) -> bool:
    """Whether a line is of a frame with user data."""
    return words[2] in ("I", "AMD")


def check(model: str, blocks: int, block_bytes: int, block_ns: int, folder: Path) -> None:
    """Record a run, and compare what its logs and its capture tell with what was run."""
    air = recorded(model, blocks, block_bytes, block_ns, folder / "all")
    logs = {side: next((folder / "all").glob(f"rl?dump.{side}.txt")) for side in FAR}
    data = {side: sum(map(carrying, lines(log, ">"))) for side, log in logs.items()}
    check_erasures(air, folder, logs)
    for inputs in ((folder / "all",), (logs["mobile"],), (folder / "all" / "frames.pcap",)):
        sent = rows_of(*inputs)["mobile"]
        assert sent["frame_ms"] == pytest.approx(air.frame_ns / 1e6, abs=1e-6)
        assert sent["busy_s"] == pytest.approx(data["mobile"] * air.frame_ns / 1e9)
        assert sent["rate_bps"] == pytest.approx(8e9 * (air.frame_bytes - OVERHEAD[model]) / air.frame_ns)
    both = rows_of(folder / "all")
    assert both["network"]["busy_s"] == pytest.approx(data["network"] * air.frame_ns / 1e9)
    for side, row in both.items():
        assert row["frames_sent"] == len(lines(logs[side], ">"))
        assert row["frames_erased"] == sum(words[2] == "BAD" for words in lines(logs[FAR[side]], "<"))


def check_erasures(air: Air, folder: Path, logs: dict[str, Path]) -> None:
    """Of the opportunities that were used, but for frames on the air at the end; with the frame's size and duration."""
    shutil.copytree(folder / "all", folder / "logs", ignore=shutil.ignore_patterns("erasures.*"))
    found = {trace.name.split(" by ")[1]: trace for trace in load(str(folder / "logs"))}
    assert set(found) == set(FAR)
    for side, lost in (("mobile", air.forth), ("network", air.back)):
        trace = found[side]
        used = sorted({round((float(words[0]) - 978_307_200) * 1e9 / air.frame_ns) for words in lines(logs[side], ">")})
        flying = air.delay_ns // air.frame_ns + 1
        assert len(used) - flying <= len(trace.erased) <= len(used)
        assert trace.erased.tolist() == lost[used][: len(trace.erased)].astype(bool).tolist()
        assert trace.block_ns == air.frame_ns
        if any(map(carrying, lines(logs[side], ">"))):
            assert trace.block_bytes == air.frame_bytes


@pytest.mark.slow
@pytest.mark.parametrize("model", list(OVERHEAD))
@pytest.mark.parametrize("blocks", SIZES)
def test_a_recording_is_read_back_at_sizes_that_retrace_offers(model: str, blocks: int, tmp_path: Path) -> None:
    """From all its files, from the sender's log alone, and from the capture of the air alone."""
    check(model, blocks, 30, 20_000_000, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("model", list(OVERHEAD))
@settings(max_examples=5, deadline=None)
@given(blocks=st.integers(1, LARGEST_BLOCKS), block_bytes=st.integers(20, 80), block_us=st.integers(1_000, 80_000))
def test_a_recording_is_read_back_for_any_radio(model: str, blocks: int, block_bytes: int, block_us: int) -> None:
    """Whatever the block's octets and microseconds."""
    with TemporaryDirectory() as folder:
        check(model, blocks, block_bytes, 1_000 * block_us, Path(folder))
