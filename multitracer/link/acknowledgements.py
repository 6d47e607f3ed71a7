"""What an end of a link acknowledged, though its log never shows that it came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.link.frames import ASKING_TYPES
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

_NEVER = np.iinfo(np.int64).max


def lowest_open(nr: int, missing: Sequence[int], modulus: int) -> int:
    """The lowest number that a report does not acknowledge.

    What it calls missing may also lie above the number up to which it acknowledges: with 25.322's ACK super-field
    that may be the first missing one (9.2.2.11.1). No window is larger than half the numbers.
    """
    below = [behind for behind in ((nr - number) % modulus for number in missing) if behind <= modulus // 2]
    return (nr - max(below, default=0)) % modulus


def lowest_of_each(reports: pd.DataFrame, modulus: int) -> Ints:
    """Of each report the lowest number that it does not acknowledge."""
    told = zip(reports["nacks"], reports["nr"].tolist(), strict=True)
    return np.array([lowest_open(nr, [nack[0] for nack in nacks or ()], modulus) for nacks, nr in told], dtype=np.int64)


def unheard(sent: pd.DataFrame, came: pd.DataFrame, heard: pd.DataFrame, modulus: int) -> tuple[Ints, Ints]:
    """Where a log lacks frames: since when each of those frames may have come, and when its end acknowledged it.

    `sent` is all that the end sent, `came` the data frames that came to it, `heard` all that came.
    """
    numbered = (came["sn_unwrapped"] >= 0).to_numpy()
    reports = sent[((sent["nr"] >= 0) & ~sent["type"].isin(ASKING_TYPES)).to_numpy()]
    told = heard[((heard["type"] == "MRW") & (heard["sn"] >= 0)).to_numpy()]
    found: list[tuple[Ints, Ints]] = []
    for epoch in np.unique(came["epoch"].to_numpy()[numbered]).tolist():
        mine, theirs, moves = (table[(table["epoch"] == epoch).to_numpy()] for table in (came, reports, told))
        if len(theirs):
            found.append(_in_epoch(mine, theirs, moves, modulus))
    starts, stops = (np.concatenate([one[side] for one in found] or [np.empty(0, np.int64)]) for side in (0, 1))
    return starts, stops


def _in_epoch(all_came: pd.DataFrame, reports: pd.DataFrame, moves: pd.DataFrame, modulus: int) -> tuple[Ints, Ints]:
    """The same of the frames between two resets."""
    came = all_came[(all_came["sn_unwrapped"] >= 0).to_numpy()]
    time, number = came["time_ns"].to_numpy(), came["sn_unwrapped"].to_numpy()
    top = np.maximum.accumulate(number)
    first = int(number[0])
    arrived = np.full(int(top[-1]) + 1 - first, _NEVER)
    np.minimum.at(arrived, np.maximum(number - first, 0), time)
    moved_to = _unwrapped(moves["sn"].to_numpy(), moves, time, top + modulus // 2, modulus)
    for moved, at in zip(moved_to.tolist(), moves["time_ns"].tolist(), strict=True):
        passed = arrived[: max(moved + 1 - first, 0)]
        np.minimum(passed, at, out=passed)
    upto = _unwrapped(lowest_of_each(reports, modulus), reports, time, top + 1, modulus)
    upto = np.maximum.accumulate(upto)
    numbers = np.arange(first, int(top[-1]) + 1)
    acknowledged = np.append(reports["time_ns"].to_numpy(), _NEVER)[np.searchsorted(upto, numbers, side="right")]
    lacking = (arrived > acknowledged) & (acknowledged < _NEVER)
    if modulus == rlp.MODULUS:
        lacking[lacking] = ~_confused(all_came, reports, upto, numbers[lacking], acknowledged[lacking])
    since = time[np.maximum(np.searchsorted(top, numbers[lacking]) - 1, 0)]
    return since, acknowledged[lacking]


def _confused(
    came: pd.DataFrame, reports: pd.DataFrame, upto: Ints, numbers: Ints, acknowledged: Ints
) -> npt.NDArray[np.bool_]:
    """Whether an RLP entity may have acknowledged each number without its frame: it took an old frame for a new one.

    Its window holds all but one of the numbers (24.022 5.2.1), so that a frame sent again after it was acknowledged is
    within: that of a number one modulus higher. `upto` is what the reports acknowledge.
    """
    sn, time = came["sn"].to_numpy(), came["time_ns"].to_numpy()
    # Since it acknowledged the number one modulus lower; that of a number before all reports may have been earlier.
    report = np.searchsorted(upto, numbers - rlp.MODULUS, side="right")
    since = np.where(report > 0, reports["time_ns"].to_numpy()[report], time.min())
    found = np.zeros(len(numbers), dtype=np.bool_)
    for one in np.unique(numbers % rlp.MODULUS).tolist():
        at, mine = np.sort(time[sn == one]), numbers % rlp.MODULUS == one
        first, last = np.searchsorted(at, since[mine]), np.searchsorted(at, acknowledged[mine], side="right")
        found[mine] = last > first
    return found


def _unwrapped(sn: Ints, frames: pd.DataFrame, time: Ints, top: Ints, modulus: int) -> Ints:
    """Numbers of frames sent by an end, unwrapped to the largest that is no higher than `top` was then."""
    last = np.searchsorted(time, frames["time_ns"].to_numpy(), side="right") - 1
    below = top[np.maximum(last, 0)]
    found: Ints = np.where(last >= 0, below - (below - sn) % modulus, -1)
    return found
