"""A run of which all is known: every packet of TCP with what became of it, its ends' states, and the link's log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from multitracer.replay.engine.driver import Engine
from multitracer.replay.record.tcp_packets import Flow, Packet, Segment
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Setting


class Seen(NamedTuple):
    """What an end was like, its fields in the order of OBSERVED."""

    una: int
    top: int
    written: int
    limit: int
    srtt_ns: int
    rttvar_ns: int
    rto_ns: int
    timeouts: int
    fast_retransmits: int
    cwnd: float
    """NaN where it is not known."""
    ssthresh: float


@dataclass(slots=True, eq=False)
class Copy:
    """A packet that an end sent, and what became of it; times in ns from the start of the run, None: never."""

    packet: Packet
    segment: Segment
    sent_ns: int
    event: int
    """Which of the events of its end let it be sent: packets of one event have the same."""
    given_ns: int | None = None
    """When the link was given it, as an SDU of this number."""
    number: int = -1
    refused: bool = False
    """The link's queue had no room for it."""
    delivered_ns: int | None = None
    lost_ns: int | None = None
    """When the link delivered it, or gave it up."""
    left_ns: int | None = None
    """When its octets were last on the air, if they were and it did not deliver it, and logs its frames."""
    dropped_ns: int | None = None
    """When a queue on the wired hop had no room for it."""
    came_ns: int | None = None
    taken: bool = False
    """Whether the connection was still there to which it came."""
    late: bool = False
    """Whether it came whole, but to a connection that was not there any more."""


class State(NamedTuple):
    """What an end was like after an event."""

    time_ns: int
    flow: Flow
    end: int
    event: int
    came: Copy | None
    """The packet that came, if one did."""
    seen: Seen


class LinkRow(NamedTuple):
    """A row of the link's log, its fields in the order of `notes.ROW`."""

    time_ns: int
    side: int
    event: int
    octets: int
    number: int
    what: int


@dataclass(frozen=True)
class Resend:
    """A segment sent again."""

    copy: Copy
    trigger: str
    """TIMEOUT, FAST, RECOVERY, PROBE; empty where it is not known."""
    spurious: bool
    """An earlier copy had come, or was on its way and did come."""
    root: str | None
    """The kind of finding that the loss of the earlier copy is; None where no kind is, or nothing was lost."""


TIMEOUT, FAST, RECOVERY, PROBE = "timeout", "fast", "recovery", "probe"
BY_TIMER = (TIMEOUT, PROBE)
"""What sends again because a timer ran out."""


class KnownRun(Protocol):
    """What is true of a run, simulated or emulated."""

    @property
    def scenario(self) -> Scenario:
        """What the link and the transfers are like."""

    @property
    def setting(self) -> Setting:
        """The same, as its models are set."""

    @property
    def engine(self) -> Engine:
        """The link, as it was at the end."""

    @property
    def whole_bytes(self) -> int:
        """Data in a full segment."""

    @property
    def copies(self) -> Sequence[Copy]:
        """All packets, in the order in which they were sent."""

    @property
    def arrived(self) -> Sequence[Copy]:
        """Those that came to an end, in their order."""

    @property
    def states(self) -> Sequence[State]:
        """What ends were like after each of their events."""

    @property
    def link(self) -> Any:
        """The link's log, rows of `notes.ROW`."""

    @property
    def given(self) -> dict[tuple[int, int], Copy]:
        """The packets that each side of the link was given, by side and the SDU's number."""

    @property
    def resends(self) -> Sequence[Resend]:
        """All segments that were sent again, in the order in which they were."""
