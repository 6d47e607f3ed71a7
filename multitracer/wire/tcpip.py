"""TCP header fields from captured octets in one pass (RFC 9293 3.1, RFC 7323, RFC 2018).

Lengths come from the IP header, so a snap length does not shorten them. One thread decodes; of a long file another one
reads, and finds, the next records meanwhile (`parsers.shared.records`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import (
    OPTION_MSS,
    OPTION_SACK,
    OPTION_SACK_PERMITTED,
    OPTION_TIMESTAMPS,
    OPTION_WSCALE,
    SYN,
)  # fmt: skip
from multitracer.wire.flows import BATCH, NO_FLOW, Flows, ends_of, find_flow, look_up_batch
from multitracer.wire.layers import (
    CUT,
    EMPTY,
    LINK_FRAME,
    MALFORMED,
    PROTOCOL_TCP,
    PROTOCOL_UDP,
    TCP,
    USER,
    ip_header,
    other_status,
    transport,
    udp_status,
)
from multitracer.wire.link_types import link_kind
from multitracer.wire.octets import big16, big32, fold, ones_sum
from multitracer.wire.udp_tunnels import innermost

_LEAST_TCP = 20
_ALIGNED_TIMESTAMPS = 0x0101080A
"""RFC 7323 appendix A: the two no-operations and timestamps option that most stacks send first."""
_PADDING = 0x01010101
"""Four no-operation options (RFC 9293 3.2)."""

# Progress: next record, and counts of TCP packets, SACK blocks, SYN rows and flows.
_ROW, _PACKET, _BLOCK, _SYN, _FLOW = range(5)

_MOST_BLOCKS = 4
"""SACK blocks that fit in 40 octets of options (RFC 2018 3)."""

# Rows of a batch: the transport protocol or -1 - status; offsets of the IP header, of the transport header and of
# the datagram's end (or 0); source, destination and label; and 2 * flow + direction, or NO_FLOW.
_RESULT, _IP, _TRANSPORT, _STOP, _SOURCE, _DESTINATION, _LABEL, _FOUND, _BATCH_ROWS = range(9)


@dataclass
class Decoded:
    """The result of `decode`: a status per record, and the TCP packets.

    `status` (int8, one per record) is a code of `layers`. `columns` are those of the packets table, one
    element per row of `rows`, the records that are TCP (None: all); they are views of the arrays that were given.
    `sack` has rows (packet, left, right), `syn` rows (packet, mss, wscale or -1). `flow_first` is the offset of the
    IP header of each new flow's first packet, `flow_label` the label of its tunnels (0: none), `link_frame_at` the
    offset of each record's link frame, by record.
    """

    status: Any
    rows: Any
    columns: dict[str, Any]
    sack: Any
    syn: Any
    flow_first: Any
    flow_label: Any
    link_frame_at: dict[int, int]


class Records(NamedTuple):
    """Where the records are, and what was found in each: one element per record."""

    offset: Any
    captured: Any
    original: Any
    interface: Any
    label: Any
    """What `wire.labels` makes of the tunnels out of which a record was taken; 0 for none."""
    status: Any
    where: Any
    """The offset of the transport header from the record's start."""


class PacketColumns(NamedTuple):
    """The decoded columns of the packets table: one element per TCP packet, with room for as many as records."""

    flow: Any
    direction: Any
    raw_seq: Any
    raw_ack: Any
    payload_bytes: Any
    flags: Any
    raw_window: Any
    tsval: Any
    tsecr: Any
    options: Any
    ip_id: Any
    checksum: Any
    checksum_ok: Any
    wire_bytes: Any
    ttl: Any


TYPES = PacketColumns(
    flow=np.int32, direction=np.int8, raw_seq=np.uint32, raw_ack=np.uint32, payload_bytes=np.int32, flags=np.uint16,
    raw_window=np.uint16, tsval=np.uint32, tsecr=np.uint32, options=np.uint8, ip_id=np.int32, checksum=np.uint16,
    checksum_ok=np.int8, wire_bytes=np.int32, ttl=np.uint8,
)  # fmt: skip


class Into(NamedTuple):
    """Where to put what is decoded."""

    flows: Flows
    """Those of the pieces before, to which new ones are added."""
    columns: PacketColumns | None = None
    """An element per record; None for new ones."""


def decode(
    data: Any, offset: Any, captured: Any, original: Any, interface: Any, link_types: Any, label: Any = None,
    into: Into | None = None,
) -> Decoded:  # fmt: skip
    """Decode every record of a capture, or of a piece of it.

    `offset`, `captured` and `original` (octets) and `interface` have one element per record, as has `label`, a
    number above 0 for the tunnels that a record was taken out of; `link_types` has one per interface.
    """
    flows, columns = into or Into(Flows())
    before = flows.count
    kinds = np.array([link_kind(int(kind)) for kind in link_types], dtype=np.int64)
    count = len(offset)
    if columns is None:
        columns = PacketColumns(*(np.empty(count, dtype=dtype) for dtype in TYPES))
    status, where = np.zeros(count, dtype=np.int8), np.zeros(count, dtype=np.int32)
    if label is None:
        label = np.zeros(count, dtype=np.int64)  # never written: the system gives the same page for all of it
    records = Records(offset, captured, original, interface, label, status, where)
    packets, sack, syn = _decode(data, records, kinds, flows, columns)
    rows = None
    if packets < count:
        columns = PacketColumns(*(values[:packets] for values in columns))
        rows = np.flatnonzero(status == TCP)
    frames = np.flatnonzero(status == LINK_FRAME)
    at = {int(row): int(offset[row]) + int(where[row]) for row in frames}
    return Decoded(status, rows, columns._asdict(), sack, syn, *flows.since(before), at)


def _decode(data: Any, records: Records, kinds: Any, flows: Flows, columns: PacketColumns) -> tuple[int, Any, Any]:
    """Fill `columns`; how many packets there are, their SACK blocks and SYN rows."""
    sack, syn = np.empty((1 << 12, 3), dtype=np.int64), np.empty((1 << 10, 3), dtype=np.int64)
    state = np.array([0, 0, 0, 0, flows.count], dtype=np.int64)
    batch = np.zeros((_BATCH_ROWS, BATCH), dtype=np.int64)
    while state[_ROW] < len(records.offset):
        if flows.full:
            flows.grow()
        decode_rows(data, records, kinds, state, batch, flows.table, flows.known, sack, syn, columns)
        flows.count = int(state[_FLOW])
        if state[_BLOCK] + _MOST_BLOCKS * BATCH > len(sack):
            sack = np.concatenate([sack, np.empty_like(sack)])
        if state[_SYN] + BATCH > len(syn):
            syn = np.concatenate([syn, np.empty_like(syn)])
    return int(state[_PACKET]), sack[: state[_BLOCK]].copy(), syn[: state[_SYN]].copy()


@inlined
def checksum_state(data: Any, ip: int, tcp: int, stop: int) -> int:
    """1 when the TCP checksum is correct (RFC 9293 3.1), 0 when it is wrong, -1 with checksum offload.

    A sender with checksum offload writes the sum of the pseudo-header alone.
    """
    pseudo = np.int64(PROTOCOL_TCP) + (stop - tcp)
    if data[ip] >> 4 == 4:
        pseudo = ones_sum(data, ip + 12, ip + 20, pseudo)
    else:
        pseudo = ones_sum(data, ip + 8, ip + 40, pseudo)
    if fold(ones_sum(data, tcp, stop, pseudo)) == 0xFFFF:
        return 1
    return -1 if fold(pseudo) == big16(data, tcp + 16) else 0


@kernel
def decode_rows(
    data: Any, records: Records, kinds: Any, state: Any, batch: Any, table: Any, known: Any, sack: Any, syn: Any,
    packets: PacketColumns,
) -> None:  # fmt: skip
    """Decode records in batches, from the state's row on, until all are done or an array may be too short.

    Call it again after growing `sack`, `syn` or the flow table; `state` has the progress.
    """
    offset, captured, original, status = records.offset, records.captured, records.original, records.status
    row, packet, flows = state[_ROW], state[_PACKET], state[_FLOW]
    while row < len(offset):
        full = state[_BLOCK] + _MOST_BLOCKS * BATCH > len(sack) or state[_SYN] + BATCH > len(syn)
        if full or flows + BATCH > len(known.ends):
            break
        count = min(BATCH, len(offset) - row)
        read_headers(data, records, kinds, row, count, batch)
        look_up_batch(
            batch[_SOURCE, :count], batch[_DESTINATION, :count], batch[_LABEL, :count], table, known,
            batch[_FOUND, :count],
        )  # fmt: skip
        for index in range(count):
            this = np.uint64(row)
            at = offset[this]
            end = at + captured[this]
            result, tcp = batch[_RESULT, index], batch[_TRANSPORT, index]
            stop = batch[_STOP, index] if batch[_STOP, index] else at + original[this]
            if result == PROTOCOL_UDP:
                status[this] = udp_status(data, tcp, end)
                records.where[this] = tcp - at
            elif result != PROTOCOL_TCP:
                status[this] = -1 - result if result < 0 else other_status(result)
            elif tcp + _LEAST_TCP > end:
                status[this] = CUT if at + original[this] > end else MALFORMED
            else:
                now_known = decode_tcp(
                    data, batch, index, stop, end, flows, packet, state, table, known, sack, syn, packets
                )
                status[this] = MALFORMED if now_known < 0 else TCP
                if now_known >= 0:
                    flows = now_known
                    packet += 1
            row += 1
    state[_ROW], state[_PACKET], state[_FLOW] = row, packet, flows


@inlined
def decode_tcp(
    data: Any, batch: Any, index: int, stop: int, end: int, flows: int, packet: int, state: Any, table: Any,
    known: Any, sack: Any, syn: Any, packets: PacketColumns,
) -> int:  # fmt: skip
    """Decode a TCP packet as row `packet`; how many flows are known then, -1 for a malformed header."""
    ip, tcp, found = batch[_IP, index], batch[_TRANSPORT, index], batch[_FOUND, index]
    length_and_flags = big16(data, tcp + 12)
    header = (length_and_flags >> 12) * 4
    if header < _LEAST_TCP or tcp + header > stop:
        return -1
    out = np.uint64(packet)
    if found == NO_FLOW:
        found = find_flow(data, ip, tcp, batch[_LABEL, index], table, known, flows)
    packets.flow[out], packets.direction[out] = found >> 1, found & 1
    read_tcp(data, ip, tcp, stop, end, length_and_flags, packets, out)
    options_end, is_syn = min(tcp + header, end), length_and_flags & SYN
    read_all_options(data, tcp, options_end, packet, is_syn, state, sack, syn, packets)
    return max(flows, (found >> 1) + 1)


@inlined
def read_tcp(
    data: Any, ip: int, tcp: int, stop: int, end: int, length_and_flags: int, packets: PacketColumns, out: int
) -> None:
    """Decode a TCP header but its options; the datagram ends at `stop`, what was captured of it at `end`."""
    header = (length_and_flags >> 12) * 4
    packets.raw_seq[out], packets.raw_ack[out] = big32(data, tcp + 4), big32(data, tcp + 8)
    packets.flags[out] = length_and_flags & 0x0FFF
    packets.raw_window[out], packets.checksum[out] = big16(data, tcp + 14), big16(data, tcp + 16)
    packets.payload_bytes[out], packets.wire_bytes[out] = stop - tcp - header, stop - ip
    is_v4 = data[ip] >> 4 == 4
    packets.ip_id[out] = big16(data, ip + 4) if is_v4 else -1
    packets.ttl[out] = data[ip + 8] if is_v4 else data[ip + 7]
    packets.checksum_ok[out] = checksum_state(data, ip, tcp, stop) if stop <= end else -1


@inlined
def read_all_options(
    data: Any, tcp: int, end: int, packet: int, is_syn: int, state: Any, sack: Any, syn: Any, packets: PacketColumns
) -> None:
    """Decode the options of the TCP header at `tcp` up to `end`; aligned timestamps alone need no search."""
    out, at = np.uint64(packet), tcp + _LEAST_TCP
    tsval, tsecr, options = packets.tsval, packets.tsecr, packets.options
    if at + 12 <= end and big32(data, at) == _ALIGNED_TIMESTAMPS:
        options[out] = OPTION_TIMESTAMPS
        tsval[out], tsecr[out] = big32(data, at + 4), big32(data, at + 8)
        at += 12
    else:
        tsval[out], tsecr[out], options[out] = 0, 0, 0
    while at + 4 <= end and big32(data, at) == _PADDING:
        at += 4
    if is_syn or at < end:
        read_options(data, at, end, packet, state, sack, syn, tsval, tsecr, options, is_syn)


@inlined
def read_headers(data: Any, records: Records, kinds: Any, row: int, count: int, batch: Any) -> None:
    """Find the headers of `count` records from `row` on, and the ends of those with a whole TCP header."""
    for index in range(count):
        this = np.uint64(row + index)
        at = records.offset[this]
        end = at + records.captured[this]
        kind = kinds[records.interface[this]]
        result, ip, tcp, stop, label = find_headers(data, at, end, kind, records.label[this])
        if result == PROTOCOL_UDP:
            result, ip, tcp, stop, label = innermost(data, ip, tcp, end, label)
        source, destination = np.int64(0), np.int64(0)
        if result == PROTOCOL_TCP and tcp + _LEAST_TCP <= end:
            source, destination = ends_of(data, ip, tcp)
        batch[_RESULT, index], batch[_IP, index], batch[_TRANSPORT, index], batch[_STOP, index] = result, ip, tcp, stop
        batch[_SOURCE, index], batch[_DESTINATION, index], batch[_LABEL, index] = source, destination, label


@inlined
def find_headers(data: Any, at: int, end: int, kind: int, label: int) -> Any:
    """Transport protocol or -1 - status; offsets of IP header, transport header, datagram end or 0; and label."""
    none = np.int64(0)
    if kind == USER:
        return np.int64(-1 - LINK_FRAME), none, none, none, none
    if end == at:
        return np.int64(-1 - EMPTY), none, none, none, none
    ip, label = ip_header(data, at, end, kind, label)
    if ip < 0:
        return ip, none, none, none, none
    protocol, transport_at, stop = transport(data, ip, end)
    return protocol, ip, transport_at, stop, label


@kernel
def read_options(
    data: Any, at: int, end: int, packet: int, state: Any, sack: Any, syn: Any, tsval: Any, tsecr: Any, options: Any,
    is_syn: int,
) -> None:  # fmt: skip
    """Decode TCP options (RFC 9293 3.2); a malformed option ends the list."""
    found, mss, wscale = 0, -1, -1
    while at < end:
        kind = data[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        size = int(np.int64(data[at + 1])) if at + 1 < end else 0
        if size < 2 or at + size > end:
            break
        if kind == 8 and size == 10:
            tsval[packet], tsecr[packet] = big32(data, at + 2), big32(data, at + 6)
            found |= OPTION_TIMESTAMPS
        elif kind == 5 and size >= 10:
            found |= OPTION_SACK
            note_blocks(data, at, size, packet, state, sack)
        elif kind == 4 and size == 2:
            found |= OPTION_SACK_PERMITTED
        elif kind == 2 and size == 4:
            mss = big16(data, at + 2)
            found |= OPTION_MSS
        elif kind == 3 and size == 3:
            wscale = int(np.int64(data[at + 2]))
            found |= OPTION_WSCALE
        at += size
    options[packet] |= found
    if is_syn:
        syn[state[_SYN], 0], syn[state[_SYN], 1], syn[state[_SYN], 2] = packet, mss, wscale
        state[_SYN] += 1


@kernel
def note_blocks(data: Any, at: int, size: int, packet: int, state: Any, sack: Any) -> None:
    """Write down the blocks of the SACK option at `at`."""
    for block in range(at + 2, at + size - 7, 8):
        sack[state[_BLOCK], 0] = packet
        sack[state[_BLOCK], 1] = big32(data, block)
        sack[state[_BLOCK], 2] = big32(data, block + 4)
        state[_BLOCK] += 1
