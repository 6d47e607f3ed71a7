"""What the recorder needs of a link protocol whose runs can be recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from multitracer.link.pace import Pace
from multitracer.replay.arq.notes import Log
from multitracer.replay.engine.driver import Engine
from multitracer.replay.record.instruments import Happening, Medium
from multitracer.replay.retrace.models import Air

Reader: TypeAlias = Callable[[Log], Iterator[Happening]]
"""What happened according to the next part of a run's log."""


class Recorder(Protocol):
    """One link protocol; the table of protocols in `replay/retrace/__init__.py` names its recorder."""

    def check(self, frame_bytes: int) -> None:
        """Raise UsageError for frames that its logs cannot hold."""

    def engine(self, model: Any, air: Air, opportunities: int) -> Engine:
        """Both ends of a model of retrace, not yet run, with room in the log for so many opportunities at a time."""

    def medium(self, parameters: Any, pace: Pace) -> Medium:
        """How frames of entities with these parameters, sent at that pace both ways, are logged and captured."""

    def reader(self, parameters: Any) -> Reader:
        """Reads the log of one run, part by part."""
