"""What became of every data segment: delivered, dropped, flushed, lost, or needless. Nothing that is not proven.

A segment is dropped where the link never carried it, flushed where the link gave it up, and lost where it got out of
the link, or no link is logged, and it did not arrive, or arrived spoilt. Copies of one packet at several points share
its fate. A record of several segments has arrived if all of them have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.correlation import queue_fates
from multitracer.correlation.delivery import MISSING, SPOILT
from multitracer.findings.known_arrivals import known_to_have_come
from multitracer.findings.link_losses import deliveries
from multitracer.findings.link_reset import repeated_until
from multitracer.findings.observations import Observations
from multitracer.model.paths import Paths
from multitracer.model.schema import FATES
from multitracer.tcp.copies import DELIVERED, DROPPED, FLUSHED, LOST, NO_DATA, REPEATED, UNKNOWN
from multitracer.tcp.copy_fates import Gone, copy_fates

if TYPE_CHECKING:
    import pandas as pd

_NONE = -1


def segment_fates(observed: Observations, paths: Paths, sacks: pd.DataFrame) -> pd.Categorical:
    """The fate of each row of segments, null where there is none; `sacks` as the captures have them."""
    import pandas as pd

    return pd.Categorical.from_codes(_codes(observed, paths, sacks), FATES, validate=False)


def _codes(observed: Observations, paths: Paths, sacks: pd.DataFrame) -> Any:
    """The code of each row's fate among FATES, int8; NO_DATA where there is none."""
    carried = _carried(observed)
    links = _Links(observed, carried) if carried is not None else None
    gone = np.empty(0, dtype=np.int64) if links is None else links.gone
    fates = copy_fates(
        observed.segments, sacks, paths, observed.retransmissions, observed.lost_records,
        Gone(gone, _logged(observed, carried, len(paths.receiver_point))),
    )  # fmt: skip
    _forget_unlogged(observed, links, fates)
    if links is not None:
        links.enter(fates)
    if int(observed.column("point").max(initial=0)) > 0:
        _copy_to_arrivals(paths, fates)
    return fates


def _copy_to_arrivals(paths: Paths, fates: Any) -> None:
    """What came has the fate of what left; what did not arrive intact was lost all the same."""
    left = np.flatnonzero(paths.arrival >= 0)
    came = paths.arrival[left]
    both = (left != came) & (fates[left] != NO_DATA) & (fates[came] != NO_DATA)
    fates[came[both]] = fates[left[both]]


def _carried(observed: Observations) -> pd.DataFrame | None:
    """What link logs surely say of data; nothing of what a monitor heard, or missed, on the air."""
    table = observed.segment_frames
    if table is None or observed.fates is None:
        return None
    sure = (table["matched_by"] == "payload") & (table["segment"] >= 0) & (table["payload_bytes"] > 0)
    mine = table.assign(queue=observed.fates.fate)[sure.to_numpy()]
    return mine if len(mine) else None


def _logged(observed: Observations, carried: pd.DataFrame | None, connections: int) -> Any:
    """Per end, whether a link's log has packets of it."""
    logged = np.zeros(2 * connections, dtype=np.bool_)
    if carried is not None:
        rows = carried["segment"].to_numpy()
        logged[2 * observed.column("connection")[rows].astype(np.int64) + observed.column("sender")[rows]] = True
    return logged


class _Links:
    """What the links' logs show of each data segment that they carried, or never did."""

    def __init__(self, observed: Observations, carried: pd.DataFrame) -> None:
        self.observed, self.carried = observed, carried
        self.segment = carried["segment"].to_numpy()
        self.monitored = np.isin(carried["link"].to_numpy(), _monitored(observed, carried))
        self.arrived = observed.arrived[self.segment]
        self.fate = np.full(len(carried), UNKNOWN, dtype=np.int8)
        """DROPPED, FLUSHED, LOST in or behind the link, DELIVERED by the link, or UNKNOWN."""
        own = ~self.monitored
        self.fate[own & (carried["queue"] == queue_fates.DROPPED).to_numpy()] = DROPPED
        self.fate[own & (carried["queue"] == queue_fates.FLUSHED).to_numpy()] = FLUSHED
        on_air = own & (carried["queue"] == queue_fates.ON_AIR).to_numpy()
        for link in np.unique(carried["link"].to_numpy()[on_air]).tolist():
            self._follow(int(link), np.flatnonzero(on_air & (carried["link"] == link).to_numpy()))
        self._settle_between_links()

    @property
    def gone(self) -> Any:
        """Rows of segments that did not arrive, by the links' logs, and that no capture has as arrived."""
        return self.segment[np.isin(self.fate, (DROPPED, FLUSHED, LOST)) & (self.arrived < 1)]

    def _follow(self, link: int, on_air: Any) -> None:
        """What became of the packets that one link had on the air.

        A log of its far end alone does not show what is missing before them, and so not that they were delivered. Nor
        does a log that lacks frames from a packet's first on: among them may be the packet's, or a reset.
        """
        if not self._sender_logged(link):
            return
        logged_ns = self.carried["logged_ns"].to_numpy()[on_air]
        if not (logged_ns >= 0).any():
            self._flushed_by_resets(link, on_air[self.arrived[on_air] == 0])
            return
        far, first = self.observed.covered_by_receiver(link), self._first[on_air]
        self.fate[on_air[(logged_ns >= 0) & far.covers(first, logged_ns)]] = DELIVERED
        self.fate[on_air[(logged_ns == SPOILT) & self._surely_spoilt(link, on_air)]] = LOST
        never = self._never_whole(link, on_air[logged_ns == _NONE])
        never = np.union1d(never, on_air[logged_ns == MISSING])
        self.fate[never[self._given_up_later(link, never)]] = FLUSHED

    def _surely_spoilt(self, link: int, rows: Any) -> Any:
        """Of packets that came spoilt by the far end's log, which surely did.

        How a header is decompressed depends on all that came before; and among what the sender's log lacks later may be
        packets with the same frame numbers.
        """
        far, own, last = (
            self.observed.covered_by_receiver(link),
            self.observed.coverage(link, by_sender=True),
            self._last,
        )
        until_end = own.covers(self._first[rows], np.full(len(rows), own.end_ns))
        return far.covers(np.full(len(rows), far.begin_ns), last[rows]) & until_end

    @property
    def _last(self) -> Any:
        return self.carried["last_frame_ns"].to_numpy()

    @property
    def _first(self) -> Any:
        return self.carried["first_frame_ns"].to_numpy()

    def _sender_logged(self, link: int) -> bool:
        frames = self.observed.frames
        return frames is not None and bool((frames["sent"] & (frames["link"] == link)).any())

    def _never_whole(self, link: int, rows: Any) -> Any:
        """Of the packets that the far end's log lacks, those that it certainly never had whole."""
        never = [rows[self.arrived[rows] == 0]]
        for direction in self.observed.directions:
            table = deliveries(self.observed, direction, [link]) if direction.receiver_point < 0 else None
            if table is not None:
                last = table["sent_ns"].to_numpy()[table["delivered_ns"].to_numpy() >= 0].max(initial=_NONE)
                mine = np.isin(self.segment[rows], table["segment"].to_numpy())
                never.append(rows[mine & (self.carried["sent_ns"].to_numpy()[rows] < last)])
        return np.unique(np.concatenate(never))

    def _given_up_later(self, link: int, rows: Any) -> Any:
        """Whether the link was reset or released, or gave packets up, after it first had these on the air.

        By a log of its far end that has all until then; of packets that it gave up without a reset, all until its end.
        """
        observed, bearer, far = self.observed, self.observed.bearer(link), self.observed.covered_by_receiver(link)
        told = np.empty(0, dtype=np.int64)
        if observed.frames is not None:
            moves = (observed.frames["type"] == "MRW") & observed.frames["link"].isin(bearer)
            told = observed.frames["time_ns"].to_numpy()[moves.to_numpy()]
        first = self._first[rows]
        ends = np.array(sorted(end for _, end in self._resets(link)), dtype=np.int64)
        following = np.append(ends, _NONE)[np.searchsorted(ends, first)]
        moved = (following < 0) & (first <= told.max(initial=_NONE))
        until = np.where(following >= 0, following, far.end_ns)
        return ((following >= 0) | moved) & far.covers(first, until)

    def _resets(self, link: int) -> list[tuple[int, int]]:
        """Resets and releases of a link, each until its request was last repeated."""
        observed, bearer = self.observed, self.observed.bearer(link)
        found = [(start, repeated_until(observed, link, start, end)) for start, end in observed.resets(link)]
        found += [(start, end) for number, start, end, _ in observed.intervals("release") if number in bearer]
        return sorted(found)

    def _flushed_by_resets(self, link: int, rows: Any) -> None:
        """Of what did not arrive, by the sender's log alone: what the first reset after it was on the air flushed.

        What the link's sender knew to have come was lost behind it.
        """
        first, own = self._first, self.observed.coverage(link, by_sender=True)
        for start, end in self._resets(link):
            mine = rows[first[rows] <= end]
            mine = mine[own.covers(first[mine], np.full(len(mine), end))]
            known = known_to_have_come(self.observed, link, self.segment[mine], start)
            self.fate[mine[known == 1]] = LOST
            self.fate[mine[known == 0]] = FLUSHED
            rows = rows[first[rows] > end]

    def _all_frames_logged(self) -> Any:
        """Whether a log has all from each packet's first frame to its last: behind a hole new ones seem repeats."""
        first, last, known = self._first, self._last, np.zeros(len(self.fate), np.bool_)
        for link in np.unique(self.carried["link"].to_numpy()).tolist():
            mine = np.flatnonzero((self.carried["link"] == link).to_numpy())
            log = self.observed.coverage(link, by_sender=self._sender_logged(link))
            known[mine] = self.monitored[mine] | log.covers(first[mine], last[mine])
        return known

    def _settle_between_links(self) -> None:
        """Of several links that carried one segment, where no capture tells: one's loss is not the other's delivery."""
        unseen = self.arrived < 0
        delivered = np.isin(self.segment, self.segment[self.fate == DELIVERED])
        lost = np.isin(self.fate, (DROPPED, FLUSHED, LOST))
        self.fate[unseen & delivered & lost] = UNKNOWN

    def enter(self, fates: Any) -> None:
        """Enter what the links did into the fates that captures and TCP alone show."""
        before, repeats = fates[self.segment], self.carried["frame_retransmissions"].to_numpy()
        after = before.copy()
        open_ = (before == LOST) & (self.arrived < 1)
        told = open_ & np.isin(self.fate, (DROPPED, FLUSHED, LOST))
        after[told] = self.fate[told]
        damaged = (self.arrived == 0) & (self.observed.arrival[self.segment] >= 0)
        after[(before == LOST) & (self.fate == UNKNOWN) & ~self.monitored & ~damaged] = UNKNOWN
        after[(before == DELIVERED) & (repeats > 0) & self._all_frames_logged()] = REPEATED
        # Of several links that carried one segment, that counts which did something to it.
        order = np.argsort(_WEIGHT[after], kind="stable")
        fates[self.segment[order]] = after[order]


_WEIGHT = np.array([{UNKNOWN: 1, DROPPED: 2, FLUSHED: 2, REPEATED: 2}.get(code, 0) for code in range(len(FATES))])


def _monitored(observed: Observations, table: pd.DataFrame) -> list[int]:
    """The links in a table that a monitor of the air logged: what it did not hear proves nothing."""
    return [link for link in table["link"].unique().tolist() if observed.monitored(int(link))]


def _forget_unlogged(observed: Observations, links: _Links | None, fates: Any) -> None:
    """Where a link is logged, what its log does not have was lost nobody knows where, unless it came damaged."""
    logged = observed.links is not None and not all(map(observed.monitored, range(len(observed.links))))
    if logged and observed.frames is not None:
        rows = np.flatnonzero(fates == LOST)
        known = (observed.arrival[rows] >= 0) | (observed.column("checksum_ok")[rows] == 0)
        if links is not None:
            known |= np.isin(rows, links.segment)
        fates[rows[~known]] = UNKNOWN
