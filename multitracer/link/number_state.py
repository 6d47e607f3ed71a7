"""What numbering of frames reads, keeps and fills: columns of arrays, the form in which its kernels take them."""

from __future__ import annotations

from typing import Any, NamedTuple

OTHER, DATA, RESET, DONE, ACTIVE, RELEASE = range(6)
"""Classes of frames."""
NOTHING, TELLS_EXPECTED, ASKS, GOES_BACK = range(4)
"""What an RLP frame's N(R) is: none, the next number expected, one asked for, or one from which on all are."""

# Columns of `LogState.links`, one row per link, for one log; RESETS is counted in the row of a bearer's lower link.
# AGAIN: how often an end has counted anew by itself since the reset before.
NEXT, FIRST, STARTED, EPOCH, OPEN, BEGAN, WAS_ACTIVE, RESETS, AGAIN, RELEASED = range(10)
# Of a link that the log's end receives: the next number it expects, as it told last, whether it HAS_TOLD it, the
# highest number that it asked for, from where it had all sent again last, the highest number that can have been sent,
# and when the last frame came.
TOLD, TELLS, ASKED, BACK, LATEST, OPPORTUNITY = range(10, 16)
STATES = 16
HAS_TOLD = 1


class FrameColumns(NamedTuple):
    """What numbering reads of the frames: one element per row of the frames table."""

    code: Any
    """The class of the frame (DATA, RESET, ...)."""
    record: Any
    link: Any
    sent: Any
    sn: Any
    so: Any
    payload_bytes: Any
    report: Any
    """What the frame says of the other direction's numbers (NOTHING, TELLS_EXPECTED, ...)."""
    nr: Any
    octets: Any
    """A checksum of the octets; -1 where unknown."""
    whole: Any
    """Whether it was received undamaged."""
    opportunity: Any
    """The number of the opportunity in which it was received; -1 where unknown."""


class LoneResets(NamedTuple):
    """The resets that one log has no frame of, in order of record."""

    record: Any
    link: Any


class LinkNumbers(NamedTuple):
    """How each link numbers its frames: one element per link."""

    modulus: Any
    narrow: Any
    """RLP's: so few numbers that the one nearest to the expected number may be the wrong one."""
    reverse: Any
    """The link of the other direction; the link itself if it has none."""


class LogState(NamedTuple):
    """Progress in one log; all from `seen` to `times` have the shape (2 * links, modulus), a row per link and end."""

    links: Any
    """Columns NEXT, FIRST and so on, one row per link."""
    seen: Any
    """The last unwrapped number of each sequence number; -1 if none was seen."""
    octets: Any
    """The checksum of that frame's octets."""
    top: Any
    """The end of the octets of that frame sent so far."""
    times: Any
    """How often the frame was retransmitted."""
    asked: Any
    """The last number that the receiver asked for of each sequence number, shape (links, RLP's modulus)."""


class Numbered(NamedTuple):
    """The columns that numbering fills: one element per row of the frames table."""

    sn_unwrapped: Any
    epoch: Any
    transmission: Any
