"""Emulates transfers at random and compares what `analyze` finds with the truth: some lines each, and a sum.

python benchmarks/emulations.py [FIRST] [COUNT] [LONGEST_S] [FOLDER]

As root of a Linux machine, one after another. Recordings are kept in FOLDER, where one is given; what is there already
is only analysed again. What was late is listed, but not in the sum. Ends with status 1 where anything else disagrees,
or all was late.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from emulated_cases import Compared, analysed, case, compared, emulated

POINTS, POINTS_OF_LIMITS = 2.0, 5.0
"""So far shares may be from the truth, by cause, in hundredths of the session."""
MOST_LINES = 6


def main(first: int, count: int, longest_s: float, folder: Path) -> bool:
    """Print the table; whether anything is further from the truth than it may be, or nothing was in time."""
    done = []
    for number in range(first, first + count):
        began = time.monotonic()
        keys = case(number, longest_s)
        truth = _truth(keys, number, folder / f"{number:04}")
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch, "run")
            copy.symlink_to(folder / f"{number:04}")
            logged, captured = (compared(truth, analysed(copy, kernel_log=log)) for log in (True, False))
        print(_line(number, keys, truth, logged, captured, time.monotonic() - began), flush=True)
        if truth["trusted"]:
            done.append((logged, captured))
    print(f"{count - len(done)} of {count} transfers were late and are left out")
    print(_sum([logged for logged, _ in done], "with the kernel's log of resends"))
    print(_sum([captured for _, captured in done], "without it"))
    return not done or any(_far(one) or _wrong(one) for pair in done for one in pair)


def _truth(keys: dict, number: int, directory: Path) -> dict:
    if not directory.exists():
        unfinished = directory.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        emulated(keys, number + 1, unfinished)
        unfinished.rename(directory)
    return json.loads((directory / "truth.json").read_text())


def _line(number: int, keys: dict, truth: dict, logged: Compared, captured: Compared, took_s: float) -> str:
    """A case in a line, and a line for each disagreement."""
    changed = " ".join(f"{name.partition('.')[2]}={value}" for name, value in keys.items() if name.startswith("kernel"))
    lines = [
        f"{number:4} {keys['link.protocol']:6} loss {keys['channel.frame_loss_rate']:<5} {changed}: "
        f"{logged.resends} resends, {logged.found} found, {logged.trigger_unknown} stacks lost; late "
        f"{truth['lateness_p99_percent']:.1f} %{'' if truth['trusted'] else ' NOT TRUSTED'}  ({took_s:.0f} s)"
    ]
    for name, found in (("log", logged), ("captures", captured)):
        wrong = _wrong(found)
        lines += [f"       {name}: {text}" for text in wrong[:MOST_LINES]]
        lines += [f"       {name}: and {len(wrong) - MOST_LINES} more"] * (len(wrong) > MOST_LINES)
        lines += [f"       {name}: {text}" for text in _far(found)]
    return "\n".join(lines)


def _wrong(found: Compared) -> list[str]:
    """Resends and findings that differ from the truth."""
    return [
        *found.missing, *(f"trigger {text}" for text in found.trigger_wrong),
        *(f"spurious {text}" for text in found.spurious_wrong),
        *(f"confirmed, but {text}" for text in found.confirmed_wrong),
    ]  # fmt: skip


def _far(found: Compared) -> list[str]:
    """What is further from the truth than it may be."""
    parts = (("limits", found.limits, POINTS_OF_LIMITS), ("accounting", found.accounting, POINTS),
             ("blame", found.blame, POINTS), ("utilization", _single(found.utilization), POINTS),
             ("beyond the kernel's clocks", _single(found.beyond_clocks), POINTS_OF_LIMITS))  # fmt: skip
    return [
        f"{name} " + ", ".join(f"{cause} {away:+.1f}" for cause, away in shares.items() if abs(away) > points)
        for name, shares, points in parts
        if shares and any(abs(away) > points for away in shares.values())
    ]


def _single(points: float | None) -> dict[str, float] | None:
    return None if points is None else {"points": points}


def _sum(done: list[Compared], how: str) -> str:
    resends, unknown = sum(one.resends for one in done), sum(one.trigger_unknown for one in done)
    missing, triggers, spurious = (
        sum(len(getattr(one, name)) for one in done) for name in ("missing", "trigger_wrong", "spurious_wrong")
    )
    known = resends - unknown
    shares = ", ".join(_within(done, *one) for one in (
        ("limits", POINTS_OF_LIMITS), ("accounting", POINTS), ("blame", POINTS), ("utilization", POINTS),
        ("beyond_clocks", POINTS_OF_LIMITS)))  # fmt: skip
    return (
        f"{how}: {len(done)} transfers, {resends} resends by the kernel, {missing} not found or found beside them; "
        f"triggers {100 * (known - triggers) / max(known, 1):.2f} % of {known} ({unknown} whose stack was lost); "
        f"{spurious} needlessness wrong ({sum(one.spurious_unknown for one in done)} not known); within: {shares}; "
        f"{sum(len(one.confirmed_wrong) for one in done)} confirmed findings contradicted"
    )


def _within(done: list[Compared], name: str, points: float) -> str:
    values = [getattr(one, name) for one in done]
    values = [_single(one) if isinstance(one, float) else one for one in values]
    known = [one for one in values if one]
    near = sum(all(abs(away) <= points for away in one.values()) for one in known)
    return f"{name} {near} of {len(known)}"


if __name__ == "__main__":
    given = sys.argv[1:]
    numbers = [float(text) for text in given[:3]]
    with tempfile.TemporaryDirectory() as scratch:
        is_far = main(
            int(numbers[0]) if numbers else 0, int(numbers[1]) if len(numbers) > 1 else 20,
            numbers[2] if len(numbers) > 2 else 25, Path(given[3]) if len(given) > 3 else Path(scratch),
        )  # fmt: skip
    sys.exit(is_far)
