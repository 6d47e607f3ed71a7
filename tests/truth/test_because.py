"""Findings of kinds without truth: what their reasons and evidence say holds in the tables, counted there anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from labelled import BOTH_LAYERS, analysed
from shared_data import BLAME, LINUX, STACKS

from multitracer import Analysis

pytestmark = pytest.mark.data

FOLDERS = (*LINUX, *(f"stacks/{name}" for name in STACKS), *(f"blame/{name}" for name in BLAME))
MS = 1_000_000
NEAR_NS = 10 * MS


def found(folder: str, kind: str) -> Iterator[tuple[Any, Analysis]]:
    """The findings of a kind that are not undecided, with their analysis."""
    analysis = analysed(folder, "retransmit")
    table = analysis.tables["findings"]
    for one in table[(table["kind"] == kind) & (table["verdict"] != "undecided")].itertuples():
        yield one, analysis


def sent_within(frames: pd.DataFrame, link: int, start: int, end: int) -> pd.DataFrame:
    """The frames that a link's sender sent from `start` to before `end`."""
    return frames[(frames["link"] == link) & frames["sent"] & (frames["time_ns"] >= start) & (frames["time_ns"] < end)]


def arrivals_of(analysis: Analysis, own: pd.DataFrame) -> Any:
    """When the packets of a sender came to the receiver's capture: the one in which they are later."""
    segments = analysis.tables["segments"]
    one = segments.iloc[own["segment"][own["segment"] >= 0].iloc[0]]
    mine = (segments["connection"] == one["connection"]) & (segments["sender"] == one["sender"])
    times = [times.to_numpy() for _, times in segments[mine].groupby("point")["time_ns"]]
    return np.sort(max(times, key=lambda one: one[0]))


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_an_idle_link_sent_no_user_data(folder: str) -> None:
    """No frame with user data was sent within the interval, which is as long as the reason says."""
    for one, analysis in found(folder, "idle-link"):
        frames = sent_within(analysis.tables["frames"], one.evidence["link"], one.start_ns, one.end_ns)
        assert (frames["payload_bytes"].fillna(0) <= 0).all()
        assert f"{(one.end_ns - one.start_ns) / MS:.0f} ms" in one.because


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_repeats_are_as_many_as_the_reason_counts(folder: str) -> None:
    """The frames of later transmissions from the first to the last of them."""
    for one, analysis in found(folder, "link-retransmissions"):
        frames = sent_within(analysis.tables["frames"], one.evidence["link"], one.start_ns, one.end_ns)
        assert int((frames["transmission"] > 0).sum()) == one.evidence["count"]
        assert one.because.startswith(f"{one.evidence['count']} of {one.evidence['sent']} frames")


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_no_good_frame_came_to_either_side_in_an_outage(folder: str) -> None:
    """Between its ends the logs have damaged frames alone, as many as the reason counts."""
    for one, analysis in found(folder, "link-outage"):
        frames = analysis.tables["frames"]
        came = frames[~frames["sent"] & (frames["time_ns"] > one.start_ns) & (frames["time_ns"] < one.end_ns)]
        assert (came["type"] == "BAD").all()
        assert len(came) == one.evidence["erased"]


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_nothing_reached_tcp_in_a_recovery_hole(folder: str) -> None:
    """No segment of the sender came to the receiver's capture within it, and the frames of the next were repeated."""
    for one, analysis in found(folder, "link-recovery-hole"):
        table = analysis.tables["segment_frames"]
        own = table[(table["connection"] == one.connection) & (table["sender"] == one.evidence["sender"])]
        came = own[(own["seq"] == one.evidence["seq"]) & (own["delivered_ns"] >= 0)]
        # Those made after the delivery are not counted.
        assert 0 < one.evidence["frame_retransmissions"] <= came["frame_retransmissions"].max()
        arrivals = arrivals_of(analysis, own)
        # From the link to the capture it is at most NEAR_NS.
        inside = (arrivals > one.start_ns + NEAR_NS) & (arrivals < one.end_ns - NEAR_NS)
        assert not inside.any()
        assert (abs(arrivals - one.end_ns) <= NEAR_NS).any()


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_segments_waited_as_long_as_the_reason_says(folder: str) -> None:
    """Median and longest wait between capture and first frame, of the segments sent in the stretch."""
    for one, analysis in found(folder, "excessive-queueing"):
        if one.verdict != "confirmed":
            continue
        table = analysis.tables["segment_frames"]
        mine = table[(table["sent_ns"] >= one.start_ns) & (table["sent_ns"] <= one.end_ns) & (table["queue_ns"] >= 0)]
        waits = mine["queue_ns"].to_numpy() / MS
        assert waits.max() == pytest.approx(one.evidence["longest_wait_ms"])
        long = waits[waits > one.evidence["pipe_ms"]]
        assert np.median(long) == pytest.approx(one.evidence["median_wait_ms"])


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_a_competing_recovery_resent_what_the_link_delivered_later(folder: str) -> None:
    """The link was repeating frames of these octets when TCP resent them, and delivered them afterwards."""
    for one, analysis in found(folder, "competing-recovery"):
        table = analysis.tables["segment_frames"]
        held = table[(table["connection"] == one.connection) & (table["frame_retransmissions"] > 0)]
        held = held[(held["first_frame_ns"] < one.start_ns) & (held["last_frame_ns"] > one.start_ns)]
        held = held[held["seq"] <= one.evidence["seq"]]
        ends = held["seq"] + held["payload_bytes"] >= one.evidence["seq"] + one.evidence["bytes"]
        assert (ends & (held["delivered_ns"] == one.end_ns)).any()


@pytest.mark.parametrize("folder", FOLDERS)
def test_lost_acknowledgements_are_in_one_capture_alone(folder: str) -> None:
    """No other capture has a packet with the same IP ID, sender and acknowledgement."""
    for one, analysis in found(folder, "ack-loss"):
        packets = analysis.trace.tables["packets"]
        keys = ["ip_id", "raw_seq", "raw_ack", "tsval", "payload_bytes"]
        for record in one.evidence["records"]:
            mine = packets[(packets["input"] == record["input"]) & (packets["record"] == record["record"])]
            assert len(mine) == 1
            same = (packets[keys] == mine[keys].iloc[0]).all(axis=1)
            assert set(packets[same]["input"]) == {record["input"]} or int(mine["ip_id"].iloc[0]) == 0


@pytest.mark.parametrize("folder", FOLDERS)
def test_reordered_segments_were_sent_once_each(folder: str) -> None:
    """No other segment of their sender has the same first octet in that capture."""
    for one, analysis in found(folder, "reordering"):
        segments = analysis.tables["segments"]
        for record in one.evidence["records"]:
            mine = segments[(segments["input"] == record["input"]) & (segments["record"] == record["record"])].iloc[0]
            own = segments[(segments["input"] == record["input"]) & (segments["connection"] == mine["connection"])]
            own = own[(own["sender"] == mine["sender"]) & (own["payload_bytes"] > 0) & (own["seq"] == mine["seq"])]
            assert len(own) == 1


@pytest.mark.parametrize("folder", FOLDERS)
def test_compressed_acknowledgements_came_closer_together(folder: str) -> None:
    """They came within the interval, and took less than half of the time over which they had left."""
    for one, _ in found(folder, "ack-compression"):
        assert (one.end_ns - one.start_ns) / MS == pytest.approx(one.evidence["came_within_ms"])
        assert one.evidence["came_within_ms"] < 0.5 * one.evidence["left_over_ms"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_repeated_handshake_has_as_many_syns(folder: str) -> None:
    """The records named are SYNs of one sender of one connection."""
    for one, analysis in found(folder, "handshake-retry"):
        segments = analysis.tables["segments"].set_index(["input", "record"])
        named = segments.loc[[(record["input"], record["record"]) for record in one.evidence["records"]]]
        assert (named["flags"] & 2 != 0).all()
        assert len(set(zip(named["connection"], named["sender"], strict=True))) == 1
        assert len(named) == min(one.evidence["count"], 5)
