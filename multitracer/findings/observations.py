"""What detectors look at: the joined tables, who saw what, and how far the clocks can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import Columns
from multitracer.correlation.queue_fates import Fates, queue_fates
from multitracer.findings.directions import Direction, Directions
from multitracer.link.coverage import NOTHING, Coverage, Coverages
from multitracer.link.padding import padded_ns
from multitracer.link.timing import Timing
from multitracer.model.limits import Limits
from multitracer.model.thresholds import Thresholds
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.rtt import segment_round_trips

if TYPE_CHECKING:
    import pandas as pd

MS = 1_000_000

Ints = npt.NDArray[np.int64]


class ByEnd(NamedTuple):
    """Of each end, numbered 2 * connection + sender, what its direction says; arrays."""

    sender_point: Ints
    """-1: none."""
    receiver_point: Ints
    """-1: none."""
    least_rtt_ns: Ints
    """0: unknown."""


@dataclass(frozen=True)
class Observations:
    """Everything that was concluded about one trace so far, on the reference clock.

    `arrival` gives for each row of `segments` the row of the same packet at the receiving point, -1
    where there is none; `arrived` whether it got there intact: 1 yes, 0 no, -1 unknown.
    `clock_error_ns` bounds the error between two points, however long either way takes; absent where their clocks
    could not be related. `log_error_ns` likewise bounds that between a point and the log of a link: by link, whether
    the link's sender wrote the log (else its receiver), and point.
    Tables of the link are None where no link was logged.
    """

    segments: pd.DataFrame
    connections: pd.DataFrame
    retransmissions: pd.DataFrame
    directions: Directions
    arrival: npt.NDArray[np.int32]
    arrived: npt.NDArray[np.int8]
    clock_error_ns: dict[tuple[int, int], int] = field(default_factory=dict)
    log_error_ns: dict[tuple[int, bool, int], int] = field(default_factory=dict)
    links: pd.DataFrame | None = None
    frames: pd.DataFrame | None = None
    link_intervals: pd.DataFrame | None = None
    segment_frames: pd.DataFrame | None = None
    accounting: pd.DataFrame | None = None
    link_rtt_ns: int | None = None
    timings: Mapping[int, Timing] = field(default_factory=dict)
    """By link, when frames of it may be on the air, and for how long."""
    groups: Groups | None = None
    """Rows of `segments` by connection and point, where the caller has grouped them already."""
    limits: Limits | None = None
    """What limited what each end sent."""
    cwnd_bytes: npt.NDArray[np.int64] | None = None
    """At each row of `segments` the congestion window of the sender beside whom it was captured, -1 unknown; None
    where no host logged any.
    """
    lost_records: Sequence[int] = ()
    """Per point, how many stretches of octets its capture lacks though they were acknowledged; none if empty."""
    usual_rtt_ns: int = 0
    """Where these tables are a window of a recording: the largest of its connections' least round trips, else 0."""
    thresholds: Thresholds = field(default_factory=Thresholds)

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.segments)

    @cached_property
    def frame_ns(self) -> dict[int, int]:
        """By link, how long a frame of it is on the air, where that is known."""
        return {link: one.frame_ns for link, one in self.timings.items() if one.frame_ns is not None}

    @cached_property
    def retransmission_columns(self) -> Columns:
        """The columns of `retransmissions`."""
        return Columns(self.retransmissions)

    @cached_property
    def _groups(self) -> Groups:
        return self.groups or Groups(self.segments, len(self.connections))

    def rows(self, connection: int, point: int, sender: int | None = None) -> npt.NDArray[np.int64]:
        """Rows of `segments` of a connection at a point, in capture order; packets captured twice count once."""
        rows: npt.NDArray[np.int64] = self._groups.rows(connection, point)
        return rows if sender is None else rows[self.column("sender")[rows] == sender]

    def row_ranges(self, connection: npt.NDArray[np.int64], point: npt.NDArray[np.int64]) -> tuple[Any, Any, Any]:
        """An order of the rows of `segments`, and where those of each connection at a point begin and end in it."""
        return self._groups.ranges(connection, point)

    @property
    def packed_words(self) -> npt.NDArray[np.int64]:
        """The packed word (`packed_rows`) of each row in that order."""
        words: npt.NDArray[np.int64] = self._groups.words
        return words

    @cached_property
    def last_ns(self) -> npt.NDArray[np.int64]:
        """By point, when its last packet was captured."""
        point, time_ns = self.column("point"), self.column("time_ns")
        last = np.full(int(point.max(initial=-1)) + 1, np.iinfo(np.int64).min)
        if len(last) == 1:  # takes a fifth of the time that a maximum for each point does
            return time_ns.max(keepdims=True)
        np.maximum.at(last, point, time_ns)
        return last

    @cached_property
    def captured_at_both_ends(self) -> list[Direction]:
        """The directions whose segments were captured both leaving and arriving."""
        return list(self.directions.at(self.directions.beside_both))

    @cached_property
    def paired(self) -> npt.NDArray[np.bool_]:
        """Which rows of `segments` are the arrival of a segment that was also captured when it left."""
        paired = np.zeros(len(self.segments), dtype=np.bool_)
        paired[self.arrival[self.arrival >= 0]] = True
        return paired

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of `segments` as an array."""
        return self._columns[name]

    def rows_sent(self, direction: Direction) -> npt.NDArray[np.int64]:
        """Rows of the segments that a direction's sender sent, at the point beside it; none where there is none."""
        return self.rows(direction.connection, direction.sender_point, direction.sender)

    def rows_seen(self, direction: Direction) -> npt.NDArray[np.int64]:
        """Rows of the segments that a direction's sender sent, at the point beside it, else where they arrived."""
        point = direction.sender_point if direction.sender_point >= 0 else direction.receiver_point
        return self.rows(direction.connection, point, direction.sender)

    def incomplete(self, direction: Direction) -> bool:
        """Whether a capture beside an end of this direction lost records."""
        points = [point for point in (direction.sender_point, direction.receiver_point) if point >= 0]
        return any(self.lost_records[point] > 0 for point in points if point < len(self.lost_records))

    def pure_acks(self, direction: Direction) -> npt.NDArray[np.int64]:
        """Rows of the acknowledgements without data that a direction's sender sent, at the point beside it."""
        rows = self.rows_sent(direction)
        only_ack = self.column("flags")[rows] & 0b10111 == 0b10000
        return rows[(self.column("payload_bytes")[rows] == 0) & only_ack]

    @cached_property
    def by_end(self) -> ByEnd:
        """What the directions say, for detectors that look at all of them."""
        seen, ends = self.directions, 2 * len(self.connections)
        end = 2 * seen.connection + seen.sender
        made = ByEnd(np.full(ends, -1), np.full(ends, -1), np.zeros(ends, dtype=np.int64))
        made.sender_point[end], made.receiver_point[end] = seen.sender_point, seen.receiver_point
        made.least_rtt_ns[end] = seen.least_rtt_ns
        return made

    def direction(self, connection: int, sender: int) -> Direction | None:
        """The direction of what one end of a connection sent, None where nothing of it was captured."""
        return self.directions.find(connection, sender)

    def error_ns(self, direction: Direction) -> int | None:
        """The clock error between the two ends of a direction at worst, None where their clocks are not related."""
        if direction.sender_point == direction.receiver_point:
            return 0
        return self.clock_error_ns.get((direction.sender_point, direction.receiver_point))

    @cached_property
    def _carried(self) -> dict[tuple[int, str], npt.NDArray[np.int64]]:
        table = self.segment_frames
        return {} if table is None else dict(table.groupby(["connection", "sender"]).indices)

    def carried(self, direction: Direction) -> pd.DataFrame | None:
        """The rows of `segment_frames` of what a direction's sender sent; None where no log shows any."""
        sender = self.connections[("client", "server")[direction.sender]].iat[direction.connection]
        rows = self._carried.get((direction.connection, str(sender)))
        return None if rows is None or self.segment_frames is None else self.segment_frames.iloc[rows]

    def streams(self, link: int) -> npt.NDArray[np.int64]:
        """Whose data a link carried, by its log, as 2 * connection + sender; of the main direction if that tells none.

        Without a log `link` is -1.
        """
        segment = np.empty(0, dtype=np.int64)
        if self.segment_frames is not None and link >= 0:
            segment = self.segment_frames["segment"].to_numpy()[self.segment_frames["link"].to_numpy() == link]
            segment = segment[segment >= 0]
            segment = segment[self.column("payload_bytes")[segment] > 0]
        main = self.main_direction
        if not len(segment):
            return np.array([2 * main.connection + main.sender] if main else [], dtype=np.int64)
        return np.unique(2 * self.column("connection")[segment].astype(np.int64) + self.column("sender")[segment])

    def log_error(self, link: int, point: int, *, by_sender: bool = True) -> int | None:
        """The clock error between a point and the log that a link's sender (or its receiver) wrote; None unknown."""
        return self.log_error_ns.get((link, by_sender, point))

    def intervals(self, kind: str) -> Iterator[tuple[int, int, int, str]]:
        """Intervals of one kind on any link: the link, start, end, and the reason."""
        table = self.link_intervals
        if table is not None and len(table):
            mine = table[table["kind"] == kind]
            yield from zip(*(mine[name].tolist() for name in ("link", "start_ns", "end_ns", "because")), strict=True)

    def resets(self, link: int) -> list[tuple[int, int]]:
        """Start and end of each reset of a link, or of its reverse."""
        bearer = self.bearer(link)
        return [(start, end) for number, start, end, _ in self.intervals("reset") if number in bearer]

    def logged(self, link: int, since_ns: int, until_ns: int) -> bool:
        """Whether every log that there is of a link has all frames between two times."""
        logs = [self.coverage(link, by_sender=by_sender) for by_sender in (True, False)]
        return all(bool(log.covers(since_ns, until_ns)) for log in logs if log is not NOTHING)

    @cached_property
    def fates(self) -> Fates | None:
        """What became of each packet of `segment_frames`; None without that table."""
        if self.segment_frames is None:
            return None
        return queue_fates(self.segment_frames, self._resets_at_latest, self.covered_by_sender, self._padded_ns)

    def covered_by_sender(self, link: int) -> Coverage:
        """What the log of a link's sender covers by the captures' clocks; nothing where they are not related to it."""
        return self._covered_at_least(link, by_sender=True)

    def covered_by_receiver(self, link: int) -> Coverage:
        """The same of its receiver's log."""
        return self._covered_at_least(link, by_sender=False)

    def _covered_at_least(self, link: int, *, by_sender: bool) -> Coverage:
        errors = [error for (one, *_), error in self.log_error_ns.items() if one == link]
        return self.coverage(link, by_sender=by_sender).apart(max(errors)) if errors else NOTHING

    @cached_property
    def coverages(self) -> Coverages | None:
        """What the links' logs cover; None where no link was logged."""
        return None if self.frames is None or self.links is None else Coverages(self.frames, self.links)

    def coverage(self, link: int, *, by_sender: bool) -> Coverage:
        """What the log of a link's sender covers, or that of its receiver."""
        return NOTHING if self.coverages is None else self.coverages.of(link, by_sender=by_sender)

    def _resets_at_latest(self, link: int) -> list[tuple[int, int]]:
        """The resets of a link, each to the latest time on the captures' clocks at which it may have ended."""
        late = max((error for (one, *_), error in self.log_error_ns.items() if one == link), default=0)
        return [(start, end + late) for start, end in self.resets(link)]

    def _padded_ns(self, link: int) -> Any:
        """When a link's sender padded new frames, by the log that has their first frames."""
        if self.frames is None or self.links is None:
            return np.empty(0, dtype=np.int64)
        return padded_ns(self.frames, self.links, link)

    def bearer_number(self, link: int) -> int:
        """The lower number of a link's two directions."""
        return min(one for one in self.bearer(link) if one >= 0)

    def monitored(self, link: int) -> bool:
        """Whether a link's frames are what a monitor heard on the air: what it did not hear proves nothing."""
        return self.links is not None and str(self.links["protocol"].iat[link]) == "wifi"

    def bearer(self, link: int) -> tuple[int, int]:
        """A link and its reverse, -1 where there is none."""
        reverse = -1 if self.links is None else int(self.links["reverse"].iat[link])
        return link, reverse

    def rtt_ns(self, connection: int) -> int:
        """The least round trip of a connection, 0 when none was measured: of the end with more data, if it has one.

        The other end may only have measured the handshake's, which may have been repaired.
        """
        ends = [one for sender in (0, 1) if (one := self.direction(connection, sender)) and one.least_rtt_ns > 0]
        return max(ends, key=lambda one: (one.data_bytes, one.least_rtt_ns)).least_rtt_ns if ends else 0

    @property
    def main_direction(self) -> Direction | None:
        """The direction with most data, None where there is none."""
        return self.directions.main

    @property
    def main_connection(self) -> int:
        """Its connection, -1 where there is none."""
        return self.main_direction.connection if self.main_direction else -1

    def round_trips(self, direction: Direction) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Send times and round trips of the segments that were sent once, measured at their sender.

        A segment that was sent with nothing else in flight is left out: the receiver may delay its
        acknowledgement (RFC 1122 4.2.3.2).
        """
        rows = self.rows(direction.connection, direction.sender_point)
        time_ns, seq, payload, ack, sender = (
            self.column(name)[rows] for name in ("time_ns", "seq", "payload_bytes", "ack", "sender")
        )
        return segment_round_trips(time_ns, sender == direction.sender, seq, payload, ack)

    def references(self, rows: npt.NDArray[np.int64], limit: int = 5) -> list[dict[str, int]]:
        """Where to find these segments in the inputs: input and record numbers of the first few."""
        inputs, records = self.column("input"), self.column("record")
        return [{"input": int(inputs[row]), "record": int(records[row])} for row in rows[:limit]]
