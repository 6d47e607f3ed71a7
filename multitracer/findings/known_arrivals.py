"""What the sender of a link knew to have come when the link was reset: by the acknowledgements in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.findings.observations import Observations
from multitracer.link.window import acknowledged

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

    It also had to know that the frame had come that tells where a packet ends.
    """
    table, frames, links = observed.segment_frames, observed.frames, observed.links
    if table is None:
        return None
    mine = table[((table["link"] == link) & (table["first_frame_ns"] >= 0)).to_numpy()]
    known = np.full(len(mine), -1, dtype=np.int8)
    if frames is None or links is None:
        return mine, known
    lowest = acknowledged(frames, links, link, int(links["reverse"].iat[link]), start)
    own = frames[((frames["link"] == link) & frames["sent"] & (frames["transmission"] == 0)).to_numpy()]
    own = own[(own["time_ns"] < start).to_numpy()]
    if lowest is None or not len(own):
        return mine, known
    last, end, epoch = (mine[name].to_numpy() for name in ("last_sn", "end_sn", "epoch"))
    told = (last >= 0) & (epoch == own["epoch"].iat[-1]) & (mine["first_frame_ns"] < start).to_numpy()
    # Of the last one before the reset frames may not have been sent yet.
    whole = (last < own["sn_unwrapped"].iat[-1]) | (mine["carried_bytes"] >= mine["packet_bytes"]).to_numpy()
    known[told & whole & (end < lowest)] = 1
    known[told & ((last >= lowest) | (whole & (end >= lowest)))] = 0
    return mine, known
