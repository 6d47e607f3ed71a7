"""Checks of paper 004, each with the tests that it asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from checking import Tests, form
from confidence import Sample, beats, every, not_above, within
from runs_table import NoRunsError, Row

GSM = "multitracer"
USER_RATE = 1200
"""Octets a second of RLP."""
SEGMENT, BUFFER = 512, 8192
FIRST_RTO_S, TICK_S = 6.0, 0.5


@form(r"k\*\(bursty\) > k\*\(evenly spread twin\)")
def _bursts_allow_larger_frames(row: Row) -> Tests:
    for variant in row.runs.variants(GSM, "retrace-bursts"):
        bursty, even = (
            row.runs.sample(GSM, "retrace-bursts", variant, name)
            for name in ("optimal_frame_bytes", "even_optimal_frame_bytes")
        )
        yield beats(bursty, even, row.level)


@form(r"of 200 simulated transfers .* each one at U <= 95 % has a link reset, and none has U <= 95 % with VJ off")
def _low_utilization(row: Row) -> Tests:
    compressed = _columns(row, "transfers-vj", "link.vj = yes", "utilization_percent", "link_resets")
    yield all(resets > 0 for share, resets in compressed if share <= 95)
    yield all(share > 95 for share in row.runs.each(GSM, "transfers-vj", "utilization_percent", "link.vj = no"))


def _columns(row: Row, experiment: str, holds: str, *metrics: str) -> list[tuple[float, ...]]:
    """Several metrics of every run of an experiment."""
    return list(zip(*(row.runs.each(GSM, experiment, metric, holds) for metric in metrics), strict=True))


@form("N2 of 6, 12, 30 on a channel with resets at 6: resets fall, throughput and U rise")
def _larger_n2(row: Row) -> Tests:
    def of(metric: str) -> list[Sample]:
        return [row.runs.sample(GSM, "n2", f"link.rlp.n2 = {n2}", metric) for n2 in (6, 12, 30)]

    for metric in ("throughput_bps", "utilization_percent"):
        low, *higher = of(metric)
        yield from (beats(one, low, row.level) for one in higher)
    most, *fewer = of("link_resets")
    yield from (beats(most, one, row.level) for one in fewer)
    yield all(value == 0 for sample in of("competing_recoveries") for value in sample.values)


@form("in 200 simulated transfers every TCP timeout outside the first 10 RTT samples lies within a link reset's gap")
def _timeouts_in_resets(row: Row) -> Tests:
    yield not any(row.runs.each(GSM, "transfers", "tcp_timeouts_outside_resets", "n2 = 6"))


@form("in steady state one segment delayed by 1200 ms more: no timeout in 200 placements")
def _tolerated(row: Row) -> Tests:
    yield not any(row.runs.each(GSM, "delayed-segment", "tcp_timeouts"))


@form("no TCP timeout in 200 transfers with XOFF gaps of 950-1300 ms")
def _gaps_tolerated(row: Row) -> Tests:
    yield not any(row.runs.each(GSM, "xoff", "tcp_timeouts"))


@form("unloaded RTT x rate / 512 B rounds to 2")
def _pipe(row: Row) -> Tests:
    (rtt_ms,) = row.runs.each(GSM, "pipe", "rtt_ms")
    yield round(rtt_ms / 1000 * USER_RATE / SEGMENT) == 2


@form(r"largest outstanding data = the advertised 8 kB, i\.e\. 16 x 512 B")
def _load(row: Row) -> Tests:
    for value in row.runs.each(GSM, "queue", "max_outstanding_bytes"):
        yield within(value, BUFFER - SEGMENT, BUFFER)  # whole segments need not fill it


@form(r"largest queue of the interface is 14 \+- 1 segments")
def _queue(row: Row) -> Tests:
    yield from (within(value, 13, 15) for value in row.runs.each(GSM, "queue", "max_interface_queue_segments"))


@form("a second connection opened in steady state repeats its SYN at 6 s in more than half of 200 placements")
def _second_connection(row: Row) -> Tests:
    placements = row.runs.variants(GSM, "second-connection")
    known = [sample for one in placements if (sample := _known(row, "second-connection", one, "syn_retransmission_s"))]
    repeated = [sample for sample in known if abs(sample.mean - FIRST_RTO_S) <= TICK_S]
    yield len(repeated) > len(placements) / 2


def _known(row: Row, experiment: str, variant: str, metric: str) -> Sample | None:
    try:
        return row.runs.sample(GSM, experiment, variant, metric)
    except NoRunsError:
        return None


@form(r"8 \+- 1 segments leave at once when the retransmission is acknowledged")
def _burst(row: Row) -> Tests:
    (variant,) = row.runs.variants(GSM, "local-drop", "= 14")
    yield within(row.runs.sample(GSM, "local-drop", variant, "burst_after_repair_segments").mean, 7, 9)


@form("throughput with an interface buffer below 8 kB not lower than with 50 packets")
def _local_drop_costs_nothing(row: Row) -> Tests:
    for metric in ("throughput_bps", "utilization_percent"):
        small, large = (
            row.runs.sample(GSM, "local-drop", f"tcp.interface_queue_packets = {one}", metric) for one in (14, 50)
        )
        if metric == "throughput_bps":
            yield not_above(large, small, row.level)
        else:
            yield abs(small.mean - large.mean) <= 1


@form("U < 100 % in every simulated transfer")
def _never_full(row: Row) -> Tests:
    for experiment in ("transfers", "transfers-vj"):
        yield all(value < 100 for value in row.runs.each(GSM, experiment, "utilization_percent"))


@form("no competing recovery in 200 simulated bulk transfers, channels A, B, C, N2 of 6 and 30")
def _no_competition(row: Row) -> Tests:
    yield not any(row.runs.each(GSM, "transfers", "competing_recoveries"))


@form("200 forced resets that flush data octets, VJ on: progress only after a TCP timeout and no dupack")
def _forced_resets(row: Row) -> Tests:
    shorter: list[float] = []
    for variant in row.runs.variants(GSM, "forced-reset", "link.vj = yes"):
        known = {name: _known(row, "forced-reset", variant, name) for name in (
            "link_flushed_bytes", "tcp_timeouts", "discarded_segment_dupacks", "link_recovery_hole_s",
        )}  # fmt: skip
        if not (flushed := known["link_flushed_bytes"]) or not flushed.mean:
            continue
        yield bool(known["tcp_timeouts"] and known["tcp_timeouts"].mean > 0)
        dupacks = known["discarded_segment_dupacks"]
        yield None if dupacks is None else dupacks.mean == 0
        other = _known(row, "forced-reset", variant.replace("vj = yes", "vj = no"), "link_recovery_hole_s")
        if other and known["link_recovery_hole_s"]:
            shorter.append(known["link_recovery_hole_s"].mean - other.mean)
    yield beats(_as_sample(shorter), _as_sample([0.0] * len(shorter)), row.level) if shorter else None


def _as_sample(values: Sequence[float]) -> Sample:
    return Sample(np.arange(len(values)), np.array(values))


@form(r"in each simulated local drop: cwnd 1 segment, fast retransmit without timeout, then half the value before")
def _local_drop(row: Row) -> Tests:
    metrics = (
        "cwnd_after_local_drop_segments", "fast_retransmits_after_local_drop", "local_drops", "tcp_timeouts",
        "cwnd_before_local_drop_segments", "cwnd_after_repair_segments",
    )  # fmt: skip
    for least, repaired, drops, timeouts, before, after in _columns(row, "local-drop", "= 14", *metrics):
        if drops:
            yield every([least == 1, repaired == drops, timeouts == 0, abs(after - before / 2) <= 1])
