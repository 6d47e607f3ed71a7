"""The link layer's part of the analysis: from logged frames to the segments they carried, and the accounting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.accounting.session import Accounting, Logged, Transfer, account
from multitracer.analysis.captures import Captures
from multitracer.analysis.logs import LinkLog, Logs
from multitracer.analysis.streams import Streams
from multitracer.link.coverage import Coverages
from multitracer.link.events import RESET, intervals
from multitracer.link.pace import Pace, first_stated
from multitracer.link.silence import long_silences
from multitracer.link.summary import rows
from multitracer.link.timing import Timing, timing
from multitracer.link.window import full_window, window_is_known
from multitracer.model.analysis import Links, SegmentFrames
from multitracer.model.schema import empty

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.correlation.segment_frames import Correlation, LinkMatch


@dataclass(frozen=True)
class LinkLayer:
    """Results from the links' logs; `log` and `intervals` are None without one, `segment_frames` without a capture."""

    log: LinkLog | None = None
    intervals: pd.DataFrame | None = None
    timings: Mapping[int, Timing] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The rows of links[] in the summary, without the accounting."""
    main: int | None = None
    """The link (one direction) with most user data."""
    matches: Mapping[int, LinkMatch] = field(default_factory=dict)
    """By link, the packets that it carried and their segments."""
    segment_frames: pd.DataFrame | None = None
    notes: list[str] = field(default_factory=list)
    log_error_ns: dict[tuple[int, bool, int], int] = field(default_factory=dict)
    """What `Observations.log_error_ns` says."""

    @property
    def accounted(self) -> int:
        """The link whose accounting is the session's; -1, the path's by its rate, without a link or with a monitor's.

        Of a shared channel nobody knows how long it was taken, nor what the monitor did not hear.
        """
        if self.main is None or self.log is None:
            return -1
        return -1 if str(self.log.links["protocol"].iat[self.main]) == "wifi" else self.main

    @property
    def resets_ns(self) -> Any:
        """When the accounted link was reset, in order."""
        if self.log is None or self.intervals is None:
            return np.empty(0, dtype=np.int64)
        both = (self.accounted, int(self.log.links["reverse"].iat[self.accounted]))
        mine = (self.intervals["kind"] == RESET) & self.intervals["link"].isin(both)
        return np.sort(self.intervals["start_ns"].to_numpy()[mine.to_numpy()])

    def silences_ns(self, link: int) -> Any:
        """After which frames a link's sender had no data for so long that it took all for acknowledged, in order."""
        if self.log is None:
            return np.empty(0, dtype=np.int64)
        return long_silences(self.log.frames, self.log.links, link)

    @property
    def rtt_ns(self) -> int | None:
        """The least round trip time of the main link; None if unknown."""
        return None if self.main is None else self.timings[self.main].rtt_ns


def join_layers(captures: Captures, streams: Streams, logs: Logs) -> LinkLayer:
    """Find each link's intervals, timing and counts, and the segments that its frames carried."""
    if logs.link is None:
        return LinkLayer()
    links, frames, events = logs.link.links, logs.link.frames, logs.link.events
    stops = intervals(frames, events, links)
    named = zip(*(links[name].tolist() for name in ("link", "reverse", "protocol")), strict=True)
    timings = {
        link: timing(frames, link, reverse, str(protocol), _told(logs, frames, link))
        for link, reverse, protocol in named
    }
    counted = rows(links, frames, stops, timings)
    if not len(captures.segments):
        return LinkLayer(logs.link, stops, timings, counted, _main(counted, frames))
    errors = _log_errors(captures.alignment.worsts_ns, logs, frames)
    found = _correlated(captures, streams, logs.link, errors)
    carried = _with_missing(found, logs.link, stops, timings, errors)
    main = _main(counted, frames, carried)
    return LinkLayer(logs.link, stops, timings, counted, main, found.links, carried, found.notes, errors)


def _with_missing(
    found: Correlation, log: LinkLog, stops: pd.DataFrame, timings: Mapping[int, Timing],
    errors: Mapping[tuple[int, bool, int], int],
) -> pd.DataFrame:  # fmt: skip
    """The segments with their frames, those marked that were given up before one of their frames had come."""
    from multitracer.correlation.missing_frames import NUMBERED_WHOLE, with_missing

    table, covered = found.segment_frames, Coverages(log.frames, log.links)
    for link, match in found.links.items():
        trip, bearer = timings[link].rtt_ns, (link, int(log.links["reverse"].iat[link]))
        if trip is not None and str(log.links["protocol"].iat[link]) in NUMBERED_WHOLE:
            resets = stops[((stops["kind"] == RESET) & stops["link"].isin(bearer)).to_numpy()]
            over_ns = np.sort(resets["end_ns"].to_numpy())
            error_ns = max((error for (one, sent, _), error in errors.items() if one == link and sent), default=None)
            table = with_missing(table, match, log.frames, covered, over_ns, trip, error_ns)
    return table


def _told(logs: Logs, frames: pd.DataFrame, link: int) -> Pace:
    """How long a frame takes by the header of a log of the link, the sender's before the receiver's."""
    own = frames[frames["link"] == link]
    named = [log for sent in (True, False) for log in np.unique(own.loc[own["sent"] == sent, "input"]).tolist()]
    return first_stated(logs.inputs[log].recording.metadata for log in named)


def _correlated(
    captures: Captures, streams: Streams, log: LinkLog, errors: Mapping[tuple[int, bool, int], int]
) -> Correlation:
    from multitracer.correlation.segment_frames import correlate  # with the coding of all link protocols

    tables = {"packets": captures.packets, "flows": captures.flows, "frames": log.frames, "links": log.links}
    largest = []
    for point in range(len(captures.alignment.clocks)):
        known = [errors.get((link, sent, point), -1) for link, sent in _logged(log.frames)]
        largest.append(-1 if min(known, default=-1) < 0 else max(known))
    return correlate(tables, streams.segments, streams.connections, streams.paths, largest)


def _log_errors(worsts: list[int], logs: Logs, frames: pd.DataFrame) -> dict[tuple[int, bool, int], int]:
    """The bounds of `Observations.log_error_ns`: each point's against the reference and each log's, added."""
    found: dict[tuple[int, bool, int], int] = {}
    for (link, sent), numbers in _logged(frames).items():
        clocks = [logs.inputs[number].clock for number in numbers]
        known = [clock.worst_s for clock in clocks if clock is not None and clock.worst_s is not None]
        if len(known) == len(clocks):
            log = int(np.ceil(max(known) * 1e9))
            found |= {(link, sent, point): worst + log for point, worst in enumerate(worsts) if worst >= 0}
    return found


def _logged(frames: pd.DataFrame) -> dict[tuple[int, bool], list[int]]:
    """The inputs that logged each link, by link and whether its sender wrote them."""
    numbers = frames.groupby(["link", "sent"])["input"].unique()
    return {(int(link), bool(sent)): inputs.tolist() for (link, sent), inputs in numbers.items()}


def _main(found: list[dict[str, Any]], frames: pd.DataFrame, carried: pd.DataFrame | None = None) -> int | None:
    """The link with most data; None without links.

    That is what it `carried` of captured transfers, as a link may carry more of what was not captured the other way.
    Of equal ones it is that with most user data, sent or received, whichever its logs have more of.
    """
    if not found:
        return None
    payload = frames["payload_bytes"].clip(lower=0).groupby([frames["link"], frames["sent"]]).sum()
    captured: dict[int, int] = {}
    if carried is not None:
        first = carried[((carried["segment"] >= 0) & (carried["transmission"] == 0)).to_numpy()]
        captured = first["payload_bytes"].clip(lower=0).groupby(first["link"]).sum().to_dict()

    def data(row: dict[str, Any]) -> tuple[int, int]:
        return captured.get(row["id"], 0), max(payload.get((row["id"], sent), 0) for sent in (True, False))

    return int(max(found, key=data)["id"])


def told_by_link(streams: Streams, layer: LinkLayer) -> Streams:
    """The streams with the verdicts on retransmissions that the link's log gives where the captures do not.

    Packets found by their sizes alone may be others; what a monitor of the air did not hear may have come.
    """
    carried = layer.segment_frames
    if carried is None or layer.log is None or layer.accounted < 0 or not len(streams.retransmissions):
        return streams
    from multitracer.correlation.link_verdicts import Capture, with_link_verdicts

    capture = Capture(streams.segments, streams.groups.rows, streams.paths)
    sure = carried[(carried["matched_by"] == "payload").to_numpy()]
    reverse = dict(zip(layer.log.links["link"].tolist(), layer.log.links["reverse"].tolist(), strict=True))
    resent = with_link_verdicts(streams.retransmissions, capture, sure, reverse, layer.log_error_ns)
    return replace(streams, retransmissions=resent)


def account_links(layer: LinkLayer, streams: Streams, tcp_state: pd.DataFrame) -> dict[int, Accounting]:
    """The accounting of every link whose sender logged, by link."""
    transfer = Transfer(
        streams.segments, streams.connections, streams.retransmissions, tcp_state, streams.paths, streams.groups
    )
    if layer.log is None or layer.intervals is None:
        return {}
    made: dict[int, Accounting] = {}
    links, frames = layer.log.links, layer.log.frames
    for link, reverse in zip(links["link"].tolist(), links["reverse"].tolist(), strict=True):
        full = full_window(frames, links, link, reverse)
        known = window_is_known(links, link)
        logged = Logged(link, reverse, frames, layer.intervals, full, layer.timings[link], known)
        one = account(
            logged, layer.matches.get(link), layer.segment_frames, transfer if len(streams.segments) else None
        )
        if one is not None:
            made[link] = one
    return made


def link_tables(layer: LinkLayer, accounts: Mapping[int, Accounting]) -> dict[str, pd.DataFrame]:
    """The link layer's tables by name, empty without a log."""
    import pandas as pd

    tables = {name: empty(name) for name in ("links", "frames", "link_events", "segment_frames", "accounting")}
    if layer.log is not None:
        tables |= {"links": layer.log.links, "frames": layer.log.frames, "link_events": layer.log.events}
    if layer.segment_frames is not None:
        tables["segment_frames"] = layer.segment_frames
    if accounts:
        tables["accounting"] = pd.concat([one.table for one in accounts.values()], ignore_index=True)
    return tables


def conclude_links(
    layer: LinkLayer, accounts: Mapping[int, Accounting], segments: pd.DataFrame, coverages: Coverages | None
) -> Links:
    """The links' results as the summary and the report read them."""
    main = accounts.get(layer.accounted)
    counted = [{**row, **_accounted(accounts.get(row["id"]))} for row in layer.rows]
    return Links(
        counted, layer.main, main.shares if main else None, main.utilization if main else None,
        None if layer.main is None else layer.timings[layer.main].rate_bps, layer.intervals, layer.notes,
        _frames_of_segments(layer, segments), layer.log.by_sender if layer.log else frozenset(),
        coverages.received if coverages else None,
    )  # fmt: skip


def _accounted(one: Accounting | None) -> dict[str, Any]:
    """The accounting's part of one row of links[]."""
    return {"accounting": one.shares if one else None, "utilization": one.utilization if one else None}


def _frames_of_segments(layer: LinkLayer, segments: pd.DataFrame) -> dict[int, SegmentFrames]:
    """Of each link whose sender logged: the frames of each segment with data, by the packets' first transmission."""
    has_data = segments["payload_bytes"].to_numpy() > 0
    found = {link: _frames_of(match, has_data) for link, match in layer.matches.items() if match.sender_logged}
    return {link: pairs for link, pairs in found.items() if len(pairs.frame)}


def _frames_of(match: LinkMatch, has_data: Any) -> SegmentFrames:
    carried = np.flatnonzero((match.segments >= 0) & has_data[match.segments])
    frames = [match.packets[packet].rows for packet in carried.tolist()]
    nothing = np.zeros(0, dtype=np.int64)
    return SegmentFrames(
        np.concatenate([nothing, *frames]), np.repeat(match.segments[carried], [len(rows) for rows in frames])
    )
