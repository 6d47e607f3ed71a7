"""Every retransmission: its trigger, whether it was spurious, and the rule that decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.arrays import distinct, rows_with
from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, halves
from multitracer.model.schema import MARKS, SPURIOUS, TRIGGERS, build, empty
from multitracer.tcp import spurious as rules
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.one_way_captures import forget_triggers, hears_peer
from multitracer.tcp.retransmission_trigger import (
    ANEW,
    DOUBLED,
    DOUBLED_WITHIN,
    DOUBTFUL,
    FAST,
    OVERDUE,
    PROBE,
    RECOVERED_AND_DUE,
    RECOVERY,
    TIMEOUT,
    UNHEARD,
    UNKNOWN,
)
from multitracer.tcp.scoreboard import (
    EVENT_FIELDS,
    FACT_FIELDS,
    PAIR_FIELDS,
    R_COPIES,
    R_DSACKS,
    R_DUPACKS,
    R_ELAPSED,
    R_LATE_ACK,
    R_LEAST_RTT,
    R_NEAR,
    R_ROW,
    R_RTO,
    R_RULE,
    R_SACKED_ABOVE,
    R_SINCE_ACK,
    R_SPURIOUS,
    R_TRIGGER,
    Scoreboard,
    SegmentColumns,
)  # fmt: skip
from multitracer.tcp.sender import BATCH, replay_sender
from multitracer.tcp.sender_state import (
    EVENTS,
    LEAST_RTT,
    MIN_RTO_NS,
    NEXT_ROW,
    SENDER_FIELDS,
    new_sender,
)  # fmt: skip
from multitracer.tcp.spurious import judge
from multitracer.vantage.taps import CLOCKS_NS

if TYPE_CHECKING:
    import pandas as pd

# Progress of `classify_directions`: the next direction, and the number of events of those before it.
DIRECTION, FOUND = range(2)
MOST_COPIES = 64
"""Copies of a segment that are examined."""
ROWS_OF_A_RESEND = 2
"""Rows of `facts` and `pairs` for each retransmission; their number is doubled when they are too few."""


class Directions(NamedTuple):
    """The directions to replay, an element each, and the rows of the segments in the order of the groups."""

    begin: Any
    end: Any
    """The direction's rows are order[begin:end]."""
    sender: Any
    order: Any
    words: Any
    """The packed word of each row, as ordered."""


def classify(
    segments: pd.DataFrame,
    sacks: pd.DataFrame,
    connections: pd.DataFrame,
    groups: Groups,
    point_of: np.ndarray[Any, Any],
    received: np.ndarray[Any, Any],
    error_ns: np.ndarray[Any, Any] | None = None,
    near: np.ndarray[Any, Any] | None = None,
) -> pd.DataFrame:
    """The `retransmissions` table.

    `groups` are those of `segments`; `sacks` has columns segment, left, right (relative) and dsack.
    `point_of` is the observation point nearest to each sender, shape (connections, 2), -1 for none.
    `received` says for each retransmission in `segments` whether its octets had been received before, as
    `receipt.received_before` does. `error_ns` is, per row of `segments`, the error of the clocks by which its
    arrival is known, -1 where no clock was involved. `near` is what `port_clocks.nearest_acks` gives, None for one
    clock.
    """
    marks = segments["marks"].to_numpy()
    resent = rows_with(marks, MARKS["retransmission"])
    ends, senders = _directions(segments, point_of, resent)
    if not len(senders):
        return empty("retransmissions")
    group = groups.number(ends, point_of[ends, senders])
    begin, end = groups.starts[group], groups.starts[group + 1]
    directions = Directions(begin, end, senders, groups.order, groups.words)
    columns = _segment_columns(segments, received, near)
    blocks = np.array([sacks[name].to_numpy() for name in ("segment", "left", "right", "dsack")], dtype=np.int64)
    found = concurrently(
        lambda part: _classify_part(_some(directions, part), columns, blocks, len(resent)), halves(end - begin)
    )
    return _table(_in_order(found), segments, connections, error_ns)


def _segment_columns(segments: pd.DataFrame, received: Any, near: Any) -> SegmentColumns:
    own = {name: segments[name].to_numpy() for name in SegmentColumns._fields if name not in ("near", "received")}
    near = np.zeros(len(segments), dtype=np.int32) if near is None else near
    return SegmentColumns(**own, near=near, received=received)


def _some(directions: Directions, part: slice) -> Directions:
    """A part of the directions; the arrays are views."""
    begin, end, sender, *rows = directions
    return Directions(begin[part], end[part], sender[part], *rows)


def _classify_part(directions: Directions, segments: SegmentColumns, blocks: Any, most: int) -> Any:
    """The events of some directions, which have at most `most` retransmissions."""
    # Twice as many as there are segments: rows of several segments are split where parts of them are lost.
    longest = 2 * int((directions.end - directions.begin).max(initial=0))
    # Pages that are never written take no memory.
    ends, notes = np.empty(longest, dtype=np.int64), np.empty((longest, 2), dtype=np.int32)
    events = np.empty((most, EVENT_FIELDS), dtype=np.int64)
    rows = max(1, ROWS_OF_A_RESEND * most)
    facts, pairs = (np.empty((rows, fields), dtype=np.int64) for fields in (FACT_FIELDS, PAIR_FIELDS))
    board = Scoreboard(ends, notes, facts, pairs)
    sender, done = np.zeros(SENDER_FIELDS, dtype=np.int64), np.zeros(2, dtype=np.int64)
    fetched, copies = np.empty((BATCH, 2), dtype=np.int64), np.empty(MOST_COPIES, dtype=np.int64)
    while not classify_directions(directions, segments, blocks, done, sender, board, events, fetched, copies):
        facts, pairs = (np.concatenate([rows, np.empty_like(rows)]) for rows in (board.facts, board.pairs))
        board = Scoreboard(ends, notes, facts, pairs)
    return events[: done[FOUND]]


def _directions(segments: pd.DataFrame, point_of: Any, resent: Any) -> tuple[Any, Any]:
    """(Connection, sender) of every end with a retransmission in the capture nearest to it."""
    connection, sender = segments["connection"].to_numpy(), segments["sender"].to_numpy()
    resent = resent[(connection[resent] >= 0) & (segments["payload_bytes"].to_numpy()[resent] > 0)]
    near = segments["point"].to_numpy()[resent] == point_of[connection[resent], sender[resent]]
    wanted = np.unique(connection[resent[near]].astype(np.int64) * 2 + sender[resent[near]])
    return wanted >> 1, (wanted & 1).astype(np.int8)


@kernel
def classify_directions(
    directions: Directions, segments: SegmentColumns, blocks: Any, done: Any, sender: Any, board: Scoreboard,
    events: Any, fetched: Any, copies: Any,
) -> bool:  # fmt: skip
    """Replay and judge each direction, one event per retransmission; False when `facts` and `pairs` must grow.

    `done` keeps the progress: call again with longer arrays.
    """
    for i in range(done[DIRECTION], len(directions.sender)):
        begin, end, direction = directions.begin[i], directions.end[i], directions.sender[i]
        mine = directions.order[begin:end]
        if sender[NEXT_ROW] == 0:
            new_sender(sender, handshake_rtt(mine, direction, segments))
        own = events[done[FOUND] :]
        if not replay_sender(
            mine, directions.words[begin:end], direction, segments, blocks, sender, board, own, fetched
        ):
            return False
        own = own[: sender[EVENTS]]
        if not hears_peer(mine, direction, segments):
            forget_triggers(mine, directions.words[begin:end], direction, own, segments)
        own[:, R_LEAST_RTT] = sender[LEAST_RTT]
        judge(board, own, segments, sender, copies)
        done[DIRECTION] = i + 1
        done[FOUND] += sender[EVENTS]
        sender[NEXT_ROW] = 0
    return True


@kernel
def handshake_rtt(rows: Any, direction: int, segments: SegmentColumns) -> int:
    """Round trip of the handshake (ns) as this end saw it; -1 when the SYN was retransmitted or is missing."""
    time_ns, sender, flags = segments.time_ns, segments.sender, segments.flags
    syn = np.int64(-1)
    for row in rows[:8]:
        if flags[row] & 2 and sender[row] == direction:
            if syn >= 0:
                return -1
            syn = time_ns[row]
        elif sender[row] != direction and flags[row] & 16 and syn >= 0:
            return int(time_ns[row] - syn)
    return -1


def _in_order(parts: Sequence[Any]) -> list[Any]:
    """The fields of events, each an array in the order of the events' rows."""
    order = np.argsort(np.concatenate([events[:, R_ROW] for events in parts]), kind="stable")
    return [np.concatenate([events[:, field] for events in parts])[order] for field in range(EVENT_FIELDS)]


def _table(found: Sequence[Any], segments: pd.DataFrame, connections: pd.DataFrame, error_ns: Any) -> pd.DataFrame:
    """The table, from the events' fields."""
    import pandas as pd

    rows = found[R_ROW]
    segment_columns = {
        name: segments[name].to_numpy()[rows]
        for name in ("input", "record", "connection", "time_ns", "seq", "payload_bytes", "sender")
    }
    ends = np.stack([connections["client"].to_numpy(), connections["server"].to_numpy()])
    segment_columns["sender"] = ends[segment_columns["sender"], segment_columns["connection"]]
    return build(
        "retransmissions",
        {
            **segment_columns,
            "trigger": pd.Categorical.from_codes(_KINDS[found[R_TRIGGER]], TRIGGERS),
            "spurious": pd.Categorical.from_codes(found[R_SPURIOUS], SPURIOUS),
            "because": _reasons(found),
            "error_ns": error_ns[rows] if error_ns is not None else np.full(len(rows), -1),
            "segment": rows,
            "late_ack": found[R_LATE_ACK],
            "passed": found[R_RULE] == rules.PASSED,
            "in_doubt": _in_doubt(found),
        },
    )


def _in_doubt(found: Sequence[Any]) -> Any:
    """Which triggers may be others: those that say so, and probes long after the timer."""
    late = (found[R_TRIGGER] == PROBE) & (found[R_ELAPSED] > _latest_probe(found[R_RTO]))
    return late | np.isin(found[R_TRIGGER], (DOUBTFUL, OVERDUE, RECOVERED_AND_DUE))


def _latest_probe(rto: Any) -> Any:
    """How long after the timer's start a probe is sent at the latest, in ns: with Linux' timer, and all that is late.

    Linux allows a lone segment's acknowledgement to be delayed by its least RTO (tcp_schedule_loss_probe), and of few
    round trips its timer is as much longer than the modelled one.
    """
    return rto + rto // DOUBLED_WITHIN + MIN_RTO_NS


def _reasons(found: Sequence[Any]) -> Any:
    """The `because` sentence of each retransmission; equal sentences are formatted once."""
    named = _numbers_named_in(_TRIGGER_TEXTS)[found[R_TRIGGER]] | _numbers_named_in(_RULE_TEXTS)[found[R_RULE]]
    told = [found[field] * used for field, used in zip(_NUMBERS.values(), named.T, strict=True)]
    sentences = [found[R_TRIGGER], found[R_RULE], *told]
    first, which = distinct(sentences)
    reasons = [
        _sentence(f"{_TRIGGER_TEXTS[trigger]}; {_RULE_TEXTS.get(rule, _UNDECIDED)}", numbers)
        for trigger, rule, *numbers in np.stack([column[first] for column in sentences], axis=1).tolist()
    ]
    return np.array(reasons, dtype=object)[which]


def _numbers_named_in(sentences: dict[int, str]) -> Any:
    """For each code, which of _NUMBERS its sentence names."""
    named = np.zeros((max(rules.CODES, len(TRIGGERS)), len(_NUMBERS)), dtype=np.bool_)
    for code, sentence in sentences.items():
        named[code] = [f"{{{name}" in sentence for name in _NUMBERS]
    return named


def _sentence(sentence: str, numbers: list[int]) -> str:
    """The sentence with its numbers filled in; times in ms."""
    values = dict(zip(_NUMBERS, numbers, strict=True))
    times = {name: values[name] / 1e6 for name in ("elapsed", "since", "rto", "least", "near")}
    return sentence.format(**values | times, s="" if values["acks"] == 1 else "s")


_NUMBERS = {
    "elapsed": R_ELAPSED, "since": R_SINCE_ACK, "rto": R_RTO, "least": R_LEAST_RTT, "near": R_NEAR,
    "acks": R_DUPACKS, "above": R_SACKED_ABOVE, "dsacks": R_DSACKS, "copies": R_COPIES,
}  # fmt: skip
"""Columns that the sentences name; the first five are times (ns)."""

_KINDS = np.array([*range(UNHEARD), UNKNOWN, TIMEOUT, FAST, FAST, TIMEOUT, FAST], dtype=np.int8)
"""The kind, among TRIGGERS, of each code."""
_TRIGGER_TEXTS = {
    TIMEOUT: "oldest unacknowledged data resent {elapsed:.1f} ms after the timer was last restarted, and "
    "{since:.1f} ms after the last acknowledgement of anything new (modelled RTO {rto:.1f} ms)",
    FAST: "{acks} duplicate acknowledgement{s} and {above} bytes selectively acknowledged above it when it was resent",
    RECOVERY: "resent within the recovery that an earlier loss began",
    PROBE: "last outstanding segment resent {elapsed:.1f} ms after the last transmission, the first time by a timer "
    "since anything was acknowledged (modelled RTO {rto:.1f} ms)",
    UNKNOWN: "no timer had run out ({since:.1f} ms after the last acknowledgement of anything new) and no loss was "
    "signalled",
    UNHEARD: "the other end's acknowledgements were not captured: neither they nor the timer that they restart are "
    "known",
    DOUBLED: "one of a series of resends of which each waited twice as long as the one before, as the timer does "
    "(RFC 6298 5.5); the other end's acknowledgements were not captured",
    ANEW: "resent alone, though more was outstanding, when an acknowledgement showed that the timeout before was "
    "needless: the sender had undone it",
    DOUBTFUL: "{acks} duplicate acknowledgement{s} and {above} bytes selectively acknowledged above it when it was "
    "resent, or part of the recovery of a timeout, as an earlier resend may have been the timer's",
    OVERDUE: "oldest unacknowledged data resent at once when a duplicate was reported (DSACK), as Linux with FACK does "
    "with data that is older than its timeout, or by the timer, {elapsed:.1f} ms after it was last restarted (modelled "
    "RTO {rto:.1f} ms)",
    RECOVERED_AND_DUE: "{acks} duplicate acknowledgement{s} of what ended a recovery, which begin no fast retransmit "
    "of NewReno (RFC 6582), or resent by the timer, {elapsed:.1f} ms after it was last restarted (modelled RTO "
    "{rto:.1f} ms)",
}

_RULE_TEXTS = {
    rules.ARRIVED: "an earlier copy is in the receiver's capture",
    rules.LOST: "no earlier copy reached the receiver's capture",
    rules.ACKED_BEFORE: "the bytes had been acknowledged before",
    rules.DSACK: "the receiver reported {dsacks} duplicates of {copies} copies (DSACK)",
    rules.DSACK_SINCE: "the receiver reported {dsacks} duplicates of {copies} copies (DSACK), and of those sent by "
    "then an earlier one than this arrived, whichever it was",
    rules.EIFEL_EARLIER: "the acknowledgement echoes the timestamp of an earlier copy (Eifel)",
    rules.EIFEL_THIS: "the acknowledgement echoes the timestamp of a resend, and no duplicate was reported",
    rules.TOO_SOON: "acknowledged sooner than half the least round trip ({least:.1f} ms) after it",
    rules.LATER_DELIVERED: "data sent later had been delivered while these bytes were still missing",
    rules.STILL_MISSING: "an acknowledgement that answered a later packet still asked for these bytes, and the next "
    "came a whole round trip after the resend",
    rules.NEXT_MISSING: "the acknowledgement of the resend just below it stopped at these bytes",
    rules.NEXT_CAME_LATER: "an acknowledgement stopped just above these bytes, and the next ones came after them, "
    "though by a copy that was sent before this",
    rules.NEVER_ACKED: "needless or not cannot be told: never acknowledged in this capture",
    rules.ACK_LOSS: "needless or not cannot be told: a lost acknowledgement would look the same",
    rules.PASSED: "needless or not cannot be told: the receiver asked for these bytes, so that data sent later had "
    "come without them (lost or overtaken), unless the network copied a packet",
    rules.PATH_REORDERS: "needless or not cannot be told: this path reorders",
    rules.UNORDERED: f"needless or not cannot be told: another port, whose clock may be {CLOCKS_NS / 1e6:.0f} ms off, "
    "recorded an acknowledgement of it {near:.1f} ms away",
    rules.CONTRADICTION: "needless or not cannot be told: the captures at the sender and at the receiver contradict "
    "each other",
    rules.PARTIAL: "needless or not cannot be told: it resent a part of a segment",
}
_UNDECIDED = "needless or not cannot be told from this capture"
