"""Scripts of segments for one sender, and what replaying and judging them gives; times in ms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from two_ends import MS, START
from two_ends import segments as segments_table

from multitracer.model.schema import ACK, MARKS, OPTION_SACK, OPTION_SACK_PERMITTED, OPTION_TIMESTAMPS, SYN
from multitracer.tcp import sender as sending
from multitracer.tcp import sender_state as state
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.packed_rows import pack_word
from multitracer.tcp.retransmissions import classify
from multitracer.tcp.scoreboard import EVENT_FIELDS, FACT_FIELDS, PAIR_FIELDS, Scoreboard, SegmentColumns

Block = tuple[int, int]


class Segment(NamedTuple):
    """One segment in the capture at the sender, made by `data`, `ack` and so on."""

    ms: float
    sender: int
    seq: int = 1
    size: int = 0
    ack: int = 1
    flags: int = ACK
    options: int = 0
    resent: bool = False
    stamp: int = 0
    echo: int = 0
    sacks: tuple[Block, ...] = ()
    dsack: Block | None = None
    received: int = -1
    window: int = 65535


def data(ms: float, start: int, end: int, *, stamp: int = 0, received: int = -1) -> Segment:
    """The sender transmits bytes start..end-1."""
    return Segment(ms, 0, seq=start, size=end - start, stamp=stamp, received=received)


def again(ms: float, start: int, end: int, *, stamp: int = 0, received: int = -1) -> Segment:
    """The sender transmits bytes start..end-1, some of them again."""
    return data(ms, start, end, stamp=stamp, received=received)._replace(resent=True)


def ack(
    ms: float, number: int, *sacks: Block, dsack: Block | None = None, echo: int = 0, window: int = 65535
) -> Segment:
    """The receiver acknowledges all below `number`, the blocks selectively, and reports `dsack` as received twice."""
    options = OPTION_SACK if sacks or dsack else 0
    return Segment(ms, 1, ack=number, options=options, sacks=sacks, dsack=dsack, echo=echo, window=window)


def syn_ack(ms: float, *, sack: bool = True) -> Segment:
    """The SYN+ACK of a receiver that permits SACK, and so reports duplicates; or of one that does not."""
    return Segment(ms, 1, flags=SYN | ACK, options=OPTION_SACK_PERMITTED if sack else 0)


FLIGHT = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(5)]
"""Five segments of 100 bytes, 1 ms apart from 0 ms on."""


def table(segments: tuple[Segment, ...]) -> pd.DataFrame:
    """The segments table of a script."""
    return segments_table(
        {
            "time_ns": [START + round(one.ms * MS) for one in segments],
            "sender": [one.sender for one in segments], "seq": [one.seq for one in segments],
            "ack": [one.ack for one in segments], "payload_bytes": [one.size for one in segments],
            "flags": [one.flags for one in segments],
            "options": [one.options | (OPTION_TIMESTAMPS if one.stamp or one.echo else 0) for one in segments],
            "window_bytes": [one.window for one in segments],
            "tsval": [one.stamp for one in segments], "tsecr": [one.echo for one in segments],
            "marks": [MARKS["retransmission"] if one.resent else 0 for one in segments],
        }
    )  # fmt: skip


def blocks(segments: tuple[Segment, ...]) -> pd.DataFrame:
    """The SACK blocks of a script, DSACKs first (RFC 2883 4)."""
    rows = [
        (row, *block, is_dsack)
        for row, one in enumerate(segments)
        for block, is_dsack in [*([(one.dsack, True)] if one.dsack else []), *((sack, False) for sack in one.sacks)]
    ]
    return pd.DataFrame(np.array(rows, dtype=np.int64).reshape(-1, 4), columns=["segment", "left", "right", "dsack"])


def receipts(segments: tuple[Segment, ...]) -> np.ndarray[Any, Any]:
    """Whether the octets of each segment of a script had been received before, by the receiver's capture."""
    return np.array([one.received for one in segments], dtype=np.int8)


@dataclass
class Replayed:
    """A sender after its script, and the arrays that were filled."""

    sender: Any
    ends: Any
    notes: Any
    facts: Any
    events: Any
    pairs: Any

    def __getitem__(self, column: int) -> int:
        """A column of the sender's array."""
        return int(self.sender[column])


def replayed(*segments: Segment, room: int = 64) -> Replayed:
    """Replay a sender; `facts` and `pairs` have `room` rows at first, and are doubled when they are too short."""
    frame, count = table(segments), len(segments)
    words = [pack_word(one.sender, int(one.resent), one.flags, one.options, one.size) for one in segments]
    found = Replayed(
        np.zeros(state.SENDER_FIELDS, dtype=np.int64), np.empty(2 * count, dtype=np.int64),
        np.empty((2 * count, 2), dtype=np.int32), np.full((room, FACT_FIELDS), 7, dtype=np.int64),
        np.full((count, EVENT_FIELDS), 7, dtype=np.int64), np.full((room, PAIR_FIELDS), 7, dtype=np.int64),
    )  # fmt: skip
    own = {name: frame[name].to_numpy() for name in SegmentColumns._fields if name not in ("near", "received")}
    columns = SegmentColumns(**own, near=np.zeros(count, dtype=np.int32), received=receipts(segments))
    fetched = np.empty((sending.BATCH, 2), dtype=np.int64)
    state.new_sender(found.sender, -1)
    while not sending.replay_sender(
        np.arange(count, dtype=np.int32), np.array(words, dtype=np.int64), 0, columns,
        blocks(segments).to_numpy().T.copy(), found.sender,
        Scoreboard(found.ends, found.notes, found.facts, found.pairs), found.events, fetched,
    ):  # fmt: skip
        found.facts, found.pairs = (np.concatenate([rows, rows]) for rows in (found.facts, found.pairs))
    found.ends, found.notes = found.ends[: found[state.ROWS]], found.notes[: found[state.ROWS]]
    found.facts, found.pairs = found.facts[: found[state.FACTS]], found.pairs[: found[state.PAIRS]]
    found.events = found.events[: found[state.EVENTS]]
    return found


def judged(*segments: Segment) -> pd.DataFrame:
    """The retransmissions table of a script."""
    frame = table(segments)
    connections = pd.DataFrame({"client": ["10.0.0.1:1000"], "server": ["10.0.0.2:80"]})
    near = np.zeros((1, 2), dtype=np.int64)
    return classify(frame, blocks(segments), connections, Groups(frame, 1), near, receipts(segments))
