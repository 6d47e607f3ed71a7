"""The steps of the analysis, from the recorded trace to the conclusions.

    packets -> points -> connections, segments -> clocks                                      captures
    segments -> measures -> paths -> retransmissions                                          streams
    TCP state, frames -> clocks, numbered frames                                              logs
    frames -> packets that they carried -> segment_frames                                     link_layer
    all of it -> accounting of the time
    with --from, --to or --connection: select packets, logs and accounting, and join again    window
    (but the fates of segments are those of the whole)
    segments, paths, retransmissions -> what limited each direction
    all of it -> findings, in chains -> who is to blame for the time -> the analysis

A step returns new values and does not change its arguments; unchanged columns are shared, not copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from multitracer import findings
from multitracer.accounting.blame import Resends, find_blame
from multitracer.accounting.by_rate import Captured, account_by_rate
from multitracer.accounting.deliveries import LinkLog
from multitracer.accounting.limits import Told, find_limits
from multitracer.accounting.logged_windows import with_windows
from multitracer.accounting.session import Accounting
from multitracer.analysis.anonymize import anonymize_analysis, rename_inputs
from multitracer.analysis.captures import Captures, place_captures
from multitracer.analysis.early_times import without_negative_times
from multitracer.analysis.link_layer import (
    LinkLayer,
    account_links,
    conclude_links,
    join_layers,
    link_tables,
    told_by_link,
)
from multitracer.analysis.logs import Logs, place_logs, told_by_sender
from multitracer.analysis.missing_inputs import missing_inputs
from multitracer.analysis.streams import Streams, directions, ends, follow_streams, largest_end, pair_errors
from multitracer.analysis.window import cut_accounts, cut_captures, cut_logs, segments_in, window_of
from multitracer.analysis.wrong_inputs import check_usable, noted
from multitracer.compute.arrays import with_columns
from multitracer.compute.threads import together
from multitracer.correlation.delivery import ALWAYS_IN_SEQUENCE
from multitracer.findings import Findings
from multitracer.findings.directions import Directions
from multitracer.findings.observations import Observations
from multitracer.findings.segment_fates import segment_fates
from multitracer.link.coverage import Coverages
from multitracer.model.analysis import Analysis, Blame
from multitracer.model.limits import Limits
from multitracer.model.options import AnalyzeOptions, Progress
from multitracer.model.trace import Trace
from multitracer.tcp.kernel_clocks import kernel_clocks
from multitracer.vantage.paths import path_numbers


@dataclass(frozen=True)
class Joined:
    """All layers on one clock, of the whole trace or of a part of it."""

    captures: Captures
    streams: Streams
    logs: Logs
    layer: LinkLayer
    accounts: Mapping[int, Accounting]
    """By link; -1 is the accounting by the path's rate."""
    limits: Limits
    """What limited each direction, from the captures alone."""


def analyze(trace: Trace, options: AnalyzeOptions | None = None, progress: Progress | None = None) -> Analysis:
    """Analyse a trace: which layer was responsible, when, and on what evidence.

    `progress` is called with each step and the fraction done. Raises UsageError if the options ask for a part
    without packets, or for a connection that does not exist; NoUsableInputError if no input has anything to analyse.
    """
    check_usable(trace)
    trace = without_negative_times(trace)
    options, progress = options or AnalyzeOptions(), progress or _silent
    if options.anonymize:
        trace, options = rename_inputs(trace, options)
    whole = join_all(trace, options, progress)
    origin_ns, usual_rtt_ns = first_ns(whole), 0
    part = whole
    if options.cuts:
        part, usual_rtt_ns = cut(whole, options, origin_ns, progress), least_rtt_ns(directions(whole.streams))
    progress("looking for findings", 0.9)
    observed = observations(part, options, usual_rtt_ns)
    found, streams = together(
        lambda: findings.find(observed), lambda: with_fates(observed, whole, part, options, origin_ns)
    )
    found, blame = blamed(part, found)
    part = replace(part, streams=streams)
    analysis = conclude(trace, part, Concluded(found, blame, observed.coverages), options, origin_ns)
    return anonymize_analysis(analysis) if options.anonymize else analysis


def _silent(_: str, __: float) -> None:
    pass


def join_all(trace: Trace, options: AnalyzeOptions, progress: Progress) -> Joined:
    """Put all captures and logs on one clock, and join the layers."""
    captures = place_captures(trace, options, progress)
    streams = follow_streams(captures, progress)
    progress("joining the layers", 0.6)
    logs = noted(place_logs(trace, captures, streams, options), captures)
    streams = told_by_sender(streams, logs)
    layer = join_layers(captures, streams, logs)
    streams = told_by_link(streams, layer)
    limits = limits_of(captures, streams, logs, layer, options)
    if layer.accounted >= 0:
        accounts = account_links(layer, streams, logs.tcp_state)
    else:
        accounts = account_path(captures, streams, logs, limits)
    return Joined(captures, streams, logs, layer, _of_sessions(accounts), limits)


def cut(whole: Joined, options: AnalyzeOptions, origin_ns: int, progress: Progress) -> Joined:
    """The part that the options select: its packets and log records, joined again, and its accounting."""
    window = window_of(options, origin_ns)
    captures = cut_captures(whole.captures, window, origin_ns, other_logs=whole.logs.link is not None)
    streams = told_by_sender(follow_streams(captures, progress), whole.logs)
    progress("joining the layers", 0.6)
    logs = cut_logs(whole.logs, window)
    layer, accounts = join_layers(captures, streams, logs), cut_accounts(whole.accounts, window)
    streams = told_by_link(streams, layer)
    limits = limits_of(captures, streams, logs, layer, options, whole.limits)
    return Joined(captures, streams, logs, layer, _of_sessions(accounts), limits)


def with_fates(observed: Observations, whole: Joined, part: Joined, options: AnalyzeOptions, origin_ns: int) -> Streams:
    """The part's streams whose segments have their fates, if the options ask for these.

    The whole trace tells them: an earlier copy may lie before the window.
    """
    if not options.fates:
        return part.streams
    if not options.cuts:
        fates = segment_fates(observed, part.streams.paths, part.captures.sack)
    else:
        seen = observations(whole, options, 0)
        kept = segments_in(whole.captures, window_of(options, origin_ns))
        fates = segment_fates(seen, whole.streams.paths, whole.captures.sack)[kept]
    return replace(part.streams, segments=with_columns(part.streams.segments, fate=fates))


def _of_sessions(accounts: Mapping[int, Accounting]) -> dict[int, Accounting]:
    """The accountings of sessions that last: of no time there are no shares."""
    return {link: one for link, one in accounts.items() if one.utilization["session_s"] > 0}


def first_ns(joined: Joined) -> int:
    """The earliest time (ns) of all segments and log records on the reference clock; 0 without any."""
    link = joined.logs.link
    tables = [joined.streams.segments, joined.logs.tcp_state, *((link.frames, link.events) if link else ())]
    return min((int(table["time_ns"].min()) for table in tables if len(table)), default=0)


def least_rtt_ns(seen: Directions) -> int:
    """The largest of the connections' least round trip times, in ns; 0 if unknown."""
    return int(seen.least_rtt_ns.max(initial=0))


def observations(joined: Joined, options: AnalyzeOptions, usual_rtt_ns: int) -> Observations:
    """The input of the detectors; `usual_rtt_ns` is that of the whole trace if this is a part of it, else 0."""
    streams, layer, log = joined.streams, joined.layer, joined.layer.log
    main, seen = main_account(joined), directions(streams)
    windows = with_windows(streams.segments, joined.logs.tcp_state, streams.groups, streams.paths)
    return Observations(
        streams.segments, streams.connections, streams.retransmissions, seen, streams.paths.arrival,
        streams.paths.arrived, pair_errors(joined.captures.alignment, seen), layer.log_error_ns,
        links=log.links if log else None, frames=log.frames if log else None, link_intervals=layer.intervals,
        segment_frames=layer.segment_frames, accounting=main.table if main else None, link_rtt_ns=layer.rtt_ns,
        timings=layer.timings,
        groups=streams.groups, limits=joined.limits, lost_records=joined.captures.lost, usual_rtt_ns=usual_rtt_ns,
        thresholds=options.thresholds, cwnd_bytes=windows["cwnd_bytes"].to_numpy() if "cwnd_bytes" in windows else None,
    )  # fmt: skip


def limits_of(
    captures: Captures, streams: Streams, logs: Logs, layer: LinkLayer, options: AnalyzeOptions,
    whole: Limits | None = None,
) -> Limits:  # fmt: skip
    """What limited each direction, from the captures, the senders' windows and the log of the link.

    `whole` is that of the whole trace if this is a part of it: the part alone may not show the rates of paths.
    """
    logs_of_link = []
    if layer.accounted >= 0 and layer.segment_frames is not None and layer.log is not None:
        reverse = int(layer.log.links["reverse"].iloc[layer.accounted])
        for link in (layer.accounted, reverse) if reverse >= 0 else (layer.accounted,):
            frame_ns = layer.timings[link].frame_ns or 0
            in_sequence = str(layer.log.links["protocol"].iat[link]) in ALWAYS_IN_SEQUENCE
            logs_of_link.append(
                LinkLog(link, layer.segment_frames, frame_ns, layer.resets_ns, in_sequence, layer.silences_ns(link))
            )
    path_of = partial(path_numbers, streams.connections, captures.flows)
    return find_limits(
        with_windows(streams.segments, logs.tcp_state, streams.groups, streams.paths), captures.sack,
        streams.measures, streams.groups, streams.paths, streams.retransmissions,
        Told(options.link_rate_bps, logs_of_link, path_of, whole.shown_bps() if whole else None),
        options.thresholds.limited_rtts,
    )  # fmt: skip


def account_path(captures: Captures, streams: Streams, logs: Logs, limits: Limits) -> dict[int, Accounting]:
    """The accounting by the path's rate, of the host that sent most data; none where that is not known."""
    end = largest_end(streams)
    if end is None:
        return {}
    captured = Captured(
        with_windows(streams.segments, logs.tcp_state, streams.groups, streams.paths), captures.sack,
        streams.connections, streams.measures, streams.retransmissions, streams.groups, streams.paths,
    )  # fmt: skip
    found = account_by_rate(end, limits, captured)
    return {} if found is None else {found.link: found}


def blamed(joined: Joined, found: Findings) -> tuple[Findings, list[Blame] | None]:
    """The findings with the time lost to each, and who is to blame; without an accounting neither is known."""
    main = main_account(joined)
    if main is None:
        return found, None
    lost, blame = find_blame(main, found.table, resends_on_air(joined, main, found))
    return found._replace(table=found.table.assign(lost_s=lost)), blame


def resends_on_air(joined: Joined, main: Accounting, found: Findings) -> Resends:
    """When the link carried what TCP sent again; without a log's frames when it was on its way."""
    streams, table = joined.streams, joined.layer.segment_frames
    segment = streams.retransmissions["segment"].to_numpy()
    if main.link < 0 or table is None:
        return Resends(*(np.empty(0, dtype=np.int64) for _ in Resends._fields))
    finding = np.full(len(streams.segments), -1, dtype=np.int64)
    finding[segment] = found.resent_for
    table = table[((table["link"] == main.link) & (table["segment"] >= 0) & (table["first_frame_ns"] >= 0)).to_numpy()]
    frame_ns = joined.layer.timings[main.link].interval_ns or 0
    return Resends(
        table["first_frame_ns"].to_numpy(), table["last_frame_ns"].to_numpy() + frame_ns,
        finding[table["segment"].to_numpy()],
    )  # fmt: skip


def main_account(joined: Joined) -> Accounting | None:
    """The accounting of the link that carried most data, or by the stated rate."""
    return joined.accounts.get(joined.layer.accounted)


class Concluded(NamedTuple):
    """What the layers together show."""

    found: Findings
    blame: list[Blame] | None
    coverages: Coverages | None
    """What the links' logs cover, as far as the findings asked for it; the report asks again."""


def conclude(trace: Trace, joined: Joined, concluded: Concluded, options: AnalyzeOptions, origin_ns: int) -> Analysis:
    """The result with all tables, as the summary and the report read it."""
    captures, streams, logs = joined.captures, joined.streams, joined.logs
    links = conclude_links(joined.layer, joined.accounts, streams.segments, concluded.coverages)
    clocks = kernel_clocks(logs.tcp_state, len(streams.connections), of_part=options.from_s is not None)
    tables = {
        "segments": streams.segments, "sack": captures.sack, "tcp_state": logs.tcp_state,
        "retransmissions": streams.retransmissions, "connections": streams.connections,
        "findings": concluded.found.table, **link_tables(joined.layer, joined.accounts),
    }  # fmt: skip
    missing = missing_inputs(tables, options, accounted=links.shares is not None, link_logged=logs.link is not None)
    part = Trace(logs.inputs, {**trace.tables, "packets": captures.packets}, trace.shift_ns)
    return Analysis(
        part, tables, streams.paths, ends(streams, joined.limits, clocks), links, origin_ns, options, missing,
        concluded.found.not_looked_for, concluded.blame,
    )  # fmt: skip
