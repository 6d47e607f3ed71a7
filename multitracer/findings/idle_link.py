"""The link was idle during the transfer for longer than a round trip."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.needs import ACCOUNTING, ROUND_TRIPS, ROUND_TRIPS_OUTSIDE_WINDOW, either
from multitracer.findings.observations import Observations

KINDS = ("idle-link",)
NEEDS = (ACCOUNTING, either(ROUND_TRIPS, ROUND_TRIPS_OUTSIDE_WINDOW))

_CAUSE = {
    "idle_window_limited": ("unknown", "the sender had filled its usable window"),
    "idle_sender": ("sender", "the sender had nothing to send, or did not send it"),
    "idle_recovery": ("sender", "TCP was waiting for its timer, or repairing a loss"),
    "unknown": ("unknown", "the cause cannot be told without the sender's state"),
}
"""Of each idle cause the layer, and how the reason says it.

A full usable window may be the congestion window or the receiver's: other findings tell which.
"""


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each idle interval longer than the threshold; a handshake is no idleness."""
    table = observed.accounting
    assert table is not None  # by NEEDS
    trips = map(observed.rtt_ns, (observed.main_connection, *range(len(observed.connections))))
    rtt = next((trip for trip in trips if trip > 0), observed.usual_rtt_ns)
    idle = table[table["cause"].isin(list(_CAUSE))]
    begun = _first_data_ns(observed)
    for link, start, end, cause in zip(idle["link"], idle["start_ns"], idle["end_ns"], idle["cause"], strict=True):
        if end - start > observed.thresholds.idle_rtts * rtt and start >= begun:
            layer, why = _CAUSE[cause]
            logged = link < 0 or bool(observed.coverage(int(link), by_sender=True).covers(start, end))
            if not logged:
                layer, why = "unknown", "undecided, because its log lacks frames, or may lack some, then"
            yield Finding(
                "idle-link", layer, -1, int(start), int(end),
                "confirmed" if cause != "unknown" and logged else "undecided",
                f"the link carried nothing for {(end - start) / 1e6:.0f} ms (round trip {rtt / 1e6:.0f} ms): {why}",
                {"duration_ms": (end - start) / 1e6, "cause": str(cause), "link": int(link)},
            )  # fmt: skip


def _first_data_ns(observed: Observations) -> int:
    """When the first data was sent; before all times where none was captured."""
    data = observed.column("payload_bytes") > 0 if len(observed.segments) else np.empty(0, dtype=np.bool_)
    return int(observed.column("time_ns")[data].min()) if data.any() else np.iinfo(np.int64).min
