"""One link recorded twice is one; two links that look alike stay two."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import instruments, shared

from multitracer import cli
from multitracer.link.duplicate_logs import Duplicate, without_duplicates
from multitracer.model.schema import build

MS = 1_000_000
LINKS = build(
    "links",
    {
        "link": range(4), "protocol": ["rlc-umts"] * 4, "bearer": ["", "", "RB 5", "RB 5"],
        "sender": ["network", "mobile"] * 2, "reverse": [1, 0, 3, 2],
    },
)  # fmt: skip
EVENTS = build("link_events", {name: [] for name in ("record", "time_ns", "recorded_ns", "link", "side", "event")})


def recording(log: int, link: int, octets: list[bytes], *, offset_ms: float = 0, octets_logged: bool = True):
    """Data frames that the network sent every 10 ms, numbered from 0 modulo 4096."""
    count = len(octets)
    times = np.arange(count) * 10 * MS + round(offset_ms * MS)
    return build(
        "frames",
        {
            "input": [log] * count, "record": range(count), "time_ns": times, "recorded_ns": times,
            "link": [link] * count, "side": ["network"] * count, "sent": [True] * count, "type": ["AMD"] * count,
            "sn": np.arange(count) % 4096, "length_bytes": [40] * count,
            "data": octets if octets_logged else [None] * count,
        },
    )  # fmt: skip


def joined(*parts: pd.DataFrame) -> pd.DataFrame:
    """One table of them."""
    return pd.concat(parts, ignore_index=True)


def payload(count: int, seed: int = 0) -> list[bytes]:
    """Different octets for every frame."""
    return [bytes(row) for row in np.random.default_rng(seed).integers(0, 256, (count, 36), dtype=np.uint8)]


@pytest.mark.slow
@settings(max_examples=30)
@given(offset_ms=st.floats(-1e6, 1e6), lost=st.sets(st.integers(1, 99), max_size=8))
def test_the_same_frames_at_a_constant_distance_are_one_link(offset_ms: float, lost: set[int]) -> None:
    """Whatever the clocks' offset, and with some frames missing, the second recording is left out."""
    octets = payload(100)
    second = recording(1, 2, octets, offset_ms=offset_ms).drop(index=sorted(lost))
    frames, _, links, duplicates = without_duplicates(joined(recording(0, 0, octets), second), EVENTS, LINKS)
    assert set(frames["input"]) == {0}
    assert links["link"].tolist() == [0, 1]
    assert links["reverse"].tolist() == [1, 0]
    assert [(one.left_out, one.kept) for one in duplicates] == [(1, 0)]
    assert duplicates[0].offset_ns == pytest.approx(offset_ms * MS, abs=2)


def test_two_links_with_equal_numbers_but_other_octets_are_two() -> None:
    """Equal numbers at a constant distance with other octets are of another terminal."""
    both = joined(recording(0, 0, payload(100, 1)), recording(1, 2, payload(100, 2)))
    frames, _, links, duplicates = without_duplicates(both, EVENTS, LINKS)
    assert len(frames) == 200
    assert len(links) == 4
    assert duplicates == []


def test_frames_without_octets_are_one_link_only_at_the_same_time() -> None:
    """Without octets, links in step look alike: only a common clock distinguishes them."""
    octets = payload(100)
    for offset_ms, one in ((0.5, True), (5000.0, False)):
        second = recording(1, 2, octets, offset_ms=offset_ms, octets_logged=False)
        duplicates = without_duplicates(joined(recording(0, 0, octets), second), EVENTS, LINKS)[3]
        assert duplicates == ([Duplicate(1, 0, round(offset_ms * MS))] if one else [])


def test_the_recording_that_shows_arrivals_is_kept() -> None:
    """Of two recordings of a link the one that also has received frames is kept, in either order of inputs."""
    octets = payload(100)
    heard = recording(1, 3, octets).assign(sent=False)
    both = joined(recording(0, 0, octets), recording(1, 2, octets), heard)
    frames, _, links, duplicates = without_duplicates(both, EVENTS, LINKS)
    assert set(frames["input"]) == {1}
    assert links["bearer"].tolist() == ["RB 5", "RB 5"]
    assert duplicates == [Duplicate(0, 1, 0)]


@pytest.mark.data
def test_a_capture_of_the_air_is_left_out_beside_both_ends_logs(tmp_path: Path) -> None:
    """The reset is counted once, the link is one, and a note says that the capture is left out."""
    (tmp_path / "in").mkdir()
    folder = instruments(shared("linux", "rlc-reset"), tmp_path / "in")
    assert cli.run(["analyze", str(folder), "-o", str(tmp_path), "--summary-only", "-q"]) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert len(summary["links"]) == 2
    assert [finding["kind"] for finding in summary["findings"]].count("link-reset") == 1
    capture = next(entry for entry in summary["inputs"] if entry["path"].endswith("rlc.network.pcap.gz"))
    assert any("recorded once more" in note for note in capture["notes"])
    assert capture["clock"]["offset_s"] == pytest.approx(0, abs=0.05)


@pytest.mark.data
def test_a_capture_of_the_air_alone_shows_no_full_window(tmp_path: Path) -> None:
    """It does not show when acknowledgements arrived: why the link stood still with data waiting is unknown."""
    (tmp_path / "in").mkdir()
    dumps = ("rlcdump.mobile.txt.gz", "rlcdump.network.txt.gz")
    folder = instruments(shared("linux", "rlc-outseq"), tmp_path / "in", leave_out=dumps)
    assert cli.run(["analyze", str(folder), "-o", str(tmp_path), "--summary-only", "-q"]) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["utilization"]["flow_controlled_s"] is None
    assert summary["accounting"]["unknown"] > 0.15
    blamed = [finding for finding in summary["findings"] if finding["kind"] == "idle-link"]
    assert all(finding["verdict"] == "undecided" for finding in blamed if finding["evidence"]["cause"] == "unknown")
