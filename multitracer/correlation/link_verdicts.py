"""Whether TCP resent needlessly, by a link's log, where no capture behind the link tells.

The link delivered an earlier copy, and the acknowledgement came before it could deliver the resend: needless. The
link's far end never had an earlier copy whole: needed. Nothing is told of a sender whose data was acknowledged though
by the log it never arrived: such a log was not understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.correlation.delivery import MISSING
from multitracer.model.paths import NOWHERE, Paths

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

NEEDLESS = "acknowledged before the link had delivered it, and after the link had delivered an earlier copy"
NEEDED = "by the link's log no earlier copy was whole at its far end"
_FOREVER = int(np.iinfo(np.int64).max)


class Carried(NamedTuple):
    """The copies of one sender's data that a link carried, in the order of their first frames; numbers and ns."""

    start: Ints
    end: Ints
    sent_ns: Ints
    whole_ns: Ints
    """-1: never, or perhaps discarded by a reset."""
    on_air: npt.NDArray[np.bool_]
    """Not known never to have been sent."""
    missing: npt.NDArray[np.bool_]
    """Certainly never whole: what precedes it was, or the log shows it to be MISSING."""
    in_order_ns: Ints
    """When each was whole, and all before it that ever was: a link that keeps the order delivers it then."""


class Answers(NamedTuple):
    """What acknowledged a sender's data, in the order in which it was sent at the latest."""

    number: Ints
    latest_ns: Ints
    """When each was sent at the latest, by the clock of the log of the link's far end."""
    logged: npt.NDArray[np.bool_]
    """Whether that log has it: then it was not sent before either."""
    heard: Ints
    """The same numbers of what was captured; 0 of what the link lost."""


class _Verdict(NamedTuple):
    """Of a resend: yes or no, why, and whether an acknowledgement of an earlier copy came after it (-1: unknown)."""

    spurious: str
    why: str
    late_ack: int


class Capture(NamedTuple):
    """What was captured beside the senders."""

    segments: pd.DataFrame
    rows: Callable[[int, int], Ints]
    """Of a connection at a point, in the order captured."""
    paths: Paths


def with_link_verdicts(
    resent: pd.DataFrame, capture: Capture, carried: pd.DataFrame, reverse: Mapping[int, int],
    errors_ns: Mapping[tuple[int, bool, int], int],
) -> pd.DataFrame:  # fmt: skip
    """The retransmissions with the verdicts that a link's log gives, and whether an earlier copy was answered.

    `carried` are the rows of segment_frames of which it is sure what they carried; `reverse` says which link is the
    other direction of each, and `errors_ns` are the bounds of `Observations.log_error_ns`.
    """
    row, answered = resent["segment"].to_numpy(), resent["late_ack"].to_numpy()
    unknown, needless = ((resent["spurious"] == one).to_numpy() for one in ("unknown", "yes"))
    by_timer = resent["trigger"].isin(("timeout", "probe")).to_numpy()  # of others nobody asks if an answer was late
    open_ = (unknown | (needless & by_timer & (answered < 0))) & (row >= 0)
    if not open_.any():
        return resent
    connection, sender = (capture.segments[name].to_numpy()[row].astype(np.int64) for name in ("connection", "sender"))
    stream = 2 * connection + sender
    told: dict[int, _Verdict] = {}
    for number in np.unique(stream[open_]).tolist():
        place = _Place.of(number, capture, carried, reverse, errors_ns)
        if place is not None:
            told |= place.verdicts({at: int(row[at]) for at in np.flatnonzero(open_ & (stream == number)).tolist()})
    spurious, because, late_ack = (resent[name].copy() for name in ("spurious", "because", "late_ack"))
    for at, (verdict, why, late) in told.items():
        if verdict == "no" and (needless[at] or answered[at] == 1):
            continue  # the captures show that an earlier copy came, or was answered: the log lacks something
        if not needless[at]:
            spurious.iat[at], because.iat[at] = verdict, because.iat[at].rsplit("; ", 1)[0] + "; " + why
        if answered[at] < 0:
            late_ack.iat[at] = late
    return resent.assign(spurious=spurious, because=because, late_ack=late_ack)


class _Place:
    """One sender's data on a link that delivers to a receiver beside whom nothing was captured."""

    def __init__(self, copies: Carried, answers: Answers, segments: pd.DataFrame, error_ns: int) -> None:
        """`error_ns` bounds what the clocks of the capture and of the link's far end may be apart."""
        self.copies, self.answers, self.segments, self.error_ns = copies, answers, segments, error_ns

    @classmethod
    def of(
        cls, stream: int, capture: Capture, carried: pd.DataFrame, reverse: Mapping[int, int],
        errors_ns: Mapping[tuple[int, bool, int], int],
    ) -> _Place | None:  # fmt: skip
        """None where the log tells nothing: of a link without a log of its far end, or that was not understood."""
        connection, sender = divmod(stream, 2)
        near, far = (int(one[connection, sender]) for one in (capture.paths.sender_point, capture.paths.receiver_point))
        if near == NOWHERE or far != NOWHERE:
            return None
        rows = capture.rows(connection, near)
        mine = capture.segments["sender"].to_numpy()[rows] == sender
        table = carried[np.isin(carried["segment"].to_numpy(), rows[mine]) & (carried["payload_bytes"] > 0).to_numpy()]
        if table["link"].nunique() != 1 or not (table["delivered_ns"] >= 0).any():
            return None
        error_ns = errors_ns.get((int(table["link"].iat[0]), False, near), _FOREVER // 2)
        copies = carried_copies(table, carried[(carried["link"] == table["link"].iat[0]).to_numpy()])
        backward = (carried["connection"] == connection) & (carried["sender"] != table["sender"].iat[0])
        backward &= carried["link"] == reverse[int(table["link"].iat[0])]
        backward &= carried["ack"] <= copies.end.max() + 1  # a FIN takes one number
        answers = _answers(capture.segments.take(rows[~mine]), rows[~mine], carried[backward.to_numpy()], error_ns)
        understood = is_understood(copies, answers.number.max(initial=0))
        return cls(copies, answers, capture.segments, error_ns) if understood else None

    def verdicts(self, resends: Mapping[int, int]) -> dict[int, _Verdict]:
        """Of the resends, by number their rows of segments; none of which nothing tells."""
        found = {number: self._verdict(segment) for number, segment in resends.items()}
        return {number: verdict for number, verdict in found.items() if verdict is not None}

    def _verdict(self, segment: int) -> _Verdict | None:
        at, start, size = (int(self.segments[name].iat[segment]) for name in ("time_ns", "seq", "payload_bytes"))
        end, copies = start + size, self.copies
        mine = (copies.start < end) & (copies.end > start)
        before = mine & (copies.sent_ns < at)
        again = mine & ~before
        later = copies.whole_ns[again & (copies.whole_ns >= 0)].min(initial=_FOREVER)
        place = int(np.searchsorted(self.answers.number, end))
        if place == len(self.answers.number) or not again.any() or later == _FOREVER:
            return None
        covering = before & (copies.start <= start) & (copies.end >= end) & (copies.whole_ns >= 0)
        if covering.any() and self.answers.latest_ns[place] < later:
            return _Verdict("yes", NEEDLESS, self._late_ack(at, end, covering, later))
        if not self.answers.logged[place]:
            return None
        if before.any() and copies.missing[before].all() and later <= self.answers.latest_ns[place]:
            return _Verdict("no", NEEDED, -1)
        return None

    def _late_ack(self, at: int, end: int, covering: npt.NDArray[np.bool_], later: int) -> int:
        """Whether an earlier copy, or an acknowledgement up to `end`, was on its way at a time, and came; -1 unknown.

        Where the link holds a copy back until it has what is before it, the acknowledgements show that it does.
        """
        answers = self.answers
        heard, place = answers.heard >= end, int(np.searchsorted(answers.number, end))
        if (heard & (answers.latest_ns < later)).any():
            return 1
        delivered = int(self.copies.in_order_ns[covering].min())
        if delivered > at - self.error_ns:
            held = answers.logged[place] and min(delivered, int(answers.latest_ns[place])) > at + self.error_ns
            return 1 if held else -1
        return 0 if answers.logged[heard].all() else -1


def _answers(theirs: pd.DataFrame, rows: Ints, carried: pd.DataFrame, error_ns: int) -> Answers:
    """The acknowledgements heard, and those that the link lost, each above all before it.

    The far end of the link logged when it sent them and what came to it, by one clock; by the capture's clock they are
    known within an error.
    """
    own = carried[(carried["first_frame_ns"] >= 0).to_numpy()].sort_values("first_frame_ns", ascending=False)
    left, unheard = own[own["segment"].isin(rows).to_numpy()], own[(own["ack"] >= 0).to_numpy()]
    sent = dict(zip(left["segment"].tolist(), left["first_frame_ns"].tolist(), strict=True))
    came = theirs["time_ns"].to_numpy() + np.int64(error_ns)
    latest = [sent.get(row, time) for row, time in zip(rows.tolist(), came.tolist(), strict=True)]
    latest_ns = np.concatenate([np.array(latest, dtype=np.int64), unheard["first_frame_ns"].to_numpy()])
    number = np.concatenate([theirs["ack"].to_numpy(), unheard["ack"].to_numpy()]).astype(np.int64)
    logged = np.concatenate([np.isin(rows, left["segment"].to_numpy()), np.ones(len(unheard), dtype=np.bool_)])
    heard = np.where(np.arange(len(number)) < len(theirs), number, 0)
    order = np.argsort(latest_ns, kind="stable")
    return Answers(np.maximum.accumulate(number[order]), latest_ns[order], logged[order], heard[order])


def carried_copies(table: pd.DataFrame, of_link: pd.DataFrame | None = None) -> Carried:
    """The rows of segment_frames of one sender's data on one link; `of_link` are all of that link."""
    table = table.sort_values("first_frame_ns", kind="stable")
    every = (table if of_link is None else of_link).sort_values("first_frame_ns", kind="stable")
    given = np.append(-1, np.maximum.accumulate(every["delivered_ns"].to_numpy()))
    first, own = every["first_frame_ns"].to_numpy(), table["first_frame_ns"].to_numpy()
    in_order = given[np.searchsorted(first, own, side="right")]
    start, size, sent, whole = (
        table[name].to_numpy().astype(np.int64) for name in ("seq", "payload_bytes", "sent_ns", "delivered_ns")
    )
    frames = table["frames"].to_numpy()
    before = np.concatenate([[-1], whole[:-1]])[: len(whole)]  # the far end's log may lack the first one's beginning
    missing = (table["logged_ns"] == MISSING).to_numpy() | ((frames > 0) & (whole < 0) & (before >= 0))
    return Carried(start, start + size, sent, whole, frames != 0, missing, in_order)


def is_understood(copies: Carried, acknowledged: int) -> bool:
    """Whether all arrived by the log that was acknowledged, up to an octet, and sent once."""
    starts, counts = np.unique(copies.start, return_counts=True)
    once = np.isin(copies.start, starts[counts == 1])
    return not (once & copies.on_air & (copies.whole_ns < 0) & (copies.end <= acknowledged)).any()
