"""The content of retrace.json, and the function by which notebooks get it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.model.short_texts import Document
from multitracer.replay.erasures.loading import load_all
from multitracer.replay.erasures.trace import ErasureTrace, bursts
from multitracer.replay.retrace.result import Retraced
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import retrace as retrace_traces


def retrace(
    erasures: str | Path | ErasureTrace | Sequence[bool] | Sequence[str | Path | ErasureTrace], **settings: Any
) -> dict[str, Any]:
    """Erasure traces through a link model at many frame sizes; the content of retrace.json, shortened where shown.

    `erasures` is a path (or several) of what `multitracer retrace` reads, an ErasureTrace (or several), or
    one bool a block. `settings` are those of multitracer.replay.retrace.settings.Settings: model, frame_bytes,
    overhead, rtt_ms, parameters, resamples, baseline_bytes, jobs.
    """
    traces, reverse = _given(erasures)
    return Document(document(retrace_traces(traces, Settings(**settings), reverse)))


def _given(erasures: Any) -> tuple[list[ErasureTrace], dict[str, ErasureTrace]]:
    given: list[Any] = [erasures] if isinstance(erasures, str | Path | ErasureTrace) else list(erasures)
    if all(isinstance(one, str | Path) for one in given):
        return load_all([str(one) for one in given])
    if all(isinstance(one, ErasureTrace) for one in given):
        return given, {}
    return [ErasureTrace("erasures", np.asarray(erasures).astype(np.bool_))], {}


def document(found: Sequence[Retraced]) -> dict[str, Any]:
    """retrace.json."""
    return {"traces": [_row(one) for one in found]}


def _row(one: Retraced) -> dict[str, Any]:
    trace = one.trace
    bps = [None if exact is None else float(exact) for exact in one.exact_bps]
    return {
        "name": trace.name,
        "blocks": len(trace.erased),
        "block_bytes": trace.block_bytes,
        "block_ms": trace.block_ms,
        "minutes": trace.minutes,
        "erased": trace.count,
        "error_rate": trace.count / len(trace.erased),
        "bursts": bursts(trace.erased),
        "model": one.settings.model,
        "parameters": one.parameters,
        "throughput_bps": dict(zip(map(str, one.sizes), bps, strict=True)),
        "ci95_bps": dict(zip(map(str, one.sizes), one.ci95_bps, strict=True)),
        "optimal_frame_bytes": one.optimal_frame_bytes,
        "plateau_frame_bytes": one.plateau,
        "optimal_ci95_bytes": one.optimal_ci95_bytes,
        "gain_percent": one.gain_percent,
        "gain_ci95_percent": one.gain_ci95_percent,
        "baseline_frame_bytes": one.sizes[one.baseline],
        "each_minute": _each_minute(one),
        "counts": {str(size): found for size, found in sorted(one.counts.items())},
        "warnings": {str(size): list(said) for size, said in sorted(one.warnings.items())},
        "no_interval": {str(size): why for size, why in sorted(one.no_interval.items())},
        "ended": {str(size): why for size, why in sorted(one.ended.items())},
        "notes": [*trace.notes, *one.left_out],
    }


def _each_minute(one: Retraced) -> dict[str, Any]:
    minutes = zip(one.by_minute.chosen, one.by_minute.known, strict=True)
    chosen = [one.sizes[place] if known else None for place, known in minutes]
    return {"optimal_frame_bytes": chosen, **one.by_minute.gains()}
