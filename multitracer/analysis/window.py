"""Selection of a part of a trace: a window of time, some of the connections, or both.

Clocks are estimated from the whole trace, and seconds count from its start. The cause of an idle time may show
only in later packets, so the accounting of a part is selected from that of the whole trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.accounting.session import Accounting
from multitracer.analysis.captures import Captures, select_rows
from multitracer.analysis.logs import Logs
from multitracer.model.errors import UsageError
from multitracer.model.options import AnalyzeOptions

if TYPE_CHECKING:
    import pandas as pd

_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Window:
    """From `begin_ns` to before `end_ns` on the reference clock, and these connections, all if there are none."""

    begin_ns: int
    end_ns: int
    connections: tuple[int, ...] = ()

    def holds(self, time_ns: Any) -> Any:
        """A mask of the times (int64 ns) in the window."""
        return (time_ns >= self.begin_ns) & (time_ns < self.end_ns)


def window_of(options: AnalyzeOptions, origin_ns: int) -> Window:
    """The window of the options --from and --to (seconds from the origin) and --connection."""
    begin, end = options.from_s, options.to_s
    return Window(
        origin_ns + round(begin * 1e9) if begin is not None else -_LATEST,
        origin_ns + round(end * 1e9) if end is not None else _LATEST,
        options.connections,
    )


def cut_captures(captures: Captures, window: Window, origin_ns: int, *, other_logs: bool) -> Captures:
    """The captures with the packets in the window; raises UsageError if there are none and no other logs."""
    if window.connections:
        _check(window.connections, len(captures.connections))
    time_ns, keep = captures.segments["time_ns"].to_numpy(), segments_in(captures, window)
    if not keep.any() and not other_logs:
        there = "There is no TCP packet in these inputs."
        if len(time_ns):
            there = f"There are packets up to {(int(time_ns.max()) - origin_ns) / 1e9:.1f} s."
        raise UsageError(f"nothing was captured in that window\n{there}")
    return select_rows(captures, keep)


def segments_in(captures: Captures, window: Window) -> Any:
    """A mask of the segments in the window."""
    segments = captures.segments
    keep = window.holds(segments["time_ns"].to_numpy())
    return keep & np.isin(segments["connection"].to_numpy(), window.connections) if window.connections else keep


def _check(wanted: tuple[int, ...], connections: int) -> None:
    """Raise UsageError for a connection number that does not exist."""
    absent = [number for number in wanted if number >= connections]
    if absent:
        there = f"0 to {connections - 1}" if connections > 1 else "0" if connections else "none"
        raise UsageError(f"--connection {absent[0]}: there is none of that number\nThere are: {there}.")


def cut_logs(logs: Logs, window: Window) -> Logs:
    """The logs with the records in the window."""
    link = logs.link
    if link is not None:
        link = replace(link, frames=_cut(link.frames, window), events=_cut(link.events, window))
    return Logs(logs.inputs, _cut(logs.tcp_state, window), link)


def cut_accounts(accounts: Mapping[int, Accounting], window: Window) -> dict[int, Accounting]:
    """The accounting of the time in the window."""
    return {link: one.within(window.begin_ns, window.end_ns) for link, one in accounts.items()}


def _cut(table: pd.DataFrame, window: Window) -> pd.DataFrame:
    return table[window.holds(table["time_ns"].to_numpy())].reset_index(drop=True)
