"""The segment-to-frame map of the labelled two-layer recordings, against what the link itself wrote down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from repository import ROOT
from shared_data import shared

from multitracer.correlation.log_clocks import tie_clock
from multitracer.correlation.segment_frames import Correlation, correlate
from multitracer.link.frames import number_frames
from multitracer.model.paths import Paths
from multitracer.model.trace import Clock, Trace
from multitracer.parsers.shared.experiment import read
from multitracer.tcp.connections import find_connections
from multitracer.tcp.measures import measure
from multitracer.vantage import clocks
from multitracer.vantage.paths import find_paths
from multitracer.vantage.points import find_points

RLC = ("rlc-inseq", "rlc-outseq", "rlc-reset")
RLP = ("rlp-good", "rlp-bad", "rlp-reset", "rlp-xonxoff", "rlp-vj-reset")
MS = 1_000_000


@dataclass
class Joined:
    """One experiment, joined."""

    trace: Trace
    segments: pd.DataFrame
    connections: pd.DataFrame
    paths: Paths
    errors: tuple[list[int], list[int]]
    correlation: Correlation


@cache
def joined(folder: str, captures: Sequence[str], logs: Sequence[str]) -> Joined:
    """The captures and the logs (by which side wrote them) of a folder."""
    source = shared("linux", folder)
    files = [source / f"{name}.pcap" for name in captures]
    files += [next(source.glob(f"r??dump.{side}.txt*")) for side in logs]
    trace = read(*map(str, files))
    tables = trace.tables
    tables["frames"] = number_frames(tables["frames"], tables["links"], tables["link_events"])
    points = find_points(tables, trace.inputs)
    found = find_connections(tables, points.point)
    alignment = clocks.align(found.segments, points, trace.inputs)
    segments = found.segments.assign(time_ns=clocks.times_on_reference(alignment, found.segments))
    _, segments = measure(segments, found.sack, tables["packets"]["raw_window"].to_numpy())
    paths = find_paths(segments, found.connections, alignment)
    correlation = correlate(tables, segments, found.connections, paths, alignment.worsts_ns)
    errors = alignment.errors_ns, alignment.worsts_ns
    return Joined(trace, segments, found.connections, paths, errors, correlation)


def data_side(folder: str) -> str:
    """Which side of the link sends the data: uploads over RLP, downloads over RLC."""
    return "network" if folder.startswith("rlc") else "mobile"


def expected(folder: str, side: str) -> pd.DataFrame:
    """What the link wrote about every packet that a side offered, times since the epoch (NaN: never)."""
    source = shared("linux", folder)
    zero = json.loads((source / "truth.json").read_text())["wall_clock_at_zero"]
    table = pd.read_csv(source / "packets.csv")
    table = table[table["from"] == side].reset_index(drop=True)
    for name in ("offered", "first_frame", "last_frame", "delivered"):
        table[f"{name}_ns"] = (table[f"{name}_s"] + zero) * 1e9
    return table


def compared(one: Joined, folder: str, side: str) -> pd.DataFrame:
    """The map of one side's packets beside the truth's, by IP ID, length and order."""
    links = one.trace.tables["links"]
    link = links.loc[links["sender"] == side, "link"].iloc[0]
    table = one.correlation.segment_frames
    table = table[(table["link"] == link) & (table["segment"] >= 0)].copy()
    table["ip_id"] = one.segments["ip_id"].to_numpy()[table["segment"]]
    return pd.merge(expected(folder, side), table, on="ip_id", suffixes=("_true", ""))


def close(ours: pd.Series, true: pd.Series, tolerance_ns: float = MS) -> np.ndarray:
    """Whether times agree, or both say never."""
    ours, true = ours.to_numpy(), true.to_numpy()
    return np.where(np.isnan(true), ours < 0, np.abs(ours - true) <= tolerance_ns)


@pytest.mark.data
@pytest.mark.parametrize("folder", [*RLC, *RLP])
def test_every_data_segment_is_mapped_to_the_frames_that_carried_it(folder: str) -> None:
    """By payload, first and last frame within 1 ms, repeats and transmissions of frames equal."""
    both = compared(joined(folder, ("snd", "rcv"), ("network", "mobile")), folder, data_side(folder))
    true = expected(folder, data_side(folder))
    assert len(both) == len(true)
    assert (both["matched_by"] == "payload").all()
    assert close(both["first_frame_ns"], both["first_frame_ns_true"]).all()
    assert close(both["last_frame_ns"], both["last_frame_ns_true"]).all()
    assert (both["frame_retransmissions"] == both["frame_retransmissions_true"]).all()
    assert (both["frames"] == both["frames_sent"]).all()
    assert close(both["sent_ns"], both["offered_ns"], 5 * MS).all()


@pytest.mark.data
@pytest.mark.parametrize("folder", [*RLC, *RLP])
def test_acknowledgements_are_mapped_too(folder: str) -> None:
    """What the data's receiver sends goes by the other direction of the link, and is found there."""
    side = "mobile" if data_side(folder) == "network" else "network"
    one = joined(folder, ("snd", "rcv"), ("network", "mobile"))
    table = one.correlation.segment_frames
    links = one.trace.tables["links"]
    table = table[table["link"] == links.loc[links["sender"] == side, "link"].iloc[0]]
    true = expected(folder, side)
    assert len(table) == len(true)
    ours = table.sort_values("first_frame_ns")
    assert close(ours["first_frame_ns"], true.sort_values("first_frame_ns")["first_frame_ns"]).all()
    assert ours["frames"].sum() == true["frames_sent"].sum()


@pytest.mark.data
def test_delivery_out_of_sequence_is_when_the_last_missing_frame_arrived() -> None:
    """Where the link delivers at once, the truth's delivery is just that."""
    both = compared(joined("rlc-outseq", ("snd", "rcv"), ("network", "mobile")), "rlc-outseq", "network")
    assert close(both["delivered_ns"], both["delivered_ns_true"]).all()


@pytest.mark.data
@pytest.mark.parametrize("folder", RLP)
def test_rlp_delivers_in_sequence(folder: str) -> None:
    """A packet is there when it and all before it are; what was dropped, flushed or garbled never is."""
    both = compared(joined(folder, ("snd", "rcv"), ("network", "mobile")), folder, "mobile")
    true = both["delivered_ns_true"].where(both["fate"] == "delivered")
    assert close(both["delivered_ns"], true, 5 * MS).all()


@pytest.mark.data
@pytest.mark.parametrize("folder", ["rlc-reset", "rlp-reset"])
def test_what_a_reset_flushed_was_never_delivered(folder: str) -> None:
    """Whatever part of it the frames had carried."""
    both = compared(joined(folder, ("snd", "rcv"), ("network", "mobile")), folder, data_side(folder))
    assert (both.loc[both["fate"] == "flushed", "delivered_ns"] < 0).all()
    assert (both.loc[both["fate"] == "delivered", "delivered_ns"] > 0).all()


@pytest.mark.data
@pytest.mark.parametrize("folder", [*RLC, *RLP])
def test_segments_that_the_link_was_never_given_are_rows_without_frames(folder: str) -> None:
    """They carry no octet, as in the truth, and no other segment is without frames."""
    both = compared(joined(folder, ("snd", "rcv"), ("network", "mobile")), folder, data_side(folder))
    never = both["frames"] == 0
    assert (never == (both["frames_sent"] == 0)).all()
    assert (both.loc[never, "carried_bytes"] == 0).all()
    assert (both.loc[never, "first_frame_ns"] < 0).all()


@pytest.mark.data
@pytest.mark.parametrize("folder", [*RLC, *RLP])
def test_without_the_senders_capture_only_its_times_are_missing(folder: str) -> None:
    """The frames are still found; when and how often TCP sent is unknown."""
    one = joined(folder, ("rcv",), (data_side(folder),))
    both = compared(one, folder, data_side(folder))
    assert len(both)
    assert (both["sent_ns"] == -1).all()
    assert (both["queue_ns"] == -1).all()
    assert (both["transmission"] == -1).all()
    assert close(both["first_frame_ns"], both["first_frame_ns_true"]).all()
    assert (both["frame_retransmissions"] == both["frame_retransmissions_true"]).all()


@pytest.mark.data
@pytest.mark.parametrize("folder", [*RLC, *RLP])
def test_the_receivers_log_alone_gives_arrivals_only(folder: str) -> None:
    """First and last frame, and their number, stay null; no segment is reported as never carried."""
    far = "mobile" if data_side(folder) == "network" else "network"
    both = compared(joined(folder, ("snd",), (far,)), folder, data_side(folder))
    assert len(both)
    for name in ("first_frame_ns", "last_frame_ns", "frames", "frame_retransmissions", "carried_bytes", "queue_ns"):
        assert (both[name] == -1).all()
    came = both["delivered_ns"] >= 0
    assert came.any()
    assert (both.loc[came, "fate"] == "delivered").all()
    assert (both.loc[came, "delivered_ns"] <= both.loc[came, "delivered_ns_true"] + 5 * MS).all()


def tied(one: Joined, offset_ns: int, rate: float) -> Clock:
    """The clock found for the (only) link log, set apart from the captures'."""
    frames = one.trace.tables["frames"]
    recorded = frames["recorded_ns"].to_numpy()
    since = recorded - recorded.min()
    apart = frames.assign(recorded_ns=recorded + offset_ns + (since * rate).astype(np.int64))
    number = int(frames["input"].iloc[0])
    tables = {**one.trace.tables, "frames": apart}
    return tie_clock(tables, one.segments, one.connections, one.paths, number, "reference", one.errors)


@pytest.mark.data
@pytest.mark.parametrize("folder", [*RLC, *RLP])
@pytest.mark.parametrize(("offset_ns", "rate"), [(-1_234_567_890, 0.0), (5_000_000_000, 1e-4), (86_400 * 10**9, -5e-5)])
@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_log_on_another_clock_is_placed_within_its_bound(folder: str, offset_ns: int, rate: float, side: str) -> None:
    """The true offset lies within the stated error, at the log's begin and at its end."""
    other = "mobile" if data_side(folder) == "network" else "network"
    one = joined(folder, ("snd",), (data_side(folder) if side == "sender" else other,))
    clock = tied(one, offset_ns, rate)
    assert clock.error_s is not None
    recorded = one.trace.tables["frames"]["recorded_ns"].to_numpy()
    there = np.array([recorded.min(), recorded.max()])
    shown = there + offset_ns + ((there - there[0]) * rate).astype(np.int64)
    assert (np.abs(clocks.to_reference(shown, clock) - there) <= clock.error_s * 1e9).all()
    assert clock.worst_s is not None
    assert clock.worst_s >= clock.error_s
    if side == "sender":
        assert clock.error_s < 0.02


@pytest.mark.data
@pytest.mark.parametrize("folder", [*RLC, *RLP])
def test_a_log_that_fits_the_captures_clock_is_not_corrected(folder: str) -> None:
    """No offset is applied where none is needed, and the stated error is below 20 ms."""
    clock = tied(joined(folder, ("snd",), (data_side(folder),)), 0, 0.0)
    assert clock.offset_s == 0.0
    assert clock.error_s is not None
    assert clock.error_s < 0.02
    assert "held to be the captures' own" in clock.how


def test_nothing_is_read_from_the_truth() -> None:
    """No module of the join names a file of the truth."""
    package = ROOT / "multitracer"
    for module in (package / "correlation").glob("*.py"):
        assert "packets.csv" not in module.read_text()
