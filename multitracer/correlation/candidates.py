"""The captured segments that a link may have carried, and the streams they belong to.

A stream is what one end of one connection sent, numbered `2 * connection + sender`. Its segments are
taken from one observation point, the nearest to the sender.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.correlation.headers import FLAGS_MASK, Header
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import ACK, MARKS

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

UNRELATED = 1 << 62
"""Clock error of a point whose clock is not related to the link log's: larger than any time in ns."""
_HALF, _WHOLE = 1 << 31, 1 << 32


class Fields(NamedTuple):
    """Fields of the segments of some streams, as plain lists; `row` is the row in segments.

    Sorted by observation point and time: of two places (list indices) of one point, the lower was captured first.
    """

    row: list[int]
    stream: list[int]
    time_ns: list[int]
    seq: list[int]
    raw_seq: list[int]
    raw_ack: list[int]
    payload_bytes: list[int]
    flags: list[int]
    ip_id: list[int]
    checksum: list[int]
    wire_bytes: list[int]
    point: list[int]
    error_ns: list[int]
    """Error bound of `time_ns` against the link log's clock; UNRELATED if unknown."""
    offered: list[bool]
    """Whether it was captured before the link; else behind it."""


@dataclass(frozen=True)
class CandidateSegments:
    """Segments and the packets they were made from: the two tables have the same rows.

    `error_ns` has the shape (points,): the error bound of each point's times against the link log's clock.
    """

    segments: pd.DataFrame
    packets: pd.DataFrame
    flows: pd.DataFrame
    paths: Paths
    error_ns: Ints

    @cached_property
    def stream(self) -> Ints:
        """The stream of each row of segments, -1 for none."""
        connection = self.segments["connection"].to_numpy().astype(np.int64)
        return np.where(connection >= 0, 2 * connection + self.segments["sender"].to_numpy(), -1)

    def streams_of(self, headers: Iterable[Header | None]) -> dict[tuple[str, int, str, int], list[int]]:
        """The streams of each (source, port, destination, port) in the headers, for those that were captured."""
        ends = {header[:4] for header in headers if header is not None}
        return {key: self._by_ends[key] for key in ends if key in self._by_ends}

    def hosts(self) -> dict[str, list[int]]:
        """The streams that each address sent."""
        found: dict[str, list[int]] = {}
        for ends, streams in self._by_ends.items():
            found.setdefault(ends[0], []).extend(streams)
        return found

    @cached_property
    def _by_ends(self) -> dict[tuple[str, int, str, int], list[int]]:
        flow = self.packets["flow"].to_numpy().astype(np.int64)
        way = 2 * flow + self.packets["direction"].to_numpy()
        known = self.stream >= 0
        pairs = np.unique(np.stack([way[known], self.stream[known]]), axis=1).T.tolist()
        columns = (self.flows[name].tolist() for name in ("address_a", "port_a", "address_b", "port_b"))
        ends = [((a, p, b, q), (b, q, a, p)) for a, p, b, q in zip(*columns, strict=True)]
        found: dict[tuple[str, int, str, int], list[int]] = {}
        for number, stream in pairs:
            found.setdefault(ends[number // 2][number % 2], []).append(stream)
        return found

    def fields(self, streams: Iterable[int]) -> Fields:
        """The segments of these streams, each as the point nearest to its sender saw it."""
        wanted = np.array(sorted(set(streams)), dtype=np.int64)
        seen_at = self.paths.seen_at.reshape(-1)
        best = np.isin(self.stream, wanted)
        best &= self.segments["point"].to_numpy() == seen_at[np.maximum(self.stream, 0)]
        best &= self.segments["marks"].to_numpy() & MARKS["captured_twice"] == 0
        rows = np.flatnonzero(best)
        point, time = self.segments["point"].to_numpy()[rows], self.segments["time_ns"].to_numpy()[rows]
        rows = rows[np.lexsort((time, point))]
        point = self.segments["point"].to_numpy()[rows]
        own = self.packets.take(rows)
        return Fields(
            row=rows.tolist(),
            stream=self.stream[rows].tolist(),
            time_ns=self.segments["time_ns"].to_numpy()[rows].tolist(),
            seq=self.segments["seq"].to_numpy()[rows].tolist(),
            raw_seq=own["raw_seq"].tolist(),
            raw_ack=own["raw_ack"].tolist(),
            payload_bytes=own["payload_bytes"].tolist(),
            flags=(own["flags"].to_numpy() & FLAGS_MASK).tolist(),
            ip_id=own["ip_id"].tolist(),
            checksum=own["checksum"].tolist(),
            wire_bytes=own["wire_bytes"].tolist(),
            point=point.tolist(),
            error_ns=self.error_ns[point].tolist(),
            offered=(self.paths.sender_point.reshape(-1)[self.stream[rows]] != NOWHERE).tolist(),
        )

    def sent_here(self, stream: int) -> bool:
        """Whether an observation point captured the stream between its sender and the link."""
        return int(self.paths.sender_point[stream // 2, stream % 2]) != NOWHERE

    def relative_seq(self, raw_seq: int, near_row: int) -> int:
        """`raw_seq` relative to the stream's ISN, unwrapped to the value nearest to the segment in `near_row`."""
        return self._relative("seq", raw_seq, near_row)

    def relative_ack(self, raw_ack: int, near_row: int) -> int:
        """The same of an acknowledgement number; -1 where that segment has none."""
        has_one = int(self.segments["flags"].to_numpy()[near_row]) & ACK
        return self._relative("ack", raw_ack, near_row) if has_one else -1

    def _relative(self, name: str, raw: int, near_row: int) -> int:
        step = (raw - int(self.packets[f"raw_{name}"].to_numpy()[near_row]) + _HALF) % _WHOLE - _HALF
        return int(self.segments[name].to_numpy()[near_row]) + step
