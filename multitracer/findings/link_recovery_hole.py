"""A gap in TCP's arrivals while the link repeated the frames that were next in order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.correlation.delivery import perhaps_out_of_sequence
from multitracer.findings.discards import NEVER, told_of
from multitracer.findings.finding import Finding
from multitracer.findings.needs import LINK_RTT, SEGMENT_FRAMES
from multitracer.findings.observations import Observations

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

KINDS = ("link-recovery-hole",)
NEEDS = (SEGMENT_FRAMES, LINK_RTT)
_DOUBTS = (
    "a log of the link lacks frames then",
    "others may have waited behind a lost packet and come then",
    "a packet that was sent between the two never came",
    "the receiver's capture does not have that segment",
)


class _Sends(NamedTuple):
    """The frames that the sender of a link sent, in order of time, and those of them that were new."""

    time_ns: Ints
    number: Ints
    again: npt.NDArray[np.bool_]
    new_ns: Ints
    new: Ints
    """The numbers of those that were new, as far as they have any."""


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each gap longer than the threshold during which the link repeated frames.

    Likely only where packets that the link carried before were lost, which may have been the gap, where others may have
    waited behind a lost one and come in the gap, where a log lacks frames in the gap, which may have brought others, or
    where the receiver's capture lacks the packet that ended it.
    """
    table, link_rtt = observed.segment_frames, observed.link_rtt_ns
    assert table is not None  # by NEEDS
    assert link_rtt is not None  # by NEEDS
    limit = observed.thresholds.hole_link_rtts * link_rtt
    first_data = _first_data_ns(observed)
    sends_of, resets_of = cache(partial(_sends, observed)), cache(partial(_resets, observed))
    given_up_of = cache(partial(_given_up, observed))
    for (connection, sender, link), group in table.groupby(["connection", "sender", "link"], sort=False):
        came = group[(group["delivered_ns"] >= 0) & (group["first_frame_ns"] >= 0)]
        delivered = _handed_over(observed, came)
        # What may have come in a gap was on the air no longer before than any packet, and not before the first data.
        longest = int((delivered - came["first_frame_ns"].to_numpy()).max(initial=0))
        begun = int(first_data[connection, int(sender == observed.connections["server"].iat[connection])])
        order = np.lexsort((came["first_frame_ns"].to_numpy(), delivered))
        came, delivered = came.iloc[order], delivered[order]
        first, repeats = came["first_frame_ns"].to_numpy(), came["frame_retransmissions"].to_numpy()
        spoilt, seen = _spoilt(group, first), _captured(observed, came["segment"].to_numpy())
        waits = _waits(observed, came, given_up_of(int(link)))
        # Before its first frame the segment that came next was not there to be repeated.
        begins = np.maximum(delivered[:-1], first[1:])
        for at in np.flatnonzero((delivered[1:] - begins > limit) & (repeats[1:] > 0)):
            row = came.iloc[at + 1]
            start, end = int(begins[at]), int(delivered[at + 1])
            certain, repeated = _repeats_before(row, end, sends_of(int(link)), _log_error(observed, int(link)))
            resets = resets_of(int(link))
            if not repeated or ((resets[:, 0] < end) & (resets[:, 1] > start)).any():
                continue
            sure = row["matched_by"] == "payload" and not observed.monitored(int(link)) and not spoilt[at]
            logged = observed.logged(int(link), max(start - longest, begun), end)
            waited = bool(((waits[:, 0] < end) & (waits[:, 1] > start)).any())
            unseen = bool(seen.any()) and not seen[at + 1]
            verdict = "confirmed" if sure and certain > 0 and logged and not (waited or unseen) else "likely"
            yield Finding(
                "link-recovery-hole", "link", int(connection), start, end, verdict,
                f"nothing reached TCP for {(end - start) / 1e6:.0f} ms (link round trip {link_rtt / 1e6:.0f} ms)"
                f" while the link made {repeated} repeats of the frames of the segment that came next"
                + _likely_only(not logged, waited, bool(spoilt[at]), unseen),
                {"gap_ms": (end - start) / 1e6, "link_rtt_ms": link_rtt / 1e6, "sender": sender,
                 "frame_retransmissions": repeated, "seq": int(row["seq"])},
                bearer=observed.bearer_number(int(link)),
            )  # fmt: skip


def _likely_only(*holds: bool) -> str:
    """Which of _DOUBTS keep a hole from being confirmed, in words; empty where none does."""
    doubts = ", and as ".join(compress(_DOUBTS, holds))
    return f"; likely only, as {doubts}" if doubts else ""


def _first_data_ns(observed: Observations) -> Ints:
    """When each end of each connection sent its first data, as far as it was captured, else 0; (connections, 2)."""
    data = np.flatnonzero((observed.column("payload_bytes") > 0) & (observed.column("connection") >= 0))
    unknown = np.iinfo(np.int64).max
    first = np.full((len(observed.connections), 2), unknown)
    ends = observed.column("connection")[data], observed.column("sender")[data]
    np.minimum.at(first, ends, observed.column("time_ns")[data])
    return np.where(first == unknown, 0, first)


def _resets(observed: Observations, link: int) -> Ints:
    """Start and end of each reset of a link, shape (resets, 2)."""
    return np.array(observed.resets(link), dtype=np.int64).reshape(-1, 2)


def _log_error(observed: Observations, link: int) -> int:
    """How far the logs of both ends of a link may be apart (ns)."""
    return sum(observed.log_error(link, 0, by_sender=by_sender) or 0 for by_sender in (True, False))


def _sends(observed: Observations, link: int) -> _Sends | None:
    """What the sender of a link sent; None without a table of frames."""
    frames = observed.frames
    if frames is None:
        return None
    own = frames[((frames["link"] == link) & frames["sent"]).to_numpy()].sort_values("time_ns", kind="stable")
    time, number, again = own["time_ns"].to_numpy(), own["sn_unwrapped"].to_numpy(), own["transmission"].to_numpy() > 0
    new = ~again & (number >= 0)
    return _Sends(time, number, again, time[new], number[new])


def _repeats_before(row: pd.Series[Any], end_ns: int, sends: _Sends | None, error_ns: int) -> tuple[int, int]:
    """How many repeats of a packet's frames a link made before its delivery: for certain, and at most.

    Those made after it held nothing up. The logs of both ends may be apart by the error of their clocks, and frames
    without numbers may be the packet's or not. Only what was sent from its first frame to then is looked at: a log may
    have a hundred thousand frames, and tell of thousands of such packets.
    """
    first, every = int(row["first_frame_ns"]), int(row["frame_retransmissions"])
    if row["last_frame_ns"] < end_ns or sends is None:
        return every, every
    begin = int(np.searchsorted(sends.new_ns, first))
    new = sends.new[begin : begin + max(int(row["frames"]) - every, 1)]
    if not len(new):
        return 0, every
    within = slice(*np.searchsorted(sends.time_ns, (first, end_ns + error_ns)))
    times = sends.time_ns[within][sends.again[within] & np.isin(sends.number[within], new)]
    # Frames sent at once with its first may be another packet's.
    return min(int(np.searchsorted(times, end_ns - error_ns)), every), min(len(times), every)


def _spoilt(group: pd.DataFrame, came_ns: Ints) -> npt.NDArray[np.bool_]:
    """Whether, between the first frames of each packet that came and of the next, one was sent that never came.

    Of those sent at once no log tells which was before the other.
    """
    first = group["first_frame_ns"].to_numpy()
    lost = np.sort(first[(group["delivered_ns"].to_numpy() < 0) & (first >= 0)])
    before: Ints = np.searchsorted(lost, came_ns[:-1])
    spoilt: npt.NDArray[np.bool_] = np.searchsorted(lost, came_ns[1:], side="right") > before
    return spoilt


def _given_up(observed: Observations, link: int) -> Ints:
    """When each packet that a link never delivered was first on the air, and when its receiver gave it up at latest.

    Shape (packets, 2). It did when an MRW told of it (25.322 11.6) or a reset ended; where the log has neither, about
    when its last frame was sent. Each is given a round trip more.
    """
    table = observed.segment_frames
    assert table is not None  # by NEEDS
    lost = table[((table["link"] == link) & (table["delivered_ns"] < 0) & (table["first_frame_ns"] >= 0)).to_numpy()]
    last, resets = lost["last_frame_ns"].to_numpy(), np.append(np.sort(_resets(observed, link)[:, 1]), NEVER)
    over = np.minimum(told_of(observed, link, lost), resets[np.searchsorted(resets, last)])
    # What was still sent after an MRW, it did not give up.
    until = np.where(over == NEVER, last, np.maximum(over, last)) + (observed.link_rtt_ns or 0)
    return np.column_stack([lost["first_frame_ns"].to_numpy(), until])


def _waits(observed: Observations, came: pd.DataFrame, given_up: Ints) -> Ints:
    """The times in which packets may have waited behind one that was given up: start and end, shape (packets, 2).

    From when the first of those behind it was whole; what was sent at once with it may be behind it. What the
    receiver's capture has is known to have come then.
    """
    segment = came["segment"].to_numpy()
    unseen = came[~_captured(observed, segment)].sort_values("first_frame_ns", kind="stable")
    whole = np.minimum.accumulate(unseen["delivered_ns"].to_numpy()[::-1])[::-1]
    place = np.searchsorted(unseen["first_frame_ns"].to_numpy(), given_up[:, 0])
    begin = np.append(whole, NEVER)[place]
    return np.column_stack([begin, given_up[:, 1]])


def _captured(observed: Observations, segment: Ints) -> npt.NDArray[np.bool_]:
    """Which packets are in the receiver's capture."""
    seen: npt.NDArray[np.bool_] = (segment >= 0) & (observed.arrived[segment] == 1) & (observed.arrival[segment] >= 0)
    return seen


def _handed_over(observed: Observations, came: pd.DataFrame) -> Ints:
    """When each packet was given to TCP: by the link's log when it was complete there, but no sooner than it arrived.

    A link may hold complete packets back until those before them are complete; its log does not say whether it does,
    the receiver's capture shows it. From the link to that capture a packet takes as long as one that nothing held back.
    What that capture lacks came in the order of sending, if what it has did. Without it the sender's capture tells: of
    what comes above a hole it hears duplicate acknowledgements.
    """
    complete, segment = came["delivered_ns"].to_numpy(), came["segment"].to_numpy()
    given = _in_order(came)
    captured = _captured(observed, segment)
    if not captured.any():
        return given if _is_unanswered(observed, segment, complete, given) else complete
    way = observed.column("time_ns")[observed.arrival[segment[captured]]] - complete[captured]
    held = (given - complete)[captured]
    # The median: where the log lacks when a packet was complete, its arrival stands for that.
    transit = int(np.median(way[held == held.min()]))
    handed = given if _came_late(way - transit, held, observed.link_rtt_ns or 0) else complete.copy()
    seen = complete[captured] + np.maximum(way - transit, 0)
    # What waited for another packet was handed over with it: that their captures differ by jitter makes no order.
    together = np.abs(seen - given[captured]) <= observed.frame_ns.get(int(came["link"].iat[0]), 0)
    handed[captured] = np.where(together, given[captured], seen)
    return handed


def _in_order(came: pd.DataFrame) -> Ints:
    """When each packet was given to TCP if the link keeps the order."""
    order = np.argsort(came["first_frame_ns"].to_numpy(), kind="stable")
    given = np.empty(len(came), dtype=np.int64)
    given[order] = np.maximum.accumulate(came["delivered_ns"].to_numpy()[order])
    return given


def _is_unanswered(observed: Observations, segment: Ints, complete: Ints, given: Ints) -> bool:
    """Whether what had to wait set off no duplicate acknowledgement, which the sender's capture would have."""
    if not len(segment) or (segment < 0).any():
        return False
    connection, sender = (int(observed.column(name)[segment[0]]) for name in ("connection", "sender"))
    point = direction.sender_point if (direction := observed.direction(connection, sender)) else -1
    heard = point >= 0 and len(observed.rows(connection, point, 1 - sender)) > 0
    return heard and not perhaps_out_of_sequence(segment, complete, given, observed.segments).any()


def _came_late(beyond_ns: Ints, held_ns: Ints, least_ns: int) -> bool:
    """Whether each packet that had to wait came later to the receiver's capture than others, by about that time.

    Shorter waits matter to nothing here, and clocks, and queues behind the link, may hide them.
    """
    long = held_ns > least_ns
    return bool(long.any() and (beyond_ns[long] > held_ns[long] / 2).all())
