"""From captured octets to TCP header fields in one pass (RFC 9293 3.1, RFC 7323, RFC 2018).

Lengths are the IP header's, not the capture's. Large captures are decoded in parts at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import (
    OPTION_MSS,
    OPTION_SACK,
    OPTION_SACK_PERMITTED,
    OPTION_TIMESTAMPS,
    OPTION_WSCALE,
    SYN,
)  # fmt: skip
from multitracer.wire.flows import BATCH, NO_FLOW, Flows, ends_of, find_flow, first_looks
from multitracer.wire.layers import (
    CUT,
    EMPTY,
    LINK_FRAME,
    MALFORMED,
    PROTOCOL_TCP,
    PROTOCOL_UDP,
    TCP,
    USER,
    family,
    network,
    other_status,
    transport,
    udp_status,
)
from multitracer.wire.octets import big16, big32

_LEAST_TCP = 20
_ALIGNED_TIMESTAMPS = 0x0101080A
"""RFC 7323 appendix A: how nearly every stack begins with its timestamps."""
_PADDING = 0x01010101
"""Four options of kind 1, no operation (RFC 9293 3.2)."""

# What a part's decoding has come to: next record, TCP packets, SACK blocks, SYN rows, flows.
_ROW, _PACKET, _BLOCK, _SYN, _FLOW = range(5)

_MOST_BLOCKS = 4
"""SACK blocks in 40 octets of options (RFC 2018 3)."""

# Rows of a batch: what follows IP or -1 - status, where the IP header, its own header and the datagram's end (or 0)
# are, the packet's two ends, and its flow.
_RESULT, _IP, _TRANSPORT, _STOP, _HERE, _THERE, _FOUND, _BATCH_ROWS = range(8)


@dataclass
class Decoded:
    """`status` is per record; `columns` are those of the packets table for `rows`, the TCP records (None: all).

    `sack` and `syn` have rows (packet, left, right) and (packet, mss, wscale); `flow_first` holds
    where the IP header of each flow's first packet starts.
    """

    status: Any
    rows: Any
    columns: dict[str, Any]
    sack: Any
    syn: Any
    flow_first: Any
    link_frame_at: dict[int, int]


_COLUMNS = {
    "flow": np.int32, "direction": np.int8, "raw_seq": np.uint32, "raw_ack": np.uint32, "payload_bytes": np.int32,
    "flags": np.uint16, "raw_window": np.uint16, "tsval": np.uint32, "tsecr": np.uint32, "options": np.uint8,
    "ip_id": np.int32, "checksum": np.uint16, "checksum_ok": np.int8, "wire_bytes": np.int32,
}  # fmt: skip


@dataclass
class _Records:
    """Where records are, and what became of each: arrays of one element a record, or slices of them."""

    offset: Any
    captured: Any
    original: Any
    interface: Any
    status: Any
    where: Any  # of what follows the link layer, from the record's start
    columns: dict[str, Any]

    def part(self, mine: slice) -> _Records:
        """Some of these, the same memory."""
        columns = {name: values[mine] for name, values in self.columns.items()}
        return _Records(
            self.offset[mine], self.captured[mine], self.original[mine], self.interface[mine], self.status[mine],
            self.where[mine], columns,
        )  # fmt: skip


@dataclass
class _Found:
    """What decoding a part found besides the columns."""

    packets: int
    sack: Any
    syn: Any
    flows: Flows


def decode(data: Any, offset: Any, captured: Any, original: Any, interface: Any, link_types: Any) -> Decoded:
    """Decode every record; `link_types` gives each interface's."""
    kinds = np.array([family(int(kind)) for kind in link_types], dtype=np.int64)
    count = len(offset)
    columns = {name: np.empty(count, dtype=dtype) for name, dtype in _COLUMNS.items()}
    status, where = np.zeros(count, dtype=np.int8), np.zeros(count, dtype=np.int32)
    records = _Records(offset, captured, original, interface, status, where, columns)
    pieces = [records.part(share) for share in shares(count)]
    found = concurrently(lambda piece: _decode_part(data, piece, kinds), pieces)
    flows, sack, syn = _join(data, pieces, found)
    packets = sum(part.packets for part in found)
    rows = None
    if packets < count:
        # Copied, so that the room for all records is given back.
        columns = {name: _gathered(name, pieces, found) for name in columns}
        rows = np.flatnonzero(status == TCP)
    frames = np.flatnonzero(status == LINK_FRAME)
    at = {int(row): int(offset[row]) + int(where[row]) for row in frames}
    return Decoded(status, rows, columns, sack, syn, flows.first, at)


def _decode_part(data: Any, records: _Records, kinds: Any) -> _Found:
    sack, syn = np.empty((1 << 12, 3), dtype=np.int64), np.empty((1 << 10, 3), dtype=np.int64)
    flows, state = Flows(), np.zeros(5, dtype=np.int64)
    batch = np.zeros((_BATCH_ROWS, BATCH), dtype=np.int64)
    while state[_ROW] < len(records.offset):
        decode_rows(
            data, records.offset, records.captured, records.original, records.interface, kinds, records.status,
            records.where, state, batch, flows.table, flows.known, sack, syn, *records.columns.values(),
        )  # fmt: skip
        flows.count = int(state[_FLOW])
        if state[_BLOCK] + _MOST_BLOCKS * BATCH > len(sack):
            sack = np.concatenate([sack, np.empty_like(sack)])
        if state[_SYN] + BATCH > len(syn):
            syn = np.concatenate([syn, np.empty_like(syn)])
        if flows.full:
            flows.grow()
    return _Found(int(state[_PACKET]), sack[: state[_BLOCK]].copy(), syn[: state[_SYN]].copy(), flows)


def _join(data: Any, pieces: list[_Records], found: list[_Found]) -> tuple[Flows, Any, Any]:
    """Number flows and packets alike in all parts; the flows, SACK blocks and SYN rows of all."""
    flows, base = found[0].flows, found[0].packets
    for piece, part in zip(pieces[1:], found[1:], strict=True):
        if part.packets:
            numbers = flows.adopt(data, part.flows)
            renumber(piece.columns["flow"], piece.columns["direction"], part.packets, numbers)
        part.sack[:, 0] += base
        part.syn[:, 0] += base
        base += part.packets
    return flows, np.concatenate([part.sack for part in found]), np.concatenate([part.syn for part in found])


def _gathered(name: str, pieces: list[_Records], found: list[_Found]) -> Any:
    parts = zip(pieces, found, strict=True)
    return np.concatenate([piece.columns[name][: part.packets] for piece, part in parts])


@kernel
def renumber(flow: Any, direction: Any, packets: int, numbers: Any) -> None:
    """Replace a part's flow numbers; `numbers` has 2 * new number + 1 if the ends are swapped."""
    for packet in range(packets):
        number = numbers[flow[packet]]
        flow[packet] = number >> 1
        direction[packet] ^= number & 1


@kernel
def ones_sum(data: Any, start: int, end: int, total: int) -> int:
    """`total` plus the 16-bit words of data[start:end], the last octet padded (RFC 1071)."""
    at = start
    while at + 1 < end:
        total += big16(data, at)
        at += 2
    if at < end:
        total += int(np.int64(data[at]) << 8)
    return total


@kernel
def folded(total: int) -> int:
    """A sum of words in 16 bits, carries added back (RFC 1071)."""
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@inlined
def checksum_right(data: Any, ip: int, tcp: int, stop: int) -> int:
    """Whether the TCP checksum is right (RFC 9293 3.1): 1, 0, or -1 where the network card was to fill it in.

    A sender that leaves it to the card writes the sum of the pseudo-header alone.
    """
    pseudo = np.int64(PROTOCOL_TCP) + (stop - tcp)
    if data[ip] >> 4 == 4:
        pseudo = ones_sum(data, ip + 12, ip + 20, pseudo)
    else:
        pseudo = ones_sum(data, ip + 8, ip + 40, pseudo)
    if folded(ones_sum(data, tcp, stop, pseudo)) == 0xFFFF:
        return 1
    return -1 if folded(pseudo) == big16(data, tcp + 16) else 0


@kernel
def decode_rows(
    data: Any, offset: Any, captured: Any, original: Any, interface: Any, kinds: Any, status: Any, where: Any,
    state: Any, batch: Any, table: Any, known: Any, sack: Any, syn: Any,
    flow: Any, direction: Any, raw_seq: Any, raw_ack: Any, payload_bytes: Any, flags: Any, raw_window: Any,
    tsval: Any, tsecr: Any, options: Any, ip_id: Any, checksum: Any, checksum_ok: Any, wire_bytes: Any,
) -> None:  # fmt: skip
    """Decode records from the state's on, a batch at a time, until done or until an array might not hold another."""
    row, packet, flows = state[_ROW], state[_PACKET], state[_FLOW]
    while row < len(offset):
        full = state[_BLOCK] + _MOST_BLOCKS * BATCH > len(sack) or state[_SYN] + BATCH > len(syn)
        if full or flows + BATCH > len(known):
            break
        count = min(BATCH, len(offset) - row)
        read_headers(data, offset, captured, interface, kinds, row, count, batch)
        first_looks(batch[_HERE, :count], batch[_THERE, :count], table, known, batch[_FOUND, :count])
        for place in range(count):
            this, out = np.uint64(row), np.uint64(packet)
            at = offset[this]
            end = at + captured[this]
            result, ip = batch[_RESULT, place], batch[_IP, place]
            tcp, stop = batch[_TRANSPORT, place], batch[_STOP, place]
            if result == PROTOCOL_UDP:
                status[this] = udp_status(data, tcp, end)
                where[this] = tcp - at
            elif result != PROTOCOL_TCP:
                status[this] = -1 - result if result < 0 else other_status(result)
            elif tcp + _LEAST_TCP > end:
                status[this] = CUT if at + original[this] > end else MALFORMED
            else:
                if stop == 0:
                    stop = at + original[this]
                length_and_flags = big16(data, tcp + 12)
                header = (length_and_flags >> 12) * 4
                if header < _LEAST_TCP or tcp + header > stop:
                    status[this] = MALFORMED
                    row += 1
                    continue
                status[this] = TCP
                found = batch[_FOUND, place]
                if found == NO_FLOW:
                    found = find_flow(data, ip, tcp, table, known, flows)
                flow[out], direction[out] = found >> 1, found & 1
                flows = max(flows, (found >> 1) + 1)
                raw_seq[out], raw_ack[out] = big32(data, tcp + 4), big32(data, tcp + 8)
                flags[out] = length_and_flags & 0x0FFF
                raw_window[out], checksum[out] = big16(data, tcp + 14), big16(data, tcp + 16)
                payload_bytes[out], wire_bytes[out] = stop - tcp - header, stop - ip
                ip_id[out] = big16(data, ip + 4) if data[ip] >> 4 == 4 else -1
                checksum_ok[out] = checksum_right(data, ip, tcp, stop) if stop <= end else -1
                at, options_end = tcp + _LEAST_TCP, min(tcp + header, end)
                if at + 12 <= options_end and big32(data, at) == _ALIGNED_TIMESTAMPS:
                    options[out] = OPTION_TIMESTAMPS
                    tsval[out], tsecr[out] = big32(data, at + 4), big32(data, at + 8)
                    at += 12
                else:
                    tsval[out], tsecr[out], options[out] = 0, 0, 0
                while at + 4 <= options_end and big32(data, at) == _PADDING:
                    at += 4
                if length_and_flags & SYN or at < options_end:
                    read_options(
                        data, at, options_end, packet, state, sack, syn, tsval, tsecr, options,
                        length_and_flags & SYN,
                    )  # fmt: skip
                packet += 1
            row += 1
    state[_ROW], state[_PACKET], state[_FLOW] = row, packet, flows


@inlined
def read_headers(
    data: Any, offset: Any, captured: Any, interface: Any, kinds: Any, row: int, count: int, batch: Any
) -> None:  # fmt: skip
    """Find the headers of the records from `row` on, and the ends of those whose TCP header is whole."""
    for place in range(count):
        this = np.uint64(row + place)
        at = offset[this]
        end = at + captured[this]
        result, ip, tcp, stop = headers(data, at, end, kinds[interface[this]])
        here, there = np.int64(0), np.int64(0)
        if result == PROTOCOL_TCP and tcp + _LEAST_TCP <= end:
            here, there = ends_of(data, ip, tcp)
        batch[_RESULT, place], batch[_IP, place], batch[_TRANSPORT, place], batch[_STOP, place] = result, ip, tcp, stop
        batch[_HERE, place], batch[_THERE, place] = here, there


@inlined
def headers(data: Any, at: int, end: int, kind: int) -> Any:
    """(Transport protocol or -1 - status, and where: its IP header, its own, the datagram's end or 0)."""
    none = np.int64(0)
    if kind == USER:
        return np.int64(-1 - LINK_FRAME), none, none, none
    if end == at:
        return np.int64(-1 - EMPTY), none, none, none
    ip = network(data, at, end, kind)
    if ip < 0:
        return np.int64(ip), none, none, none
    protocol, transport_at, stop = transport(data, ip, end)
    return protocol, np.int64(ip), transport_at, stop


@kernel
def read_options(
    data: Any, at: int, end: int, packet: int, state: Any, sack: Any, syn: Any, tsval: Any, tsecr: Any, options: Any,
    is_syn: int,
) -> None:  # fmt: skip
    """TCP options (RFC 9293 3.2); a malformed one ends the list."""
    found = 0
    mss: int = -1
    wscale: int = -1
    while at < end:
        kind = data[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        if at + 1 >= end:
            break
        size = int(np.int64(data[at + 1]))
        if size < 2 or at + size > end:
            break
        if kind == 8 and size == 10:
            tsval[packet] = big32(data, at + 2)
            tsecr[packet] = big32(data, at + 6)
            found |= OPTION_TIMESTAMPS
        elif kind == 5 and size >= 10:
            found |= OPTION_SACK
            for block in range(at + 2, at + size - 7, 8):
                sack[state[_BLOCK], 0] = packet
                sack[state[_BLOCK], 1] = big32(data, block)
                sack[state[_BLOCK], 2] = big32(data, block + 4)
                state[_BLOCK] += 1
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
        syn[state[_SYN], 0] = packet
        syn[state[_SYN], 1] = mss
        syn[state[_SYN], 2] = wscale
        state[_SYN] += 1
