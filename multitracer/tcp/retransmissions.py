"""Every retransmission: what triggered it, whether it was needless, and the rule that decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.columns import rows_with
from multitracer.kernels import allocating_kernel, concurrently, kernel
from multitracer.tables import MARKS, SPURIOUS, TRIGGERS, build, empty
from multitracer.tcp import needless as rules
from multitracer.tcp.grouping import Groups
from multitracer.tcp.needless import judge
from multitracer.tcp.sender import (
    ABOVE,
    DUPACKS,
    ELAPSED,
    FAST,
    PROBE,
    RECOVERY,
    ROW,
    RTO,
    SINCE_ACK,
    TIMEOUT,
    TRIGGER,
    follow,
    grown,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd

_WORTH_SHARING = 500_000
"""With fewer rows a second thread gains nothing."""

# Columns of the result rows of `classify_directions`.
(R_ROW, R_TRIGGER, R_SINCE_ACK, R_ELAPSED, R_DUPACKS, R_ABOVE, R_RTO, R_SPURIOUS, R_RULE, R_COPIES, R_DSACKS,
 R_LEAST_RTT, R_COPY, R_LATE_ACK) = range(14)  # fmt: skip


def classify(
    segments: pd.DataFrame,
    sacks: pd.DataFrame,
    connections: pd.DataFrame,
    groups: Groups,
    point_of: np.ndarray[Any, Any],
    arrived: np.ndarray[Any, Any],
    error_ns: np.ndarray[Any, Any] | None = None,
) -> pd.DataFrame:
    """The `retransmissions` table.

    `groups` are those of `segments`; `sacks` has columns segment, left, right (relative) and dsack.
    `point_of` is the observation point nearest to each sender, shape (connections, 2), -1 for none.
    `arrived` tells for each row of `segments` whether the receiver's capture holds it intact: 1 yes,
    0 no, -1 cannot be told.
    `error_ns` is the clock error that each row's arrival had to bear, where it had to.
    """
    marks = segments["marks"].to_numpy()
    ends, senders = _directions(segments, point_of, marks)
    if not len(senders):
        return empty("retransmissions")
    group = groups.number(ends, point_of[ends, senders])
    begin, end = groups.starts[group], groups.starts[group + 1]
    columns = (
        segments["time_ns"].to_numpy(), segments["sender"].to_numpy(), segments["seq"].to_numpy(),
        segments["ack"].to_numpy(), segments["payload_bytes"].to_numpy(), segments["flags"].to_numpy(),
        segments["tsval"].to_numpy(), segments["tsecr"].to_numpy(), segments["options"].to_numpy(), marks,
        MARKS["retransmission"], MARKS["captured_twice"],
        sacks["segment"].to_numpy(), sacks["left"].to_numpy(), sacks["right"].to_numpy(),
        sacks["dsack"].to_numpy().astype(np.int8), arrived,
    )  # fmt: skip
    found = concurrently(
        lambda part: classify_directions(groups.order, begin[part], end[part], senders[part], *columns),
        _shares(end - begin),
    )
    return _table(np.concatenate(found), segments, connections, error_ns)


def _shares(rows: Any) -> list[slice]:
    """The directions in two parts of about as many rows, where that is worth it."""
    reached = np.cumsum(rows)
    half = int(np.searchsorted(reached, reached[-1] / 2)) + 1
    return [slice(0, half), slice(half, len(rows))] if reached[-1] > _WORTH_SHARING else [slice(0, len(rows))]


def _directions(segments: pd.DataFrame, point_of: Any, marks: Any) -> tuple[Any, Any]:
    """(Connection, sender) of every end that was seen to resend anything near it."""
    connection, sender = segments["connection"].to_numpy(), segments["sender"].to_numpy()
    resent = rows_with(marks, MARKS["retransmission"])
    resent = resent[(connection[resent] >= 0) & (segments["payload_bytes"].to_numpy()[resent] > 0)]
    near = segments["point"].to_numpy()[resent] == point_of[connection[resent], sender[resent]]
    wanted = np.unique(connection[resent[near]].astype(np.int64) * 2 + sender[resent[near]])
    return wanted >> 1, (wanted & 1).astype(np.int8)


@allocating_kernel
def classify_directions(
    order: Any, begin: Any, end: Any, senders: Any, time_ns: Any, sender: Any, seq: Any, ack: Any, length: Any,
    flags: Any, tsval: Any, tsecr: Any, options: Any, marks: Any, resend_mark: int, skip_mark: int, sack_segment: Any,
    sack_left: Any, sack_right: Any, sack_is_dsack: Any, arrived: Any,
) -> Any:
    """Follow and judge each direction; one result row per retransmission (columns R_*)."""
    out = np.zeros((64, 14), dtype=np.int64)
    filled = 0
    for i in range(len(senders)):
        mine = order[begin[i] : end[i]]
        sample = handshake_rtt(mine, senders[i], time_ns, sender, flags)
        segments = 0
        capable = 0
        for row in mine:
            if sender[row] == senders[i]:
                segments += 1 if length[row] > 0 else 0
            elif options[row] & 2 or (flags[row] & 2 and options[row] & 4):
                capable = 1  # the receiver reports blocks, and with them duplicates (RFC 2883)
        board, state, facts, events, pairs, numbers = follow(
            mine, senders[i], time_ns, sender, seq, ack, length, flags, tsecr, options, marks, resend_mark, skip_mark,
            sack_segment, sack_left, sack_right, sack_is_dsack, segments, sample,
        )  # fmt: skip
        count = numbers[0]
        verdicts = np.zeros((count, 6), dtype=np.int64)
        judge(
            board, state, facts, events, pairs, count, time_ns, tsval, arrived,
            numbers[1], capable, numbers[2], verdicts,
        )  # fmt: skip
        for e in range(count):
            out = grown(out, filled)
            result, event = out[filled], events[e]
            result[R_ROW], result[R_TRIGGER] = event[ROW], event[TRIGGER]
            result[R_SINCE_ACK], result[R_ELAPSED] = event[SINCE_ACK], event[ELAPSED]
            result[R_DUPACKS], result[R_ABOVE], result[R_RTO] = event[DUPACKS], event[ABOVE], event[RTO]
            result[R_SPURIOUS], result[R_RULE] = verdicts[e, 0], verdicts[e, 1]
            result[R_COPIES], result[R_DSACKS] = verdicts[e, 2], verdicts[e, 3]
            result[R_COPY], result[R_LATE_ACK] = verdicts[e, 4], verdicts[e, 5]
            result[R_LEAST_RTT] = numbers[1]
            filled += 1
    return out[:filled]


@kernel
def handshake_rtt(rows: Any, direction: int, time_ns: Any, sender: Any, flags: Any) -> int:
    """The round trip of the handshake as this end saw it, -1 when a SYN was sent twice or none is there."""
    syn = np.int64(-1)
    for row in rows[:8]:
        if flags[row] & 2 and sender[row] == direction:
            if syn >= 0:
                return -1
            syn = time_ns[row]
        elif sender[row] != direction and flags[row] & 16 and syn >= 0:
            return int(time_ns[row] - syn)
    return -1


def _table(found: Any, segments: pd.DataFrame, connections: pd.DataFrame, error_ns: Any) -> pd.DataFrame:
    found = found[np.argsort(found[:, R_ROW], kind="stable")]
    rows = found[:, R_ROW]
    taken = {
        name: segments[name].to_numpy()[rows]
        for name in ("input", "record", "connection", "time_ns", "seq", "payload_bytes", "sender")
    }
    ends = np.stack([connections["client"].to_numpy(), connections["server"].to_numpy()])
    taken["sender"] = ends[taken["sender"], taken["connection"]]
    return build(
        "retransmissions",
        {
            **taken,
            "trigger": np.array(TRIGGERS, dtype=object)[found[:, R_TRIGGER]],
            "spurious": np.array(SPURIOUS, dtype=object)[found[:, R_SPURIOUS]],
            "because": [f"{_trigger_because(row)}; {_spurious_because(row)}" for row in found.tolist()],
            "error_ns": error_ns[rows] if error_ns is not None else np.full(len(rows), -1),
            "segment": rows,
            "copy": found[:, R_COPY],
            "late_ack": found[:, R_LATE_ACK],
        },
    )


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.1f} ms"


def _trigger_because(row: list[int]) -> str:
    trigger, since = row[R_TRIGGER], _ms(row[R_SINCE_ACK])
    if trigger == TIMEOUT:
        return (
            f"oldest unacknowledged data resent {_ms(row[R_ELAPSED])} after the timer was last restarted and {since} "
            f"after any acknowledgement (modelled RTO {_ms(row[R_RTO])})"
        )
    if trigger == FAST:
        return (
            f"{row[R_DUPACKS]} duplicate acknowledgement{'' if row[R_DUPACKS] == 1 else 's'} and "
            f"{row[R_ABOVE]} bytes selectively acknowledged above it when it was resent"
        )
    if trigger == RECOVERY:
        return "resent within the recovery that an earlier loss began"
    if trigger == PROBE:
        return (
            f"last outstanding segment resent {_ms(row[R_ELAPSED])} after the last transmission, before the RTO of "
            f"{_ms(row[R_RTO])}"
        )
    return f"no timer had run out ({since} since an acknowledgement) and no loss was signalled"


def _spurious_because(row: list[int]) -> str:
    if row[R_RULE] == rules.DSACK:
        return f"the receiver reported {row[R_DSACKS]} duplicates of {row[R_COPIES]} copies (DSACK)"
    if row[R_RULE] == rules.TOO_SOON:
        return f"acknowledged sooner than half the least round trip ({_ms(row[R_LEAST_RTT])}) after it"
    return _RULES.get(row[R_RULE], "needless or not cannot be told from this capture")


_RULES = {
    rules.ARRIVED: "an earlier copy is in the receiver's capture",
    rules.LOST: "no earlier copy reached the receiver's capture",
    rules.ACKED_BEFORE: "the bytes had been acknowledged before",
    rules.EIFEL_EARLIER: "the acknowledgement echoes the timestamp of an earlier copy (Eifel)",
    rules.EIFEL_THIS: "the acknowledgement echoes the timestamp of a resend, and no duplicate was reported",
    rules.OVERTAKEN: "data sent later had been delivered while these bytes were still missing",
    rules.STILL_ASKED: "an acknowledgement that answered a later packet still asked for these bytes, and the next "
    "came a whole round trip after the resend",
    rules.NEXT_MISSING: "the acknowledgement of the resend just below it stopped at these bytes",
    rules.NEVER_ACKED: "needless or not cannot be told: never acknowledged in this capture",
    rules.ACK_LOSS: "needless or not cannot be told: a lost acknowledgement would look the same",
    rules.REORDERED: "needless or not cannot be told: this path reorders",
    rules.PARTIAL: "needless or not cannot be told: it resent a part of a segment",
}
