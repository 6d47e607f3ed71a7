"""Prove that two installed versions of MultiTracer say the same, whatever they are asked.

    python tests/same_bytes BEFORE_PYTHON AFTER_PYTHON [--shared DIR] [--only GLOB] [--jobs N] [-o DIR]

Each version runs every command of commands.txt, and `analyze` on every folder and file of the shared data, each in
a working directory that looks the same from inside. Compared are exit codes, what is printed, and every file:
octet by octet; tables by schema and content, as Parquet names libraries; pages by their data, the words and
tooltips that a person reads, and Bokeh's drawing with its models renumbered, as identifiers in them are random.
Ends with status 0 when all is equal, 1 when something differs, 2 when it cannot be compared.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from results import COMPLETE, Compared, compared, made
from runs import FIRST, OUTPUT, TESTS, Run, all_runs, lay_out
from versions import UnusableError, Version, installed, unequal_libraries

_WARMING = (
    "option/all-exports", "linux/rlp-reset", "linux/rlc-reset", "retrace/rlp/record", "retrace/rlc-am/record",
    "retrace/rlc-um/umts", "retrace/rlc-tm/bad", "retrace/sr/bad", "retrace/asr/bad", "erasures/fit-bad",
)  # fmt: skip
"""Run once by each version before many others, one after the other, so that its kernels are compiled once."""
_MANY = 20
_NOW_AND_THEN = 25


@dataclass(frozen=True)
class Side:
    """One of the two versions: where its results and its compiled kernels are kept, and for how long."""

    name: str
    version: Version
    results: Path
    cache: Path
    keep: bool

    def folder(self, run: Run) -> Path:
        """Where a run's results are."""
        return self.results / run.name


def main() -> int:
    """Compare, say what was found, and give the exit status."""
    given = _arguments()
    work: Path = given.output.resolve()
    try:
        sides = _sides(given, work)
    except UnusableError as error:
        print(error, file=sys.stderr)
        return 2
    left_out = lay_out(given.shared.resolve(), work / "inputs", given.max_megabytes)
    chosen = _chosen(all_runs(work / "inputs"), given.only)
    if given.list or not chosen:
        print("\n".join(run.name for run in chosen) or "no run has such a name")
        return 0 if chosen else 2
    begun = time.monotonic()
    found = _compare_all(chosen, all_runs(work / "inputs"), sides, work / "inputs", given.jobs)
    return _report(found, chosen, left_out, time.monotonic() - begun)


def _arguments() -> argparse.Namespace:
    beside = os.environ.get("MULTITRACER_DATA") or TESTS.parents[1] / "shared" / "data"
    parser = argparse.ArgumentParser(prog="same_bytes", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("before", help="interpreter in which the version before is installed")
    parser.add_argument("after", help="interpreter in which the version after is installed")
    parser.add_argument("--shared", type=Path, default=Path(beside), help="the shared data (default: %(default)s)")
    parser.add_argument("--only", action="append", metavar="GLOB", help="only runs of such names (repeatable)")
    parser.add_argument("--jobs", type=int, default=2, help="commands run at once (default: %(default)s)")
    parser.add_argument("--max-megabytes", type=float, default=20, help="leave larger public files out")
    parser.add_argument("--keep-before", type=Path, metavar="DIR", help="keep the results before, and use those kept")
    parser.add_argument("--list", action="store_true", help="list the runs' names and end")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("same-bytes-out"), help="working folder (default: %(default)s)"
    )
    return parser.parse_args()


def _sides(given: argparse.Namespace, work: Path) -> tuple[Side, Side]:
    """Both versions, checked to be comparable; results before are kept by the digest of that version's sources."""
    if not given.shared.is_dir():
        raise UnusableError(f"{given.shared}: no shared data there (--shared, or MULTITRACER_DATA)")
    caches = work / "cache" / "before", work / "cache" / "after"
    before, after = installed(given.before, caches[0]), installed(given.after, caches[1])
    unequal = unequal_libraries(before, after)
    if unequal:
        raise UnusableError("not comparable: " + "; ".join(unequal))
    for name, version in (("before", before), ("after", after)) if not given.list else ():
        print(f"{name}: {version.at} (sources {version.sources[:12]})")
    keep = given.keep_before.resolve() if given.keep_before else None
    kept = keep / before.sources[:16] if keep else work / "before"
    shutil.rmtree(work / "after", ignore_errors=True)
    if not keep:
        shutil.rmtree(kept, ignore_errors=True)
    return (
        Side("before", before, kept, caches[0], bool(keep)),
        Side("after", after, work / "after", caches[1], False),
    )


def _chosen(runs: list[Run], globs: list[str] | None) -> list[Run]:
    return [run for run in runs if not globs or any(fnmatch.fnmatchcase(run.name, glob) for glob in globs)]


def _compare_all(
    chosen: list[Run], runs: list[Run], sides: tuple[Side, Side], inputs: Path, jobs: int
) -> list[Compared]:
    """Make the traces with the version before, warm both caches, then run and compare all that was chosen."""
    before, after = sides
    first = [run for run in runs if run.name.startswith(FIRST)]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda run: made(run, before.version, before.folder(run), inputs, before.cache), first))
    (inputs / "traces").mkdir()
    for trace in sorted(file for run in first for file in (before.folder(run) / OUTPUT).glob("*") if file.is_file()):
        shutil.copy(trace, inputs / "traces")
    if len(chosen) > _MANY:
        warming = [run for run in runs if run.name in _WARMING]
        for side in (after, before) if _to_be_made(chosen, before) else (after,):
            _warm(side, warming, inputs)
    found = []
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_compare_one, run, before, after, inputs) for run in chosen]
        for done, one in enumerate(as_completed(waiting), start=1):
            found += one.result()
            _name_differences(one.result())
            _say(f"{done} of {len(chosen)} runs, {sum(bool(each.difference) for each in found)} differences", done)
    _say("")
    return found


def _name_differences(found: list[Compared]) -> None:
    """Print what differs in a run as soon as it is known."""
    different = [one for one in found if one.difference]
    if different:
        _say("")
    for one in different:
        print(f"{one.run}: {one.kind}{' ' if one.file else ''}{one.file}: {one.difference}", flush=True)


def _to_be_made(chosen: list[Run], before: Side) -> bool:
    """Whether the version before has to run at all, or all its results were kept."""
    return any(not (before.folder(run) / COMPLETE).exists() for run in chosen)


def _warm(side: Side, runs: list[Run], inputs: Path) -> None:
    """Let a version compile its kernels, once for each state of its sources."""
    mark = side.cache / f"warm-{side.version.sources[:16]}"
    if mark.exists():
        return
    scratch = side.cache / "scratch"
    for number, run in enumerate(runs, start=1):
        _say(f"{side.name}: kernels are compiled, {number} of {len(runs)}")
        made(run, side.version, scratch, inputs, side.cache)
        shutil.rmtree(scratch)
    mark.touch()


def _compare_one(run: Run, before: Side, after: Side, inputs: Path) -> list[Compared]:
    """Run one command with both versions; results that are the same are not left lying about."""
    for side in (before, after):
        made(run, side.version, side.folder(run), inputs, side.cache)
    found = list(compared(run, before.folder(run), after.folder(run)))
    if not any(one.difference for one in found):
        for side in (before, after):
            if not side.keep:
                shutil.rmtree(side.folder(run))
    return found


def _say(text: str, number: int = 0) -> None:
    """Say how far it is: always on a terminal, elsewhere a line now and then."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
    elif number and number % _NOW_AND_THEN == 0:
        print(text, file=sys.stderr, flush=True)


def _report(found: list[Compared], runs: list[Run], left_out: list[str], took_s: float) -> int:
    """Print what was left out, which commands differed and the counts; the exit status."""
    for text in left_out:
        print(f"left out: {text}")
    different = {one.run for one in found if one.difference}
    for run in runs:
        if run.name in different:
            print(f"different: {run.name}: {run.shown()}")
    print("\n".join(_counts(found)))
    print(f"{len(runs)} runs, {len(different)} of them different; {took_s:.0f} s")
    return 1 if different else 0


def _counts(found: list[Compared]) -> Iterator[str]:
    """The table of counts: how many of each kind were compared, equal and different."""
    total, unequal = Counter(one.kind for one in found), Counter(one.kind for one in found if one.difference)
    yield f"{'kind':<18}{'compared':>10}{'equal':>10}{'different':>10}"
    for kind in sorted(total):
        yield f"{kind:<18}{total[kind]:>10}{total[kind] - unequal[kind]:>10}{unequal[kind]:>10}"


if __name__ == "__main__":
    sys.exit(main())
