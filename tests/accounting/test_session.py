"""What a link's window held back, where only its log tells how large it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from packets import ipv4, tcp

from multitracer.accounting.session import Logged, account, all_captured
from multitracer.correlation.segment_frames import LinkMatch
from multitracer.link.packets import CarriedPacket
from multitracer.link.timing import Timing
from multitracer.model.schema import build

MS = 1_000_000
NO_INTERVALS = pd.DataFrame({"link": [], "kind": [], "start_ns": [], "end_ns": []}, dtype=np.int64)


@pytest.mark.parametrize(("known", "control", "held"), [(True, 0, 40), (False, 10, 30)])
def test_a_frame_of_control_between_data_shows_no_full_window(known: bool, control: int, held: int) -> None:
    """A packet's PDUs go at 0, 20 and 60 ms, a STATUS at 10 ms; the window looks full from 10 to 60 ms."""
    frames = build(
        "frames",
        {
            "input": [0] * 4, "record": [1, 2, 3, 4], "time_ns": [0, 10 * MS, 20 * MS, 60 * MS],
            "recorded_ns": [0, 10 * MS, 20 * MS, 60 * MS], "link": [0] * 4, "side": ["network"] * 4, "sent": [True] * 4,
            "type": ["AMD", "STATUS", "AMD", "AMD"], "sn": [0, -1, 1, 2], "length_bytes": [40] * 4,
            "payload_bytes": [38, 0, 38, 38],
        },
    )  # fmt: skip
    frames["transmission"] = [0, -1, 0, 0]
    data = np.array([0, 2, 3])
    packet = CarriedPacket(bytes(114), data, data, np.array([38, 38, 38]), 0, complete=True)
    full = np.array([10 * MS]), np.array([60 * MS])
    logged = Logged(0, 1, frames, NO_INTERVALS, full, Timing(10 * MS, 1), known)
    found = account(logged, LinkMatch(0, [packet], np.array([-1]), np.array([-1]), sender_logged=True), None, None)
    assert found is not None
    spent = (found.table["end_ns"] - found.table["start_ns"]).groupby(found.table["cause"].astype(str)).sum() // MS
    assert (spent.get("link_control", 0), spent["flow_controlled"]) == (control, held)


MINE, OTHER = ipv4(tcp(bytes(8), ports=(1000, 80))), ipv4(tcp(bytes(8), ports=(2000, 80)))


@pytest.mark.parametrize(
    ("octets", "complete", "garbled", "expected"),
    [
        (MINE, True, False, True), (OTHER, True, False, False), (bytes(60), True, False, True),
        (b"", False, False, False), (bytes(60), False, False, False), (MINE, True, True, False),
    ],
    ids=["captured", "another", "no TCP", "no octets", "a part", "garbled"],
)  # fmt: skip
def test_a_packet_of_which_too_little_is_known_may_be_of_another_connection(
    octets: bytes, complete: bool, garbled: bool, expected: bool
) -> None:
    """One that no capture has, beside one that has been captured."""
    row = np.array([0])
    packets = [
        CarriedPacket(MINE, row, row, row, 0, complete=True),
        CarriedPacket(octets, row, row, row, 0, complete=complete, garbled=garbled),
    ]
    assert all_captured(LinkMatch(0, packets, np.array([7, -1]), np.array([-1, -1]), sender_logged=True)) is expected
