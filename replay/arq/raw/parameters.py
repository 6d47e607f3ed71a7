"""Parameters of the Raw link."""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.replay.arq.sr.parameters import LARGEST_HEADER, within


@dataclass(frozen=True, kw_only=True)
class RawParameters:
    """What can be chosen about a Raw link."""

    header_bytes: int = 6
    """Octets in front of the SDU."""

    def __post_init__(self) -> None:
        within("header_bytes", self.header_bytes, 0, LARGEST_HEADER)
