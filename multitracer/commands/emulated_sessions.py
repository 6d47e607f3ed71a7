"""Sessions of paper 002 over an emulated link, each in a process of its own, and kept as they end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from multitracer.commands.workers import on_processors
from multitracer.model.errors import MultiTracerError

if TYPE_CHECKING:
    from multitracer import Analysis
    from multitracer.replay.emulate.delivery_order import Cell, Measured
    from multitracer.replay.emulate.kernel import KernelKeys
    from multitracer.replay.simulate.sweep import KeptRuns, Task

Told = Callable[[str, float], object]
_FIRST_PORT, _PORTS = 1024, 8000
_PRELOADED = ("multitracer.analysis.pipeline", "multitracer.replay.emulate.session")


@dataclass(frozen=True)
class Session:
    """One session of a cell, and what its result is kept under."""

    cell: Cell
    task: Task


def sessions_of(cells: Sequence[Cell], commit: str) -> list[Session]:
    """Every session of the cells; another kernel's, or another commit's, are others."""
    from multitracer.replay.simulate.sweep import tasks_of

    depends = commit, os.uname().release
    return [
        Session(cell, task)
        for cell in cells
        for task in tasks_of(cell.scenario, cell.seeds, *depends, repr(sorted(cell.said.items())))
    ]


def emulated(scale: str, kept: KeptRuns, pairs: int, commit: str, progress: Told) -> list[Measured]:
    """Every cell of the paper's experiment, measured."""
    from multitracer.replay.emulate.delivery_order import cells

    return run_sessions(cells(scale), kept, pairs, commit, progress)


def run_sessions(cells: Sequence[Cell], kept: KeptRuns, pairs: int, commit: str, progress: Told) -> list[Measured]:
    """Run what is not kept yet, `pairs` sessions at once; those that were late are run again, one at a time."""
    from multitracer.replay.emulate.delivery_order import Measured

    sessions = sessions_of(cells, commit)
    _run(sessions, kept, pairs, progress, is_last=pairs == 1)
    if pairs > 1:
        _run(sessions, kept, 1, progress, is_last=True)
    results: dict[int, list[Mapping[str, Any]]] = {}
    for one in sessions:
        results.setdefault(id(one.cell), []).append(kept.results[one.task.key])
    return [Measured(cell.labels, results[id(cell)]) for cell in cells]


def _run(sessions: Sequence[Session], kept: KeptRuns, pairs: int, progress: Told, *, is_last: bool) -> None:
    """Run the sessions that are not kept, so many at once; of the last round the late ones are kept too."""
    missing = [one for one in sessions if one.task.key not in kept.results]
    done = len(sessions) - len(missing)
    progress(f"{done:,} of {len(sessions):,} sessions", done / len(sessions))
    for place, found in _ended(missing, pairs):
        if isinstance(found, MultiTracerError):
            raise found
        if found["trusted"] or is_last:
            kept.add(missing[place].task, found)
            done += 1
        progress(f"{done:,} of {len(sessions):,} sessions: {missing[place].cell.scenario.name}", done / len(sessions))


def _ended(sessions: Sequence[Session], pairs: int) -> Iterator[tuple[int, Any]]:
    """(Place, result) of every session as they end."""
    return on_processors(session, sessions, pairs, _died, _PRELOADED) if sessions else iter(())


def _died(one: Session, code: int | None) -> MultiTracerError:
    return MultiTracerError(f"{one.cell.scenario.name}: the process of session {one.task.seed} ended with {code}")


def session(one: Session) -> dict[str, Any] | MultiTracerError:
    """Run a session and measure it; what a user can do about is given back."""
    from multitracer import analyze
    from multitracer.replay.emulate.session import emulate

    with TemporaryDirectory(prefix="multitracer-") as name:
        folder = Path(name)
        try:
            truth = emulate(one.cell.scenario, _keys(one.cell), one.task.seed, folder, (), lambda: None)
        except MultiTracerError as error:
            return error
        recorded = [*(folder / "snd").iterdir(), *(folder / "rcv").iterdir()]
        return {"trusted": truth["trusted"], **measured(analyze(sorted(recorded)))}


def _keys(cell: Cell) -> KernelKeys:
    """What a cell asks of the kernel, with a port that no other session of this time has: tracepoints see them all."""
    from multitracer.replay.emulate.kernel import KernelKeys

    return KernelKeys({**cell.said, "emulate.port": _FIRST_PORT + os.getpid() % _PORTS})


def measured(analysis: Analysis) -> dict[str, float | None]:
    """The metrics of the one transfer that was recorded at both ends (delivery_order.METRICS)."""
    number, sender = divmod(int(analysis.ends.largest or 0), 2)
    end = ("client", "server")[sender]
    sent = analysis.summary()["connections"][number]["directions"][end]
    return {
        "goodput_bps": _goodput(analysis, number, sender),
        "tcp_retransmissions": sent["retransmitted_segments"],
        "rtt_ms": sent["rtt_ms"]["mean"],
        "tcp_timeouts": sent["retransmissions"]["timeout"],
        "tcp_spurious_retransmissions": sent["spurious"]["yes"],
    }


def _goodput(analysis: Analysis, number: int, sender: int) -> float | None:
    """The data over the time from the first packet to the acknowledgement of all data, at the sender's capture."""
    segments = analysis.tables["segments"]
    point = int(analysis.paths.seen_at[number, sender])
    own = segments[((segments["connection"] == number) & (segments["point"] == point)).to_numpy()]
    mine, size = own["sender"] == sender, own["payload_bytes"]
    data = own[mine & (size > 0)]
    if not len(data):
        return None
    first, end = int(data["seq"].min()), int((data["seq"] + data["payload_bytes"]).max())
    over = own[~mine & (own["ack"] >= end)]["time_ns"]
    return 8e9 * (end - first) / float(over.iloc[0] - own["time_ns"].iloc[0]) if len(over) else None
