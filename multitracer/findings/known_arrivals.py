"""What the sender of a link knew to have come when the link was reset: by the acknowledgements in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.findings.observations import Observations
from multitracer.link.window import acknowledged
from multitracer.wire import rlc_umts

if TYPE_CHECKING:
    import pandas as pd


def carrier(observed: Observations, rows: Any, link: int) -> int:
    """The direction of this link that carried these rows; another link may have carried them, too."""
    table = observed.segment_frames
    if table is None:
        return link
    mine = table["link"].isin(observed.bearer(link)).to_numpy() & np.isin(table["segment"].to_numpy(), rows)
    return int(table["link"].to_numpy()[mine][0]) if mine.any() else link


def known_to_have_come(observed: Observations, link: int, lost: Any, start: int) -> Any:
    """Of each of these rows whether the link's sender knew just before a reset that its peer had it: 1, 0, -1 unknown.

    What it knew of was lost otherwise. RLP may take an old frame for a new one (N(S) counts modulo 62, in a window of
    61): its peer then acknowledges what it delivered wrongly.
    """
    known = np.full(len(lost), -1, dtype=np.int8)
    found = come_before(observed, carrier(observed, lost, link), start) if len(lost) else None
    if found is None:
        return known
    table, codes = found
    for code in (1, 0):
        known[np.isin(lost, table["segment"].to_numpy()[codes == code])] = code
    return known


def come_before(observed: Observations, link: int, start: int) -> tuple[pd.DataFrame, Any] | None:
    """The rows of segment_frames that a link direction had on the air before a reset, with those codes; None without
    that table.
    """
    table, frames, links = observed.segment_frames, observed.frames, observed.links
    if table is None:
        return None
    mine = table[((table["link"] == link) & (table["first_frame_ns"] >= 0)).to_numpy()].sort_values("first_frame_ns")
    known = np.full(len(mine), -1, dtype=np.int8)
    if frames is None or links is None:
        return mine, known
    lowest = acknowledged(frames, links, link, int(links["reverse"].iat[link]), start)
    own = frames[((frames["link"] == link) & frames["sent"] & (frames["transmission"] == 0)).to_numpy()]
    if lowest is None or not len(own):
        return mine, known
    begins = mine["first_frame_ns"].to_numpy()
    time, number, epoch = (own[name].to_numpy() for name in ("time_ns", "sn_unwrapped", "epoch"))
    # The last frame of a packet is at the latest the first of the packet behind it, and the last before the reset.
    latest = max(int(np.searchsorted(time, start)) - 1, 0)
    following = np.searchsorted(time, np.append(begins[1:], np.iinfo(np.int64).max))
    behind = np.minimum(following, latest)
    last = np.searchsorted(time, begins) + (mine["frames"] - mine["frame_retransmissions"]).to_numpy() - 1
    last = np.minimum(last, behind)
    told = (epoch[last] == epoch[latest]) & (begins < start)
    # Of the last one before the reset frames may not have been sent yet.
    whole = (behind < latest) | (mine["carried_bytes"] >= mine["packet_bytes"]).to_numpy()
    ends = last
    if str(links["protocol"].iat[link]) == "rlc-umts":
        ends = last + ((following > last) & ~_tell_ends(own.iloc[last]))
    came = (ends <= latest) & (number[np.minimum(ends, latest)] < lowest)
    known[told & whole & came] = 1
    known[told & ~came] = 0
    return mine, known


def _tell_ends(frames: pd.DataFrame) -> Any:
    """Of the last frame of each packet whether it tells that the packet ends: else the next frame does."""
    columns = (frames[name] for name in ("lis", "length_bytes", "data", "payload_bytes", "framing"))
    return np.array([
        lis is None or rlc_umts.tells_end(lis, size, rlc_umts.li_bits_in(lis, length, data), he)
        for lis, length, data, size, he in zip(*columns, strict=True)
    ], dtype=np.bool_)  # fmt: skip
