"""One link recorded twice: by logs of its ends, and once more by a capture of what was on the air.

Two recordings are of one link where frames with the same number, length and octets stand in both,
always the same time apart, and no others do at that distance. The recording that tells less is left
out, for all that is counted would be counted twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.link.frames import DATA_TYPES

if TYPE_CHECKING:
    import pandas as pd

MS = 1_000_000
_COMPARED = 2_000
"""Of so many frames of each direction duplicates are looked for: clocks do not drift apart in the meantime."""
_LEAST = 30
_SHARE = 0.9
"""A capture may have lost some."""
_CONFLICTS = 0.01
_APART_NS = 2 * MS
"""Two hosts date one frame as exactly as this, beside their clocks' offset."""
_SAME_CLOCK_NS = 5 * MS
"""Recordings without octets are believed to be duplicates only where their clocks agree besides."""


class Duplicate(NamedTuple):
    """All frames of input `left_out` are also in input `kept`, whose clock is behind by `offset_ns`."""

    left_out: int
    kept: int
    offset_ns: int


class Pair(NamedTuple):
    """Two links that are one; `offset_ns` is the second's clock less the first's."""

    first: int
    second: int
    offset_ns: int


def without_duplicates(
    frames: pd.DataFrame, events: pd.DataFrame, links: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, list[Duplicate]]:
    """The tables with every link once, numbered anew, and the inputs that are left out altogether."""
    found = _pairs(frames, links)
    if not found:
        return frames, events, links, []
    number, inputs = frames["link"].to_numpy(), frames["input"].to_numpy()
    dropped: set[int] = set()
    offsets: dict[int, tuple[int, int]] = {}
    for pair in found:
        one, other = (_bearer(links, link) for link in pair[:2])
        if dropped.intersection((*one, *other)):
            continue
        keeps_first = _tells(frames, one) >= _tells(frames, other)
        kept, gone = (one, other) if keeps_first else (other, one)
        dropped.update(gone)
        kept_input = int(inputs[np.isin(number, kept)][0])
        for log in np.unique(inputs[np.isin(number, gone)]).tolist():
            offsets[log] = (kept_input, pair.offset_ns if keeps_first else -pair.offset_ns)
    kept_frames = frames[~np.isin(number, list(dropped))].reset_index(drop=True)
    kept_events = events[~events["link"].isin(dropped)].reset_index(drop=True)
    left = set(kept_frames["input"].tolist()) | set(kept_events["input"].tolist())
    duplicates = [Duplicate(log, kept, offset) for log, (kept, offset) in offsets.items() if log not in left]
    return *_renumbered(kept_frames, kept_events, links, dropped), duplicates


def _pairs(frames: pd.DataFrame, links: pd.DataFrame) -> list[Pair]:
    """Links of one protocol, and directions of one sender, whose frames are the same."""
    sent = frames[frames["sent"] & frames["type"].isin(DATA_TYPES)]
    logged = {int(link): own for link, own in sent.groupby("link", observed=True)}
    inputs = {link: set(own["input"].tolist()) for link, own in frames.groupby("link", observed=True)}
    found = []
    for first in logged:
        for second in logged:
            alike = all(links[name].iat[first] == links[name].iat[second] for name in ("protocol", "sender"))
            if second <= first or not alike or inputs[first] & inputs[second]:
                continue
            offset = _offset(logged[first], logged[second])
            if offset is not None:
                found.append(Pair(first, second, offset))
    return found


def _offset(one: pd.DataFrame, other: pd.DataFrame) -> int | None:
    """The second recording's clock less the first's, where both hold the same frames; else None."""
    one = one.iloc[:_COMPARED]
    mine, theirs = _with_same_number(one["sn"].to_numpy(), other["sn"].to_numpy())
    if not len(mine):
        return None
    apart = other["recorded_ns"].to_numpy()[theirs] - one["recorded_ns"].to_numpy()[mine]
    ours, others = (_octets(table) for table in (one, other))
    both_known = (ours[mine] != 0) & (others[theirs] != 0)
    length = one["length_bytes"].to_numpy()[mine] == other["length_bytes"].to_numpy()[theirs]
    same = length & (~both_known | (ours[mine] == others[theirs]))
    if not same.any():
        return None
    steps, counts = np.unique(np.rint(apart[same] / MS).astype(np.int64), return_counts=True)
    at_once = np.abs(apart - steps[np.argmax(counts)] * MS) <= _APART_NS
    matched = np.unique(mine[at_once & same])
    conflicts = np.setdiff1d(mine[at_once & ~same], matched)
    if len(matched) < _LEAST or len(matched) < _SHARE * len(one) or len(conflicts) > _CONFLICTS * len(matched):
        return None
    offset = int(np.median(apart[at_once & same]))
    return offset if both_known[at_once & same].any() or abs(offset) <= _SAME_CLOCK_NS else None


def _with_same_number(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of places in the two at which the same number stands."""
    order = np.argsort(other, kind="stable")
    low, high = (np.searchsorted(other[order], one, side=side) for side in ("left", "right"))
    counts = high - low
    mine = np.repeat(np.arange(len(one)), counts)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    return mine, order[np.repeat(low, counts) + within]


def _octets(table: pd.DataFrame) -> npt.NDArray[np.int64]:
    """A number for each frame's octets, 0 where they were not logged."""
    return np.array([hash(bytes(data)) or 1 if data else 0 for data in table["data"]], dtype=np.int64)


def _bearer(links: pd.DataFrame, link: int) -> tuple[int, ...]:
    reverse = int(links["reverse"].iat[link])
    return (link, reverse) if reverse >= 0 else (link,)


def _tells(frames: pd.DataFrame, bearer: tuple[int, ...]) -> tuple[bool, bool]:
    """How much a recording tells: what arrived, and what the frames carried."""
    own = frames[frames["link"].isin(bearer)]
    return bool((~own["sent"]).any()), bool(own["data"].notna().any())


def _renumbered(
    frames: pd.DataFrame, events: pd.DataFrame, links: pd.DataFrame, dropped: set[int]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The tables with the links that stay numbered from 0; -1, no link, stays."""
    stays = ~links["link"].isin(dropped).to_numpy()
    place = np.append(np.where(stays, np.cumsum(stays) - 1, -1), -1).astype(np.int16)
    kept = links[stays].reset_index(drop=True)
    kept = with_columns(kept, link=place[kept["link"].to_numpy()], reverse=place[kept["reverse"].to_numpy()])
    frames, events = (with_columns(table, link=place[table["link"].to_numpy()]) for table in (frames, events))
    return frames, events, kept
