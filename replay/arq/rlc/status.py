"""STATUS PDUs written and read: super-fields in nibbles (3GPP TS 25.322 9.2.2.11).

`compose` writes what is due (MRW, MRW_ACK, WINDOW, a report) and `committed` notes that it was sent;
a report too long for one PDU is continued in the next. `read_status` finds what a STATUS PDU says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import codes
from multitracer.replay.arq.rlc.am_entity import BITMAP, RLIST, SN_MASK, Entity

S_NO_MORE, S_WINDOW, S_ACK, S_LIST, S_BITMAP, S_RLIST, S_MRW, S_MRW_ACK, S_POLL = codes(9)
ZERO, N1, N2, N3, N4, N5 = codes(6)
"""Counts of nibbles."""
BURST = np.int64(1)
"""The code word before the length of a burst."""
MOST_ENTRIES = 15
"""LENGTH has four bits."""
ACK_NIBBLES = 4
MALFORMED_STATUS = -1


@kernel
def put(out: Any, at: int, value: int, nibbles: int) -> int:
    """Write `value` in `nibbles` nibbles from nibble `at`; gives where the next one stands."""
    for i in range(nibbles):
        nibble = (value >> (4 * (nibbles - 1 - i))) & 15
        k = (at + i) >> 1
        out[k] = (out[k] & 0xF0) | nibble if (at + i) & 1 else (out[k] & 0x0F) | nibble << 4
    return at + nibbles


@kernel
def get(pdu: Any, at: int, nibbles: int) -> int:
    """The number in `nibbles` nibbles from nibble `at`."""
    value: Any = 0
    for i in range(at, at + nibbles):
        octet = np.int64(pdu[i >> 1])
        value = value << 4 | (octet & 15 if i & 1 else octet >> 4)
    return value


@kernel
def next_gap(e: Entity, sn: int) -> int:
    """The first PDU from `sn` on that is missing below VR(H), or VR(H)."""
    while sn < e.v.vr_h and e.store.slot[sn & SN_MASK].have:
        sn += 1
    return sn


@kernel
def gap_end(e: Entity, sn: int) -> int:
    """The first PDU after the missing ones that begin with `sn`, or VR(H)."""
    while sn < e.v.vr_h and not e.store.slot[sn & SN_MASK].have:
        sn += 1
    return sn


@kernel
def status_due(e: Entity) -> bool:
    """Whether a STATUS PDU should be sent."""
    v = e.v
    return v.status_wanted + v.mrw_due + v.mrw_ack_due + v.window_due > 0 or v.report_from >= 0


@kernel
def compose(e: Entity, out: Any, nibbles: int) -> int:
    """Write what is due into `out`, a report within `nibbles` nibbles; gives the nibbles used."""
    v = e.v
    at = put(out, ZERO, ZERO, N1)
    if v.mrw_due:
        at = _put_mrw(e, out, at, nibbles)
    if v.mrw_ack_due:
        at = put(out, at, S_MRW_ACK << 16 | (v.mrw_ack_n & 15) << 12 | v.mrw_ack_sn & SN_MASK, N5)
    if v.window_due:
        at = put(out, at, S_WINDOW << 12 | v.window_due, N4)
    v.composed_report = 0
    v.composed_to = v.report_from
    report = v.status_wanted > 0 or v.report_from >= 0
    if report and at + ACK_NIBBLES <= nibbles:
        return _put_report(e, out, at, nibbles)
    return put(out, at, S_NO_MORE, N1)


@kernel
def _put_mrw(e: Entity, out: Any, at: int, nibbles: int) -> int:
    """The MRW under way: with Send MRW one SN for each SDU discarded, the last 15 of them."""
    v = e.v
    first = v.mrw_to - 1
    if e.p.send_mrw:
        most = max(1, min(MOST_ENTRIES, (nibbles - at - 3 - 9 - ACK_NIBBLES) // 3))
        first = min(first, max(e.queue.v.head, v.mrw_to - most))
    count = v.mrw_to - first
    at = put(out, at, S_MRW << 4 | (0 if v.mrw_beyond and count == 1 else count), N2)
    for number in range(first, v.mrw_to - 1):
        k = number & e.queue.v.mask
        at = put(out, at, (e.queue.v.sdu[k].end_sn - (1 if e.queue.v.sdu[k].end_n == 0 else 0)) & SN_MASK, N3)
    at = put(out, at, v.mrw_sn & SN_MASK, N3)
    return put(out, at, v.mrw_n, N1)


@merged
def _put_report(e: Entity, out: Any, at: int, nibbles: int) -> int:
    """The gaps from where the report stands, then ACK; notes how far it came.

    LSN is VR(H) only where all gaps below it are named in this PDU, else how far they are; a
    continuation, which names none of the earlier ones, acknowledges up to VR(R) alone. So does a
    BITMAP, whose filling after VR(H) says nothing.
    """
    v = e.v
    begin = v.vr_r if v.report_from < v.vr_r else v.report_from
    sn = next_gap(e, begin)
    room = nibbles - ACK_NIBBLES
    while sn < v.vr_h:
        before = at
        if e.p.status_format == BITMAP:
            at, sn = _put_bitmap(e, out, at, room, sn)
        elif e.p.status_format == RLIST:
            at, sn = _put_rlist(e, out, at, room, sn)
        else:
            at, sn = _put_list(e, out, at, room, sn)
        if at == before or not e.p.whole_reports:
            break
    lsn = sn if begin == v.vr_r and e.p.status_format != BITMAP else v.vr_r
    v.composed_report = 1
    v.composed_to = sn if sn < v.vr_h and e.p.whole_reports else -1
    return put(out, at, S_ACK << 12 | lsn & SN_MASK, N4)


@kernel
def _put_list(e: Entity, out: Any, at: int, room: int, sn: int) -> tuple[int, int]:
    """One LIST SUFI of gaps from `sn`; gives where it ends and the next gap."""
    most, count, start = min(MOST_ENTRIES, (room - at - 2) // 4), 0, at
    if most < 1:
        return at, sn
    at += 2
    while count < most and sn < e.v.vr_h:
        run = min(16, gap_end(e, sn) - sn)
        at = put(out, at, (sn & SN_MASK) << 4 | run - 1, N4)
        sn = next_gap(e, sn + run)
        count += 1
    put(out, start, S_LIST << 4 | count, N2)
    return at, sn


@kernel
def _put_bitmap(e: Entity, out: Any, at: int, room: int, sn: int) -> tuple[int, int]:
    """One BITMAP SUFI from the gap at `sn`, no longer than needed; gives where it ends and the next gap."""
    octets = min(16, (room - at - 5) // 2, (e.v.vr_h - sn + 7) // 8)
    if octets < 1:
        return at, sn
    at = put(out, at, S_BITMAP << 16 | (octets - 1) << 12 | sn & SN_MASK, N5)
    for first in range(sn, sn + 8 * octets, 8):
        bits = 0
        for i in range(first, first + 8):
            bits = bits << 1 | (1 if i >= e.v.vr_h or e.store.slot[i & SN_MASK].have else 0)
        at = put(out, at, bits, N2)
    return at, next_gap(e, min(e.v.vr_h, sn + 8 * octets))


@kernel
def _words(number: int) -> int:
    """Code words that a number takes."""
    count = 1
    while number > 7:
        number >>= 3
        count += 1
    return count


@kernel
def _put_number(out: Any, at: int, number: int) -> int:
    """A number in code words, least significant bits first, the last with its stop bit."""
    while number > 7:
        at = put(out, at, (number & 7) << 1, N1)
        number >>= 3
    return put(out, at, number << 1 | 1, N1)


@kernel
def _put_rlist(e: Entity, out: Any, at: int, room: int, sn: int) -> tuple[int, int]:
    """One RLIST SUFI of gaps from `sn`; gives where it ends and the next gap."""
    most, words, start = min(MOST_ENTRIES, room - at - 5), 0, at
    if most < 0:
        return at, sn
    at = put(out, at, S_RLIST << 16 | sn & SN_MASK, N5)
    last, sn = sn, sn + 1
    while sn <= e.v.vr_h:
        run = gap_end(e, sn) - sn
        number = run if run > 1 else next_gap(e, sn) - last
        takes = _words(number) + (1 if run > 1 else 0)
        if last + number >= e.v.vr_h or words + takes > most:
            break
        if run > 1:
            at = put(out, at, BURST, N1)
        at = _put_number(out, at, number)
        words += takes
        last += number
        sn = last + 1
    put(out, start, S_RLIST << 4 | words, N2)
    return at, next_gap(e, last + 1)


@kernel
def committed(e: Entity) -> bool:
    """The composed PDU goes out: whether it begins a report."""
    v = e.v
    begins = v.composed_report > 0 and v.report_from < 0
    if begins:
        v.status_wanted = 0
    if v.composed_report:
        v.report_from = v.composed_to
    v.mrw_due = v.mrw_ack_due = v.window_due = 0
    return begins


@kernel
def read_status(e: Entity, pdu: Any, at: int, length: int, found: Any) -> bool:
    """Read the SUFIs from nibble `at`: missing SNs to the fields `named`, the rest to `found` (-1: not there)."""
    v, stop = e.v, 2 * length
    v.listed, v.lsn = 0, -1
    found.window = found.mrw_sn = found.mrw_n = found.mrw_ack_sn = found.mrw_ack_n = found.poll_sn = -1
    while at < stop:
        kind = get(pdu, at, N1)
        at += 1
        if kind == S_NO_MORE:
            return True
        if kind > S_POLL or at + 3 > stop:
            return False
        if kind == S_ACK:
            v.lsn = get(pdu, at, N3)
            return True
        if kind == S_WINDOW:
            found.window = get(pdu, at, N3)
            at += 3
        elif kind == S_POLL:
            found.poll_sn = get(pdu, at, N3)
            at += 3
        elif kind in (S_MRW, S_MRW_ACK):
            at = _read_mrw(pdu, at, stop, kind, found)
        else:
            at = _read_gaps(e, pdu, at, stop, kind)
        if at < 0:
            return False
    return False


@kernel
def _read_mrw(pdu: Any, at: int, stop: int, kind: int, found: Any) -> int:
    number = get(pdu, at, N1)
    size = 4 if kind == S_MRW_ACK else 3 * max(1, number) + 2
    if at + size > stop:
        return MALFORMED_STATUS
    if kind == S_MRW_ACK:
        found.mrw_ack_n, found.mrw_ack_sn = number, get(pdu, at + 1, N3)
    else:
        found.mrw_sn, found.mrw_n = get(pdu, at + size - 4, N3), get(pdu, at + size - 1, N1)
    return at + size


@kernel
def _read_gaps(e: Entity, pdu: Any, at: int, stop: int, kind: int) -> int:
    number = get(pdu, at, N1)
    at += 1
    if kind == S_LIST:
        return _read_list(e, pdu, at, stop, number)
    size = 3 + (2 * (number + 1) if kind == S_BITMAP else number)
    if at + size > stop:
        return MALFORMED_STATUS
    sn = get(pdu, at, N3)
    if kind == S_BITMAP:
        for i in range(8 * (number + 1)):
            if not get(pdu, at + 3 + i // 4, N1) >> (3 - i % 4) & 1:
                _name(e, sn + i, 1)
    else:
        _name(e, sn, 1)
        if not _read_words(e, pdu, at + 3, number, sn):
            return MALFORMED_STATUS
    return at + size


@kernel
def _read_list(e: Entity, pdu: Any, at: int, stop: int, number: int) -> int:
    if number == 0 or at + 4 * number > stop:
        return MALFORMED_STATUS
    for i in range(number):
        _name(e, get(pdu, at + 4 * i, N3), 1 + get(pdu, at + 4 * i + 3, N1))
    return at + 4 * number


@kernel
def _read_words(e: Entity, pdu: Any, at: int, count: int, sn: int) -> bool:
    """The code words of an RLIST; False when the last does not end a number."""
    burst, number, shift, word = 0, 0, 0, 3
    for i in range(at, at + count):
        word = get(pdu, i, N1)
        if word == 1 and shift == 0:
            burst = 1
            continue
        number |= (word >> 1) << shift
        shift += 3
        if not word & 1:
            continue
        if number > SN_MASK:
            return False
        _name(e, sn + 1 if burst else sn + number, number if burst else 1)
        sn, burst, number, shift = sn + number, 0, 0, 0
    return bool(word & 1) and word != 1


@kernel
def _name(e: Entity, sn: int, count: int) -> None:
    """`count` SNs from `sn` are called missing."""
    for i in range(sn, sn + count):
        listed = e.v.listed
        if listed <= SN_MASK:
            e.store.slot[listed].named = i & SN_MASK
            e.v.listed = listed + 1
