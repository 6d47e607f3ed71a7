"""Which link frames carried which segment: the table segment_frames.

The packets reassembled from a link's frames are matched to captured segments (`correlation.matching`,
without payload `correlation.sizes`); their frames give each segment its times on the link and the
number of link retransmissions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.correlation.candidates import UNRELATED, CandidateSegments, Fields
from multitracer.correlation.delivery import NEVER, acknowledged, delivered, ignored, taken
from multitracer.correlation.headers import header
from multitracer.correlation.matching import Ends, Offer, match
from multitracer.correlation.sizes import SizedPacket, match_sizes
from multitracer.link import reassembly_rlc, reassembly_rlp, reassembly_wifi
from multitracer.link.coverage import one_log
from multitracer.link.packets import CarriedPacket
from multitracer.link.reassembly_rlc import direction
from multitracer.link.rlp_receiver import as_taken, frames_taken
from multitracer.model.paths import Paths
from multitracer.model.schema import ACK, FIN, MARKS, RST, SYN, build, empty
from multitracer.vantage.paths import INTACT, LOST

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

NONE = -1


@dataclass(frozen=True)
class LinkMatch:
    """The packets that one link direction carried, and the segments they were matched to.

    `packets` are in the order of their first transmission; `segments` has the shape (packets,): the row in
    segments of each, -1 without a match, `whole_ns` when the far end had it whole by its log, -1 or less if never.
    `sender_logged` tells whether they are from the sender's log. `taken` are the rows of the frames that the far end
    delivered, where they are known, and not only what came.
    """

    link: int
    packets: list[CarriedPacket]
    segments: Ints
    whole_ns: Ints
    sender_logged: bool
    taken: Ints | None = None


@dataclass(frozen=True)
class Correlation:
    """The table segment_frames (see the schema), and the packets of each link it was made from."""

    segment_frames: pd.DataFrame
    links: dict[int, LinkMatch] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What could not be matched and why, one sentence each."""

    @property
    def carried(self) -> dict[int, list[CarriedPacket]]:
        """The packets that each link carried, by link number."""
        return {number: match.packets for number, match in self.links.items()}


def correlate(
    tables: Mapping[str, pd.DataFrame],
    segments: pd.DataFrame,
    connections: pd.DataFrame,
    paths: Paths,
    error_ns: Sequence[int] | None = None,
) -> Correlation:
    """Match the packets that the links carried to captured segments.

    `tables` has packets (with the same rows as `segments`), flows, links, and frames, numbered by
    `link.frames.number_frames`; `segments` have their marks. `error_ns` is per observation point the error
    bound of its clock against that of the frames; -1 if they are not related, so that times are not
    used. Without it all times are taken to be on one clock.
    """
    points = int(segments["point"].max()) + 1 if len(segments) else 0
    errors = np.zeros(points, dtype=np.int64) if error_ns is None else np.asarray(error_ns, dtype=np.int64)
    frames = tables["frames"]
    errors = np.where(errors < 0, UNRELATED, errors)
    candidates = CandidateSegments(segments, tables["packets"], tables["flows"], paths, errors)
    rows: list[_Row] = []
    found: dict[int, LinkMatch] = {}
    notes: list[str] = []
    links = tables["links"]
    columns = (links["link"].tolist(), links["reverse"].tolist(), links["protocol"].astype(str))
    for link, reverse, protocol in zip(*columns, strict=True):
        mine = one_log(frames, direction(frames, link))
        if not len(mine):
            continue
        one = _LinkMatcher((link, reverse), protocol, candidates, frames, mine)
        found[link] = LinkMatch(
            link, one.packets, one.segments, np.array(one.delivered, dtype=np.int64), one.sender_logged, one.taken
        )  # fmt: skip
        rows += one.rows()
        notes += one.notes()
    return Correlation(_table(rows, candidates, connections), found, notes)


def reassemble(frames: pd.DataFrame, rows: Ints, protocol: str) -> list[CarriedPacket]:
    """The packets of a link direction's frames; `protocol` as in the links table."""
    if protocol == "wifi":
        return reassembly_wifi.reassemble(frames, rows)
    if protocol == "rlp":
        return reassembly_rlp.reassemble(frames, rows)
    return reassembly_rlc.reassemble(frames, rows, protocol)


@dataclass
class _Row:
    """One row of segment_frames; unknown values are -1."""

    stream: int
    link: int
    seq: int
    payload_bytes: int
    packet_bytes: int
    segment: int
    matched_by: str
    sent_ns: int = NONE
    first_frame_ns: int = NONE
    last_frame_ns: int = NONE
    last_new_frame_ns: int = NONE
    delivered_ns: int = NONE
    frames: int = NONE
    frame_retransmissions: int = NONE
    carried_bytes: int = NONE
    queue_ns: int = NONE
    logged_ns: int = NONE
    ack: int = NONE
    epoch: int = NONE
    last_sn: int = NONE
    end_sn: int = NONE


class _LinkMatcher:
    """One direction of a link: its packets, and the segments they are matched to."""

    def __init__(
        self, links: tuple[int, int], protocol: str, candidates: CandidateSegments, frames: pd.DataFrame, mine: Ints
    ) -> None:
        """`links` are the direction and its reverse, -1 where there is none."""
        (self.link, self.reverse), self.candidates = links, candidates
        self.time_ns = frames["time_ns"].to_numpy()
        self.begins_ns = int(self.time_ns[mine].min())
        self.sender_logged = bool(frames["sent"].to_numpy()[mine[0]])
        self.monitored = protocol == "wifi"
        self.repeats = frames["transmission"].to_numpy() > 0
        self.numbers, self.epochs = frames["sn_unwrapped"].to_numpy(), frames["epoch"].to_numpy()
        self.carries_data = bool((frames["payload_bytes"].to_numpy()[mine] > 0).any())
        self.packets = reassemble(frames, mine, protocol)
        self.taken: Ints | None = None
        self.delivered = self._delivered(frames, protocol)
        self.headers = [header(packet.octets) for packet in self.packets]
        self.ends: Ends = {}
        self.matched_by = "bytes" if self.packets and not any(p.octets for p in self.packets) else "payload"
        self.fields, self.places = self._by_payload() if self.matched_by == "payload" else self._by_bytes(mine)
        row = np.array([*self.fields.row, NONE], dtype=np.int64)
        self.segments: Ints = row[np.array(self.places, dtype=np.int64)]
        self.ignored = self._ignored(frames)

    def _by_payload(self) -> tuple[Fields, list[int]]:
        self.ends = self.candidates.streams_of(self.headers)
        fields = self.candidates.fields(stream for streams in self.ends.values() for stream in streams)
        return fields, match(self._offers(), fields, self.ends)

    def _by_bytes(self, mine: Ints) -> tuple[Fields, list[int]]:
        """The segments of the host whose sizes fit those of the packets carried, if most packets fit."""
        steps = np.diff(np.unique(self.time_ns[mine]))
        frame_ns = int(np.median(steps)) if len(steps) else 0
        packets = [
            SizedPacket(
                self._new_octets(p), int(self.time_ns[p.rows[0]]), int(self.time_ns[p.first_transmissions[-1]]), p.epoch
            )
            for p in self.packets
        ]
        best, places, found = self.candidates.fields([]), [NONE] * len(packets), len(packets) // 2
        for streams in self.candidates.hosts().values():
            fields = self.candidates.fields(streams)
            if len(set(fields.point)) == 1 and all(fields.offered) and max(fields.error_ns) < UNRELATED:
                tried = match_sizes(packets, fields, frame_ns)
                fitting = sum(place >= 0 for place in tried)
                if fitting > found:
                    best, places, found = fields, tried, fitting
        return best, places

    def _new_octets(self, packet: CarriedPacket) -> int:
        """The number of the packet's octets that the link sent, without retransmissions."""
        return int(packet.octets_in_row[np.isin(packet.rows, packet.first_transmissions)].sum())

    def _delivered(self, frames: pd.DataFrame, protocol: str) -> list[int]:
        if protocol == "wifi":
            return acknowledged(self.packets, frames)
        received = one_log(frames, np.flatnonzero(((frames["link"] == self.link) & ~frames["sent"]).to_numpy()))
        received = taken(frames, received, self.reverse)
        if not len(received):
            return [NEVER] * len(self.packets)
        if not self.sender_logged:
            return delivered(self.packets, self.packets, frames, protocol)
        heard = frames_taken(frames, received, self.reverse) if protocol == "rlp" else None
        if heard is None:
            moves = received[(frames["type"] == "MRW").to_numpy()[received]]
            return delivered(self.packets, reassemble(frames, received, protocol), frames, protocol, moves=moves)
        self.taken, frames = heard.rows, as_taken(frames, heard)
        return delivered(self.packets, reassemble(frames, heard.rows, protocol), frames, protocol, is_exact=True)

    def _ignored(self, frames: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Which packets came whole to an entity that ignored them; only RLC in acknowledged mode has a RESET."""
        if not (frames["type"] == "RESET").any():
            return np.zeros(len(self.packets), dtype=np.bool_)
        captured = np.fromiter(map(self._captured_behind, range(len(self.packets))), dtype=np.int8)
        return ignored(self.packets, np.array(self.delivered, dtype=np.int64), captured, frames, self.reverse)

    def _captured_behind(self, number: int) -> int:
        """Whether a capture behind the link has a packet: 1, 0, -1 where there is none, or one before the link."""
        place, head = self.places[number], self.headers[number]
        if place >= 0:
            return NONE if self.fields.offered[place] else 1
        streams = self.ends.get(head[:4], []) if head is not None else []
        return 0 if streams and not any(map(self.candidates.sent_here, streams)) else NONE

    def _offers(self) -> list[Offer]:
        return [
            Offer(
                head,
                int(self.time_ns[packet.rows[0]]),
                int(self.time_ns[packet.first_transmissions[-1]]),
                packet.garbled,
            )
            for head, packet in zip(self.headers, self.packets, strict=True)
        ]

    def rows(self) -> Iterator[_Row]:
        """A row for each segment that was carried, and for each that certainly was not."""
        references = self._references()
        for number, (packet, place) in enumerate(zip(self.packets, self.places, strict=True)):
            row = self._captured_row(place) if place >= 0 else self._uncaptured_row(number, references)
            if row is not None:
                self._note_frames(row, packet)
                first_heard = not (self.monitored and self.repeats[packet.rows[0]])
                if row.sent_ns >= 0 and self.sender_logged and first_heard and self.fields.error_ns[place] < UNRELATED:
                    row.queue_ns = max(0, row.first_frame_ns - row.sent_ns)
                row.logged_ns = self.delivered[number]
                row.delivered_ns = self._delivered_ns(number, row.segment)
                yield row
        if self.sender_logged and not self.monitored:  # a monitor may not have heard a frame
            yield from self._rows_never_carried()

    def _captured_row(self, place: int) -> _Row:
        fields = self.fields
        row, stream = fields.row[place], fields.stream[place]
        sent_ns = fields.time_ns[place] if self.candidates.sent_here(stream) else NONE
        seq = int(self.candidates.segments["seq"].to_numpy()[row])
        return _Row(
            stream, self.link, seq, fields.payload_bytes[place], fields.wire_bytes[place], row, self.matched_by, sent_ns
        )

    def _references(self) -> dict[int, int]:
        """For each stream with matched packets, the row of one of its segments."""
        return {self.fields.stream[place]: self.fields.row[place] for place in self.places if place >= 0}

    def _uncaptured_row(self, number: int, references: dict[int, int]) -> _Row | None:
        """The row of a packet that was not captured, of a captured stream: its own header has its numbers."""
        head = self.headers[number]
        if head is None or not head.numbered or self.packets[number].garbled:
            return None
        streams = [stream for stream in self.ends.get(head[:4], []) if stream in references]
        if len(streams) != 1:
            return None
        near = references[streams[0]]
        row = _Row(
            streams[0], self.link, self.candidates.relative_seq(head.raw_seq, near), head.payload_bytes,
            head.wire_bytes, NONE, self.matched_by,
        )  # fmt: skip
        if head.flags & (ACK | RST) == ACK and len(self.ends[head[:4]]) == 1:  # else it may be of another connection
            row.ack = self.candidates.relative_ack(head.raw_ack, near)
        return row

    def _note_frames(self, row: _Row, packet: CarriedPacket) -> None:
        """Fill in times and counts of frames from the sender's log; the receiver's lacks frames that were lost."""
        if not self.sender_logged:
            return
        row.first_frame_ns = int(self.time_ns[packet.rows[0]])
        row.last_frame_ns = int(self.time_ns[packet.rows[-1]])
        row.last_new_frame_ns = int(self.time_ns[packet.first_transmissions[-1]])
        row.frames = len(packet.rows)
        row.frame_retransmissions = len(packet.rows) - len(packet.first_transmissions)
        row.carried_bytes = self._new_octets(packet)
        row.epoch, row.last_sn = int(self.epochs[packet.rows[0]]), int(self.numbers[packet.rows].max())
        row.end_sn = row.last_sn + (not packet.end_told)

    def _delivered_ns(self, number: int, segment: int) -> int:
        """Delivery time by the receiver's log, unless a capture behind the link shows that the packet was lost.

        If the log has none, the time at which that capture saw the packet; -1 unknown.
        """
        by_log = NONE if self.ignored[number] else max(self.delivered[number], NONE)
        paths = self.candidates.paths
        if segment < 0 or paths.arrived[segment] not in (INTACT, LOST):
            return by_log
        if paths.arrived[segment] == LOST:
            return NONE
        came = int(paths.arrival[segment])
        by_capture = int(self.candidates.segments["time_ns"].to_numpy()[came]) if came >= 0 else NONE
        return by_log if by_log >= 0 else by_capture

    def _rows_never_carried(self) -> Iterator[_Row]:
        """Rows of segments that did not reach the link: those between two carried ones without uncertain packets.

        As many of the first of them as packets there were cut off have none: the link keeps the order, and had a part
        of each.
        """
        at = {place: number for number, place in enumerate(self.places) if place >= 0}
        uncertain, cut = self._uncertain_packets(), self._cut_off_packets()
        streams = {self.fields.stream[place] for place in at}
        for point in set(self.fields.point):
            before = NONE
            between: list[int] = []
            for place in range(len(self.fields.row)):
                if self.fields.point[place] != point or self.fields.stream[place] not in streams:
                    continue
                if place not in at:
                    between.append(place)
                    continue
                number = at[place]
                if between and number > before and not uncertain[number + 1] - uncertain[max(before, 0)]:
                    in_part = cut[number + 1] - cut[max(before, 0)]
                    yield from (self._never_row(p) for p in between[in_part:] if self._log_covers(p, before))
                before, between = max(before, number), []

    def _is_cut_off(self, number: int) -> bool:
        """Whether a packet that was not matched was cut off by a reset."""
        return self.places[number] < 0 and self._is_last_before_reset(number) and not self.packets[number].complete

    def _is_last_before_reset(self, number: int) -> bool:
        return number + 1 < len(self.packets) and self.packets[number + 1].epoch != self.packets[number].epoch

    def _cut_off_packets(self) -> list[int]:
        """Running count, from 0, of those packets."""
        return list(accumulate(map(self._is_cut_off, range(len(self.packets))), initial=0))

    def _uncertain_packets(self) -> list[int]:
        """Running count, from 0, of packets that may be or contain a whole segment that was not matched."""
        counts = [0]
        for number, (packet, place) in enumerate(zip(self.packets, self.places, strict=True)):
            head = self.headers[number]
            not_captured = head is not None and head[:4] not in self.ends
            flushed = self._is_last_before_reset(number)
            whole = packet.complete or packet.garbled or flushed or self.matched_by == "bytes"
            sure = not_captured or (place >= 0 and whole) or self._is_cut_off(number)
            counts.append(counts[-1] + (not sure))
        return counts

    def _log_covers(self, place: int, before: int) -> bool:
        stream = self.fields.stream[place]
        if not self.candidates.sent_here(stream):
            return False
        return before >= 0 or self.fields.time_ns[place] > self.begins_ns + self.fields.error_ns[place]

    def _never_row(self, place: int) -> _Row:
        row = self._captured_row(place)
        row.frames = row.frame_retransmissions = row.carried_bytes = 0
        return row

    def notes(self) -> Iterator[str]:
        """Sentences on how many packets match no segment, by reason."""
        if not self.packets and self.carries_data:
            yield f"The log of link {self.link} has neither payload nor packet sizes: frames and segments stay apart."
        reasons: dict[str, int] = {}
        for number, place in enumerate(self.places):
            if place < 0:
                reason = self._reason(number)
                reasons[reason] = reasons.get(reason, 0) + 1
        for reason, count in sorted(reasons.items()):
            share = f"{count} of {len(self.packets)} packets carried by link {self.link}"
            yield f"{share} match no captured segment: {reason}."

    def _reason(self, number: int) -> str:
        head = self.headers[number]
        if self.matched_by == "bytes":
            return "the log has no payload, and their sizes do not tell which they are"
        if head is None:
            return "their octets show no TCP header"
        if head[:4] not in self.ends:
            return "no capture has their connection"
        return "no captured segment of their connection is left that is the same"


def _table(rows: Sequence[_Row], candidates: CandidateSegments, connections: pd.DataFrame) -> pd.DataFrame:
    if not rows:
        return empty("segment_frames")
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in _COPIED}
    stream = np.array([row.stream for row in rows], dtype=np.int64)
    table = build("segment_frames", {
        **columns,
        "connection": stream // 2,
        "sender": _senders(stream, connections),
        "transmission": _transmissions(rows, candidates),
    })  # fmt: skip
    # Segments of one instant are in the order of the capture, which is that of the queue before the link.
    place = np.where(table["sent_ns"] >= 0, table["segment"], NONE)
    order = np.lexsort((table["first_frame_ns"], place, table["sent_ns"], table["link"]))
    return table.take(order).reset_index(drop=True)


_COPIED = (
    "link", "seq", "payload_bytes", "sent_ns", "first_frame_ns", "last_frame_ns", "delivered_ns", "frames",
    "frame_retransmissions", "queue_ns", "segment", "matched_by", "packet_bytes", "carried_bytes", "logged_ns", "ack",
    "last_new_frame_ns", "epoch", "last_sn", "end_sn",
)  # fmt: skip


def _senders(stream: Ints, connections: pd.DataFrame) -> list[str]:
    ends = connections["client"].tolist(), connections["server"].tolist()
    return [ends[number % 2][number // 2] for number in stream.tolist()]


def _transmissions(rows: Sequence[_Row], candidates: CandidateSegments) -> Ints:
    """Per row, how often TCP had sent the same bytes before, by the sender's capture; else -1."""
    segments = candidates.segments
    streams = [stream for stream in {row.stream for row in rows} if candidates.sent_here(stream)]
    order = np.array(candidates.fields(streams).row, dtype=np.int64)
    own = segments.take(order)
    takes_room = (own["payload_bytes"].to_numpy() > 0) | (own["flags"].to_numpy() & (SYN | FIN) > 0)
    same = own[["connection", "sender", "seq", "payload_bytes"]]
    count = same.groupby(list(same.columns)).cumcount().to_numpy()
    marked = own["marks"].to_numpy() & MARKS["retransmission"] > 0
    earlier = np.where(takes_room, np.maximum(count, marked), 0)
    by_segment = np.full(len(segments) + 1, NONE, dtype=np.int64)
    by_segment[order] = earlier
    return by_segment[[row.segment for row in rows]]
