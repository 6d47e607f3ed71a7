"""What a user can state beside the recordings: roles, clocks, a window, thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from multitracer.model.thresholds import Thresholds

Role: TypeAlias = Literal["sender", "receiver"]
Progress: TypeAlias = Callable[[str, float], None]
"""Called with the name of a step and the share of the work done before it, 0 to 1."""


@dataclass(frozen=True)
class AnalyzeOptions:
    """How to analyse one trace; nothing here says where results go. Paths are those given as inputs."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    """Which side an input was recorded on, by path."""
    from_s: float | None = None
    """Start of the window to analyse, in seconds after the trace's start."""
    to_s: float | None = None
    """End of the window, in seconds after the trace's start."""
    connections: tuple[int, ...] = ()
    """The connections to keep, by number; all when empty."""
    clocks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """An input's clock minus the reference (seconds) and its drift against it (ppm), by path."""
    anonymize: bool = False
    """Replace addresses, file names and bearers by made-up ones, the same everywhere."""
    link_rate_bps: float | None = None
    """The link's rate where no log of its frames shows it."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    """What the findings are judged by."""
    fates: bool = True
    """Find what became of each segment; tables and report say it, the summary does without."""

    @property
    def cuts(self) -> bool:
        """Whether a part of the recordings is left out."""
        return bool(self.connections) or self.from_s is not None or self.to_s is not None

    @property
    def in_this_part(self) -> str:
        """What is added to a sentence that holds of the part of the time that is looked at; empty where it is all."""
        return "" if self.from_s is None and self.to_s is None else " in this part of the time"
