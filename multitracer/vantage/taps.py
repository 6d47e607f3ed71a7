"""Ports of one tap: sources that hold different packets of the same connections, which answer one another.

A full-duplex tap records each direction through its own port, a bonded link sends each packet over one of its
lines. Two observation points, unlike these, hold the same packets.
"""

from __future__ import annotations

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


class Senders(NamedTuple):
    """Per flow and direction: where the last packet came from, the number after its highest octet, its newest TSval."""

    source: Any
    top: Any
    tsval: Any


def are_ports(packets: pd.DataFrame, one: Ints, other: Ints, flows: int) -> bool:
    """Whether the rows `one` and `other`, which share flows, are what two ports of one tap recorded.

    Both are of one input, or each of another.
    """
    fields = Fields(*(packets[name].to_numpy() for name in Fields._fields))
    if not _differ(fields, one, other):
        return False
    time, number = packets["time_ns"].to_numpy(), packets["input"].to_numpy()
    rows = np.concatenate([one, other])
    which = np.repeat(np.array([0, 1], dtype=np.int8), [len(one), len(other)])
    of_one_file = number[one[0]] == number[other[0]]
    if not of_one_file and not _overlap(time[one], time[other]):
        return False  # what answers it was recorded meanwhile
    order = np.argsort(rows if of_one_file else time[rows], kind="stable")
    answers, in_order = _answers(fields, rows[order], which[order], flows, strictly=not of_one_file)
    return 2 * in_order > answers and in_order >= _LEAST_IN_ORDER * answers - _EXCEPTIONS


def _overlap(times: Ints, others: Ints) -> bool:
    """Whether the times of two sources overlap."""
    return bool(times.min() <= others.max() and others.min() <= times.max())


def _differ(fields: Fields, one: Ints, other: Ints) -> bool:
    """Whether the two sources have next to no packet in common."""
    mine, its = _sample(fields, one), _sample(fields, other)
    return len(np.intersect1d(mine, its)) <= _MOST_SHARED * min(len(mine), len(its))


def _sample(fields: Fields, rows: Ints) -> Ints:
    """Hashes of the packets with data, SYN or FIN; of very many, of those whose hash is a multiple of a number."""
    mask = (1 << max(0, (len(rows) // _SAMPLED).bit_length())) - 1
    found = np.empty(len(rows), dtype=np.int64)
    return np.unique(found[: hash_packets(fields, rows, mask, found)])


@kernel
def hash_packets(fields: Fields, rows: Any, mask: int, found: Any) -> int:
    """Fill `found` with hashes of the packets that a receiver acknowledges, where no bit of `mask` is set."""
    count = 0
    for row in rows:
        if fields.payload_bytes[row] > 0 or fields.flags[row] & (SYN | FIN):
            stream = 2 * np.int64(fields.flow[row]) + np.int64(fields.direction[row])
            what = np.int64(fields.payload_bytes[row]) << 8 ^ np.int64(fields.flags[row])
            hashed = hash_pair(np.int64(fields.raw_seq[row]) ^ stream << 7, what ^ np.int64(fields.tsval[row]))
            if not hashed & mask:
                found[count] = hashed
                count += 1
    return count


def _answers(fields: Fields, rows: Ints, which: Any, flows: int, *, strictly: bool) -> tuple[int, int]:
    """How many packets follow one of the other source, and how many of these can be later than it."""
    senders = Senders(
        np.full(2 * flows, _NONE, dtype=np.int8), np.zeros(2 * flows, dtype=np.int64),
        np.full(2 * flows, _NONE, dtype=np.int64),
    )  # fmt: skip
    counts = np.zeros(2, dtype=np.int64)
    count_answers(fields, rows, which, senders, 0 if strictly else _NEAR, counts)
    return int(counts[0]), int(counts[1])


@kernel
def count_answers(fields: Fields, rows: Any, which: Any, senders: Senders, slack: int, counts: Any) -> None:
    """Count the packets that follow one of the other source, and those of them that can be later than it.

    A packet follows what the other end sent, by its acknowledgement, and what its own end sent before. It may be
    `slack` octets ahead of what was captured.
    """
    for at in range(len(rows)):
        row = rows[at]
        stream = 2 * np.int64(fields.flow[row]) + np.int64(fields.direction[row])
        before, peer = senders.source[stream], senders.source[stream ^ 1]
        if fields.flags[row] & ACK and peer >= 0 and peer != which[at]:
            counts[0] += 1
            counts[1] += 1 if answers(fields, row, senders, stream ^ 1, slack) else 0
        elif before >= 0 and before != which[at]:
            beyond = signed32(np.int64(fields.raw_seq[row]) - senders.top[stream])
            counts[0] += 1
            counts[1] += 1 if -slack <= beyond < _NEAR else 0
        note_sent(fields, row, senders, stream)
        senders.source[stream] = which[at]


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
def note_sent(fields: Fields, row: int, senders: Senders, stream: int) -> None:
    """Take down the highest octet and the newest timestamp that a sender has sent."""
    flags = fields.flags[row]
    end = np.int64(fields.raw_seq[row]) + np.int64(fields.payload_bytes[row])
    end = (end + (1 if flags & SYN else 0) + (1 if flags & FIN else 0)) & 0xFFFFFFFF
    if senders.source[stream] < 0 or flags & SYN or signed32(end - senders.top[stream]) > 0:
        senders.top[stream] = end
    tsval, newest = np.int64(fields.tsval[row]), senders.tsval[stream]
    if fields.options[row] & OPTION_TIMESTAMPS and (newest < 0 or signed32(tsval - newest) > 0):
        senders.tsval[stream] = tsval
