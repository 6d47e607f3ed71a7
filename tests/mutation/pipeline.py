"""One input through the whole pipeline: read, analysed, summed up. Whatever it holds, only our own errors may come."""

from __future__ import annotations

import resource
import signal
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mutants

from multitracer import parsers
from multitracer.compute import kernels
from multitracer.model.errors import InputError, MultiTracerError, ReadingDefectError, UnknownFormatError
from multitracer.model.options import AnalyzeOptions

LONGEST_S = 20
MOST_KIB = 400 << 10
"""Memory that one input of some thousand octets may add to the process."""
_MEMORY = Path("/dev/shm")
"""A folder of files that are never written to a disk."""


class Hang(BaseException):
    """An input took longer than LONGEST_S."""


def _hangs(*_: Any) -> None:
    raise Hang


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise Hang in what takes longer, in time of the processor: other processes do not count."""
    before = signal.signal(signal.SIGPROF, _hangs)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def analyzed(path: Path, name: str) -> None:
    """Read, analyse and sum up what is in the file, as `analyze --summary-only --json` does.

    What is no longer recognised is read by the parser of the format that it was.
    """
    from multitracer.analysis.pipeline import analyze
    from multitracer.analysis.summary import summarize
    from multitracer.export.json_text import json_text
    from multitracer.parsers.shared.experiment import read
    from multitracer.parsers.shared.source import open_source
    from multitracer.replay.erasures.description import describe
    from multitracer.replay.erasures.loading import load

    try:
        trace = read(path)
    except UnknownFormatError:
        next(entry for entry in parsers.FORMATS if entry.name == name).parser.read(open_source(str(path)))
        return
    if "erased" in trace.inputs[0].recording.metadata:
        for blocks in load(str(path)):
            describe(blocks.erased, blocks.block_bytes, blocks.known_ms)
    json_text(summarize(analyze(trace, AnalyzeOptions())).document)


def fault(name: str, data: bytes, path: Path) -> str:
    """What is wrong with how an input is treated; empty if nothing is."""
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with limited(LONGEST_S), warnings.catch_warnings():
            warnings.simplefilter("error")
            analyzed(path, name)
    except ReadingDefectError as error:
        return "".join(traceback.format_exception(error.__cause__))
    except MultiTracerError as error:
        if type(error) is InputError and "\n\n" in str(error):
            return f"not one or two lines: {error}"
    except Hang:
        return f"takes longer than {LONGEST_S} s\n{traceback.format_exc()}"
    except Exception:  # noqa: BLE001 - whatever comes is what is looked for
        return traceback.format_exc()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"takes {grown >> 10} MiB more" if grown > MOST_KIB else ""


def settle(*, compiled: bool) -> None:
    """Run kernels compiled, however small the inputs are, or as plain Python."""
    kernels._state.update(dict.fromkeys(kernels._state, False))
    kernels._state["few"] = not compiled
    kernels.choose = lambda _: None  # type: ignore[assignment]
    if _more_time not in kernels.on_compiling:
        kernels.on_compiling.append(_more_time)


def _more_time(progress: str) -> None:
    """Compiling a kernel, which only the first input needs, does not count as a hang."""
    signal.setitimer(signal.ITIMER_PROF, 20 * LONGEST_S if progress else LONGEST_S)


def warm() -> None:
    """Compile what a sample of each format needs, once for all processes that are forked later."""
    with tempfile.TemporaryDirectory() as folder:
        for name, several in mutants.seeds().items():
            fault(name, several[0], Path(folder) / "sample")


def faults(seed: int, numbers: range) -> list[tuple[int, str, str]]:
    """The number, format and fault of every input that is treated wrongly."""
    found = []
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        for number in numbers:
            name, data = mutants.mutant(seed, number)
            wrong = fault(name, data, Path(folder) / "mutated")
            if wrong:
                found.append((number, name, wrong))
    return found
