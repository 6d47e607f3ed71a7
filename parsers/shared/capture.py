"""Decodes the records of all capture formats into packets, flows, SACK blocks and link frames.

A format's reader finds the records, a view of the file at a time (`records.Capture`); `recording` decodes them. The
fast path (`wire.tcpip`) decodes Ethernet and similar link layers, IPv4, IPv6 and TCP in one pass; records that it does
not know are unwrapped (`envelopes`). What is kept of a view is its packets' columns, not its octets. Two exceptions:
records that may hold frames of a link (of user link types, in UDP), as what they are shows only by all of them, and
the open frames that a Wi-Fi monitor heard whole, which are in the table of frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import deepest_fall
from multitracer.compute.patience import Patience
from multitracer.model.errors import InputError
from multitracer.model.trace import Recording, Skip
from multitracer.parsers.shared.envelopes import Envelopes, Unwrapped, tunnels_around
from multitracer.parsers.shared.left_out import LeftOut
from multitracer.parsers.shared.packet_tables import Packets, tables
from multitracer.wire import layers, link_types, radiotap, rare_links, tcpip
from multitracer.wire.flows import Flows

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.parsers.shared.records import Capture, Records
    from multitracer.parsers.shared.wifi_frames import Monitor
    from multitracer.wire.inside import Tunnel

USER_LINK_TYPES = layers.USER_LINK_TYPES
"""LINKTYPE_USER0..15 and WIRESHARK_UPPER_PDU, which logs of a link layer use for its frames."""
_MOST_TRIED = 100
"""Records of an interface whose octets tell its link type, where the file's number may mean another."""
_SET_BACK_NS = 1_000_000_000


def recording(name: str, capture: Capture) -> Recording:
    """Decode every record; raises InputError when no interface's link type is known."""
    decoding = _Decoding()
    for records in capture.pieces_ahead():
        decoding.add(records)
    link_types_ = decoding.as_written(capture.link_types)
    if decoding.records and not any(map(link_types.is_known, link_types_)):
        kinds = ", ".join(sorted({str(kind) for kind in link_types_}))
        problem = f"has link type {kinds}, which is not read here"
        raise InputError(capture.path, problem, hint="Capture on an IP interface.")
    found = Recording(name, records=decoding.records, skips=capture.losses.skips, complete=capture.complete)
    decoding.finish(link_types_, found)
    return found


class _Decoding:
    """What the pieces of a capture held."""

    def __init__(self) -> None:
        self.records = 0
        self._written: dict[int, int] = {}
        """The link type of interfaces whose records were seen."""
        self._latest_ns: int | None = None
        self._fall_ns = 0
        self._flows, self._packets, self._inner = Flows(), Packets(), Packets()
        self._envelopes = Envelopes()
        self._left = LeftOut()
        self._datagrams: list[Any] = []
        self._monitor: Monitor | None = None
        self._unheard: list[int] = []
        """Records of a Wi-Fi link type with frames of another link layer."""
        self._hearing = Patience("reading Wi-Fi frames")

    def add(self, records: Records) -> None:
        """Decode the records of a piece."""
        self.records += len(records.offset)
        self._see_interfaces(records)
        records.link_types = self.as_written(records.link_types)
        self._see_times(records.time_ns)
        if radiotap.LINK_TYPES.intersection(records.link_types):
            self._hear(records)
        decoded = tcpip.decode(
            records.data, records.offset, records.captured, records.original, records.interface,
            np.array(records.link_types, dtype=np.int64),
            into=tcpip.Into(self._flows, self._packets.room(len(records.offset), records)),
        )  # fmt: skip
        self._packets.add(decoded, records, None, records.data, partial(_tunnels_at, records))
        unwrapped = self._envelopes.open(records, decoded.status)
        if unwrapped is not None:
            at = np.array([one.row for one in unwrapped.inner], dtype=np.int64)
            self._inner.add(unwrapped.decoded, records, at, unwrapped.data, partial(_tunnels_of, unwrapped))
        self._left.add(records, decoded.status)
        self._datagrams += _link_frames(records, decoded)

    def as_written(self, kinds: list[int]) -> list[int]:
        """The interfaces' link types, PKTAP where the records of a link type for users are that."""
        return [self._written.get(place, kind) for place, kind in enumerate(kinds)]

    def _see_times(self, time_ns: Any) -> None:
        """Notice by how much the clock was set back."""
        if len(time_ns):
            before = int(time_ns[0]) if self._latest_ns is None else self._latest_ns
            self._fall_ns = max(self._fall_ns, before - int(time_ns[0]), deepest_fall(time_ns))
            self._latest_ns = int(time_ns[-1])

    def _see_interfaces(self, records: Records) -> None:
        """Let the first records of an interface tell its link type."""
        for place, kind in enumerate(records.link_types):
            if kind == rare_links.PKTAP_AS_USER and place not in self._written:
                rows = np.flatnonzero(records.interface == place)[:_MOST_TRIED].tolist()
                if rows:
                    is_pktap = all(rare_links.is_pktap(records.octets(row)) for row in rows)
                    self._written[place] = rare_links.PKTAP if is_pktap else kind

    def _hear(self, records: Records) -> None:
        """Take the frames of a Wi-Fi monitor."""
        from multitracer.parsers.shared import wifi_frames

        self._monitor = self._monitor or wifi_frames.Monitor()
        kinds = np.array(records.link_types)[records.interface]
        rows = np.flatnonzero(np.isin(kinds, list(radiotap.LINK_TYPES))).tolist()
        for row in self._hearing.told(rows, records.read, records.file_bytes):
            octets, kind = records.octets(row), int(kinds[row])
            if radiotap.wraps_other(octets, kind):
                self._unheard.append(int(records.number[row]))
                continue
            cut = int(records.original[row] - records.captured[row])
            self._monitor.add(
                wifi_frames.Record(int(records.number[row]), int(records.time_ns[row]), kind, octets, cut)
            )

    def finish(self, kinds: list[int], found: Recording) -> None:
        """Add the tables, the losses and the notes to the recording."""
        if self._fall_ns > _SET_BACK_NS:
            found.notes.append("The clock was set back while this was captured: times jump by more than a second.")
        closed = self._envelopes.closed
        if closed:
            found.counts |= closed
            found.skips += self._envelopes.losses.skips
            what = ", ".join(f"{count} {name}" for name, count in closed.most_common())
            found.notes.append(
                f"Holds packets in envelopes that cannot be opened, so what is in them is missing: {what}."
            )
        found.tables |= tables(self._packets, self._inner)
        if self._monitor is not None:
            packets = found.tables["packets"]
            packets["link_repeat"] = np.isin(packets["record"].to_numpy(), list(self._monitor.repeated)).astype(np.int8)
        self._left.decide(self._envelopes.fates())
        self._left.note(kinds, found)
        if self._datagrams:
            _read_link_frames(self._datagrams, found)
        if self._monitor is not None:
            heard = self._left.of(layers.OTHER, kinds, radiotap.LINK_TYPES, but=self._unheard)
            _note_wifi(self._monitor, heard, found)


def _tunnels_at(records: Records, ip: Any) -> list[Tunnel | None]:
    """The tunnels around the packets whose IP headers are at `ip` in view."""
    return tunnels_around(records, (np.searchsorted(records.offset, ip, side="right") - 1).tolist())


def _tunnels_of(unwrapped: Unwrapped, ip: Any) -> list[Tunnel | None]:
    """The tunnels around the packets whose IP headers are at `ip` among those that were unwrapped."""
    rows = np.searchsorted(unwrapped.offset, ip, side="right") - 1
    return [unwrapped.inner[row].packet.tunnel for row in rows.tolist()]


def _link_frames(records: Records, decoded: tcpip.Decoded) -> Iterator[tuple[int, int, int, int, int, bytes]]:
    """(record, time_ns, link type, ports, octets) of every record that may hold a link frame."""
    if not USER_LINK_TYPES.intersection(records.link_types) and not decoded.link_frame_at:
        return
    of_user = np.isin(np.array(records.link_types)[records.interface], list(USER_LINK_TYPES))
    for row in np.flatnonzero(of_user | (decoded.status == layers.LINK_FRAME)).tolist():
        start, kind = int(records.offset[row]), records.link_types[int(records.interface[row])]
        end = start + int(records.captured[row])
        ports = (-1, -1)
        if not of_user[row]:
            udp = int(decoded.link_frame_at[row])
            head = bytes(records.data[udp : udp + 8])
            ports = (int.from_bytes(head[:2], "big"), int.from_bytes(head[2:4], "big"))
            start, end = udp + 8, min(end, udp + max(8, int.from_bytes(head[4:6], "big")))
        yield int(records.number[row]), int(records.time_ns[row]), kind, *ports, bytes(records.data[start:end])


def _read_link_frames(datagrams: list[Any], found: Recording) -> None:
    from multitracer.parsers.shared.link_frames import read_linkframes

    read: Callable[[list[Any]], tuple[dict[str, pd.DataFrame], list[Skip]]] = read_linkframes
    tables, skips = read(datagrams)
    found.tables |= tables
    found.skips += skips


def _note_wifi(monitor: Monitor, others_heard: int, found: Recording) -> None:
    """Add a Wi-Fi monitor's frames as those of a link, and the counts of all its frames, by kind."""
    from multitracer.parsers.shared import link_frames, wifi_frames

    found.notes += wifi_frames.notes(monitor)
    others = found.counts.pop("other", 0) - others_heard
    found.counts |= dict(+monitor.counts) | ({"other": others} if others > 0 else {})
    if monitor.rows:
        tables = monitor.tables()
        found.tables |= link_frames.joined(found.tables, tables) if "links" in found.tables else tables
