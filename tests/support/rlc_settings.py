"""Parameters of RLC AM for tests with hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from rlc_scene import MS

LIVELY = {
    "poll_ns": 100 * MS, "poll_when_unacknowledged": True, "max_dat": 0, "mrw_ns": 80 * MS, "rst_ns": 90 * MS,
}  # fmt: skip
"""Whatever else is set: a poll comes at some time, and the timers are shorter than the play. With the longest delay
all of them expire before an answer can have come."""


def fitting(found: dict[str, Any]) -> dict[str, Any]:
    """The receiver's window as much larger than the sender's as drawn."""
    return {**found, "rx_window": found["tx_window"] + found["rx_window"]}


settings_of_any_kind = st.fixed_dictionaries(
    {
        "pdu_bytes": st.sampled_from((16, 21, 40, 130, 400)),
        "li_bits": st.sampled_from((0, 15)),
        "special_he": st.booleans(),
        "piggyback": st.booleans(),
        "status_format": st.sampled_from(("list", "bitmap", "rlist")),
        "in_sequence": st.booleans(),
        "tx_window": st.sampled_from((3, 8, 16, 64)),
        "rx_window": st.sampled_from((0, 40)),
        "poll_pdu": st.sampled_from((0, 3)),
        "poll_sdu": st.sampled_from((0, 2)),
        "poll_window_percent": st.sampled_from((0, 50)),
        "poll_prohibit_ns": st.sampled_from((0, 40 * MS)),
        "poll_periodic_ns": st.sampled_from((0, 70 * MS)),
        "status_prohibit_ns": st.sampled_from((0, 60 * MS)),
        "status_periodic_ns": st.sampled_from((0, 90 * MS)),
        "epc_ns": st.sampled_from((0, 50 * MS)),
        "send_mrw": st.booleans(),
        "missing_pdu_indication": st.booleans(),
        "whole_reports": st.booleans(),
        "any_status_stops_poll": st.booleans(),
    }
).map(fitting)
