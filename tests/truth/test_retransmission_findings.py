"""Findings about retransmissions, against what the kernel did; and those that are confirmed in a capture with holes."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from labelled import analysed, labelled, truth
from shared_data import BLAME, LINUX, STACKS

from multitracer import analyze
from multitracer.parsers.shared.experiment import read

pytestmark = pytest.mark.data

NEAR_NS = 500_000_000
FOLDERS = (*LINUX, *(f"stacks/{name}" for name in STACKS), *(f"blame/{name}" for name in BLAME))
KINDS = {
    "timeout": ("timeout", "spurious-timeout"),
    "fast": ("fast-retransmit", "spurious-fast-retransmit"),
    "probe": ("probe",),
}
"""The kinds of finding that report each trigger."""
SPURIOUS = {"spurious-timeout": {"yes"}, "spurious-fast-retransmit": {"yes"}, "fast-retransmit": {"no"}}
"""Whether what a kind reports was needless; a timeout whose acknowledgement was lost was right, its resend needless."""


def confirmed(found: pd.DataFrame) -> pd.DataFrame:
    """The findings about retransmissions of which the analysis is sure."""
    return found[(found["verdict"] == "confirmed") & found["kind"].isin(sum(KINDS.values(), ()))]


def wrong(found: pd.DataFrame, events: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Confirmed findings with no retransmission of their trigger and verdict within half a second of their begin."""
    for one in confirmed(found).itertuples():
        near = events[(events["time_ns"] - one.start_ns).abs() <= NEAR_NS]
        # What an undo ends is a new recovery: labels without a stack call its first resend one of the old.
        triggers = {"fast", "recovery"} if "fast" in one.kind else {one.kind.removeprefix("spurious-")}
        fitting = near["trigger"].isin(triggers) & near["spurious"].isin(SPURIOUS.get(one.kind, {"yes", "no"}))
        if not fitting.any():
            yield one.kind, one.because


def test_expected_findings_are_confirmed() -> None:
    """At least 97 % of timeouts, fast retransmissions and probes have a confirmed finding of theirs within 0.5 s."""
    missed, total = [], 0
    for folder in FOLDERS:
        found = confirmed(analysed(folder, "retransmit").tables["findings"])
        events = truth(folder, "retransmissions.csv")
        for event in events[events["trigger"].isin(list(KINDS))].itertuples():
            total += 1
            mine = found[found["kind"].isin(KINDS[event.trigger])]
            if not ((mine["start_ns"] <= event.time_ns + NEAR_NS) & (mine["end_ns"] >= event.time_ns - NEAR_NS)).any():
                missed.append((folder, event.trigger, event.time_ns))
    assert total > 100
    assert len(missed) <= 0.03 * total, missed


@pytest.mark.parametrize("left_out", [("retransmit",), ("retransmit", "rcv"), ("retransmit", "rcv", "tcp_probe", "ss")])
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_retransmission_is_accused_wrongly(folder: str, left_out: tuple[str, ...]) -> None:
    """No finding is confirmed without a resend of its trigger and verdict, whatever recording is missing."""
    found = analysed(folder, *left_out).tables["findings"]
    assert list(wrong(found, truth(folder, "retransmissions.csv"))) == []


SEEDS = int(os.environ.get("MULTITRACER_SEEDS", "2"))
"""Thinned captures of each folder; ten take some minutes."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("folder", [*LINUX, *(f"stacks/{name}" for name in STACKS)])
def test_a_capture_that_lost_records_confirms_nothing_false(folder: str, seed: int) -> None:
    """snd.pcap thinned by 1 % at random: what is confirmed is true."""
    capture = (labelled(folder) / "snd.pcap").read_bytes()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "snd.pcap"
        path.write_bytes(thinned(capture, 0.01, random.Random(f"{folder} {seed}")))
        found = analyze(read(str(path))).tables["findings"]
    assert list(wrong(found, truth(folder, "retransmissions.csv"))) == []


def thinned(capture: bytes, share: float, chance: random.Random) -> bytes:
    """A pcap file in the machine's byte order without a share of its records."""
    kept, at = [capture[:24]], 24
    while at < len(capture):
        size = 16 + int.from_bytes(capture[at + 8 : at + 12], "little")
        kept += [capture[at : at + size]] if chance.random() >= share else []
        at += size
    return b"".join(kept)
