"""TCP resent bytes whose frames the link was still repeating.

Confirmed only where a timer triggered the resend: the link's repeats then took longer than TCP's
retransmission timeout. A fast retransmission meanwhile comes from delivery out of order, and is
reported as likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENT_FRAMES
from multitracer.findings.observations import Observations

KINDS = ("competing-recovery",)
NEEDS = (SEGMENT_FRAMES,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each resend of bytes whose frames were being repeated and got through later."""
    table, resends = observed.segment_frames, observed.retransmissions
    assert table is not None  # by NEEDS
    repaired = table[
        (table["frame_retransmissions"] > 0) & (table["delivered_ns"] >= 0) & (table["first_frame_ns"] >= 0)
    ]
    columns = {name: repaired[name].to_numpy() for name in repaired.columns}
    for resend in resends.itertuples():
        mine = np.flatnonzero(
            (columns["connection"] == resend.connection)
            & (columns["sender"] == resend.sender)
            & (columns["seq"] <= resend.seq)
            & (columns["seq"] + columns["payload_bytes"] >= resend.seq + resend.payload_bytes)
            & (columns["first_frame_ns"] < resend.time_ns)
            & (columns["delivered_ns"] > resend.time_ns)
            & (columns["last_frame_ns"] > resend.time_ns)
        )
        if len(mine):
            yield _finding(columns, int(mine[0]), resend)


def _finding(columns: dict[str, Any], row: int, resend: Any) -> Finding:
    late = (columns["delivered_ns"][row] - resend.time_ns) / 1e6
    repeats = int(columns["frame_retransmissions"][row])
    timer = resend.trigger in ("timeout", "probe")
    certain = timer and columns["matched_by"][row] == "payload"
    because = (
        f"TCP resent {resend.payload_bytes} bytes while the link was repeating the frames that carried them "
        f"({repeats} repeats); the earlier copy got through {late:.1f} ms later"
    )
    if not timer:
        because += "; likely only, because TCP acted on data delivered out of order, not on its timer"
    return Finding(
        "competing-recovery", "link", int(resend.connection), int(resend.time_ns), int(columns["delivered_ns"][row]),
        "confirmed" if certain else "likely", because,
        {"seq": int(resend.seq), "bytes": int(resend.payload_bytes), "frame_retransmissions": repeats,
         "delivered_after_ms": late, "records": [{"input": int(resend.input), "record": int(resend.record)}]},
    )  # fmt: skip
