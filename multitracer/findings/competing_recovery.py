"""TCP resent bytes whose frames the link was still repeating.

Confirmed only where a timer triggered the resend: the link's repeats then took longer than TCP's
retransmission timeout. A fast retransmission meanwhile comes from delivery out of order, and is
reported as likely.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENT_FRAMES
from multitracer.findings.observations import Observations

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("competing-recovery",)
NEEDS = (SEGMENT_FRAMES,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each resend of bytes whose frames were being repeated and got through later."""
    assert observed.segment_frames is not None  # by NEEDS
    repaired = Repaired(observed.segment_frames)
    columns = repaired.columns
    for resend in observed.retransmissions.itertuples():
        end = resend.seq + resend.payload_bytes
        rows = repaired.around((resend.connection, resend.sender), resend.seq, end)
        mine = rows[
            (columns["seq"][rows] + columns["payload_bytes"][rows] >= end)
            & (columns["first_frame_ns"][rows] < resend.time_ns)
            & (columns["delivered_ns"][rows] > resend.time_ns)
            & (columns["last_frame_ns"][rows] > resend.time_ns)
        ]
        if len(mine):
            row = int(mine.min())
            yield _finding(columns, row, resend, _clocks_leave_it(observed, columns, row, resend))


class Repaired:
    """The segments that got through after the link had repeated frames of theirs, found by their bytes."""

    def __init__(self, table: pd.DataFrame) -> None:
        mine = table[
            (table["frame_retransmissions"] > 0) & (table["delivered_ns"] >= 0) & (table["first_frame_ns"] >= 0)
        ]
        self.columns: dict[str, Any] = {name: mine[name].to_numpy() for name in mine.columns}
        by_end = mine.groupby(["connection", "sender"], observed=True).indices
        self._streams = {end: self._in_order(rows) for end, rows in by_end.items()}

    def around(self, stream: tuple[int, str], seq: int, end: int) -> npt.NDArray[np.int64]:
        """Rows of the segments that may hold the bytes from `seq` up to `end`: they begin at `seq` or before it, and
        where they begin the stream's longest segment would reach `end`.
        """
        if stream not in self._streams:
            return np.empty(0, dtype=np.int64)
        rows, begins, longest = self._streams[stream]
        return rows[bisect_left(begins, end - longest) : bisect_right(begins, seq)]

    def _in_order(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], list[int], int]:
        """A stream's rows by first byte, their first bytes, and the length of the longest segment."""
        rows = rows[np.argsort(self.columns["seq"][rows], kind="stable")]
        return rows, self.columns["seq"][rows].tolist(), int(self.columns["payload_bytes"][rows].max())


def _clocks_leave_it(observed: Observations, columns: dict[str, Any], row: int, resend: Any) -> bool:
    """Whether the earlier copy was on its way at the time of the resend however far the clocks are apart."""
    clients = dict(zip(observed.connections["connection"], observed.connections["client"], strict=True))
    direction = observed.direction(int(resend.connection), int(resend.sender != clients.get(resend.connection)))
    if direction is None:
        return False
    link, point = int(columns["link"][row]), direction.sender_point
    near, far = observed.log_error(link, point), observed.log_error(link, point, by_sender=False)
    far = observed.error_ns(direction) if far is None else far  # only a capture tells when it was delivered
    if near is None or far is None:
        return False
    begun, repeated, came = (columns[name][row] for name in ("first_frame_ns", "last_frame_ns", "delivered_ns"))
    return bool(begun + near < resend.time_ns < min(repeated - near, came - far))


def _finding(columns: dict[str, Any], row: int, resend: Any, sure_of_clocks: bool) -> Finding:
    late = (columns["delivered_ns"][row] - resend.time_ns) / 1e6
    repeats = int(columns["frame_retransmissions"][row])
    timer = resend.trigger in ("timeout", "probe")
    certain = timer and sure_of_clocks and columns["matched_by"][row] == "payload"
    because = (
        f"TCP resent {resend.payload_bytes} bytes while the link was repeating the frames that carried them "
        f"({repeats} repeats); the earlier copy got through {late:.1f} ms later"
    )
    if not timer:
        because += "; likely only, because TCP acted on data delivered out of order, not on its timer"
    elif not sure_of_clocks:
        because += "; likely only, because the clocks of the link's log and of the capture may be that far apart"
    return Finding(
        "competing-recovery", "link", int(resend.connection), int(resend.time_ns), int(columns["delivered_ns"][row]),
        "confirmed" if certain else "likely", because,
        {"seq": int(resend.seq), "bytes": int(resend.payload_bytes), "frame_retransmissions": repeats,
         "delivered_after_ms": late, "records": [{"input": int(resend.input), "record": int(resend.record)}]},
    )  # fmt: skip
