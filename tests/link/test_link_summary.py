"""links[] of the summary: the counts of real logs, and null for what they cannot tell."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import shared

from multitracer.link.events import intervals
from multitracer.link.frames import number_frames
from multitracer.link.summary import rows
from multitracer.link.timing import Timing, timing
from multitracer.model.schema import build, empty
from multitracer.parsers.shared.experiment import read

FOLDERS = (
    "rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff", "rlc-inseq", "rlc-outseq", "rlc-reset",
)  # fmt: skip
FAR_END = {"mobile": "network", "network": "mobile"}


def summarised(*logs: Path) -> dict[str, dict[str, Any]]:
    """The rows of the link that these logs are of, by sender."""
    tables = read(*map(str, logs)).tables
    frames, events, links = tables["frames"], tables["link_events"], tables["links"]
    frames = number_frames(frames, links, events)
    named = zip(links["link"].tolist(), links["reverse"].tolist(), links["protocol"], strict=True)
    timings = {link: timing(frames, link, reverse, str(protocol)) for link, reverse, protocol in named}
    found = rows(links, frames, intervals(frames, events, links), timings)
    return {row["sender"]: row for row in found}


def lines(log: Path) -> Counter[tuple[str, bool]]:
    """Frame lines of a dump, counted as text: (direction, whether BAD)."""
    text = (gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()).decode()
    words = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return Counter((word[1], word[2] == "BAD") for word in words if word[2] != "EVENT")


@pytest.mark.data
@pytest.mark.parametrize("folder", FOLDERS)
def test_counts_are_the_lines_of_the_dumps(folder: str) -> None:
    """Of either direction: sent by its sender's log, received and erased by the other's."""
    logs = {side: next(shared("linux", folder).glob(f"rl?dump.{side}.*")) for side in FAR_END}
    found = summarised(*logs.values())
    for side, row in found.items():
        here, there = lines(logs[side]), lines(logs[FAR_END[side]])
        assert row["frames_sent"] == here[">", False]
        assert (row["frames_received"], row["frames_erased"]) == (there["<", False], there["<", True])


@pytest.mark.data
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


@pytest.mark.data
@pytest.mark.parametrize("folder", ["rlp-bad", "rlc-inseq"])
def test_without_a_log_values_are_null_or_unchanged(folder: str) -> None:
    """Leaving a log out makes values null, and changes no other value."""
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


@pytest.mark.data
def test_stops_by_flow_control_are_counted() -> None:
    """Seven stops of about 1.6 s in the sender's log; the far end's log alone shows none."""
    folder = shared("linux", "rlp-xonxoff")
    row = summarised(folder / "rlpdump.mobile.txt")["mobile"]
    assert row["xoff"] == 7
    assert row["flow_controlled_s"] == pytest.approx(7 * 1.58, abs=0.05)
    far = summarised(folder / "rlpdump.network.txt")["mobile"]
    assert (far["xoff"], far["flow_controlled_s"]) == (None, None)


def test_the_number_of_resets_is_null_if_the_protocol_has_none() -> None:
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
    frames = number_frames(frames, links, events)
    assert rows(links, frames, intervals(frames, events, links), {})[0]["resets"] is None


def test_no_link_gives_no_rows() -> None:
    """A trace without link frames gives an empty list, and no error."""
    frames, events, links = empty("frames"), empty("link_events"), empty("links")
    frames = number_frames(frames, links, events)
    assert rows(links, frames, intervals(frames, events, links), {}) == []


TYPES = (
    "I RR",
    "I SREJ",
    "RR",
    "RNR",
    "SREJ",
    "SABM",
    "UA",
    "DISC",
    "DM",
    "AMD",
    "STATUS",
    "RESET",
    "RESET_ACK",
    "BAD",
)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from(TYPES), st.integers(0, 1), st.integers(0, 2), st.booleans(), st.integers(-1, 100_000),
            st.integers(-1, 10**12), st.integers(0, 10**9), st.integers(-1, 60), st.integers(-1, 1),
        ),
        min_size=1, max_size=40,
    ),
    st.sampled_from(["rlp", "rlc-umts", "rlc-nr"]),
)  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_any_log_is_summarised(logged: list[tuple[Any, ...]], protocol: str) -> None:
    """However damaged: no interval ends before it begins, no time is negative."""
    kind, log, link, sent, sn, nr, ns, so, poll = map(list, zip(*logged, strict=True))
    times = [10**18 + at for at in ns]
    links = build(
        "links",
        {
            "link": range(3), "protocol": [protocol] * 3, "bearer": ["a", "a", "b"],
            "sender": ["mobile", "network", "mobile"], "reverse": [1, 0, -1],
        },
    )  # fmt: skip
    frames = build(
        "frames",
        {
            "input": log, "record": range(1, len(logged) + 1), "time_ns": times, "recorded_ns": times, "link": link,
            "side": ["mobile"] * len(logged), "sent": sent, "type": kind, "sn": sn, "nr": nr, "so": so, "poll": poll,
            "command": poll, "nacks": [((max(n, 0), -1, -1),) if n % 2 else None for n in sn],
        },
    )  # fmt: skip
    events = build(
        "link_events",
        {
            "input": [0], "record": [len(logged) // 2], "time_ns": times[:1], "recorded_ns": times[:1], "link": [0],
            "side": ["mobile"], "event": ["reset"],
        },
    )  # fmt: skip
    frames = number_frames(frames, links, events)
    shown = intervals(frames, events, links)
    assert (shown["end_ns"] >= shown["start_ns"]).all()
    for row in rows(links, frames, shown, dict.fromkeys(range(3), Timing(20_000_000, 1, None, 10**8))):
        assert all(row[name] is None or row[name] >= 0 for name in ("busy_s", "idle_s", "flow_controlled_s"))
        assert row["recovery_ms"]["max"] is None or row["recovery_ms"]["max"] >= 0
