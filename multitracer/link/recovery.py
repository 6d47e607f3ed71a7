"""Recovery time of retransmitted frames: from the first transmission to the one that arrived.

With the receiver's log: the transmission that arrived is the one that left one transit time before
the arrival. With the sender's log alone: a frame that a response reports missing had not arrived by
then, so the acknowledgement is for a transmission at most a round trip older than that response, or later.
Numbers that were sent in segments are left out, because several transmissions together deliver them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.link.frames import ACTIVE_TYPES, ASKING_TYPES, DATA_TYPES

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

PAIRED = 0.9
"""If fewer arrivals than this share fit one transit time, the logs' clocks differ or their links do."""
_FAR = np.int64(1) << 62


class Sent(NamedTuple):
    """Transmissions ordered by time; `key` identifies the frame, `sends` counts the transmissions of each key."""

    time: Ints
    number: Ints
    epoch: Ints
    sn: Ints
    key: Ints
    sends: Ints
    first: Ints
    """Time of the first transmission of each key."""
    row: Ints
    """The label of each in the table."""


def recoveries(frames: pd.DataFrame, link: int, reverse: int, modulus: int, rtt_ns: int | None) -> Ints | None:
    """Recovery times in ns of the retransmitted frames of a link; None where the logs do not show them."""
    own = frames[frames["link"] == link]
    if (own["acked"] >= 0).any():
        return _by_heard_acknowledgements(own[own["acked"] >= 0])
    data = own[own["type"].isin(DATA_TYPES) & (own["sn"] >= 0)]
    sent = transmissions(data[data["sent"] & (data["sn_unwrapped"] >= 0)])
    if sent is None:
        return None
    came = data[~data["sent"]]
    by_arrivals = _by_arrivals(sent, came["time_ns"].to_numpy(), came["sn"].to_numpy())
    if by_arrivals is not None:
        return by_arrivals
    log = data.loc[data["sent"], "input"].mode().iloc[0]
    back = frames[(frames["link"] == reverse) & ~frames["sent"] & (frames["input"] == log) & (frames["nr"] >= 0)]
    if rtt_ns is None or not len(back):
        return None
    return _by_answers(sent, back[back["type"].isin(ACTIVE_TYPES)], modulus, rtt_ns)


def transmissions(data: pd.DataFrame) -> Sent | None:
    """The transmissions of unsegmented frames, from the log that has most of them."""
    if not len(data):
        return None
    data = data[data["input"] == data["input"].mode().iloc[0]].sort_values(["time_ns", "record"], kind="stable")
    number, epoch = data["sn_unwrapped"].to_numpy(), data["epoch"].to_numpy().astype(np.int64)
    _, key = np.unique(np.stack([epoch, number]), axis=1, return_inverse=True)
    key = key.reshape(-1)
    in_segments = np.bincount(key, data["so"].to_numpy() >= 0) > 0
    whole = ~in_segments[key]
    if not whole.any():
        return None
    time, sn = data["time_ns"].to_numpy()[whole], data["sn"].to_numpy()[whole]
    _, place, key, count = np.unique(key[whole], return_index=True, return_inverse=True, return_counts=True)
    return Sent(time, number[whole], epoch[whole], sn, key, count, time[place], data.index.to_numpy()[whole])


# By the acknowledgements that a monitor heard


def _by_heard_acknowledgements(own: pd.DataFrame) -> Ints:
    """Recovery times of the frames whose first transmission and whose acknowledged repeat were heard."""
    own = own[own["sn_unwrapped"] >= 0].sort_values(["sn_unwrapped", "time_ns"], kind="stable")
    names = ("sn_unwrapped", "time_ns", "transmission", "acked")
    number, time, repeat, acked = (own[name].to_numpy() for name in names)
    first = {int(n): int(t) for n, t, again in zip(number, time, repeat, strict=True) if again == 0}
    through = (repeat > 0) & (acked == 1)
    took = [int(t) - first[int(n)] for n, t in zip(number[through], time[through], strict=True) if int(n) in first]
    return np.array(took, dtype=np.int64)


# By the receiver's log


def _by_arrivals(sent: Sent, time: Ints, sn: Ints) -> Ints | None:
    """Recovery times by matching each arrival to the transmission of its number one transit time before."""
    if not len(time):
        return None
    apart = least_apart(sent.key, sent.time)
    if apart is None:
        return np.empty(0, dtype=np.int64)
    heard = pair(sent, apart, time, sn)
    if heard is None:
        return None
    left = heard.transmission[heard.transmission >= 0]
    through = np.full(len(sent.sends), _FAR)
    np.minimum.at(through, sent.key[left], sent.time[left])
    # A frame first sent before the receiver's log began may also have arrived before it began.
    mine = (sent.sends > 1) & (through < _FAR) & (sent.first >= time.min() - heard.transit_ns)
    return through[mine] - sent.first[mine]


class Heard(NamedTuple):
    """Which transmissions arrived."""

    transit_ns: int
    """From a frame in its sender's log to the same in the receiver's, by both clocks as they are."""
    transmission: Ints
    """Of each arrival; -1 where none fits."""


def pair(sent: Sent, apart: int, time: Ints, sn: Ints) -> Heard | None:
    """Match arrivals to transmissions, no two of one number nearer than `apart`; None where they do not fit."""
    order = np.lexsort((sent.time, sent.sn))
    found = latest(sent.sn[order], sent.time[order], sn, time)
    known = found >= 0
    once = sent.sends[sent.key[order[found]]] == 1
    if not (known & once).any():
        return None
    transit = int(np.median((time - sent.time[order[found]])[known & once]))
    # Within half the least spacing of retransmissions no other transmission of the number is nearer.
    at = latest(sent.sn[order], sent.time[order], sn, time - transit + apart // 2)
    left = order[at]
    fits = (at >= 0) & (np.abs(time - transit - sent.time[left]) <= apart // 2)
    reached = (time - transit >= sent.time[0]) & (time - transit <= sent.time[-1])
    if not reached.any() or fits[reached].mean() < PAIRED:
        return None
    return Heard(transit, np.where(fits, left, -1))


def least_apart(groups: Ints, time: Ints) -> int | None:
    """The least time between two transmissions of one group; None when each has but one."""
    order = np.lexsort((time, groups))
    same = np.diff(groups[order]) == 0
    return int(np.diff(time[order])[same].min()) if same.any() else None


def latest(groups: Ints, times: Ints, group: Ints, at: Ints) -> Ints:
    """The index of the last of `times` not after `at` in the same group, shape of `at`; -1 where there is none.

    `groups` must be sorted, and `times` sorted within each group.
    """
    if not len(times):
        return np.full(len(at), -1, dtype=np.int64)
    # Ranks instead of times: group number times nanoseconds would overflow 64 bits.
    names, in_order = np.unique(groups), np.sort(times)
    rank = np.searchsorted(names, groups) * (len(times) + 1) + np.searchsorted(in_order, times, side="right")
    mine = np.minimum(np.searchsorted(names, group), len(names) - 1)
    wanted = mine * (len(times) + 1) + np.searchsorted(in_order, at, side="right")
    place = np.searchsorted(rank, wanted, side="right") - 1
    return np.where((place >= 0) & (groups[place] == group), place, -1)


# By the responses that the sender received


def _by_answers(sent: Sent, back: pd.DataFrame, modulus: int, rtt_ns: int) -> Ints:
    """Recovery times by the first transmission that no response before the acknowledgement rules out."""
    found = [np.empty(0, dtype=np.int64)]
    epoch = back["epoch"].to_numpy()
    for current in np.unique(sent.epoch):
        mine = sent.epoch == current
        answers = back[epoch == current].sort_values(["time_ns", "record"], kind="stable")
        if len(answers):
            found.append(_of_epoch(sent.time[mine], sent.number[mine], answers, modulus, rtt_ns))
    return np.concatenate(found)


def _of_epoch(time: Ints, number: Ints, back: pd.DataFrame, modulus: int, rtt_ns: int) -> Ints:
    lower, at, missing = _answers(time, number, back, modulus)
    numbers, first, count = np.unique(number, return_index=True, return_counts=True)
    numbers, first = numbers[count > 1], time[first[count > 1]]
    when = np.searchsorted(np.maximum.accumulate(lower), numbers, side="right")
    numbers, first, when = (column[when < len(lower)] for column in (numbers, first, when))
    acked = back["time_ns"].to_numpy()[when]
    order = np.lexsort((at, missing))
    named = latest(missing[order], at[order], numbers, acked)
    since = np.where(named >= 0, at[order][named] - rtt_ns, first)
    order = np.lexsort((time, number))
    time, number = time[order], number[order]
    before = latest(number, time, numbers, since - 1)
    place = np.where(before >= 0, before + 1, np.searchsorted(number, numbers))
    place = np.minimum(place, len(time) - 1)
    good = (number[place] == numbers) & (time[place] <= acked)
    return time[place][good] - first[good]


def _answers(time: Ints, number: Ints, back: pd.DataFrame, modulus: int) -> tuple[Ints, Ints, Ints]:
    """(Number up to which each response acknowledges, -1 none; times, numbers of frames reported missing)."""
    highest = np.maximum.accumulate(number)
    when = back["time_ns"].to_numpy()
    top = highest[np.maximum(np.searchsorted(time, when, side="right") - 1, 0)] + 1
    value = top - (top - back["nr"].to_numpy()) % modulus
    which = np.repeat(np.arange(len(back)), [len(nacks or ()) for nacks in back["nacks"]])
    nacked = np.array([nack[0] for nacks in back["nacks"] for nack in nacks or ()], dtype=np.int64)
    nacked = top[which] - (top[which] - nacked) % modulus
    lower = value.copy()
    np.minimum.at(lower, which, nacked)
    lower[back["type"].isin(ASKING_TYPES).to_numpy()] = -1
    # When a poll is answered, all frames received out of sequence have been discarded (24.022 5.3.2).
    final = np.flatnonzero(((back["poll"] == 1) & (back["command"] == 0)).to_numpy())
    open_ = (top - value)[final]
    spread = np.repeat(final, open_)
    offset = np.arange(len(spread)) - np.repeat(np.cumsum(open_) - open_, open_)
    return (
        lower,
        np.concatenate([when, when[which], when[spread]]),
        np.concatenate([value, nacked, value[spread] + offset]),
    )
