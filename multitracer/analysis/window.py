"""A part of what was recorded: a window of time, some of the connections, or both.

Clocks are placed by all that was recorded, and seconds count from its start. Why a link is idle shows only in
what follows, so that the accounting of a part is cut from that of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.accounting.session import Accounting
from multitracer.analysis.captures import Captures, kept_rows
from multitracer.analysis.logs import LinkLog, Logs
from multitracer.model.errors import UsageError
from multitracer.model.options import AnalyzeOptions

if TYPE_CHECKING:
    import pandas as pd

_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Window:
    """From `begin_ns` up to `end_ns` on the reference clock, of these connections; of all when there are none."""

    begin_ns: int
    end_ns: int
    connections: tuple[int, ...] = ()

    def holds(self, time_ns: Any) -> Any:
        """Which of the times are in it."""
        return (time_ns >= self.begin_ns) & (time_ns < self.end_ns)


def window_of(options: AnalyzeOptions, origin_ns: int) -> Window:
    """The window that the options ask for, in seconds from the origin."""
    begin, end = options.from_s, options.to_s
    return Window(
        origin_ns + round(begin * 1e9) if begin is not None else -_LATEST,
        origin_ns + round(end * 1e9) if end is not None else _LATEST,
        options.connections,
    )


def cut_captures(captures: Captures, window: Window, origin_ns: int, *, other_logs: bool) -> Captures:
    """The packets in the window; with none, a UsageError unless there are other logs."""
    segments = captures.segments
    time_ns = segments["time_ns"].to_numpy()
    keep = window.holds(time_ns)
    if window.connections:
        _check(window.connections, len(captures.connections))
        keep = keep & np.isin(segments["connection"].to_numpy(), window.connections)
    if not keep.any() and not other_logs:
        there = "There is no TCP packet in these inputs."
        if len(time_ns):
            there = f"There are packets up to {(int(time_ns.max()) - origin_ns) / 1e9:.1f} s."
        raise UsageError(f"nothing was captured in that window\n{there}")
    return kept_rows(captures, keep)


def _check(wanted: tuple[int, ...], connections: int) -> None:
    """Refuse a connection that there is not."""
    absent = [number for number in wanted if number >= connections]
    if absent:
        there = f"0 to {connections - 1}" if connections > 1 else "0" if connections else "none"
        raise UsageError(f"--connection {absent[0]}: there is none of that number\nThere are: {there}.")


def cut_logs(logs: Logs, window: Window) -> Logs:
    """The records in the window."""
    link = logs.link and LinkLog(logs.link.links, _cut(logs.link.frames, window), _cut(logs.link.events, window))
    inputs = list(logs.inputs)
    for number in logs.left_out:  # said once more for the part
        inputs[number] = inputs[number].noting(inputs[number].recording.notes[-1])
    return Logs(inputs, _cut(logs.tcp_state, window), link, logs.left_out)


def cut_accounts(accounts: Mapping[int, Accounting], window: Window) -> dict[int, Accounting]:
    """The accounting of the window."""
    return {link: one.within(window.begin_ns, window.end_ns) for link, one in accounts.items()}


def _cut(table: pd.DataFrame, window: Window) -> pd.DataFrame:
    return table[window.holds(table["time_ns"].to_numpy())].reset_index(drop=True)
