"""links[] of the summary: the counts of real logs, and null for what they cannot tell."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from shared_data import shared

from multitracer.link.events import intervals
from multitracer.link.frames import number
from multitracer.link.summary import rows
from multitracer.link.timing import timing
from multitracer.reading import read
from multitracer.tables import build, empty

FOLDERS = (
    "rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff", "rlc-inseq", "rlc-outseq", "rlc-reset",
)  # fmt: skip
FAR_END = {"mobile": "network", "network": "mobile"}


def summarised(*logs: Path) -> dict[str, dict[str, Any]]:
    """The rows of the link that these logs are of, by sender."""
    tables = read(*map(str, logs)).tables
    frames, events, links = tables["frames"], tables["link_events"], tables["links"]
    number(frames, links, events)
    named = zip(links["link"].tolist(), links["reverse"].tolist(), links["protocol"], strict=True)
    timings = {link: timing(frames, link, reverse, str(protocol)) for link, reverse, protocol in named}
    found = rows(links, frames, events, intervals(frames, events, links), timings)
    return {row["sender"]: row for row in found}


def lines(log: Path) -> Counter[tuple[str, bool]]:
    """Frame lines of a dump, counted as text: (direction, whether BAD)."""
    text = (gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()).decode()
    words = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return Counter((word[1], word[2] == "BAD") for word in words if word[2] != "EVENT")


@pytest.mark.parametrize("folder", FOLDERS)
def test_counts_are_the_lines_of_the_dumps(folder: str) -> None:
    """Of either direction: sent by its sender's log, received and erased by the other's."""
    logs = {side: next(shared("linux", folder).glob(f"rl?dump.{side}.*")) for side in FAR_END}
    found = summarised(*logs.values())
    for side, row in found.items():
        here, there = lines(logs[side]), lines(logs[FAR_END[side]])
        assert row["frames_sent"] == here[">", False]
        assert (row["frames_received"], row["frames_erased"]) == (there["<", False], there["<", True])


@pytest.mark.parametrize("folder", FOLDERS)
def test_times_of_a_link_add_up(folder: str) -> None:
    """Busy, idle and flow-controlled time are what there is from its first frame to its last."""
    for log in sorted(shared("linux", folder).glob("rl?dump.*")):
        side = log.name.split(".")[1]
        row = summarised(log)[side]
        frames = read(str(log)).tables["frames"]
        sent = frames.loc[frames["sent"], "time_ns"]
        spent = row["busy_s"] + row["idle_s"] + row["flow_controlled_s"]
        assert spent == pytest.approx((sent.max() - sent.min()) / 1e9, abs=0.05)


@pytest.mark.parametrize("folder", ["rlp-bad", "rlc-inseq"])
def test_what_one_log_cannot_tell_is_null_and_the_rest_unchanged(folder: str) -> None:
    """Leaving a log out makes values null, never other values."""
    logs = sorted(shared("linux", folder).glob("rl?dump.*"))
    both = summarised(*logs)
    for log in logs:
        for sender, row in summarised(log).items():
            told = {
                name: value for name, value in row.items() if value is not None and name not in ("id", "recovery_ms")
            }
            assert told == {name: both[sender][name] for name in told}
            own = sender in log.name
            assert (row["frames_sent"] is None) != own
            assert (row["frames_received"] is None) == own
            assert (row["recovery_ms"]["samples"] is None) != own


def test_the_transfer_under_flow_control() -> None:
    """Seven stops of about 1.6 s by the sender's log; the far end's alone tells of none."""
    folder = shared("linux", "rlp-xonxoff")
    row = summarised(folder / "rlpdump.mobile.txt")["mobile"]
    assert row["xoff"] == 7
    assert row["flow_controlled_s"] == pytest.approx(7 * 1.58, abs=0.05)
    far = summarised(folder / "rlpdump.network.txt")["mobile"]
    assert (far["xoff"], far["flow_controlled_s"]) == (None, None)


def test_protocols_that_show_no_resets_do_not_claim_none() -> None:
    """LTE's RLC is re-established by another layer."""
    links = build(
        "links", {"link": [0], "protocol": ["rlc-lte"], "bearer": ["drb 1"], "sender": ["network"], "reverse": [-1]}
    )
    frames = build(
        "frames",
        {
            "input": [0], "record": [1], "time_ns": [10**18], "recorded_ns": [10**18], "link": [0], "side": ["network"],
            "sent": [True], "type": ["AMD"], "sn": [0], "payload_bytes": [10],
        },
    )  # fmt: skip
    events = empty("link_events")
    number(frames, links, events)
    assert rows(links, frames, events, intervals(frames, events, links), {})[0]["resets"] is None


def test_no_link_gives_no_rows() -> None:
    """And no error."""
    frames, events, links = empty("frames"), empty("link_events"), empty("links")
    number(frames, links, events)
    assert rows(links, frames, events, intervals(frames, events, links), {}) == []
