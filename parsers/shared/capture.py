"""Decodes the records of all capture formats into packets, flows, SACK blocks and link frames.

A format's reader finds the records (`Records`); `recording` decodes them. The fast path
(`wire.tcpip`) decodes Ethernet and similar link layers, IPv4, IPv6 and TCP in one pass. Records that it
does not know (tunnels, compressed headers, rare link layers) are unwrapped one by one into a second
buffer, which is decoded by the same path.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from socket import inet_ntoa
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import deepest_fall, tally
from multitracer.compute.kernels import octets
from multitracer.model.errors import InputError
from multitracer.model.schema import build
from multitracer.model.trace import Recording, Skip
from multitracer.wire import layers, radiotap, tcpip, tunnels

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.parsers.shared.source import Source
    from multitracer.parsers.shared.wifi_frames import Monitor

_PORT = np.array([256, 1])
"""The weights of a port's two octets."""

USER_LINK_TYPES = frozenset({*range(147, 163), 252})
"""LINKTYPE_USER0..15 and WIRESHARK_UPPER_PDU, which logs of a link layer use for its frames."""

_REASONS = {
    layers.CUT: "cut by the snap length within the headers",
    layers.MALFORMED: "not a valid IP or TCP header",
    layers.EMPTY: "record without octets",
}
_COUNTED = {
    layers.UDP: "udp", layers.QUIC: "quic", layers.ICMP: "icmp", layers.OTHER: "other", layers.FRAGMENT: "fragments",
}  # fmt: skip


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
    known = [kind for kind in records.link_types if kind in layers.LINK_TYPES or kind in USER_LINK_TYPES]
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


def _decode(records: Records, found: Recording) -> None:
    decoded = tcpip.decode(
        records.data, records.offset, records.captured, records.original, records.interface,
        np.array(records.link_types, dtype=np.int64),
    )  # fmt: skip
    wifi = radiotap.LINK_TYPES.intersection(records.link_types)
    monitor = _monitor(records) if wifi else None
    unwrapped = _unwrap(records, decoded, monitor.repeated if monitor else frozenset())
    parts = [_Part(decoded, records.number, records.time_ns, records.interface, records.data, records.offset)]
    if unwrapped is not None:
        parts.append(unwrapped)
    _tables(parts, found)
    _note_not_analysed(records, decoded.status, found)
    datagrams = list(_link_frames(records, decoded))
    if datagrams:
        _read_link_frames(datagrams, found)
    if monitor is not None:
        _note_wifi(monitor, found)


@dataclass
class _Part:
    """Decoded records and what they came from."""

    decoded: tcpip.Decoded
    number: Any
    time_ns: Any
    interface: Any
    data: Any
    offset: Any


def _unwrap(records: Records, decoded: tcpip.Decoded, repeated: Set[int]) -> _Part | None:
    """The IP packets inside records that the fast path does not know; notes each one's status in `decoded`.

    Those of the records with the numbers `repeated` count with other records.
    """
    rows = np.flatnonzero(decoded.status == layers.UNKNOWN)
    if repeated:
        elsewhere = np.isin(records.number[rows], list(repeated))
        decoded.status[rows[elsewhere]] = layers.OTHER
        rows = rows[~elsewhere]
    if not len(rows):
        return None
    opened, inner = tunnels.TunnelDecoder(), []
    for row in rows:
        start = int(records.offset[row])
        whole = bytes(records.data[start : start + int(records.captured[row])])
        missing = int(records.original[row] - records.captured[row])
        found = opened.packets(whole, records.link_types[int(records.interface[row])], whole=missing == 0)
        decoded.status[row] = layers.TCP if found else layers.OTHER
        inner += [(row, packet, missing) for packet in found]
    if not inner:
        return None
    sizes = np.array([len(packet) for _, packet, _ in inner], dtype=np.int64)
    data = octets(b"".join(packet for _, packet, _ in inner))
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    at = np.array([row for row, _, _ in inner], dtype=np.int64)
    again = tcpip.decode(
        data, offset, sizes.astype(np.int32), (sizes + [missing for _, _, missing in inner]).astype(np.int32),
        np.zeros(len(at), dtype=np.int16), np.array([layers.RAW_IP], dtype=np.int64),
    )  # fmt: skip
    again.status[again.status == layers.UNKNOWN] = layers.OTHER
    decoded.status[at] = again.status
    return _Part(again, records.number[at], records.time_ns[at], records.interface[at], data, offset)


def _tables(parts: list[_Part], found: Recording) -> None:
    """Packets, flows, SACK blocks and SYN options of all parts, in the order of the file."""
    flows: dict[tuple[str, int, str, int], int] = {}
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
    found.tables["flows"] = _flows_table(list(flows))
    # Copied, as all columns are contiguous: kernels would be compiled for strided columns too.
    packet, left, right = np.ascontiguousarray(sack[:, 0]), sack[:, 1].astype(np.uint32), sack[:, 2].astype(np.uint32)
    blocks = {"packet": packet, "raw_left": left, "raw_right": right}
    found.tables["sack_blocks"] = build("sack_blocks", blocks)
    packet = np.ascontiguousarray(syn[:, 0])
    found.tables["syn_options"] = build("syn_options", {"packet": packet, "mss_bytes": syn[:, 1], "wscale": syn[:, 2]})


def _packet_columns(part: _Part, flows: dict[tuple[str, int, str, int], int], alone: bool) -> dict[str, Any]:
    """A part's packets, with the numbers that their flows have over all parts."""
    number_of, swapped = _flow_numbers(part, flows)
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


def _flow_numbers(part: _Part, flows: dict[tuple[str, int, str, int], int]) -> tuple[Any, Any]:
    """For each of the part's flows, its number over all parts, and whether its ends are the other way round there."""
    if not flows:
        flows.update(zip(_ends(part.data, part.decoded.flow_first), itertools.count()))
        return np.arange(len(flows), dtype=np.int32), np.zeros(len(flows), dtype=np.int8)
    numbers, swapped = [], []
    for ends in _ends(part.data, part.decoded.flow_first):
        turned = ends[2:] + ends[:2]
        swapped.append(turned in flows and ends not in flows)
        numbers.append(flows.setdefault(turned if swapped[-1] else ends, len(flows)))
    return np.array(numbers, dtype=np.int32), np.array(swapped, dtype=np.int8)


def _ends(data: Any, first: Any) -> Iterator[tuple[str, int, str, int]]:
    """Addresses and ports of the packets whose IP headers begin at `first`; of fragments only first ones."""
    four = data[first] >> 4 == 4
    tcp = first + 4 * (data[first] & 15).astype(np.int64)
    tcp[~four] = np.array([layers.transport_of(data, at) for at in first[~four]], dtype=np.int64)
    source, destination = np.empty(len(first), dtype=object), np.empty(len(first), dtype=object)
    for mine, at, size in ((four, 12, 4), (~four, 8, 16)):
        source[mine] = _addresses(_octets_at(data, first[mine] + at, size))
        destination[mine] = _addresses(_octets_at(data, first[mine] + at + size, size))
    near, far = (_octets_at(data, tcp + at, 2) @ _PORT for at in (0, 2))
    return zip(source.tolist(), near.tolist(), destination.tolist(), far.tolist(), strict=True)


def _addresses(octets: Any) -> Any:
    """The address in each row as text; each different address is converted once."""
    size = octets.shape[1]
    different, place = np.unique(octets.view(f"V{size}").ravel(), return_inverse=True)
    texts = [inet_ntoa(one) if size == 4 else str(IPv6Address(one)) for one in different.tolist()]
    return np.array(texts, dtype=object)[place]


def _octets_at(data: Any, first: Any, count: int) -> Any:
    """The `count` octets from each of the offsets `first` on, one row each."""
    return data[first[:, None] + np.arange(count)]


def _flows_table(ends: list[tuple[str, int, str, int]]) -> pd.DataFrame:
    columns = list(zip(*ends, strict=True)) or [(), (), (), ()]
    names = ("address_a", "port_a", "address_b", "port_b")
    return build("flows", {"flow": range(len(ends)), **dict(zip(names, columns, strict=True))})


def _note_not_analysed(records: Records, status: Any, found: Recording) -> None:
    """Note the records that are not analysed: losses as skips, those out of scope as counts."""
    if len(status) == len(found.tables["packets"]):
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


def _note_wifi(monitor: Monitor, found: Recording) -> None:
    """Add a Wi-Fi monitor's frames as those of a link, and the counts of all its frames."""
    from multitracer.parsers.shared import link_frames, wifi_frames

    found.notes += wifi_frames.notes(monitor)
    found.counts.update(monitor.counts)
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
