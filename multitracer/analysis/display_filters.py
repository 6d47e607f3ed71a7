"""Display filters of Wireshark that show the packets of a finding in the captures that have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.model.analysis import Analysis

if TYPE_CHECKING:
    import pandas as pd

_MOST_SEARCHED = 10_000
"""Packets of an interval among which one of the finding's connection is looked for: a report has 2,000 findings."""


class DisplayFilter(NamedTuple):
    """A filter for one input, to be copied."""

    input: str
    """Its path."""
    text: str


class _Captured(NamedTuple):
    """The packets of one input in the order of time: times (ns), and rows of segments."""

    time_ns: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]


@dataclass(frozen=True)
class DisplayFilters:
    """The filters of an analysis' findings: of the packets that a finding names, else of its time and connection.

    A frame's number in Wireshark is the number of its record. Where addresses were replaced, ports alone are compared.
    """

    analysis: Analysis

    def of(self, finding: dict[str, Any]) -> list[DisplayFilter]:
        """The filters for a finding of the summary, one for each capture that shows it."""
        named: dict[int, list[int]] = {}
        for reference in finding["evidence"].get("records") or ():
            named.setdefault(reference["input"], []).append(reference["record"])
        if named:
            return [self._filter(number, _numbers(records)) for number, records in sorted(named.items())]
        return [self._filter(number, text) for number, text in self._in_interval(finding)]

    def _filter(self, number: int, text: str) -> DisplayFilter:
        return DisplayFilter(self._paths[number], text)

    @cached_property
    def _paths(self) -> dict[int, str]:
        return {entry.number: entry.path for entry in self.analysis.trace.inputs}

    @cached_property
    def _columns(self) -> dict[str, Any]:
        segments = self.analysis.tables["segments"]
        return {name: segments[name].to_numpy() for name in ("input", "record", "time_ns", "connection")}

    @cached_property
    def _captured(self) -> dict[int, _Captured]:
        order = np.argsort(self._columns["time_ns"], kind="stable")
        inputs = self._columns["input"][order]
        rows = {int(number): order[inputs == number] for number in np.unique(inputs)}
        return {number: _Captured(self._columns["time_ns"][own], own) for number, own in rows.items()}

    def _in_interval(self, finding: dict[str, Any]) -> Iterator[tuple[int, str]]:
        """For each capture with packets in the finding's interval its number, and the filter for them."""
        start, end = (round(finding[name] * 1e9) + self.analysis.origin_ns for name in ("start_s", "end_s"))
        for number, captured in self._captured.items():
            # Seconds are floats: a packet at the very end is within a microsecond of it.
            first, last = np.searchsorted(captured.time_ns, (start - 1000, end + 1001))
            rows = captured.row[first:last]
            if not len(rows):
                continue
            records = self._columns["record"][rows]
            frames = f"frame.number in {{{int(records.min())}..{int(records.max())}}}"
            if finding["connection"] is None:
                yield number, frames
            elif (ends := self._ends(rows, finding["connection"])) is not None:
                yield number, f"{frames} && {ends}"

    def _ends(self, rows: npt.NDArray[np.int64], connection: int) -> str | None:
        """The comparisons of a connection's addresses and ports, as these packets have them; None without any."""
        own = rows[:_MOST_SEARCHED][self._columns["connection"][rows[:_MOST_SEARCHED]] == connection]
        if not len(own):
            return None
        tables: dict[str, pd.DataFrame] = self.analysis.trace.tables
        flow = tables["flows"].iloc[int(tables["packets"]["flow"].iat[int(own[0])])]
        compared = [f"tcp.port == {flow[name]}" for name in ("port_a", "port_b")]
        if not self.analysis.options.anonymize:
            addresses = [str(flow[name]) for name in ("address_a", "address_b")]
            compared = [f"{'ipv6' if ':' in one else 'ip'}.addr == {one}" for one in addresses] + compared
        return " && ".join(compared)


def _numbers(records: list[int]) -> str:
    return f"frame.number in {{{', '.join(map(str, sorted(set(records))))}}}"
