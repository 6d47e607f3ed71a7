"""A host's two clocks at one moment, as a recording of its settings has them: they place logs in the host's uptime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multitracer.model.trace import Clock, ClockPiece, Input

CAPTURE_DELAY_NS = 1_000_000
"""Upper bound of the delay between packet capture and tracepoint on an idle host."""


def clock_by_settings(entry: Input, inputs: Sequence[Input], reference: str, start_ns: int) -> Clock | None:
    """The clock of a log in uptime, from `start_ns` on, by the settings that were recorded in its folder, if any.

    The calendar of that host is taken to be the reference clock's, as for logs that are in calendar time.
    """
    folder = Path(entry.path).parent
    for one in inputs:
        if one.recording.format == "machine" and Path(one.path).parent == folder:
            offsets = _offsets(one.recording.metadata)
            if offsets:
                offset, spread = sum(offsets) // len(offsets), max(offsets) - min(offsets)
                error = (spread + CAPTURE_DELAY_NS) / 1e9
                how = f"placed by both clocks of the host in {one.path}, its calendar taken to be the capture's"
                return Clock(reference, offset / 1e9, 0.0, error, error, how, (ClockPiece(start_ns, offset),))
    return None


def _offsets(settings: dict[str, Any]) -> list[int]:
    """Uptime minus calendar at each moment, ns; none where they are missing or no whole numbers."""
    tracing = settings.get("tracing")
    if not isinstance(tracing, dict) or tracing.get("clock") != "mono":
        return []
    mono, real = (tracing.get(name) for name in ("mono_ns", "real_ns"))
    if not isinstance(mono, list) or not isinstance(real, list) or len(mono) != len(real):
        return []
    return [a - b for a, b in zip(mono, real, strict=True)] if all(map(_is_time, [*mono, *real])) else []


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
