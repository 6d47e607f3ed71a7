"""Parameters of the Raw link."""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.replay.arq.sdu_queue import ROOM
from multitracer.replay.arq.sr.parameters import LARGEST_HEADER, within


@dataclass(frozen=True, kw_only=True)
class RawParameters:
    """What can be chosen about a Raw link."""

    header_bytes: int = 6
    """Octets in front of the SDU."""
    queue_sdus: int = ROOM
    """SDUs that wait, at most."""

    def __post_init__(self) -> None:
        within("header_bytes", self.header_bytes, 0, LARGEST_HEADER)
        within("queue_sdus", self.queue_sdus, 1, ROOM)
