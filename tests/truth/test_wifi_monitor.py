"""A Wi-Fi monitor's capture beside the server's: both layers of one transfer, and nothing that it did not hear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shared_data import shared
from wifi_scene import MS, START_NS, WifiScene, transfer

import multitracer
from multitracer.model.analysis import Analysis
from multitracer.model.schema import MARKS

pytestmark = pytest.mark.slow


def analysed(made: WifiScene, folder: Path) -> Analysis:
    """The analysis of both captures."""
    made.write(folder)
    return multitracer.analyze(multitracer.read(folder))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Of a monitor that heard everything."""
    return analysed(transfer(), tmp_path_factory.mktemp("whole"))


def findings(analysis: Analysis) -> dict[str, list[dict[str, Any]]]:
    """Findings by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in analysis.summary()["findings"]:
        found.setdefault(one["kind"], []).append(one)
    return found


def test_both_directions_are_links(whole: Analysis) -> None:
    """Frames, repeats, acknowledgements and octets of packets are what the scene sent."""
    rows = {row["sender"]: row for row in whole.summary()["links"]}
    assert {row["protocol"] for row in rows.values()} == {"wifi"}
    down = rows["network"]
    assert (down["frames_retransmitted"], down["status_reports"]) == (7 + 11, 62)
    assert down["payload_bytes"] == 120 * 1040 + 44
    assert down["frames_sent"] == 121 + 18 + 62
    assert (down["recovery_ms"]["samples"], down["recovery_ms"]["max"]) == (8, 88.0)
    assert rows["mobile"]["frames_retransmitted"] == 0


def test_a_repeated_frame_is_one_packet(whole: Analysis) -> None:
    """It counts when the station got it: with the transmission that was acknowledged; the others are marked."""
    segments = whole.tables["segments"]
    segments = segments[segments["marks"] & MARKS["link_repeat"] == 0]
    stuck = segments[(segments["seq"] == 60_001) & (segments["payload_bytes"] > 0)]
    assert len(stuck) == 2
    assert abs(int(stuck["time_ns"].max() - stuck["time_ns"].min()) - 90 * MS) < MS
    assert whole.summary()["connections"][0]["directions"]["server"]["retransmitted_segments"] == 0


def test_repeats_and_the_outage_are_found(whole: Analysis) -> None:
    """The outage is confirmed: the numbers show that nothing else was sent while the frame was repeated."""
    found = findings(whole)
    assert [(one["verdict"], round(one["end_s"] - one["start_s"], 3)) for one in found["link-outage"]] == [
        ("confirmed", 0.088)
    ]
    assert {one["verdict"] for one in found["link-retransmissions"]} == {"confirmed"}
    assert [one["verdict"] for one in found["link-recovery-hole"]] == ["likely"]
    assert "local-drop" not in found


def test_frames_and_segments_belong_together(whole: Analysis) -> None:
    """Each segment's frames, by its payload, and when it came."""
    table = whole.tables["segment_frames"]
    row = table[table["seq"] == 60_001].iloc[0]
    assert (row["frames"], row["frame_retransmissions"], row["matched_by"]) == (12, 11, "payload")
    assert abs(int(row["delivered_ns"] - row["sent_ns"]) - 90 * MS) < MS


def test_what_a_monitor_did_not_hear_proves_nothing(tmp_path: Path) -> None:
    """A fifth of the records are missing: no segment is called dropped, and the outage is no longer certain."""
    made = transfer()
    made.air = [record for place, record in enumerate(made.air) if place % 5]
    found = findings(analysed(made, tmp_path))
    assert "local-drop" not in found
    assert {one["verdict"] for one in found["link-outage"]} == {"likely"}


def test_encrypted_frames_still_are_a_link(tmp_path: Path) -> None:
    """Their lengths, repeats and the outage are known, and how many they are is said."""
    analysis = analysed(transfer(encrypted=True), tmp_path)
    summary = analysis.summary()
    air = next(entry for entry in summary["inputs"] if entry["path"].endswith("air.pcap"))
    assert air["out_of_scope"]["802.11 encrypted frames"] == 121 + 18 + 62
    assert any("encrypted" in note for note in air["notes"])
    down = next(row for row in summary["links"] if row["sender"] == "network")
    assert down["payload_bytes"] == 120 * 1040 + 44
    assert len(findings(analysis)["link-outage"]) == 1


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "packets", "connections"), [("arkime__pcap__80211http.pcap", 26, 1), ("derived_80211_qos.pcap", 500, 2)]
)
def test_real_captures_have_their_packets(name: str, packets: int, connections: int) -> None:
    """As tshark counts them, less the two frames of the first whose retry bit says that they are the one before."""
    trace = multitracer.read(shared(f"public/foreign/{name}"))
    assert len(trace.tables["packets"]) == packets
    assert len(multitracer.analyze(trace).summary()["connections"]) == connections


def test_times_before_1970_change_nothing_else(tmp_path: Path) -> None:
    """The same capture an hour before 1970 has the same summary, but for its times."""
    made = transfer(6)
    summaries = []
    for name, shift in (("now", 0), ("then", -START_NS - 3600 * 10**9)):
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "wired.pcapng"
        path.write_bytes(_pcapng([(time + shift, octets) for time, octets in sorted(made.wired)]))
        summary = multitracer.analyze(multitracer.read(path)).summary()
        assert summary["inputs"][0]["first_ns"] == min(made.wired)[0] + shift
        summaries.append([summary["connections"], summary["findings"], summary["limits"]])
    assert summaries[0] == summaries[1]


def _pcapng(records: list[tuple[int, bytes]]) -> bytes:
    from pcapng_blocks import interface, packet, section

    head = section() + interface(resolution=9, link=1)
    return head + b"".join(packet(time % 2**64, octets) for time, octets in records)
