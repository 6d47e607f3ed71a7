"""Wi-Fi as a link: the data frames that a monitor heard, and which of them it heard acknowledged.

A link is one direction between two stations in one traffic class, as each has sequence numbers of its own. A monitor
on the air hears both directions: its frames count as logged by their sender. What it did not hear proves nothing.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from multitracer.model.schema import build, empty
from multitracer.parsers.shared.rlc_frames import OTHER_END, Links
from multitracer.wire import ieee80211
from multitracer.wire.ieee80211 import AGGREGATED, LLC_BYTES, MESH, MODULUS, MORE_FRAGMENTS, Frame, Heard

if TYPE_CHECKING:
    import pandas as pd

CIPHER_BYTES = 16
"""CCMP's header and check (12.5.3.2); with other ciphers a body is up to 12 octets longer or 8 shorter."""
_ANSWER_NS = 20_000_000
"""An acknowledgement comes SIFS after its frame (10.3.2.11), which lasts 18.4 ms at most (2304 octets, 1 Mbit/s)."""


class Record(NamedTuple):
    """A record of a Wi-Fi link type."""

    number: int
    time_ns: int
    link_type: int
    octets: bytes
    missing: int
    """Octets that the snap length left out."""


class _Row(NamedTuple):
    """A row of the frames table."""

    record: int
    time_ns: int
    link: int
    type: str
    sn: int = -1
    nr: int = -1
    length_bytes: int = -1
    payload_bytes: int = -1
    so: int = -1
    framing: int = -1
    nacks: tuple[tuple[int, int, int], ...] | None = None
    data: bytes | None = None
    fragment: int = -1
    retry: int = -1
    rate_bps: int = -1


_Path = tuple[bytes, bytes, int]
"""Transmitter, receiver and traffic class."""


@dataclass
class _Waiting:
    """The frames of one path."""

    rows: dict[int, int] = field(default_factory=dict)
    """Of frames without an acknowledgement: the row of the last transmission of each number."""
    latest: OrderedDict[tuple[int, int], int] = field(default_factory=OrderedDict)
    """By number and fragment, the row of the transmission that counts so far."""
    fragment_bytes: dict[int, int] = field(default_factory=dict)
    """By number, the octets of each fragment but the last."""


@dataclass
class Monitor:
    """Collects the frames of a capture, one after the other."""

    links: Links = field(default_factory=Links)
    rows: list[_Row] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    encrypted_bytes: int = 0
    repeated: set[int] = field(default_factory=set)
    """Records of transmissions whose packets count with another one of the same frame."""
    _acked: dict[int, int] = field(default_factory=dict)
    _waiting: dict[_Path, _Waiting] = field(default_factory=dict)
    _pairs: dict[_Path, tuple[str, str]] = field(default_factory=dict)
    _last: tuple[int, int, _Path] | None = None
    """Row (-1: none), time and path of the frame before."""

    def add(self, record: Record) -> None:
        """Take one record."""
        heard = ieee80211.hear(record.octets, record.link_type, whole=not record.missing)
        before, self._last = self._last, None
        if heard is None:
            self.counts["802.11 frames damaged or cut"] += 1
        elif heard.frame.is_acknowledgement:
            self._acknowledged(record, heard, before)
        elif heard.frame.is_block_acknowledgement:
            self._block_acknowledged(record, heard)
        elif heard.frame.carries_data:
            self._data(record, heard)
        else:
            self._other(record, heard.frame)

    def _other(self, record: Record, frame: Frame) -> None:
        name = {ieee80211.MANAGEMENT: "management", ieee80211.CONTROL: "control"}.get(frame.type, "empty data")
        self.counts[f"802.11 {name} frames"] += 1
        if frame.type != ieee80211.CONTROL:
            self._last = (-1, record.time_ns, (frame.transmitter, frame.receiver, frame.tid))

    def _data(self, record: Record, heard: Heard) -> None:
        frame, length = heard.frame, len(heard.octets) + _left_out(record, heard)
        body = ieee80211.open_body(frame, heard.octets)
        if body is None:
            self.counts["802.11 encrypted frames"] += 1
            self.encrypted_bytes += length - frame.body
        path = (frame.transmitter, frame.receiver, frame.tid)
        if frame.to_group:
            self.counts["802.11 group frames"] += 1
            return
        self.counts["802.11 repeated frames"] += frame.retry
        waiting = self._waiting.setdefault(path, _Waiting())
        framing = AGGREGATED * frame.aggregated | MESH * frame.mesh | MORE_FRAGMENTS * frame.more_fragments
        rate = heard.radio.rate_bps
        self.rows.append(
            _Row(
                record.number, record.time_ns, self._link(frame), "DATA", frame.number, -1, length,
                _payload_bytes(frame, body, length, record.missing), _offset(frame, waiting, length - frame.body),
                framing, None, None if record.missing else body, frame.fragment, int(frame.retry),
                -1 if rate is None else rate,
            )
        )  # fmt: skip
        row = len(self.rows) - 1
        self._supersede(row, waiting, to_station=frame.from_access_point)
        if frame.wants_acknowledgement:
            self._acked[row] = 0
            waiting.rows[frame.number] = row
            self._last = (row, record.time_ns, path)

    def _supersede(self, row: int, waiting: _Waiting, *, to_station: bool) -> None:
        """Let a packet to a station count when the station got it: with the acknowledged transmission, else the last.

        A packet from a station counts with its first transmission, so that the monitor stands for the station.
        """
        frame, latest = self.rows[row], waiting.latest
        key = (frame.sn, frame.fragment)
        before = latest.pop(key, None) if frame.retry else None
        if before is not None and (not to_station or self._acked.get(before) == 1):
            self.repeated.add(frame.record)
            row = before
        elif before is not None:
            self.repeated.add(self.rows[before].record)
        latest[key] = row
        latest.move_to_end(key)
        while (frame.sn - next(iter(latest))[0]) % MODULUS > MODULUS // 2:
            latest.popitem(last=False)

    def _acknowledged(self, record: Record, heard: Heard, before: tuple[int, int, _Path] | None) -> None:
        """An ACK names only its receiver: it is for the frame before it, if that has come from there."""
        self.counts["802.11 acknowledgements"] += 1
        if before is None or before[0] < 0 or heard.frame.receiver != before[2][0]:
            return
        row, time_ns, path = before
        if record.time_ns - time_ns <= _ANSWER_NS:
            self._came(row, path)
            self._answer(record, path, "ACK", (self.rows[row].sn + 1) % MODULUS, ())

    def _block_acknowledged(self, record: Record, heard: Heard) -> None:
        self.counts["802.11 block acknowledgements"] += 1
        for entry in ieee80211.block_acknowledgements(heard.octets):
            path = (heard.frame.receiver, heard.frame.transmitter, entry.tid)
            waiting = self._waiting.get(path)
            if waiting is None or not entry.came:
                continue
            for number in entry.numbers(True):
                if number in waiting.rows:
                    self._came(waiting.rows[number], path)
            lacking = tuple((number, -1, -1) for number in entry.numbers(False) if number in waiting.rows)
            self._answer(record, path, "BA", (entry.start + entry.came.bit_length()) % MODULUS, lacking)

    def _came(self, row: int, path: _Path) -> None:
        self._acked[row] = 1
        self._waiting[path].rows.pop(self.rows[row].sn, None)

    def _answer(self, record: Record, path: _Path, kind: str, nr: int, nacks: tuple[tuple[int, int, int], ...]) -> None:
        bearer, sender = self._pairs[path]
        link = self.links.number("wifi", bearer, OTHER_END[sender])
        length = len(record.octets) + record.missing
        self.rows.append(
            _Row(
                record.number, record.time_ns, link, kind, nr=nr, length_bytes=length, payload_bytes=0, nacks=nacks
            )
        )  # fmt: skip

    def _link(self, frame: Frame) -> int:
        path = (frame.transmitter, frame.receiver, frame.tid)
        if path not in self._pairs:
            self._pairs[path] = _bearer(frame)
        return self.links.number("wifi", *self._pairs[path])

    def tables(self) -> dict[str, pd.DataFrame]:
        """Links, frames and no events."""
        columns = dict(zip(_Row._fields, zip(*self.rows, strict=True), strict=True))
        senders = self.links.senders
        sides = [senders[row.link] for row in self.rows]
        acked = [self._acked.get(row, -1) for row in range(len(self.rows))]
        frames = build(
            "frames",
            {**columns, "input": [0] * len(sides), "recorded_ns": columns["time_ns"], "side": sides,
             "sent": [True] * len(sides), "acked": acked},
        )  # fmt: skip
        return {"links": self.links.table(), "frames": frames, "link_events": empty("link_events")}


def read(records: Iterable[Record]) -> Monitor:
    """All that the records of a capture hold, in their order."""
    monitor = Monitor()
    for record in records:
        monitor.add(record)
    return monitor


def notes(monitor: Monitor) -> list[str]:
    """What cannot be read, and how much of it, for the reader of the report."""
    encrypted = monitor.counts["802.11 encrypted frames"]
    if not encrypted:
        return []
    return [
        f"{encrypted} encrypted Wi-Fi frames ({monitor.encrypted_bytes} octets): only their lengths and times are"
        " known."
    ]


def _left_out(record: Record, heard: Heard) -> int:
    """Octets of the frame that were not captured; a check sequence that was left out is none of it."""
    return max(0, record.missing - ieee80211.FCS_BYTES * bool(heard.radio.fcs))


def _payload_bytes(frame: Frame, body: bytes | None, length: int, missing: int) -> int:
    """Octets of packets in the frame; -1 where they cannot be told from headers."""
    room = length - frame.body
    if frame.aggregated:
        if body is None or missing:
            return -1
        return sum(len(packet) for _, packet in ieee80211.msdus(body, aggregated=True, mesh=frame.mesh))
    if frame.fragment:
        return max(0, room)
    if body is None:
        return max(0, room - CIPHER_BYTES - LLC_BYTES)
    if missing or frame.more_fragments:
        return max(0, room - LLC_BYTES)
    return sum(len(packet) for _, packet in ieee80211.msdus(body, aggregated=False, mesh=frame.mesh))


def _offset(frame: Frame, waiting: _Waiting, room: int) -> int:
    """Where a fragment begins in its MSDU, where all but the last are of one length (10.4); -1 whole, or unknown."""
    if frame.more_fragments:
        waiting.fragment_bytes[frame.number] = room
        return frame.fragment * room
    size = waiting.fragment_bytes.pop(frame.number, None) if frame.fragment else None
    return -1 if size is None else frame.fragment * size


def _bearer(frame: Frame) -> tuple[str, str]:
    """The name of both directions, and which end sends this one: a station is the mobile, its access point the network.

    Of two equals the one with the lower address is taken for the mobile.
    """
    near, far = ieee80211.address(frame.transmitter), ieee80211.address(frame.receiver)
    mobile = frame.to_access_point or (not frame.from_access_point and near < far)
    station, network = (near, far) if mobile else (far, near)
    traffic = f"TID {frame.tid}" if frame.tid >= 0 else "without QoS"
    return f"{station} at {network} {traffic}", "mobile" if mobile else "network"
