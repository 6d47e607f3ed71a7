"""Why TCP offered nothing to an idle link: its window, its application, or loss recovery.

From the capture at the data sender come the outstanding bytes, the advertised window, and the times in
which TCP waits for a timer or repairs a loss; from the sender's TCP state log the congestion window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.accounting.intervals import Ints, union
from multitracer.model.schema import OPTION_SACK, RST
from multitracer.tcp.timer_waits import waited_from

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sending:
    """One data sender in the capture beside it; arrays of shape (segments,), each value holds from its time on."""

    time_ns: Ints
    outstanding_bytes: Ints
    window_bytes: Ints
    """The window that the peer advertised; -1 unknown."""
    mss_bytes: int
    first_ns: int
    last_acked_ns: int
    """Time of the last acknowledgement of new data."""


def sending(segments: pd.DataFrame, rows: Any, sender: int) -> Sending | None:
    """What one sender had outstanding; None if it sent no data.

    `rows` are the connection's segments, both directions, at the point beside the sender, ordered by time.
    """
    own = segments.take(rows)
    mine = (own["sender"] == sender).to_numpy()
    payload = own["payload_bytes"].to_numpy().astype(np.int64)
    if not (mine & (payload > 0)).any():
        return None
    end = np.where(mine & (payload > 0), own["seq"].to_numpy() + payload, -1)
    told = ~mine & (own["flags"].to_numpy() & RST == 0)  # resets neither acknowledge nor advertise
    acked = np.where(told, own["ack"].to_numpy(), -1)
    top, covered = np.maximum.accumulate(end), np.maximum.accumulate(acked)
    # Data bytes only: SYN and FIN are acknowledged, too, but are not data.
    outstanding = np.where(top >= 0, np.maximum(top - np.maximum(covered, 1), 0), 0)
    latest = np.maximum.accumulate(np.where(told, np.arange(len(rows)), -1))
    window = np.where(latest >= 0, own["window_bytes"].to_numpy()[np.maximum(latest, 0)], -1)
    times = own["time_ns"].to_numpy()
    data_top = int(top.max())
    news = told & (acked > np.concatenate([[1], covered[:-1]])) & (np.concatenate([[-1], covered[:-1]]) < data_top)
    last_acked = int(times[news].max()) if news.any() else int(times[-1])
    return Sending(times, outstanding, window, int(payload[mine].max()), int(times[0]), last_acked)


def congestion_window(state: pd.DataFrame, times: Ints, mss: int) -> Any:
    """The congestion window in bytes at each of `times`, float64; NaN if the log has none.

    A record made when a segment arrives has the window before the segment is processed; the window from
    then on is in the next record.
    """
    cwnd = state["cwnd_bytes"].fillna(state["cwnd_segments"] * mss).to_numpy()
    known = ~np.isnan(cwnd)
    logged, cwnd, kind = state["time_ns"].to_numpy()[known], cwnd[known], state["event"].to_numpy()[known]
    if not len(logged):
        return np.full(len(times), np.nan)
    order = np.argsort(logged, kind="stable")
    logged, cwnd, kind = logged[order], cwnd[order], kind[order]
    in_force = np.where(kind == "recv", np.append(cwnd[1:], cwnd[-1]), cwnd)
    place = np.searchsorted(logged, times, side="right") - 1
    return np.where(place >= 0, in_force[np.maximum(place, 0)], cwnd[0])


class Carried(NamedTuple):
    """The rows of segment_frames of one end's segments on the link, and of those that answer them."""

    data: pd.DataFrame
    answers: pd.DataFrame


class Waits(NamedTuple):
    """(Start, end) of times when TCP waited for a timer or repaired a loss, and of those when perhaps it did."""

    sure: tuple[Ints, Ints]
    perhaps: tuple[Ints, Ints]


def recoveries(
    sent: Sending, segments: pd.DataFrame, rows: Any, sender: int, resent: pd.DataFrame, carried: Carried,
    answers_lost: Any = False,
) -> Waits:  # fmt: skip
    """When TCP waited for a timer or repaired a loss.

    A repair ends when all that had been sent before the retransmission is acknowledged. The time before a needless
    one is a wait for its timer only if other data that was outstanding had been lost, or no acknowledgement came back:
    none did of those whose `answers_lost` captures beside both ends show.
    """
    own = segments.take(rows)
    times = own["time_ns"].to_numpy()
    mine = (own["sender"] == sender).to_numpy()
    top = np.maximum.accumulate(np.where(mine, own["seq"].to_numpy() + own["payload_bytes"].to_numpy(), -1))
    covered = np.maximum.accumulate(np.where(~mine, own["ack"].to_numpy(), -1))
    since = waited_from(times, mine, top, covered, (own["options"].to_numpy() & OPTION_SACK) != 0)
    sure: list[tuple[int, int]] = []
    perhaps: list[tuple[int, int]] = []
    lost, repaired = (resent[name].to_numpy()[(resent["spurious"] == "no").to_numpy()] for name in ("seq", "time_ns"))
    by_timer = resent["trigger"].isin(("timeout", "probe")).to_numpy()
    in_doubt = by_timer & ((resent["spurious"] == "unknown") & (resent["late_ack"] != 1)).to_numpy()
    in_doubt[in_doubt] = ~_on_its_way(resent[in_doubt], segments, carried)
    due = (resent["spurious"] == "no").to_numpy() | (resent["late_ack"] == 0).to_numpy() | answers_lost
    columns = (resent["time_ns"].to_numpy(), due, by_timer, in_doubt)
    for when, right, timer, doubt in zip(*(column.tolist() for column in columns), strict=True):
        at = int(np.searchsorted(times, when))
        before = max(at - 1, 0)
        # What was sent again before came then: else it is sent once more.
        missing = right or bool(((covered[before] <= lost) & (lost < top[before]) & (repaired >= when)).any())
        waited = int(since[before]), when
        if timer and at > 0 and missing:
            sure.append(waited)
        elif at > 0 and doubt:
            perhaps.append(waited)
        reached = np.searchsorted(covered, top[before])
        sure.append((when, int(times[reached]) if reached < len(times) else sent.last_acked_ns))
    return Waits(*(union(*np.array(spans, dtype=np.int64).reshape(-1, 2).T) for spans in (sure, perhaps)))


def _on_its_way(resent: pd.DataFrame, segments: pd.DataFrame, carried: Carried) -> Any:
    """Of each retransmission, whether by a link's log an earlier copy, or an answer to one, was on its way then."""
    known = carried.data[(carried.data["sent_ns"] >= 0) & (carried.data["delivered_ns"] >= 0)]
    first, sent, delivered = (known[name].to_numpy() for name in ("seq", "sent_ns", "delivered_ns"))
    end = first + known["payload_bytes"].to_numpy()
    answers = carried.answers[(carried.answers["segment"] >= 0) & (carried.answers["first_frame_ns"] >= 0)]
    heard = segments.take(answers["segment"].to_numpy())
    acked, came, left = heard["ack"].to_numpy(), heard["time_ns"].to_numpy(), answers["first_frame_ns"].to_numpy()
    columns = (resent[name].tolist() for name in ("time_ns", "seq", "payload_bytes"))
    found = [
        bool(((first <= seq) & (end >= seq + size) & (sent < when) & (delivered > when)).any())
        or bool(((acked >= seq + size) & (left < when) & (came > when)).any())
        for when, seq, size in zip(*columns, strict=True)
    ]
    return np.array(found, dtype=np.bool_)


def idle_causes(sent: Sending, cwnd: Any, waits: Waits, codes: dict[str, int]) -> list[tuple[Ints, Ints, Ints]]:
    """Layers (start, end, cause) for `Timeline.overlay`, in this order: the cause if the link is idle.

    If the congestion window is not known, a sender with data outstanding and room in the advertised
    window may be limited by it or have nothing to send: unknown.
    """
    stop = np.append(sent.time_ns[1:], np.iinfo(np.int64).max)
    room = np.where(sent.window_bytes >= 0, sent.window_bytes, np.iinfo(np.int64).max).astype(np.float64)
    usable = room if cwnd is None else np.fmin(room, np.where(np.isnan(cwnd), np.inf, cwnd))
    limited = (sent.outstanding_bytes > 0) & (sent.outstanding_bytes + sent.mss_bytes > usable)
    window_known = np.zeros(len(room), dtype=np.bool_) if cwnd is None else ~np.isnan(cwnd)
    open_ = (sent.outstanding_bytes > 0) & ~limited & ~window_known
    cause = np.where(limited, codes["idle_window_limited"], np.where(open_, codes["unknown"], codes["idle_sender"]))
    return [
        (sent.time_ns, stop, cause),
        (*waits.perhaps, np.full(len(waits.perhaps[0]), codes["unknown"])),
        (*waits.sure, np.full(len(waits.sure[0]), codes["idle_recovery"])),
    ]
