"""Reassembly of the packets that one direction of an RLC link carried.

The data field of every numbered PDU is divided into elements at the ends of SDUs: by length
indicators (UMTS, 25.322 9.2.2.8), by FI and LIs (LTE, 36.322 6.2.2), or not at all (NR, 38.322
6.2.3: one number is one SDU). Elements of consecutive numbers are concatenated to SDUs. A retransmission,
or a segment of one, carries a range of its number's data field; so every frame that carried part of an SDU
is known.

Whether the receiver delivers in sequence makes no difference here.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.link.packets import CarriedPacket, Rows
from multitracer.wire import rlc_lte, rlc_nr, rlc_umts

if TYPE_CHECKING:
    import pandas as pd

IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
PDCP_HEADER_BYTES = (0, 1, 2, 3)  # 25.323 8.2, 36.323 6.2, 38.323 6.2


class _Element(NamedTuple):
    """Part of an SDU at `start`..`end` of a data field; `octets` None where they were not logged."""

    start: int
    end: int
    octets: bytes | None
    starts: bool | None
    """Whether an SDU starts with it; None where the PDU does not say."""
    ends: bool


class _Frame(NamedTuple):
    """A data PDU as logged; `at` is its index in time order."""

    at: int
    so: int
    size: int
    first: bool


@dataclass
class _Number:
    """All PDUs and segments that were sent with one sequence number."""

    frames: list[_Frame] = field(default_factory=list)
    elements: list[_Element] | None = None
    """Of the whole data field, if one frame carried all of it."""
    pieces: list[tuple[int, bool, list[_Element]]] = field(default_factory=list)
    """Of segments of the data field: segment offset, whether it is the last segment, elements."""
    ended_before: int = 0
    """1: the PDU before ended an SDU with its last octet; 2: with the octet before its last."""
    cuts: bool = False
    """The sender discarded all before this number (MRW)."""
    sent: list[tuple[int, int]] = field(default_factory=list)
    """Which octets of the data field were sent so far: start and end of each stretch."""


@dataclass
class _Sdu:
    """An SDU being reassembled."""

    spans: list[tuple[int, int, int]] = field(default_factory=list)
    """(number, start, end) of its parts."""
    octets: list[bytes | None] = field(default_factory=list)
    start_known: bool = False
    ended: bool = False
    end_told: bool = False
    """By a PDU with octets of it; else by the PDU behind these."""


def reassemble(frames: pd.DataFrame, rows: Rows, protocol: str) -> list[CarriedPacket]:
    """The packets that `rows` of the frames table carried, in the order of their first transmission.

    `rows` are positions of all frames of one link direction as one end logged them (`direction`
    finds them). `protocol` is rlc-umts, rlc-lte or rlc-nr. A packet is not `complete` if its end or
    some of its octets are not in the log; if only its start is not certain, it is complete when its
    octets are exactly one IPv4 packet with a correct header checksum.
    """
    table = _Columns.of(frames, rows)
    packets = []
    for epoch, members in _epochs(table):
        numbers = _numbers(table, members, protocol)
        packets += [_packet(sdu, numbers, table.rows, epoch) for sdu in _join(numbers) if sdu.spans]
    packets = [packet for packet in packets if len(packet.rows)]
    order = np.argsort([table.place[int(p.rows[0])] for p in packets], kind="stable")
    return [packets[index] for index in order]


def direction(frames: pd.DataFrame, link: int, side: str | None = None) -> Rows:
    """Positions of a link's frames in the log of `side`; by default in the sender's, else in the receiver's."""
    chosen = (frames["link"] == link).to_numpy()
    if side is not None:
        return np.flatnonzero(chosen & (frames["side"] == side).to_numpy())
    sent = chosen & frames["sent"].to_numpy()
    return np.flatnonzero(sent if sent.any() else chosen)


@dataclass
class _Columns:
    """The columns needed, as plain lists in time order; `rows` are the positions they come from."""

    rows: Rows
    place: dict[int, int]
    lists: dict[str, list[Any]]

    @classmethod
    def of(cls, frames: pd.DataFrame, rows: Rows) -> _Columns:
        order = np.argsort(frames["time_ns"].to_numpy()[rows], kind="stable")
        rows = np.asarray(rows, dtype=np.int64)[order]
        lists = {name: frames[name].iloc[rows].tolist() for name in ("type", "sn", "epoch", *_READ)}
        return cls(rows, {row: at for at, row in enumerate(rows.tolist())}, lists)

    def __getitem__(self, name: str) -> list[Any]:
        return self.lists[name]


def _epochs(table: _Columns) -> Iterator[tuple[int, list[int]]]:
    """(Epoch, indices of its frames): a reset restarts the sequence numbers."""
    epochs = table["epoch"]
    if any(epoch < 0 for epoch in epochs):
        epochs = _counted_resets(table)
    members: dict[int, list[int]] = {}
    for at, epoch in enumerate(epochs):
        members.setdefault(epoch, []).append(at)
    yield from members.items()


def _counted_resets(table: _Columns) -> list[int]:
    """The number of resets before each frame; a repeated RESET or RESET ACK (same RSN) counts once: 25.322 11.4."""
    epoch, data_since, latest = 0, False, {"RESET": -1, "RESET_ACK": -1}
    epochs = []
    for kind, sn in zip(table["type"], table["sn"], strict=True):
        if kind in latest:
            repeated = sn >= 0 and sn == latest[kind]
            if not repeated and (data_since or not epoch):
                epoch, data_since = epoch + 1, False
            latest[kind] = sn
        data_since = data_since or kind == "AMD"
        epochs.append(epoch)
    return epochs


def _numbers(table: _Columns, members: list[int], protocol: str) -> dict[int, _Number]:
    """The frames and elements of each unwrapped sequence number."""
    readers: dict[str, Callable[..., None]] = {"rlc-umts": _umts, "rlc-lte": _lte, "rlc-nr": _nr}
    read = readers[protocol]
    modulus = _modulus(protocol, max((table["sn"][at] for at in members), default=0))
    kinds, sns, lis, columns = table["type"], table["sn"], table["lis"], [table[name] for name in _READ]
    numbers: dict[int, _Number] = {}
    highest = -1
    for at in members:
        kind, sn = kinds[at], sns[at]
        if kind not in ("AMD", "MRW") or sn < 0:
            continue
        ahead = (sn - highest + modulus // 2) % modulus - modulus // 2
        unwrapped = sn if highest < 0 else highest + ahead
        if kind == "AMD":
            highest = max(highest, unwrapped)
            if unwrapped not in numbers:
                numbers[unwrapped] = _Number()
            _add_frame(numbers[unwrapped], table, at)
            read(numbers[unwrapped], *[column[at] for column in columns])
        elif lis[at] in ((0,), None):
            numbers.setdefault(unwrapped, _Number()).cuts = True
    return numbers


_READ = ("data", "lis", "payload_bytes", "length_bytes", "so", "framing", "last_segment")


def _modulus(protocol: str, largest: int) -> int:
    """The modulus of the protocol's smallest sequence number field that holds `largest`."""
    if protocol == "rlc-umts":
        return rlc_umts.SPEC.am_modulus
    small, large = (rlc_lte.AM10, rlc_lte.AM16) if protocol == "rlc-lte" else (rlc_nr.AM12, rlc_nr.AM18)
    return small.modulus if largest < small.modulus else large.modulus


def _add_frame(number: _Number, table: _Columns, at: int) -> None:
    so, size = max(table["so"][at], 0), max(table["payload_bytes"][at], 0)
    # Segments need not come in order, and the log may lack those before (36.322 5.1.3).
    first = _extend_stretches(number.sent, so, so + size) or not number.frames
    number.frames.append(_Frame(at, so, size, first))


def _extend_stretches(stretches: list[tuple[int, int]], start: int, end: int) -> bool:
    """Add start..end-1 to stretches in order that do not touch; returns whether any of it is new."""
    at = stop = bisect.bisect_left(stretches, start, key=lambda one: one[1])
    while stop < len(stretches) and stretches[stop][0] <= end:
        stop += 1
    touching = stretches[at:stop]
    if start >= end or any(first <= start and end <= last for first, last in touching):
        return False
    edges = [start, end, *(edge for one in touching for edge in one)]
    stretches[at:stop] = [(min(edges), max(edges))]
    return True


def _umts(number: _Number, data: bytes | None, lis: tuple[int, ...] | None, size: int, length: int, *rest: int) -> None:
    """Elements by length indicators, each the offset of an SDU's end; with HE = 10 the PDU's end is one, too."""
    if number.elements is not None or size < 0:
        return
    bits = rlc_umts.li_bits_in(lis or (), length, data)
    user = _tail(data, len(lis or ()) * ((bits + 1) // 8), size)
    elements, start, open_end = [], 0, True
    for li in (rlc_umts.long_form(li, bits) for li in lis or ()):
        if li in (rlc_umts.SPEC.ends_before, rlc_umts.SPEC.ends_before_short_one):
            number.ended_before = 1 if li == rlc_umts.SPEC.ends_before else 2
        elif li in (rlc_umts.SPEC.padding, rlc_umts.SPEC.piggyback):
            open_end = False
        else:
            elements.append(_Element(start, li, _cut(user, start, li), None, True))
            start = li
    # One octet behind the 15-bit indicator of an end is nobody's.
    open_end = open_end and not (bits == 15 and 0 < start == size - 1)
    if open_end and start < size:
        elements.append(_Element(start, size, _cut(user, start, size), None, rest[1] == rlc_umts.SPEC.ends_sdu))
    number.elements = elements


def _lte(
    number: _Number,
    data: bytes | None,
    lis: tuple[int, ...] | None,
    size: int,
    length: int,
    so: int,
    fi: int,
    last: int,
) -> None:
    """Elements by their lengths; FI says whether the first starts and the last ends an SDU."""
    if size < 0 or fi < 0:
        return
    user = None if data is None else _tail(data, len(data) - size, size)
    bounds = [0, *np.cumsum(lis or (), dtype=int).tolist(), size]
    final = len(bounds) - 2
    elements = [
        _Element(
            max(so, 0) + a,
            max(so, 0) + b,
            _cut(user, a, b),
            index > 0 or not fi & 2,
            index < final or not fi & 1,
        )
        for index, (a, b) in enumerate(itertools.pairwise(bounds))
        if b > a
    ]
    _settle(number, so, last == 1, elements)


def _nr(
    number: _Number,
    data: bytes | None,
    lis: tuple[int, ...] | None,
    size: int,
    length: int,
    so: int,
    si: int,
    last: int,
) -> None:
    """One SDU per number, whole or in segments."""
    if size < 0 or si < 0:
        return
    at = max(so, 0)
    element = _Element(
        at,
        at + size,
        _tail(data, 0, size),
        si in (rlc_nr.SI_FULL, rlc_nr.SI_FIRST),
        si in (rlc_nr.SI_FULL, rlc_nr.SI_LAST),
    )
    _settle(number, -1 if si == rlc_nr.SI_FULL else at, si == rlc_nr.SI_LAST, [element])


def _settle(number: _Number, so: int, last: bool, elements: list[_Element]) -> None:
    if so < 0:
        number.elements = number.elements or elements
    else:
        number.pieces.append((so, last, elements))


def _tail(data: bytes | None, skip: int, size: int) -> bytes | None:
    """The `size` octets of user data from offset `skip`; None unless all of them were logged."""
    return None if data is None or skip < 0 or len(data) < skip + size else data[skip : skip + size]


def _cut(user: bytes | None, start: int, end: int) -> bytes | None:
    return None if user is None else user[start:end]


def _elements(number: _Number) -> Iterator[_Element | None]:
    """The elements of a number's data field in order; None where octets are missing."""
    if number.elements is not None:
        yield from number.elements
        return
    reached, complete = 0, False
    for so, last, elements in sorted(number.pieces, key=lambda piece: piece[:2]):
        if so > reached:
            yield None
        for element in elements:
            cut = reached - element.start
            if element.end > reached:
                yield element if cut <= 0 else _without_head(element, cut)
                reached = element.end
        complete = complete or last
    if not complete:
        yield None


def _without_head(element: _Element, cut: int) -> _Element:
    octets = element.octets and element.octets[cut:]
    return element._replace(start=element.start + cut, octets=octets, starts=False)


def _join(numbers: dict[int, _Number]) -> Iterator[_Sdu]:
    """SDUs concatenated from the elements of consecutive numbers."""
    # The first sequence number is 0: 25.322 11.1, 36.322 7.1, 38.322 7.1.
    sdu, previous = _Sdu(start_known=True), -1
    for sn in sorted(numbers):
        number = numbers[sn]
        if not number.frames:  # only in an MRW SUFI
            continue
        if sn != previous + 1 or number.cuts:
            yield sdu
            sdu = _Sdu(start_known=number.cuts)
        previous = sn
        if number.ended_before:
            if number.ended_before == 2:
                _drop_last_octet(sdu)
            sdu.ended = bool(sdu.spans)
            yield sdu
            sdu = _Sdu(start_known=True)
        for element in _elements(number):
            if element is None or (element.starts and sdu.spans):
                yield sdu
                sdu = _Sdu()
            if element is None:
                continue
            if element.starts is not None and not sdu.spans:
                sdu.start_known = element.starts
            _extend(sdu, sn, element)
            if element.ends:
                sdu.ended = sdu.end_told = True
                yield sdu
                sdu = _Sdu(start_known=True)
    yield sdu


def _extend(sdu: _Sdu, sn: int, element: _Element) -> None:
    if element.end > element.start:
        sdu.spans.append((sn, element.start, element.end))
        sdu.octets.append(element.octets)


def _drop_last_octet(sdu: _Sdu) -> None:
    """Remove the last octet of the PDU before, which belongs to no SDU."""
    if sdu.spans:
        sn, start, end = sdu.spans[-1]
        sdu.spans[-1] = (sn, start, end - 1)
        sdu.octets[-1] = sdu.octets[-1] and sdu.octets[-1][:-1]


def _packet(sdu: _Sdu, numbers: dict[int, _Number], rows: Rows, epoch: int) -> CarriedPacket:
    """The packet of an SDU without its PDCP header, and how many of its octets each frame carried."""
    logged = [part for part in sdu.octets if part is not None]
    octets = b"".join(logged) if len(logged) == len(sdu.octets) else b""
    head = _pdcp_header_bytes(octets) if sdu.start_known and octets else 0
    complete = bool(octets) and sdu.ended and (sdu.start_known or _is_whole_ipv4(octets))
    carried: dict[int, int] = {}
    firsts = set()
    for sn, start, end in _without_first(sdu.spans, head):
        for frame in numbers[sn].frames:
            part = min(end, frame.so + frame.size) - max(start, frame.so)
            if part > 0:
                carried[frame.at] = carried.get(frame.at, 0) + part
                firsts |= {frame.at} if frame.first else set()
    order = sorted(carried)
    return CarriedPacket(
        octets=octets[head:],
        rows=rows[order],
        first_transmissions=rows[[at for at in order if at in firsts]],
        octets_in_row=np.array([carried[at] for at in order], dtype=np.int32),
        epoch=epoch,
        complete=complete,
        end_told=sdu.end_told,
    )


def _without_first(spans: Iterable[tuple[int, int, int]], octets: int) -> Iterator[tuple[int, int, int]]:
    """The spans without their first `octets` octets."""
    for sn, start, end in spans:
        cut = min(octets, end - start)
        octets -= cut
        if start + cut < end:
            yield sn, start + cut, end


def _pdcp_header_bytes(sdu: bytes) -> int:
    """The number of octets before the IP packet in an SDU; 0 if the rest is not exactly one IP packet."""
    return next((skip for skip in PDCP_HEADER_BYTES if 0 < _ip_length(sdu[skip:]) == len(sdu) - skip), 0)


def _ip_length(octets: bytes) -> int:
    """The packet length in the IP header that `octets` begin with; -1 if they begin with none."""
    if len(octets) >= IPV4_HEADER_BYTES and octets[0] >> 4 == 4 and octets[0] & 15 >= 5:
        return int.from_bytes(octets[2:4], "big")
    if len(octets) >= IPV6_HEADER_BYTES and octets[0] >> 4 == 6:
        return IPV6_HEADER_BYTES + int.from_bytes(octets[4:6], "big")
    return -1


def _is_whole_ipv4(octets: bytes) -> bool:
    """Whether the octets are exactly one IPv4 packet with a correct header checksum (RFC 791 3.1)."""
    if _ip_length(octets) != len(octets) or octets[0] >> 4 != 4:
        return False
    header = octets[: 4 * (octets[0] & 15)]
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, len(header), 2))
    return (total & 0xFFFF) + (total >> 16) == 0xFFFF
