"""Tables of runs that nobody ran: every planned point has values that are drawn, with what papers say or without."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from multitracer.replay.papers.plan import RUN_COLUMNS, Run, plan

LEVELS = {
    "rlc-sack": {
        "throughput_bps": 30_000.0, "media_delay_ms": 300.0, "tcp_retransmissions_of_held_per_mb": 20.0,
        "frame_loss_percent": 2.5, "repair_s": 0.5,
    },
    "asr": {
        "throughput_bps": 30_000.0, "media_delay_ms": 300.0, "tcp_retransmissions_of_held_per_mb": 20.0,
        "frame_loss_percent": 2.5, "link_timeouts": 50.0,
    },
    "delivery-order": {
        "goodput_bps": 30_000.0, "rtt_ms": 600.0, "tcp_retransmissions": 0.5,
        "tcp_retransmissions_of_delivered_percent": 50.0,
    },
    "rlc-web": {
        "page_goodput_bps": 79_200.0, "page_goodput_mean_bps": 40_000.0, "connection_goodput_bps": 30_000.0,
        "connection_goodput_weighted_bps": 35_000.0, "connection_goodput_quartile_bps.1": 9_000.0,
        "connection_goodput_quartile_bps.4": 40_000.0,
    },
    "multitracer": {
        "throughput_bps": 7_000.0, "utilization_percent": 96.0, "max_outstanding_bytes": 8_000.0, "rtt_ms": 850.0,
        "max_interface_queue_segments": 14.0, "burst_after_repair_segments": 8.0, "syn_retransmission_s": 6.0,
        "cwnd_before_local_drop_segments": 16.0, "cwnd_after_repair_segments": 8.0, "link_recovery_hole_s": 9.0,
        "optimal_frame_bytes": 210.0, "even_optimal_frame_bytes": 200.0,
    },
}  # fmt: skip
"""Metrics by paper, and around which value they lie."""
COUNTS = {
    "multitracer": (
        "link_resets", "tcp_timeouts", "competing_recoveries", "tcp_timeouts_outside_resets", "link_flushed_bytes",
        "discarded_segment_dupacks", "local_drops", "fast_retransmits_after_local_drop",
        "cwnd_after_local_drop_segments",
    ),
}  # fmt: skip
"""Metrics that are 0 or 1."""
LOSSES = {"0.015": 1, "0.1": 1, "0.025": 2, "0.2": 2, "0.054": 3, "0.5": 3, "0.098": 4, "1.0": 4}
POLICIES = {False: ("3+2", "4+0", "2+4", "4+2", "1+4"), True: ("4+0", "3+2", "4+2", "2+4", "1+4")}
"""Of ASR, the best first; True: with Two State."""


def made_runs(paper: str, seed: int) -> pd.DataFrame:
    """The table; the seed says, beside what is drawn, how far apart points and runs lie."""
    random = np.random.default_rng(seed)
    spread, noise = (0.0, 0.02, 0.1, 0.4)[seed % 4], (0.0, 0.005, 0.05, 0.3)[seed // 4 % 4]
    told = seed % 2 == 0 and paper in ("rlc-sack", "asr")
    rows = []
    for run in plan(paper, "quick"):
        count = len(run.seeds)
        for metric, level in LEVELS[paper].items():
            said = told and metric == "throughput_bps"
            centre = _as_published(run) + 300 * spread * random.normal() if said else level
            centre *= 1 if said else np.exp(spread * random.normal())
            rows += _rows(run, metric, centre * (1 + noise * random.normal(size=count)))
        for metric in COUNTS.get(paper, ()):
            rows += _rows(run, metric, random.integers(0, 2, size=count) * (random.random() < spread) + 0.0)
    return pd.DataFrame(rows, columns=list(RUN_COLUMNS))


def _rows(run: Run, metric: str, values: np.ndarray) -> list[tuple[object, ...]]:
    shared = run.paper, run.experiment, run.variant, ""
    return [(*shared, seed, metric, value) for seed, value in zip(run.seeds, values, strict=True)]


def _as_published(run: Run) -> float:
    """A throughput about as papers 000 and 003 order their options."""
    bursts, media = "two-state" in run.experiment, "enabled = yes" in run.variant
    losses = LOSSES.get(run.variant.rpartition("= ")[2], 0)
    family, _, option = re.sub(" uniform| two-state", "", run.variant.partition(",")[0]).partition(" ")
    if family == "rlc":
        best = (1 if bursts or losses < 3 else 2) + (run.paper == "rlc-sack")
        return 30_000 - (3400 if bursts else 1500) * losses - 500 * abs(int(option) - best) * (losses > 0)
    if family == "sr":
        seconds, _, simpler = option.partition(" ")
        worse = 1.3 - float(seconds) if media else float(seconds) - 0.9
        return 31_000 - 1000 * losses - 5000 * worse - 1000 * bool(simpler)
    if family == "asr":
        policy, _, floating = option.partition(" ")
        return 32_000 - 900 * losses - 400 * POLICIES[bursts].index(policy) - 10 * bool(floating)
    return 30_000 - (4000 if bursts else 7000) * losses
