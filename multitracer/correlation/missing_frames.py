"""Which segments a link's far end never had whole, as one of their frames never came to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.correlation.delivery import MISSING, NEVER
from multitracer.link.coverage import one_log
from multitracer.link.outcomes import DAMAGED, UNHEARD, outcomes

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.correlation.segment_frames import LinkMatch
    from multitracer.model.analysis import Covered

Ints = npt.NDArray[np.int64]


def with_missing(
    table: pd.DataFrame, match: LinkMatch, frames: pd.DataFrame, covered: Covered, late_ns: int
) -> pd.DataFrame:
    """The table segment_frames, with MISSING for what a link carried in a frame of which no transmission came.

    By the log of the link's far end, that of an earlier segment than the last that was whole; `covered` and `late_ns`
    are those of `lacking_frames`.
    """
    mine = (table["link"] == match.link).to_numpy() & (table["first_frame_ns"] >= 0).to_numpy()
    first, logged = table["first_frame_ns"].to_numpy(), table["logged_ns"].to_numpy().copy()
    last = first[mine & (logged >= 0)].max(initial=-1)
    open_ = mine & (logged == NEVER) & (first < last)
    if not open_.any():
        return table
    logged[open_ & np.isin(table["segment"].to_numpy(), lacking_frames(match, frames, covered, late_ns))] = MISSING
    return table.assign(logged_ns=logged)


def lacking_frames(match: LinkMatch, frames: pd.DataFrame, covered: Covered, late_ns: int) -> Ints:
    """The rows of the segments that were in frames of which no transmission came, by the log of the link's far end.

    `covered` is what that log covers. A frame that came by `late_ns` after its last transmission, whichever of them it
    was, is there. Of a protocol whose frames are sent again in parts (LTE's and NR's RLC) nothing is told.
    """
    kept = np.flatnonzero(match.segments >= 0)
    if not match.sender_logged or not len(kept) or (frames["so"].to_numpy()[match.packets[kept[0]].rows] >= 0).any():
        return np.empty(0, dtype=np.int64)
    rows = [match.packets[number].rows for number in kept.tolist()]
    packet, row = np.repeat(np.arange(len(kept)), [len(one) for one in rows]), np.concatenate(rows)
    time_ns, number = frames["time_ns"].to_numpy(), frames["sn_unwrapped"].to_numpy()
    order = np.lexsort((time_ns[row], number[row], packet))
    packet, row = packet[order], row[order]
    first = np.flatnonzero((np.diff(packet, prepend=-1) != 0) | (np.diff(number[row], prepend=-1) != 0))
    gone = np.isin(outcomes(frames, match.link, covered)[row], (UNHEARD, DAMAGED))
    never = np.logical_and.reduceat(gone, first)
    last = row[np.append(first[1:], len(row)) - 1]
    never &= ~_came(frames, match.link, row[first], time_ns[row[first]], time_ns[last] + late_ns)
    found: Ints = match.segments[kept[np.unique(packet[first[never]])]]
    return found


def _came(frames: pd.DataFrame, link: int, row: Ints, start_ns: Ints, end_ns: Ints) -> npt.NDArray[np.bool_]:
    """Whether a frame with the number of each of these rows, as it was sent, came to the far end within a time."""
    sn, time_ns = frames["sn"].to_numpy().astype(np.int64), frames["time_ns"].to_numpy()
    received = one_log(frames, np.flatnonzero(((frames["link"] == link) & ~frames["sent"]).to_numpy()))
    begin, span = int(time_ns.min()), int(np.ptp(time_ns)) + 1
    came = np.sort(sn[received] * span + time_ns[received] - begin)
    first, last = (sn[row] * span + np.minimum(at - begin, span - 1) for at in (start_ns, end_ns))
    found: npt.NDArray[np.bool_] = np.searchsorted(came, last, side="right") > np.searchsorted(came, first)
    return found
