"""Decodes the records of all capture formats into packets, flows, SACK blocks and link frames.

A format's reader finds the records (`Records`); `recording` decodes them. The fast path
(`wire.tcpip`) decodes Ethernet and similar link layers, IPv4, IPv6 and TCP in one pass. Records that it
does not know (tunnels, compressed headers, rare link layers) are unwrapped one by one, fragments of IP datagrams
are put together, and what is inside is decoded by the same path out of a second buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.arrays import deepest_fall, tally
from multitracer.compute.kernels import octets
from multitracer.compute.patience import told
from multitracer.model.errors import InputError
from multitracer.model.schema import build
from multitracer.model.trace import Recording, Skip
from multitracer.parsers.shared.flow_table import FlowTable
from multitracer.wire import layers, link_types, radiotap, rare_links, reassembly, tcpip, tunnels
from multitracer.wire.inside import Closed

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.parsers.shared.source import Source
    from multitracer.parsers.shared.wifi_frames import Monitor
    from multitracer.wire.inside import Tunnel

USER_LINK_TYPES = layers.USER_LINK_TYPES
"""LINKTYPE_USER0..15 and WIRESHARK_UPPER_PDU, which logs of a link layer use for its frames."""

_REASONS = {
    layers.CUT: "cut by the snap length within the headers",
    layers.MALFORMED: "not a valid IP or TCP header",
    layers.EMPTY: "record without octets",
    layers.LACKING: "IP fragments of datagrams that are not complete in the capture",
    layers.OVERLAPPING: "overlapping IPv6 fragments, which a receiver discards (RFC 5722)",
}
_COUNTED = {
    layers.UDP: "udp", layers.QUIC: "quic", layers.ICMP: "icmp", layers.OTHER: "other", layers.FRAGMENT: "fragments",
}  # fmt: skip

_ADDRESS_OCTETS = {1: 12, 113: 14, 276: 20}
"""Octets at the start of a record that tell copies of a fragment at two places apart, by link type."""
_MOST_TRIED = 100
"""Records of an interface whose octets tell its link type, where the file's number may mean another."""
_MOST_FRAGMENTED = 4
"""Fragmented datagrams inside one another that are put together."""


@dataclass
class Records:
    """The records of a capture, in arrays of one element a record.

    `offset` is where a record's octets begin in `data`, `captured` how many there are, `original` how many
    were on the wire; `number` counts the file's records from 1. `link_types` has the link type of each
    interface.
    """

    data: Any
    offset: Any
    captured: Any
    original: Any
    time_ns: Any
    interface: Any
    number: Any
    link_types: list[int]
    skips: list[Skip] = field(default_factory=list)
    complete: bool = True
    notes: list[str] = field(default_factory=list)


def recording(name: str, source: Source, records: Records) -> Recording:
    """Decode every record; raises InputError when no interface's link type is known."""
    records.link_types = [_as_written(records, place, kind) for place, kind in enumerate(records.link_types)]
    known = [kind for kind in records.link_types if link_types.is_known(kind)]
    if not known and len(records.offset):
        kinds = ", ".join(sorted({str(kind) for kind in records.link_types}))
        problem = f"has link type {kinds}, which is not read here"
        raise InputError(source.path, problem, hint="Capture on an IP interface.")
    found = Recording(name, records=len(records.offset), skips=list(records.skips), complete=records.complete)
    found.notes += records.notes
    if deepest_fall(records.time_ns) > 1_000_000_000:
        found.notes.append("The clock was set back while this was captured: times jump by more than a second.")
    _decode(records, found)
    return found


def _as_written(records: Records, interface: int, kind: int) -> int:
    """An interface's link type, PKTAP where the records of a link type for users are that."""
    if kind != rare_links.PKTAP_AS_USER:
        return kind
    rows = np.flatnonzero(records.interface == interface)[:_MOST_TRIED].tolist()
    return rare_links.PKTAP if rows and all(rare_links.is_pktap(_octets(records, row)) for row in rows) else kind


def _decode(records: Records, found: Recording) -> None:
    decoded = tcpip.decode(
        records.data, records.offset, records.captured, records.original, records.interface,
        np.array(records.link_types, dtype=np.int64),
    )  # fmt: skip
    wifi = radiotap.LINK_TYPES.intersection(records.link_types)
    monitor = _monitor(records) if wifi else None
    parts = [_Part(decoded, records.number, records.time_ns, records.interface, records.data, records.offset)]
    parts[0].tunnels = lambda rows: _tunnels_around(records, rows)
    unwrapped = _unwrap(records, decoded, found)
    if unwrapped is not None:
        parts.append(unwrapped)
    _tables(parts, found)
    if monitor is not None:
        packets = found.tables["packets"]
        packets["link_repeat"] = np.isin(packets["record"].to_numpy(), list(monitor.repeated)).astype(np.int8)
    _note_not_analysed(records, decoded.status, found)
    datagrams = list(_link_frames(records, decoded))
    if datagrams:
        _read_link_frames(datagrams, found)
    if monitor is not None:
        _note_wifi(monitor, records, decoded.status, found)


@dataclass
class _Part:
    """Decoded records and what they came from; `tunnels` gives the tunnels around the packets of some records."""

    decoded: tcpip.Decoded
    number: Any
    time_ns: Any
    interface: Any
    data: Any
    offset: Any
    tunnels: Callable[[list[int]], list[Tunnel | None]] = lambda rows: [None] * len(rows)

    def number_flows(self, flows: FlowTable) -> tuple[Any, Any]:
        """What `FlowTable.add` gives for its flows."""

        def tunnels_at(ip: Any) -> list[Tunnel | None]:
            return self.tunnels((np.searchsorted(self.offset, ip, side="right") - 1).tolist())

        return flows.add(self.data, self.decoded.flow_first, self.decoded.flow_label, tunnels_at)


class _Inner(NamedTuple):
    """An IP packet from inside a record: the record's row, the packet, and how many of its octets were not captured."""

    row: int
    packet: tunnels.Opened
    missing: int


def _octets(records: Records, row: int) -> bytes:
    """What was captured of a record."""
    start = int(records.offset[row])
    return bytes(records.data[start : start + int(records.captured[row])])


def _link_type(records: Records, row: int) -> int:
    return records.link_types[int(records.interface[row])]


def _tunnels_around(records: Records, rows: list[int]) -> list[Tunnel | None]:
    """The tunnels around the packets of records that the fast path decoded."""
    decoder = tunnels.TunnelDecoder()
    found = (next(decoder.packets(_octets(records, row), _link_type(records, row)), None) for row in rows)
    return [one.tunnel if isinstance(one, tunnels.Opened) else None for one in found]


def _unwrap(records: Records, decoded: tcpip.Decoded, found: Recording) -> _Part | None:
    """The IP packets in envelopes and in fragments; notes each record's status in `decoded`."""
    rows = np.flatnonzero(np.isin(decoded.status, (layers.UNKNOWN, layers.FRAGMENT)))
    if not len(rows):
        return None
    decoded.status[decoded.status == layers.UNKNOWN] = layers.OTHER
    closed = Counter[str]()
    inner = _open_records(records, rows.tolist(), closed)
    whole: list[_Inner] = []
    for _ in range(_MOST_FRAGMENTED):
        fragments = [one for one in inner if reassembly.is_fragment(one.packet.octets)]
        whole += [one for one in inner if not reassembly.is_fragment(one.packet.octets)]
        if not fragments:
            break
        inner = _reassemble(records, decoded, fragments, closed)
    _note_closed(closed, found)
    return _decode_inner(records, decoded, whole) if whole else None


def _open_records(records: Records, rows: list[int], closed: Counter[str]) -> list[_Inner]:
    """The innermost IP packets of records; counts the envelopes that cannot be opened."""
    decoder, inner = tunnels.TunnelDecoder(), []
    for row in told(rows, "opening envelopes"):
        missing = int(records.original[row] - records.captured[row])
        for packet in decoder.packets(_octets(records, row), _link_type(records, row), whole=not missing):
            if isinstance(packet, Closed):
                closed[packet.name] += 1
            else:
                inner.append(_Inner(row, packet, missing))
    return inner


def _reassemble(
    records: Records, decoded: tcpip.Decoded, fragments: list[_Inner], closed: Counter[str]
) -> list[_Inner]:
    """What is inside the datagrams of which all fragments are there; notes in `decoded` what became of each."""
    taken = reassembly.Reassembly()
    for number, (row, packet, _) in enumerate(fragments):
        addresses = _octets(records, row)[: _ADDRESS_OCTETS.get(_link_type(records, row), 0)]
        place = (int(records.interface[row]), addresses, packet.steps)
        taken.add(reassembly.Fragment(number, place, int(records.time_ns[row]), packet.octets))
    taken.finish()
    for number, status in taken.fate.items():
        decoded.status[fragments[number].row] = status
    decoder, inner = tunnels.TunnelDecoder(), []
    for whole in taken.datagrams:
        last = fragments[whole.row]
        for inside in decoder.packets(whole.octets, layers.RAW_IP, last.packet.steps):
            if isinstance(inside, Closed):
                closed[inside.name] += 1
            else:
                inner.append(_Inner(last.row, inside, whole.missing))
    return inner


def _note_closed(closed: Counter[str], found: Recording) -> None:
    """Count what could not be opened by name, and say so."""
    if closed:
        found.counts |= closed
        what = ", ".join(f"{count} {name}" for name, count in closed.most_common())
        found.notes.append(f"Holds packets in envelopes that cannot be opened, so what is in them is missing: {what}.")


def _decode_inner(records: Records, decoded: tcpip.Decoded, inner: list[_Inner]) -> _Part:
    """Decode packets from inside records."""
    at = np.array([one.row for one in inner], dtype=np.int64)
    sizes = np.array([len(one.packet.octets) for one in inner], dtype=np.int64)
    data = octets(b"".join(one.packet.octets for one in inner))
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    missing = np.array([one.missing for one in inner], dtype=np.int64)
    again = tcpip.decode(
        data, offset, sizes.astype(np.int32), (sizes + missing).astype(np.int32),
        np.zeros(len(at), dtype=np.int16), np.array([layers.RAW_IP], dtype=np.int64), _labels(inner),
    )  # fmt: skip
    # Frames of a link are not looked for in tunnels.
    for row in np.flatnonzero(np.isin(again.status, (layers.UNKNOWN, layers.LINK_FRAME))).tolist():
        again.status[row] = layers.UDP if tunnels.is_datagram(inner[row].packet.octets) else layers.OTHER
    decoded.status[at] = again.status
    decoded.status[at[again.status == layers.TCP]] = layers.TCP
    part = _Part(again, records.number[at], records.time_ns[at], records.interface[at], data, offset)
    part.tunnels = lambda rows: [inner[row].packet.tunnel for row in rows]
    return part


def _labels(inner: list[_Inner]) -> Any:
    """A number for the tunnel around each packet, 0 for none."""
    numbers: dict[object, int] = {None: 0}
    tunnel = (one.packet.tunnel for one in inner)
    identities = (around and around.identity for around in tunnel)
    return np.array([numbers.setdefault(identity, len(numbers)) for identity in identities], dtype=np.int64)


def _tables(parts: list[_Part], found: Recording) -> None:
    """Packets, flows, SACK blocks and SYN options of all parts, in the order of the file."""
    flows = FlowTable()
    columns: dict[str, list[Any]] = {}
    sacks, syns, base = [], [], 0
    for part in parts:
        packets = _packet_columns(part, flows, alone=len(parts) == 1)
        for name, values in packets.items():
            columns.setdefault(name, []).append(values)
        sacks.append(part.decoded.sack + np.array([base, 0, 0]))
        syns.append(part.decoded.syn + np.array([base, 0, 0]))
        base += len(packets["flow"])
    joined = {name: values[0] if len(values) == 1 else np.concatenate(values) for name, values in columns.items()}
    sack, syn = np.concatenate(sacks), np.concatenate(syns)
    if len(parts) > 1:
        joined, sack, syn = _in_file_order(joined, sack, syn)
    joined["input"] = np.zeros(len(joined["record"]), dtype=np.int16)
    found.tables["packets"] = build("packets", joined)
    found.tables["flows"] = flows.table()
    # Copied, as all columns are contiguous: kernels would be compiled for strided columns too.
    packet, left, right = np.ascontiguousarray(sack[:, 0]), sack[:, 1].astype(np.uint32), sack[:, 2].astype(np.uint32)
    blocks = {"packet": packet, "raw_left": left, "raw_right": right}
    found.tables["sack_blocks"] = build("sack_blocks", blocks)
    packet = np.ascontiguousarray(syn[:, 0])
    found.tables["syn_options"] = build("syn_options", {"packet": packet, "mss_bytes": syn[:, 1], "wscale": syn[:, 2]})


def _packet_columns(part: _Part, flows: FlowTable, alone: bool) -> dict[str, Any]:
    """A part's packets, with the numbers that their flows have over all parts."""
    number_of, swapped = part.number_flows(flows)
    packets, rows = dict(part.decoded.columns), part.decoded.rows
    flow = packets.pop("flow")
    if not alone or swapped.any():
        packets["direction"] = packets["direction"] ^ swapped[flow]
        flow = number_of[flow]
    return packets | {
        "flow": flow,
        "record": _at_rows(part.number, rows).astype(np.uint32, copy=False),
        "time_ns": _at_rows(part.time_ns, rows),
        "interface": _at_rows(part.interface, rows).astype(np.int16, copy=False),
    }


def _in_file_order(packets: dict[str, Any], sack: Any, syn: Any) -> tuple[dict[str, Any], Any, Any]:
    """Packets in the order of their records, and the tables whose first column names their places."""
    order = np.argsort(packets["record"], kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    sack[:, 0], syn[:, 0] = place[sack[:, 0]], place[syn[:, 0]]
    sack, syn = (table[np.argsort(table[:, 0], kind="stable")] for table in (sack, syn))
    return {name: values[order] for name, values in packets.items()}, sack, syn


def _at_rows(values: Any, rows: Any) -> Any:
    """The values at `rows`; the array itself, not a copy, where that means all (None)."""
    return values if rows is None else values[rows]


def _note_not_analysed(records: Records, status: Any, found: Recording) -> None:
    """Note the records that are not analysed: losses as skips, those out of scope as counts."""
    if (status == layers.TCP).all():
        return
    counts = np.zeros(layers.CODES, dtype=np.int64)
    tally(status, counts)
    for code, reason in _REASONS.items():
        if counts[code]:
            first = int(np.argmax(status == code))
            found.skips.append(Skip(reason, int(records.number[first]), int(records.offset[first]), int(counts[code])))
    if counts[layers.NO_LINK_TYPE]:
        unread = np.flatnonzero(status == layers.NO_LINK_TYPE)
        kinds = sorted({records.link_types[int(n)] for n in np.unique(records.interface[unread])})
        reason = f"link type {', '.join(map(str, kinds))} is not read here"
        found.skips.append(Skip(reason, int(records.number[unread[0]]), int(records.offset[unread[0]]), len(unread)))
    for code, name in _COUNTED.items():
        if counts[code]:
            found.counts[name] = int(counts[code])
    if counts[layers.PART]:
        found.notes.append("Holds IP fragments: a datagram has the time and record of the fragment that completed it.")
    if not len(found.tables["packets"]) and found.counts:
        held = ", ".join(f"{count} {name}" for name, count in found.counts.items())
        found.notes.append(f"Holds no TCP packet that is read here ({held}).")
    if found.counts.get("udp") or found.counts.get("quic"):
        found.notes.append("Holds UDP or QUIC packets, which are out of scope: only TCP is analysed.")


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


def _monitor(records: Records) -> Monitor:
    """The frames of a Wi-Fi monitor."""
    from multitracer.parsers.shared import wifi_frames

    return wifi_frames.read(_wifi_records(records, wifi_frames.Record))


def _note_wifi(monitor: Monitor, records: Records, status: Any, found: Recording) -> None:
    """Add a Wi-Fi monitor's frames as those of a link, and the counts of all its frames, by kind."""
    from multitracer.parsers.shared import link_frames, wifi_frames

    found.notes += wifi_frames.notes(monitor)
    of_wifi = np.isin(np.array(records.link_types)[records.interface], list(radiotap.LINK_TYPES))
    others = found.counts.pop("other", 0) - int((of_wifi & (status == layers.OTHER)).sum())
    found.counts |= dict(+monitor.counts) | ({"other": others} if others > 0 else {})
    if monitor.rows:
        tables = monitor.tables()
        found.tables |= link_frames.joined(found.tables, tables) if "links" in found.tables else tables


def _wifi_records(records: Records, record: Callable[..., Any]) -> Iterator[Any]:
    kinds = np.array(records.link_types)[records.interface]
    for row in np.flatnonzero(np.isin(kinds, list(radiotap.LINK_TYPES))).tolist():
        start, size = int(records.offset[row]), int(records.captured[row])
        yield record(
            int(records.number[row]), int(records.time_ns[row]), int(kinds[row]),
            bytes(records.data[start : start + size]), int(records.original[row]) - size,
        )  # fmt: skip
