"""When the link's transmit window was full, so that its sender had to wait for an acknowledgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.link.acknowledgements import lowest_of_each
from multitracer.link.frames import ASKING_TYPES, DATA_TYPES, modulus_of
from multitracer.link.silence import SILENT_FRAMES, polls_of, silent_from, usual_distance
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

_LEAST_WINDOW = 16
"""The negotiated window is not in the log. If fewer frames than this were ever open, no window was reached."""
SHORT_FRAMES = 2
"""Where only the largest number of frames that were unacknowledged tells of a window, data that waits no longer than so
many frames take may be no more than on its way to the air."""
_NEVER = np.iinfo(np.int64).max
_PAUSE = 2
"""A sender pauses where its next frame comes later than so many usual distances."""
_EMPTY = 1.5
"""What is nearer to two usual distances than to one leaves an opportunity empty."""


def window_is_known(links: pd.DataFrame, link: int) -> bool:
    """Whether how many frames may be unacknowledged is known, and not only how many were: RLP's is (24.022 5.2.1)."""
    return str(links["protocol"].iloc[link]) == "rlp"


def full_window(frames: pd.DataFrame, links: pd.DataFrame, link: int, reverse: int) -> tuple[Ints, Ints] | None:
    """(Start, end) in ns of the intervals in which the transmit window was full.

    RLP's window is the default (24.022 5.2.1); other protocols' is taken to be the largest number of
    frames that were unacknowledged for longer than two frames take. An interval begins when the frame that
    filled the window was sent, and ends with the acknowledgement, or a reset. RLP's window is also full in the pauses
    that `_before_late_polls` finds. None if no log has the acknowledgements as the sender received them: a capture of
    the air has the times at which they were sent. None of Wi-Fi, whose frames nobody limits so.
    """
    if str(links["protocol"].iloc[link]) == "wifi":
        return None
    ends = _ends(frames, links, link, reverse)
    if ends is None:
        return None
    empty = np.empty(0, dtype=np.int64)
    time, open_, _ = _outstanding(*ends, modulus_of(frames, links, link))
    sent_ns = ends[0]["time_ns"].to_numpy()
    protocol = str(links["protocol"].iloc[link])
    window = rlp.LARGEST_WINDOW if protocol == "rlp" else _largest_kept(time, open_, sent_ns)
    if window < _LEAST_WINDOW:
        return empty, empty
    full = np.concatenate([[False], open_ >= window, [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(full))
    start, end = time[edges[::2]], time[np.minimum(edges[1::2], len(time) - 1)]
    sent = frames[((frames["link"] == link) & frames["sent"] & (frames["input"] == ends[0]["input"].iat[0])).to_numpy()]
    end = np.minimum(end, _next_reset(sent, start))
    if protocol != "rlp":
        return start, end
    pauses = _before_late_polls(sent, *ends, modulus_of(frames, links, link))
    return np.append(start, pauses[0]), np.append(end, pauses[1])


def _next_reset(sent: pd.DataFrame, since_ns: Ints) -> Ints:
    """When the entity that sent these frames next sent any after a reset: its window was empty then, if not before.

    It may have had no data from then on. `_NEVER` where no reset followed.
    """
    begun = np.sort(sent[(sent["epoch"] >= 0).to_numpy()].groupby("epoch")["time_ns"].min().to_numpy())[1:]
    return np.append(begun, _NEVER)[np.searchsorted(begun, since_ns, side="right")]


def _before_late_polls(
    sent: pd.DataFrame, own: pd.DataFrame, back: pd.DataFrame, modulus: int
) -> tuple[Ints, Ints]:  # fmt: skip
    """(Start, end) of pauses between new frames in which RLP's entity waited for the answer to a poll.

    A poll may wait in the device behind other frames, and the entity heeds no N(R) from then on (`_heeded`), so that
    its window is full though all seems to be acknowledged. Counted back from the last new frame it begins then with a
    frame that an acknowledgement had asked for before; from the next acknowledgement on the device was busy until it
    sent the poll, after other frames than new ones, and silent once it had sent all that it had, if only until the
    answer set off the next new frame.
    """
    times = np.sort(sent["time_ns"].to_numpy())
    polls = np.sort(sent["time_ns"].to_numpy()[polls_of(sent)])
    answers = np.sort(back["time_ns"].to_numpy()[((back["poll"] == 1) & (back["command"] == 0)).to_numpy()])
    new = own[(own["transmission"] == 0).to_numpy()].sort_values("time_ns", kind="stable")
    begin, number, epoch = (new[name].to_numpy() for name in ("time_ns", "sn_unwrapped", "epoch"))
    usual, silent = usual_distance(times), silent_from(times)
    at_ns, _, least = _outstanding(own, back, modulus)
    spans = []
    for at in np.flatnonzero((np.diff(begin) > SILENT_FRAMES * usual) & (np.diff(epoch) == 0)).tolist():
        start, stop, oldest = int(begin[at]), int(begin[at + 1]), int(number[at]) + 1 - rlp.LARGEST_WINDOW
        poll = int(np.append(polls, stop)[np.searchsorted(polls, start)])
        first = int(begin[np.searchsorted(epoch, epoch[at])])
        since = _acknowledged_at(at_ns, least, oldest, first, start)
        if poll >= stop or since is None:
            continue
        others = np.searchsorted(times, poll) - np.searchsorted(times, start, side="right")
        busy = np.searchsorted(silent, since) == np.searchsorted(silent, poll)
        answer = int(np.append(answers, _NEVER)[np.searchsorted(answers, poll)])
        quiet = np.searchsorted(silent, stop) > np.searchsorted(silent, poll)
        if others >= SILENT_FRAMES and busy and (quiet or _set_off(times, answer, stop, usual)):
            spans.append((start, min(answer, stop)))
    begins, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return begins, ends


def _set_off(times: Ints, answer: int, stop: int, usual: int) -> bool:
    """Whether an answer set off the frame at `stop`, which left an opportunity empty: none was sent in between.

    Frames leave the device in the order in which they came to it, so one that is sent behind nothing had not waited.
    """
    before = int(times[np.searchsorted(times, stop) - 1])
    return before < answer <= stop and stop - before > _EMPTY * usual > 0


def _acknowledged_at(at_ns: Ints, least: Ints, number: int, since_ns: int, until_ns: int) -> int | None:
    """When, between two times, the frame `number` was acknowledged that had been the lowest unacknowledged one.

    None if it was not. `at_ns` and `least` are those of `_outstanding`; within an epoch `least` only grows.
    """
    low, high = np.searchsorted(at_ns, (since_ns, until_ns))
    place = int(low + np.searchsorted(least[low:high], number, side="right"))
    return int(at_ns[place]) if low < place < high and least[place - 1] == number else None


def acknowledged(frames: pd.DataFrame, links: pd.DataFrame, link: int, reverse: int, before_ns: int) -> int | None:
    """The lowest number that the sender of a link's frames cannot have known to have come at a time; None unknown.

    Unwrapped as the frames are. What is acknowledged before it is on the air may have been known to come when it was:
    an entity counts frames that wait in its device, and its peer those that it took for others.
    """
    ends = _ends(frames, links, link, reverse)
    if ends is None:
        return None
    own, back = (end[(end["time_ns"] < before_ns).to_numpy()] for end in ends)
    if not len(own):
        return None
    # A reset clears what was before it.
    own, back = (end[(end["epoch"] == own["epoch"].iat[-1]).to_numpy()] for end in (own, back))
    modulus = modulus_of(frames, links, link)
    after = _outstanding(own, back, modulus)
    return max(int(after[2][-1]), _told_early(own, back, modulus, after))


def _told_early(own: pd.DataFrame, back: pd.DataFrame, modulus: int, after: tuple[Ints, Ints, Ints]) -> int:
    """Below which number a report acknowledged all, heard before the last of it was on the air; -1 if none was.

    An entity may have handed frames to its device, where they wait, and its peer may have taken older frames for them.
    Only a report counts that says something new, and names frames that followed at the usual pace: what the entity had
    not handed down yet it could not have known to have come.
    """
    time, open_, least = after
    tops = least + open_
    number, heard = lowest_of_each(back, modulus), back["time_ns"].to_numpy()
    at = np.searchsorted(time, heard, side="right") - 1
    early = tops[at] + (number - tops[at]) % modulus
    news = (np.diff(number, prepend=-1) != 0) & ((number - least[at]) % modulus != 0) & (early <= tops.max(initial=-1))
    sent = np.sort(own["time_ns"].to_numpy())
    steps = np.diff(sent)
    pauses = sent[1:][steps > _PAUSE * np.median(steps)] if len(steps) else sent
    until = time[np.minimum(np.searchsorted(tops, early), len(time) - 1)]
    waited = np.searchsorted(pauses, heard, side="right") == np.searchsorted(pauses, until, side="right")
    return int(early[news & waited].max(initial=-1))


def _ends(
    frames: pd.DataFrame, links: pd.DataFrame, link: int, reverse: int
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """The data frames that the sender's log has as sent, and the acknowledgements that came; None without either."""
    sent = frames[(frames["link"] == link) & frames["sent"]]
    own = sent[sent["type"].isin(DATA_TYPES)]
    log = own["input"].iloc[0] if len(own) else -1
    back = frames[(frames["link"] == reverse) & ~frames["sent"] & (frames["input"] == log) & (frames["nr"] >= 0)]
    back = back[~back["type"].isin(ASKING_TYPES)]
    if str(links["protocol"].iloc[link]) == "rlp":
        back = back[_heeded(sent, back)]
    return (own, back.assign(epoch=_epochs_acknowledged(own, back))) if len(own) and len(back) else None


def _epochs_acknowledged(own: pd.DataFrame, back: pd.DataFrame) -> Ints:
    """The epoch of whose frames each acknowledgement tells.

    It is that in which it was sent. But who answers a repeated request (RLP's SABM) begins an epoch that its peer does
    not: what either acknowledges then is of the epoch in which the other's frames go on.
    """
    epoch, time = back["epoch"].to_numpy().astype(np.int64), back["time_ns"].to_numpy()
    own_epoch, sent = own["epoch"].to_numpy().astype(np.int64), own["time_ns"].to_numpy()
    for alone in np.setdiff1d(own_epoch, epoch).tolist():
        before = epoch[epoch < alone].max(initial=-1)
        epoch[(epoch == before) & (time >= sent[own_epoch == alone].min())] = alone
    for unknown in np.setdiff1d(epoch, own_epoch).tolist():
        first = time[epoch == unknown].min()
        current = own_epoch[sent <= first].max(initial=-1)
        if (sent[own_epoch == current] > first).any():
            epoch[epoch == unknown] = current
    return epoch


def _largest_kept(time: Ints, open_: Ints, sent: Ints) -> int:
    """The largest number of unacknowledged frames that lasted: for an instant acknowledgements may be out of order."""
    spacing = np.diff(np.unique(sent))
    least = 2 * int(np.median(spacing)) if len(spacing) else 0
    lasted = np.diff(time, append=time[-1:]) > least
    return int(open_[lasted].max(initial=0))


def _heeded(sent: pd.DataFrame, back: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which frames' N(R) an RLP entity heeds: from a poll to the answer with F = 1 that of the answer alone.

    Any other may be older than the poll (24.022 5.2: checkpointing). A reset ends the wait for the answer; its
    own request, a SABM with P = 1, is no poll.
    """
    polls = np.sort(sent["time_ns"].to_numpy()[polls_of(sent)])
    final = ((back["poll"] == 1) & (back["command"] == 0)).to_numpy()
    time = back["time_ns"].to_numpy()
    answers = np.sort(time[final])
    polled, answered = np.searchsorted(polls, time, side="right"), np.searchsorted(answers, time)
    latest = np.append(polls, 0)[polled - 1]
    waiting = (polled > 0) & (np.append(answers, 0)[answered - 1] * (answered > 0) < latest)
    # Who answers a repeated SABM after it had sent data is an epoch ahead of its peer, without a further reset.
    since = np.maximum(_latest_epoch(sent, latest), _latest_epoch(back, latest))
    now = np.maximum(_latest_epoch(sent, time), back["epoch"].to_numpy())
    return final | ~waiting | (now > since)


def _latest_epoch(frames: pd.DataFrame, times: Ints) -> Ints:
    """The epoch of the latest of the frames at each of these times; 0 before the first."""
    frames = frames.sort_values("time_ns", kind="stable")
    at = np.searchsorted(frames["time_ns"].to_numpy(), times, side="right")
    epochs: Ints = np.concatenate([np.zeros(1, dtype=np.int64), frames["epoch"].to_numpy().astype(np.int64)])[at]
    return epochs


def _outstanding(own: pd.DataFrame, back: pd.DataFrame, modulus: int) -> tuple[Ints, Ints, Ints]:
    """(Times, number of unacknowledged frames, the lowest) after each frame sent and each acknowledgement received."""
    lowest = lowest_of_each(back, modulus)
    time = np.concatenate([own["time_ns"].to_numpy(), back["time_ns"].to_numpy()])
    is_ack = np.concatenate([np.zeros(len(own), dtype=np.bool_), np.ones(len(back), dtype=np.bool_)])
    value = np.concatenate([own["sn_unwrapped"].to_numpy(), lowest])
    epoch = np.concatenate([own["epoch"].to_numpy(), back["epoch"].to_numpy()])
    order = np.argsort(time, kind="stable")
    top, acked, current = 0, 0, -1
    open_, least = np.zeros(len(order), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    for place, row in enumerate(order.tolist()):
        if epoch[row] != current:
            top, acked, current = 0, 0, epoch[row]
            if not is_ack[row]:
                top = acked = int(value[row])
        if is_ack[row]:
            behind = (top - int(value[row])) % modulus
            if behind <= top - acked:
                acked = max(acked, top - behind)
        else:
            top = max(top, int(value[row]) + 1)
        open_[place], least[place] = top - acked, acked
    return time[order], open_, least
