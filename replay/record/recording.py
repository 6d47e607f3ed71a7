"""Records a run of a link protocol as instruments would have logged it, in the formats that `analyze` reads.

Into a directory: what each end sent and received (`rlpdump.mobile.txt` and `rlpdump.network.txt`, or `rlcdump.*`),
every frame that either sent, lost ones too (`frames.pcap`), and which frames of each were lost
(`erasures.mobile.txt`, `erasures.network.txt`: one block an opportunity).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.arq.rlp import entity as rlp
from multitracer.replay.arq.rlp import state as rlp_state
from multitracer.replay.engine.driver import Engine
from multitracer.replay.engine.rlc import RLC_AM_OCTETS
from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.record.instruments import (
    ERASED,
    RECEIVED,
    SENT,
    START_NS,
    Happening,
    Instruments,
    Lost,
    RlcMedium,
    RlpMedium,
)
from multitracer.replay.retrace.models import Air, named
from multitracer.replay.retrace.rlc import Acknowledged
from multitracer.replay.retrace.rlp import Rlp
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import air_of
from multitracer.wire import rlp as wire

LARGEST_RLP_BYTES = wire.HEADER_BYTES + 255 + wire.FCS_BYTES
"""An rlpdump counts up to 255 octets of information."""
CHARACTERS_A_LINE = 16

_PART = 512
"""Opportunities that are run at a time, and then recorded."""
_ROWS = 1 << 14
"""Rows of a log that are recorded at a time."""
_RLP_ROWS_EACH = 20
"""Rows that an opportunity adds to RLP's log at most: four frames, and twice four events of each side."""


def record(
    model: str, given: Mapping[str, str], air: Air, directory: Path | str, *, side_a: str = "mobile",
    start_ns: int = START_NS,
) -> list[Path]:  # fmt: skip
    """Run a model of retrace, rlp or rlc-am, with these parameters over all of `air`; the files written.

    Side A is the one that has data to send.
    """
    recordable(model)
    known = named(model, given)
    if not len(air.forth) or len(air.forth) != len(air.back):
        raise UsageError(f"{len(air.forth)} frames forth and {len(air.back)} back; there must be as many, and some")
    kernels.choose(len(air.forth))
    if isinstance(known, Rlp):
        check_rlp_size(air.frame_bytes)
        run = known.engine(air, _PART * _RLP_ROWS_EACH + 1)
        return _rlp(run, _run(run, len(air.forth)), directory, side_a, start_ns)
    assert isinstance(known, Acknowledged)
    # Each opportunity brings two PDUs sent, two that arrive, and the SDUs that one has room for; these may wait.
    sdus = air.frame_bytes // known.sdu_bytes + 2
    rows = _PART * (4 + 2 * sdus) + known.settings.queue_sdus
    run = known.engine(air, rows + 1, RLC_AM_OCTETS)
    return _rlc(run, _run(run, len(air.forth)), directory, side_a, start_ns)


RECORDABLE = ("rlp", "rlc-am")


def recordable(model: str) -> None:
    """Raise UsageError for a model whose runs cannot be recorded."""
    if model not in RECORDABLE:
        raise UsageError(
            f"a run of the model '{model}' cannot be recorded\nThose that can are: {', '.join(RECORDABLE)}."
        )


def recorder(
    trace: ErasureTrace, other: ErasureTrace, settings: Settings, frame_bytes: int
) -> Callable[[Path], list[Path]]:
    """A function that records the run of a trace at one frame size into a directory."""
    if settings.model == "rlp":
        check_rlp_size(frame_bytes)
    air = air_of(trace, other, frame_bytes, settings.rtt_ms)
    return lambda directory: record(settings.model, settings.parameters, air, directory)


def record_rlp(
    engine: Engine, directory: Path | str, *, side_a: str = "mobile", start_ns: int = START_NS
) -> list[Path]:
    """Record a run of RLP that kept its whole log; the files written.

    The characters are made up by `characters`. Times are `start_ns`, in ns since the epoch, and what the run says.
    """
    check_rlp_size(engine.parameters[0].frame_bytes)
    return _rlp(engine, _parts(engine), directory, side_a, start_ns)


def record_rlc(
    engine: Engine, directory: Path | str, *, side_a: str = "mobile", start_ns: int = START_NS
) -> list[Path]:
    """Record a run of RLC, of PDUs with octets, that kept its whole log; the files written.

    Its resets are in its frames: there are no EVENT lines.
    """
    return _rlc(engine, _parts(engine), directory, side_a, start_ns)


def check_rlp_size(frame_bytes: int) -> None:
    """Raise UsageError for frames that an rlpdump has no numbers for."""
    if not rlp.OVERHEAD_BYTES < frame_bytes <= LARGEST_RLP_BYTES:
        raise UsageError(
            f"RLP frames of {frame_bytes} octets cannot be recorded; they must have {rlp.OVERHEAD_BYTES + 1} to "
            f"{LARGEST_RLP_BYTES} octets"
        )


def characters(first: int, count: int) -> bytes:
    """Characters [first, first + count) of the stream that an RLP entity sends: lines of 16, each its own position.

    A line is 15 hexadecimal digits, the position of its first character, and a line end.
    """
    line = first // CHARACTERS_A_LINE * CHARACTERS_A_LINE
    text = b"".join(b"%015x\n" % at for at in range(line, first + count, CHARACTERS_A_LINE))
    return text[first - line : first - line + count]


def _parts(engine: Engine) -> Iterator[Log]:
    """The log of a run in parts, one at least."""
    _check_all_logged(engine)
    log = engine.log
    for first in range(0, max(len(log.rows), 1), _ROWS):
        yield log._replace(rows=log.rows[first : first + _ROWS], frames=log.frames[first : first + _ROWS])


def _check_whole(log: Any, room: int) -> None:
    if len(log) >= room:
        raise UsageError(f"the run's log of {room} rows is full: what came after is not in it; give it more rows")


# RLP


def _rlp(engine: Engine, parts: Iterable[Log], directory: Path | str, side_a: str, start_ns: int) -> list[Path]:
    instruments = Instruments(RlpMedium(), directory, side_a, start_ns)
    came = [(-1, -1), (-1, -1)]
    for part in parts:
        instruments.note(_rlp_happenings(part, engine.parameters[0], came))
    return instruments.finish(lost_blocks(engine))


def lost_blocks(engine: Engine) -> list[Lost]:
    """Which of the opportunities run were erased for either side; what no trace says was not."""
    found = []
    for way, direction in zip((engine.link.forth, engine.link.back), engine.directions, strict=True):
        places = (engine.until // direction.slot_ns + 1) * direction.per_slot
        erased = np.zeros(places, dtype=np.uint8)
        erased[: len(way.trace)] = way.trace[:places]
        size = engine.protocol.frame_bytes(engine.parameters[0])
        found.append(Lost(erased, size, direction.slot_ns // direction.per_slot))
    return found


def _run(engine: Engine, opportunities: int) -> Iterator[Log]:
    """Run it part by part; the log of each, which is then forgotten."""
    for last in range(_PART, opportunities + _PART, _PART):
        engine.run((min(last, opportunities) - 1) * engine.directions[0].slot_ns)
        _check_all_logged(engine)
        yield engine.log
        engine.clear()


def _check_all_logged(engine: Engine) -> None:
    """Raise UsageError where the log may have had no room for all that happened."""
    _check_whole(engine.log.rows, len(engine.link.upper.log.rows))


_RLP_FRAMES = {notes.RECEIVED: RECEIVED, notes.ERASED: ERASED}
_RLP_EVENTS = {rlp_state.RESET: "reset", rlp_state.XOFF: "xoff", rlp_state.XON: "xon"}
_SABM = rlp_state.U_FRAME | rlp_state.SABM << rlp_state.NR_AT
_TYPE = (1 << rlp_state.S_AT) - 1
"""The bits of a header that hold N(S) and N(R), or M."""


def _rlp_happenings(log: Log, parameters: rlp.Parameters, came: list[tuple[int, int]]) -> Iterator[Happening]:
    """The rows of RLP's log; a reset is the peer's where a SABM has just come, flow control always is.

    `came` keeps from one part to the next what came to each side last: when, and its type.
    """
    for (time_ns, side, event, *_), (header, position) in zip(log.rows.tolist(), log.frames.tolist(), strict=True):
        if event == notes.SENT:
            text = characters(position, header >> rlp_state.COUNT_AT)
            yield Happening(time_ns, side, SENT, rlp.octets_of(header, text, parameters))
        elif event in _RLP_FRAMES:
            if event == notes.RECEIVED:
                came[side] = (time_ns, header & _TYPE)
            yield Happening(time_ns, side, _RLP_FRAMES[event])
        elif event in _RLP_EVENTS:
            by_peer = event != rlp_state.RESET or came[side] == (time_ns, _SABM)
            yield Happening(time_ns, side, _RLP_EVENTS[event], by_peer=by_peer)


# RLC


def _rlc(engine: Engine, parts: Iterable[Log], directory: Path | str, side_a: str, start_ns: int) -> list[Path]:
    instruments = Instruments(RlcMedium(8 * engine.parameters[0].li_octets - 1), directory, side_a, start_ns)
    for part in parts:
        instruments.note(_rlc_happenings(part))
    return instruments.finish(lost_blocks(engine))


_RLC_FRAMES = {notes.RECEIVED: RECEIVED, notes.ERASED: ERASED}


def _rlc_happenings(log: Log) -> Iterator[Happening]:
    """The rows of RLC's log that are about PDUs."""
    for at, (time_ns, side, event, octets, *_) in enumerate(log.rows.tolist()):
        if event == notes.SENT:
            yield Happening(time_ns, side, SENT, log.frames["octets"][at, :octets].tobytes())
        elif event in _RLC_FRAMES:
            yield Happening(time_ns, side, _RLC_FRAMES[event])
