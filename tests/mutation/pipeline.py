"""One input through the whole pipeline: read, analysed, summed up. Whatever it holds, only our own errors may come."""

from __future__ import annotations

import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import mutants

from multitracer import parsers
from multitracer.compute import kernels
from multitracer.model.errors import InputError, MultiTracerError, ReadingDefectError, UnknownFormatError
from multitracer.model.options import AnalyzeOptions

if TYPE_CHECKING:
    from multitracer.model.trace import Trace

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


def analyzed(paths: list[Path], name: str, *, written: bool = False) -> None:
    """Read, analyse and sum up what is in the files, as `analyze --summary-only --json` does, or all that it writes.

    Of an erasure trace or a link's log the erasures are described, as `erasures describe` does.

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
        trace = read(paths)
    except UnknownFormatError:
        next(entry for entry in parsers.FORMATS if entry.name == name).parser.read(open_source(str(paths[0])))
        return
    for entry in trace.inputs:
        if entry.recording.defect is not None:
            raise entry.recording.defect
    if "packets" not in trace.inputs[0].recording.tables:
        try:
            for blocks in load(str(paths[0])):
                describe(blocks.erased, blocks.block_bytes, blocks.known_ms)
        except ReadingDefectError:
            raise
        except InputError:  # no trace, or none of which one can be made
            pass
    if written:
        _write_all(trace, paths[0].parent / "results")
    else:
        json_text(summarize(analyze(trace, AnalyzeOptions(fates=False))).document)


def _write_all(trace: Trace, folder: Path) -> None:
    """Write everything that `analyze` can, show it in a notebook, then sum up a part of the time, without addresses."""
    from multitracer.analysis.summary import summarize
    from multitracer.commands import experiment
    from multitracer.export import files
    from multitracer.report.notebook import analyze

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    analysis = analyze(trace)
    summary = summarize(analysis)
    files.write_summary(summary.document, folder)
    files.write_markdown(summary, folder)
    what = experiment.Written(report=True, exports=("xgraph", "xplot", "csv", "pcapng"), all=True, markdown=True)
    with click.Context(click.Command("analyze")):
        experiment.write_all(analysis, summary, folder, what)
    str(analysis)
    analysis._repr_html_()
    analysis.plot()
    part = analyze(trace, options=AnalyzeOptions(from_s=0.01, to_s=0.05, anonymize=True))
    files.write_summary(summarize(part).document, folder)


def fault(mutant: mutants.Mutant, folder: Path) -> str:
    """What is wrong with how an input is treated; empty if nothing is."""
    paths = save(mutant, folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with limited(LONGEST_S), warnings.catch_warnings():
            warnings.simplefilter("error")
            analyzed(paths, mutant.name, written=mutant.written)
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


def save(mutant: mutants.Mutant, folder: Path) -> list[Path]:
    """Write the files of an input to a folder, made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"mutated": mutant.data} | ({"beside": mutant.beside} if mutant.beside else {})
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


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
            fault(mutants.Mutant(name, several[0].data), Path(folder))
        captures = mutants.seeds()["pcap"]
        fault(mutants.Mutant("pcap", captures[0].data, captures[1].data, written=True), Path(folder))


def faults(seed: int, numbers: range) -> list[tuple[int, str, str]]:
    """The number, format and fault of every input that is treated wrongly."""
    found = []
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        for number in numbers:
            mutant = mutants.mutant(seed, number)
            wrong = fault(mutant, Path(folder))
            if wrong:
                found.append((number, mutant.name, wrong))
    return found
