"""GSM RLP, the radio link protocol of circuit-switched data (3GPP TS 24.022, versions 0 and 1).

`Parameters` and `entity` are what the machine (`machine`) works with; `octets.Rlp` is the same machine in terms
of octets, for a live link. A link begins connected (asynchronous balanced mode); SABM and UA reset it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq import orders
from multitracer.replay.arq.fields import NEVER, record, table
from multitracer.replay.arq.rlp import l2r, state
from multitracer.wire import rlp

STATUS_OCTETS = 1
AFTER_N2 = ("reset", "release")
OVERHEAD_BYTES = rlp.HEADER_BYTES + rlp.FCS_BYTES + STATUS_OCTETS
"""What a full frame carries besides characters: header, L2R status octet, check sequence."""


@dataclass(frozen=True)
class Parameters:
    """What an entity is set up with; names are the specification's, times in ns, sizes in octets."""

    window: int = 61
    """k, frames that may be unacknowledged (24.022 5.2.1: at most 61). With SREJ, numbers modulo 62 are unambiguous up
    to 31 only: with more, the second copy of an old frame can be taken for a new one. It needs frames repeated
    needlessly: T1 not above the round trip, or SREJs that wait long for an opportunity because both ends send data
    (`piggyback_srej` off). What was taken wrongly is counted as misdelivered, and not as delivered."""
    t1_ns: int = 480_000_000
    """T1, acknowledgement timer (480 ms on TCH/F9.6); retrace adds what longer frames take longer."""
    t_rcvs_ns: int = 0
    """T_RCVS, after which an unanswered SREJ is sent again; 0 is T1."""
    t1_every_nr: bool = False
    """T1 is restarted by every valid N(R) while frames are outstanding, not only by one that acknowledges something
    new (and by every information frame and poll sent, in both cases)."""
    t2_ns: int = 0
    """T2, how long an acknowledgement waits for information to go with; 0 sends it at once, which costs nothing where
    every opportunity is used anyway."""
    n2: int = 6
    """N2: how many times a frame, an SREJ or SABM is sent again, and a poll is sent; then the link is reset or given
    up."""
    after_n2: str = "reset"
    """What follows: a reset, or the `release` of the call by DISC, as in some networks (paper 004, 6.5)."""
    persistent: bool = False
    """SABM is repeated for as long as it takes, where else the link fails after N2 repeats."""
    frame_bytes: int = 30
    """Size of a frame: 30 or 72 by the specification, else what an experiment says."""
    piggyback_srej: bool = True
    """SREJ goes with information where there is some (I+S frame), else always by itself."""
    reject: bool = False
    """Ask by REJ (go back N) and keep nothing that is out of sequence, instead of by SREJ."""
    flush_queue: bool = True
    """A reset also drops what was offered and never sent (L2R's buffer), not only sent frames."""
    as_in_paper: bool = False
    """Allow the window of 62 that paper 004 states; "all" and "none acknowledged" are then the same."""
    drain_bytes_per_s: int = 0
    """Rate at which the far end empties what this entity delivers; 0 is at once."""
    xoff_bytes: int = 1120
    """Level of that buffer at which flow control goes on. With 9600 bit/s of 10 bits a character (960 octets/s) levels
    1056 octets apart give gaps of about 1.1 s."""
    xon_bytes: int = 64
    """Level at which it goes off."""

    def __post_init__(self) -> None:
        largest = rlp.LARGEST_WINDOW + bool(self.as_in_paper)
        _within("window", self.window, 1, largest)
        _within("t1_ns", self.t1_ns, 1, 10**13)
        _within("t_rcvs_ns", self.t_rcvs_ns, 0, 10**13)
        _within("t2_ns", self.t2_ns, 0, 10**13)
        _within("n2", self.n2, 0, 10**6)
        _within("frame_bytes", self.frame_bytes, OVERHEAD_BYTES + 1, 65_535)
        _within("drain_bytes_per_s", self.drain_bytes_per_s, 0, 10**9)
        _within("xoff_bytes", self.xoff_bytes, 1, 10**9)
        _within("xon_bytes", self.xon_bytes, 0, self.xoff_bytes - 1)
        if self.after_n2 not in AFTER_N2:
            raise UsageError(f"RLP after_n2 is {self.after_n2!r}; it must be {' or '.join(AFTER_N2)}")

    @property
    def room(self) -> int:
        """Characters in a full frame."""
        return self.frame_bytes - OVERHEAD_BYTES


def _within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"RLP {name} is {value}; it must be {least} to {most}")


def entity(parameters: Parameters) -> Any:
    """One connected entity, a record of `state.ENTITY`."""
    e = record(state.ENTITY)
    e.t_due = e.t_rcvs_due = e.look_due = NEVER
    e.reset_ns = -1
    e.window, e.n2 = parameters.window, parameters.n2
    e.t1, e.t2 = parameters.t1_ns, parameters.t2_ns
    e.t_rcvs = parameters.t_rcvs_ns or parameters.t1_ns
    e.room, e.frame_bytes, e.drain = parameters.room, parameters.frame_bytes, parameters.drain_bytes_per_s
    e.high, e.low = parameters.xoff_bytes, parameters.xon_bytes
    e.piggyback, e.reject = parameters.piggyback_srej, parameters.reject
    e.every_nr, e.persistent = parameters.t1_every_nr, parameters.persistent
    e.flush_queue, e.release = parameters.flush_queue, parameters.after_n2 == "release"
    orders.none(e)
    return e


def ended(e: Any) -> bool:
    """Whether an entity has given up the link for good, or was disconnected."""
    return int(e.state) in (state.DETACHED, state.FAILED)


def obey(e: Any, given: Iterable[tuple[int, int]]) -> None:
    """Give an entity its orders (see `arq.orders`)."""
    orders.give(e, given)
    e.look_due = min(e.look_due, e.orders.rows[0].time_ns)


def frames(capacity: int, parameters: Parameters) -> Any:
    """Room for frames that wait or fly."""
    return table(capacity, state.FRAME)


def counters(e: Any) -> dict[str, int]:
    """What an entity counted, by name: frames, events, octets, and times in ns."""
    return {name: int(e[name]) for name in state.COUNTERS}


def frame_of(header: int, information: bytes = b"") -> rlp.Frame:
    """A header word as a frame of the codec."""
    ns, nr = header & state.NUMBER, header >> state.NR_AT & state.NUMBER
    poll, command = header >> state.POLL_AT & 1, header >> state.COMMAND_AT & 1
    if ns == state.U_FRAME:
        return rlp.Frame(rlp.UNNUMBERED[nr], -1, -1, poll, command, information)
    kind = rlp.SUPERVISORY[header >> state.S_AT & 3]
    if ns == state.S_FRAME:
        return rlp.Frame(kind, -1, nr, poll, command)
    return rlp.Frame(f"I {kind}", ns, nr, poll, command, information)


_CODES = {name: code for code, name in rlp.UNNUMBERED.items()}


def header_of(frame: rlp.Frame) -> int:
    """A frame of the codec as a header word; the inverse of `frame_of`."""
    flags = frame.command << state.COMMAND_AT | frame.poll << state.POLL_AT
    if frame.type in _CODES:
        return state.U_FRAME | _CODES[frame.type] << state.NR_AT | flags
    kind = rlp.SUPERVISORY.index(frame.type.removeprefix("I "))
    header = flags | kind << state.S_AT | frame.nr << state.NR_AT
    if not frame.type.startswith("I "):
        return header | state.S_FRAME
    count, status = len(l2r.characters_of(frame.information)), frame.information[0]
    return header | frame.ns | status << state.STATUS_AT | count << state.COUNT_AT


def octets_of(header: int, characters: bytes, parameters: Parameters) -> bytes:
    """The octets of a frame on the air, from its header word and the characters it carries."""
    information = b""
    if header & state.NUMBER < state.S_FRAME:
        x = bool(header >> state.STATUS_AT & rlp.XOFF_BIT)
        information = l2r.field(characters, parameters.room, x)
    return rlp.encode(frame_of(header, information), 8 * parameters.frame_bytes)
