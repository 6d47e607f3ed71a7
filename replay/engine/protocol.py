"""The kernels that every protocol's machine has, as the loop calls them.

They stand here for readers and type checkers alone: `loop.bind` puts a protocol's own in their place. `e` is an
entity, a record or a named tuple of records and arrays with a field `above` (see `arq.stretches`); times are in ns.
"""

from __future__ import annotations

from typing import Any

KERNELS = (
    "offer", "wants", "next_frame", "carries_data", "on_air", "receive", "next_timer", "expire", "total_delivered",
    "note", "copy_frame", "span", "gone", "restarted",
)  # fmt: skip


def offer(e: Any, sdu: int, start: int, octets: int, now: int) -> int:
    """Take SDU number `sdu`, which begins at octet `start` of the direction's stream; 0 when there is no room."""
    raise NotImplementedError


def wants(e: Any, octets: int) -> int:
    """Whether too little waits to fill the next opportunity, and an SDU of `octets` octets would have room."""
    raise NotImplementedError


def next_frame(e: Any, frame: Any, now: int) -> int:
    """Write the frame of this opportunity: its octets on the air, 0 for none, negative for one that only fills it."""
    raise NotImplementedError


def carries_data(frame: Any) -> int:
    """1 for a frame with octets of SDUs, 0 for a control frame."""
    raise NotImplementedError


def on_air(e: Any, frame: Any, end: int) -> None:
    """Tell the entity that a frame of its own leaves the device's queue, and is on the air, or dropped, at `end`."""
    raise NotImplementedError


def receive(e: Any, frame: Any, octets: int, now: int) -> None:
    """Take in a frame that arrived undamaged."""
    raise NotImplementedError


def next_timer(e: Any) -> int:
    """When `expire` wants to be called: also when `next_frame` would have something new without any other event."""
    raise NotImplementedError


def expire(e: Any, now: int) -> None:
    """Do what is due until now; the next timer is later than that then."""
    raise NotImplementedError


def total_delivered(e: Any) -> int:
    """Octets that the entity handed over so far."""
    raise NotImplementedError


def note(e: Any, log: Any, now: int, side: int, why: int) -> None:
    """Log what happened to the entity since the last look; `why` it is asked is a word of `arq.notes`."""
    raise NotImplementedError


def copy_frame(frame: Any, to: Any, octets: int) -> None:
    """Copy a frame into another."""
    raise NotImplementedError


def span(e: Any, frame: Any) -> tuple[int, int]:
    """The octets [first, end) of its side's stream that a data frame carries; none where nothing is ever repeated."""
    raise NotImplementedError


def gone(frame: Any, octets: int) -> tuple[int, int]:
    """The same of a data frame that was lost, where nothing is ever repeated; else none."""
    raise NotImplementedError


def restarted(e: Any) -> int:
    """When the link was last reset, as far as the entity has heard of the end of it (ns); -1 for never."""
    raise NotImplementedError
