"""Ports of one tap: sources that hold different packets of the same connections, which answer one another.

A full-duplex tap records each direction through its own port, a bonded link sends each packet over one of its
lines. Two observation points, unlike these, hold the same packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK, FIN, OPTION_TIMESTAMPS, SYN
from multitracer.wire.octets import hash_pair

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_MOST_SHARED = 0.1
"""Ports of one tap have at most this share of the packets of either in common: those that were sent again."""
_LEAST_IN_ORDER = 0.9
"""On one clock so many of the packets do not acknowledge or echo what was not sent yet (captures lack some packets)."""
_EXCEPTIONS = 2
"""So many packets prove nothing against it: what was sent again does not advance."""
_SAMPLED = 1 << 16
"""About so many packets of each source are compared; which ones is decided by their content."""
_NEAR = 1 << 24
"""Sequence and acknowledgement numbers of one connection are not farther apart than this."""
_NONE = -1
ACKED, ANY = 0, 1
"""Kinds of packets that are compared: those that a receiver acknowledges (data, SYN, FIN), or all."""
CLOCKS_NS = 10_000_000
"""Files of one tap are of one host's clock, or of clocks that NTP keeps this near to one another (RFC 5905 1)."""


class Fields(NamedTuple):
    """What is read of the packets: one element per packet."""

    flow: Any
    direction: Any
    raw_seq: Any
    raw_ack: Any
    payload_bytes: Any
    flags: Any
    options: Any
    tsval: Any
    tsecr: Any
    time_ns: Any


class Senders(NamedTuple):
    """Per flow and direction: the number after the highest octet, the newest TSval, and whether there was a packet."""

    top: Any
    tsval: Any
    seen: Any


def may_be_ports(packets: pd.DataFrame, one: Ints, other: Ints) -> bool:
    """Whether the rows `one` and `other`, which share flows, are other packets, recorded meanwhile.

    Both are of one input, or each of others.
    """
    time, number = packets["time_ns"].to_numpy(), packets["input"].to_numpy()
    if number[one[0]] != number[other[0]] and not _overlap(time[one], time[other]):
        return False  # what answers it was recorded meanwhile
    return _differ(_fields(packets), one, other)


def answer_in_order(packets: pd.DataFrame, parts: Sequence[Ints], flows: int) -> bool:
    """Whether the rows of several sources follow and acknowledge one another, as what was sent at one place does.

    All are looked at together: what a packet of one acknowledges may be in any of the others.
    """
    time, number = packets["time_ns"].to_numpy(), packets["input"].to_numpy()
    rows = np.concatenate(list(parts))
    which = np.repeat(np.arange(len(parts), dtype=np.int16), [len(part) for part in parts])
    of_one_file = bool((number[rows] == number[rows[0]]).all())
    order = np.argsort(rows if of_one_file else time[rows], kind="stable")
    bounds = (_NEAR, 0) if of_one_file else (0, CLOCKS_NS)
    answers, in_order = _answers(_fields(packets), rows[order], which[order], flows, *bounds)
    return 2 * in_order > answers and in_order >= _LEAST_IN_ORDER * answers - _EXCEPTIONS


def _fields(packets: pd.DataFrame) -> Fields:
    return Fields(*(packets[name].to_numpy() for name in Fields._fields))


def _overlap(times: Ints, others: Ints) -> bool:
    """Whether the times of two sources overlap."""
    return bool(times.min() <= others.max() + CLOCKS_NS and others.min() <= times.max() + CLOCKS_NS)


def _differ(fields: Fields, one: Ints, other: Ints) -> bool:
    """Whether the two sources have next to no packet in common.

    Pure acknowledgements are compared only where a source has nothing else: they are dropped and merged on their way.
    """
    mine, its = _sample(fields, one, ACKED), _sample(fields, other, ACKED)
    if not len(mine) or not len(its):
        mine, its = _sample(fields, one, ANY), _sample(fields, other, ANY)
    fewer = min(len(mine), len(its))
    return len(np.intersect1d(mine, its)) <= max(_MOST_SHARED * fewer, min(_EXCEPTIONS, fewer // 4))


def _sample(fields: Fields, rows: Ints, kinds: int) -> Ints:
    """Hashes of the packets of these kinds; of very many, of those whose hash is a multiple of a number."""
    mask = (1 << max(0, (len(rows) // _SAMPLED).bit_length())) - 1
    found = np.empty(len(rows), dtype=np.int64)
    return np.unique(found[: hash_packets(fields, rows, kinds, mask, found)])


@kernel
def hash_packets(fields: Fields, rows: Any, kinds: int, mask: int, found: Any) -> int:
    """Fill `found` with hashes of the packets of these kinds, where no bit of `mask` is set."""
    count = 0
    for row in rows:
        if kinds == ANY or fields.payload_bytes[row] > 0 or fields.flags[row] & (SYN | FIN):
            stream = 2 * np.int64(fields.flow[row]) + np.int64(fields.direction[row])
            what = np.int64(fields.payload_bytes[row]) << 8 ^ np.int64(fields.flags[row])
            if kinds == ANY:
                what ^= np.int64(fields.raw_ack[row]) << 24
            hashed = hash_pair(np.int64(fields.raw_seq[row]) ^ stream << 7, what ^ np.int64(fields.tsval[row]))
            if not hashed & mask:
                found[count] = hashed
                count += 1
    return count


def _answers(fields: Fields, rows: Ints, which: Any, flows: int, slack: int, apart_ns: int) -> tuple[int, int]:
    """How many packets follow one of another source, and how many of these can be later than it."""
    last = np.full(2 * flows, _NONE, dtype=np.int16)
    early, late = (
        Senders(np.zeros(2 * flows, dtype=np.int64), np.full(2 * flows, _NONE, dtype=np.int64),
                np.zeros(2 * flows, dtype=np.bool_)) for _ in range(2)
    )  # fmt: skip
    counts = np.zeros(2, dtype=np.int64)
    count_answers(fields, rows, which, last, early, late, slack, apart_ns, counts)
    return int(counts[0]), int(counts[1])


@kernel
def count_answers(
    fields: Fields, rows: Any, which: Any, last: Any, early: Senders, late: Senders, slack: int, apart_ns: int,
    counts: Any,
) -> None:  # fmt: skip
    """Count the packets that follow one of another source, and those of them that can be later than it.

    A packet follows what the other end sent, by its acknowledgement, and what its own end sent before. It may be
    `slack` octets ahead of what was captured, or `apart_ns` earlier: `early` is what had surely been sent before
    it, `late` what may have been.
    """
    first, beyond = 0, 0
    for at in range(len(rows)):
        row = rows[at]
        while first < at and fields.time_ns[rows[first]] < fields.time_ns[row] - apart_ns:
            note_sent(fields, rows[first], early)
            first += 1
        while beyond < len(rows) and (beyond < at or fields.time_ns[rows[beyond]] < fields.time_ns[row] + apart_ns):
            note_sent(fields, rows[beyond], late)
            beyond += 1
        stream = 2 * np.int64(fields.flow[row]) + np.int64(fields.direction[row])
        before, peer = last[stream], last[stream ^ 1]
        if fields.flags[row] & ACK and peer >= 0 and peer != which[at]:
            counts[0] += 1
            counts[1] += 1 if answers(fields, row, late, stream ^ 1, slack) else 0
        elif before >= 0 and before != which[at]:
            ahead = signed32(np.int64(fields.raw_seq[row]) - early.top[stream])
            counts[0] += 1
            counts[1] += 1 if not early.seen[stream] or -slack <= ahead < _NEAR else 0
        last[stream] = which[at]


@kernel
def signed32(difference: int) -> int:
    """A difference of 32-bit numbers as the nearest signed number (RFC 9293 3.4)."""
    return ((difference + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@kernel
def answers(fields: Fields, row: int, senders: Senders, peer: int, slack: int) -> bool:
    """Whether a packet acknowledges and echoes what `peer` had sent, and nothing that it had not."""
    ahead = signed32(np.int64(fields.raw_ack[row]) - senders.top[peer])
    if not -_NEAR < ahead <= slack:
        return False
    if slack or not fields.options[row] & OPTION_TIMESTAMPS or senders.tsval[peer] < 0:
        return True
    return bool(signed32(np.int64(fields.tsecr[row]) - senders.tsval[peer]) <= 0)


@kernel
def note_sent(fields: Fields, row: int, senders: Senders) -> None:
    """Take down the highest octet and the newest timestamp that a sender has sent."""
    flags, stream = fields.flags[row], 2 * np.int64(fields.flow[row]) + np.int64(fields.direction[row])
    end = np.int64(fields.raw_seq[row]) + np.int64(fields.payload_bytes[row])
    end = (end + (1 if flags & SYN else 0) + (1 if flags & FIN else 0)) & 0xFFFFFFFF
    if not senders.seen[stream] or flags & SYN or signed32(end - senders.top[stream]) > 0:
        senders.top[stream] = end
    tsval, newest = np.int64(fields.tsval[row]), senders.tsval[stream]
    if fields.options[row] & OPTION_TIMESTAMPS and (newest < 0 or signed32(tsval - newest) > 0):
        senders.tsval[stream] = tsval
    senders.seen[stream] = True
