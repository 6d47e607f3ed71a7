"""Recording GSM RLP: rlpdump and GSMTAP, resets and flow control among the events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TextIO, TypeAlias

from multitracer.link.pace import Pace
from multitracer.model.errors import UsageError
from multitracer.parsers import rlpdump
from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.arq.rlp import entity, state
from multitracer.replay.engine.driver import Engine
from multitracer.replay.engine.loop import NO_SDU
from multitracer.replay.erasures.trace import ms_text
from multitracer.replay.record import datagrams
from multitracer.replay.record.instruments import ARRIVALS, SENT, Happening, Logged
from multitracer.replay.record.recorder import Reader
from multitracer.replay.retrace.models import Air
from multitracer.replay.retrace.rlp import Rlp
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

LARGEST_BYTES = datagrams.LARGEST_BYTES
"""What a packet of the capture has room for."""
CHARACTERS_A_LINE = 16
Text: TypeAlias = Callable[[int, int, int], bytes]
"""Gives the characters of a side's stream: so many from a position on."""

_ROWS_EACH = 20
"""Rows that an opportunity adds to the log at most: four frames, and twice four events of each side."""


@dataclass(frozen=True)
class RlpMedium:
    """GSM RLP: rlpdump, and GSMTAP."""

    pace: Pace
    nulls: bool = True
    """Whether every opportunity has a frame, NULL if there is no other, and all are logged."""
    dump: str = "rlpdump"

    def table(self, logged: Sequence[Logged], side: str) -> pd.DataFrame:
        """The frames table of what one end logged."""
        bad = rlp.Frame("BAD")
        rows = [rlpdump.row_of(*at, bad if damaged else _decoded(octets)) for at, octets, damaged in logged]
        return rlpdump.frames_table(rows, side)

    def write(self, stream: TextIO, frames: pd.DataFrame, side: str, events: pd.DataFrame) -> None:
        """Write a log with its header."""
        header = {"frame_ms": ms_text(self.pace.frame_ns)} if self.pace.frame_ns else {}
        logged = {"nulls": "logged"} if self.nulls else {}
        rlpdump.write(stream, frames, side=side, events=events, header={**header, **logged})

    def packet(self, octets: bytes, uplink: bool, time_ns: int) -> bytes:
        """A packet of GSMTAP."""
        return datagrams.of_rlp(octets, uplink=uplink, time_ns=time_ns)


@lru_cache(1024)
def _decoded(octets: bytes) -> rlp.Frame:
    return rlp.decode(octets, any_size=True)


class RlpRecorder:
    """Runs of RLP, whose characters are made up by `characters`."""

    def check(self, frame_bytes: int) -> None:
        """Raise UsageError for frames that an rlpdump has no numbers for."""
        if not entity.OVERHEAD_BYTES < frame_bytes <= LARGEST_BYTES:
            raise UsageError(
                f"RLP frames of {frame_bytes} octets cannot be recorded; they must have {entity.OVERHEAD_BYTES + 1} to "
                f"{LARGEST_BYTES} octets"
            )

    def engine(self, model: Rlp, air: Air, opportunities: int) -> Engine:
        """Both ends, not yet run, with room in the log for so many opportunities at a time."""
        return model.engine(air, opportunities * _ROWS_EACH + 1)

    def medium(self, parameters: entity.Parameters, pace: Pace) -> RlpMedium:
        """The same whatever the parameters."""
        return RlpMedium(pace)

    def reader(self, parameters: entity.Parameters) -> Reader:
        """Reads the log of one run, part by part."""
        return self.reader_of(parameters, lambda _, first, count: characters(first, count))

    def reader_of(self, parameters: entity.Parameters, text: Text) -> Reader:
        """The same, with the characters of each side's stream from `text`."""
        came = [(-1, -1), (-1, -1)]
        return lambda log: _happenings(log, parameters, came, text)


def characters(first: int, count: int) -> bytes:
    """Characters [first, first + count) of the stream that an RLP entity sends: lines of 16, each its own position.

    A line is 15 hexadecimal digits, the position of its first character, and a line end.
    """
    line = first // CHARACTERS_A_LINE * CHARACTERS_A_LINE
    text = b"".join(b"%015x\n" % at for at in range(line, first + count, CHARACTERS_A_LINE))
    return text[first - line : first - line + count]


_EVENTS = {state.RESET: "reset", state.XOFF: "xoff", state.XON: "xon"}
_OF_FRAMES = (notes.SENT, *ARRIVALS)
_SABM = state.U_FRAME | state.SABM << state.NR_AT
_TYPE = (1 << state.S_AT) - 1
"""The bits of a header that hold N(S) and N(R), or M."""


def _happenings(
    log: Log, parameters: entity.Parameters, came: list[tuple[int, int]], text: Text
) -> Iterator[Happening]:
    """The rows of RLP's log; a reset is the peer's where a SABM has just come, flow control always is.

    An end that resets the link by itself does so with its SABM, before which frames may wait in its device. `came`
    keeps from one part to the next what came to each side last: when, and its type. What goes past RLP is not its own.
    """
    for (time_ns, side, event, *_, what), (header, position) in zip(
        log.rows.tolist(), log.frames.tolist(), strict=True
    ):
        if event in _OF_FRAMES and what != NO_SDU:
            continue
        if event == notes.SENT:
            said = text(side, position, header >> state.COUNT_AT)
            yield Happening(time_ns, side, SENT, entity.octets_of(header, said, parameters))
        elif event in ARRIVALS:
            if event == notes.RECEIVED:
                came[side] = (time_ns, header & _TYPE)
            yield Happening(time_ns, side, ARRIVALS[event])
        elif event in _EVENTS and (event != state.RESET or came[side] == (time_ns, _SABM)):
            yield Happening(time_ns, side, _EVENTS[event], by_peer=True)


RLP_RECORDER = RlpRecorder()
