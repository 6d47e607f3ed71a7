"""Records a run of a link protocol as instruments would have logged it, in the formats that `analyze` reads.

Into a directory: what each end sent and received (`rlpdump.mobile.txt` and `rlpdump.network.txt`, or `rlcdump.*`),
every frame that either sent, lost ones too (`frames.pcap`), and which frames of each were lost
(`erasures.mobile.txt`, `erasures.network.txt`: one block an opportunity).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.compute import kernels
from multitracer.link.pace import Pace
from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import Log
from multitracer.replay.engine.driver import Engine
from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.record.instruments import START_NS, Instruments, Lost
from multitracer.replay.record.recorder import Recorder
from multitracer.replay.retrace import PROTOCOLS, RECORDABLE
from multitracer.replay.retrace.models import Air, named
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import air_of

_PART = 512
"""Opportunities that are run at a time, and then recorded."""
_ROWS = 1 << 14
"""Rows of a log that are recorded at a time."""


def record(
    model: str, given: Mapping[str, str], air: Air, directory: Path | str, *, side_a: str = "mobile",
    start_ns: int = START_NS,
) -> list[Path]:  # fmt: skip
    """Run a model of retrace that is in RECORDABLE with these parameters over all of `air`; the files written.

    Side A is the one that has data to send.
    """
    recordable(model)
    known = named(model, given)
    if not len(air.forth) or len(air.forth) != len(air.back):
        raise UsageError(f"{len(air.forth)} frames forth and {len(air.back)} back; there must be as many, and some")
    kernels.choose(len(air.forth))
    recorder = recorder_of(model)
    recorder.check(air.frame_bytes)
    run = recorder.engine(known, air, _PART)
    return _write(recorder, run, _run(run, len(air.forth)), directory, side_a, start_ns)


def recordable(model: str) -> None:
    """Raise UsageError for a model whose runs cannot be recorded."""
    if model not in RECORDABLE:
        raise UsageError(
            f"a run of the model '{model}' cannot be recorded\nThose that can are: {', '.join(RECORDABLE)}."
        )


def recorder_of(model: str) -> Recorder:
    """The recorder of a protocol in RECORDABLE."""
    module, name = next(entry.recorder for entry in PROTOCOLS if entry.name == model).split(".")
    found: Recorder = getattr(import_module(f"{__package__}.{module}"), name)
    return found


def recording_of(
    trace: ErasureTrace, other: ErasureTrace, settings: Settings, frame_bytes: int
) -> Callable[[Path], list[Path]]:
    """A function that records the run of a trace at one frame size into a directory."""
    recorder_of(settings.model).check(frame_bytes)
    air = air_of(trace, other, frame_bytes, settings.rtt_ms)
    return lambda directory: record(settings.model, settings.parameters, air, directory)


def record_run(
    model: str, engine: Engine, directory: Path | str, *, side_a: str = "mobile", start_ns: int = START_NS
) -> list[Path]:
    """Record a run of RLP, or of RLC AM with octets, that kept its whole log; the files written.

    Times are `start_ns`, in ns since the epoch, and what the run says.
    """
    recorder = recorder_of(model)
    recorder.check(engine.protocol.frame_bytes(engine.parameters[0]))
    return _write(recorder, engine, _parts(engine), directory, side_a, start_ns)


def _write(
    recorder: Recorder, engine: Engine, parts: Iterable[Log], directory: Path | str, side_a: str, start_ns: int
) -> list[Path]:
    parameters = engine.parameters[0]
    instruments = Instruments(recorder.medium(parameters, _pace(engine)), directory, side_a, start_ns)
    happenings = recorder.reader(parameters)
    for part in parts:
        instruments.note(happenings(part))
    return instruments.finish(lost_blocks(engine))


def _pace(engine: Engine) -> Pace:
    """How often both ends may send; unknown where they differ."""
    forth, back = (Pace(direction.slot_ns, direction.per_slot) for direction in engine.directions)
    return forth if forth == back else Pace()


def _parts(engine: Engine) -> Iterator[Log]:
    """The log of a run in parts, one at least."""
    _check_all_logged(engine)
    log = engine.log
    for first in range(0, max(len(log.rows), 1), _ROWS):
        yield log._replace(rows=log.rows[first : first + _ROWS], frames=log.frames[first : first + _ROWS])


def _check_whole(log: Any, room: int) -> None:
    if len(log) >= room:
        raise UsageError(f"the run's log of {room} rows is full: what came after is not in it; give it more rows")


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
