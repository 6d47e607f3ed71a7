"""Records scenarios at random, and compares what `analyze` finds with the truth: a line each, and their sum."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from recorded_scenarios import Compared, analysed, case, compared, record
from wide_scenarios import wide_case

POINTS = 2.0
"""So far accounting and blame may be from the truth, by cause, in hundredths of the session."""


def main(first: int, count: int, longest_s: float, *, wide: bool) -> None:
    """Print the table."""
    done = []
    for number in range(first, first + count):
        began = time.monotonic()
        found = _one(number, longest_s, wide=wide)
        done.append(found)
        print(_line(found, time.monotonic() - began), flush=True)
    print(_sum(done))


def _one(number: int, longest_s: float, *, wide: bool) -> Compared:
    with tempfile.TemporaryDirectory() as directory:
        one = wide_case(number, Path(directory), longest_s) if wide else case(number, longest_s)
        truth = record(one, Path(directory) / "run")
        return compared(one, truth, analysed(Path(directory) / "run"))


def _line(found: Compared, took_s: float) -> str:
    keys = found.case.keys
    tcp = f"{keys['tcp__variant']}/{keys.get('tcp__model', '-')}"
    known = {name: points for name, points in found.limits.items() if name != "unknown"}
    worst = max(known.items(), key=lambda item: abs(item[1]), default=("", 0.0))
    lines = [
        f"{found.case.number:4} {keys['link__protocol']:7} {tcp:14} {keys['channel__model']:9} "
        f"{'both' if found.case.both else 'one':4} {found.resends:4} resends, {found.found:4} found, "
        f"{len(found.spurious_wrong)} wrong, {found.spurious_unknown} unknown, {len(found.trigger_wrong)} triggers; "
        f"{worst[0]} {worst[1]:+.1f}, unknown {found.limits.get('unknown', 0.0):.1f}  ({took_s:.1f} s)",
        *(f"       {text}" for text in [*found.spurious_wrong, *found.trigger_wrong][:4]),
        *(f"       {name} {_far(points)}" for name, points in _shares(found) if points is not None),
        *(f"       confirmed, but {text}" for text in found.confirmed_wrong[:4]),
    ]  # fmt: skip
    return "\n".join(lines)


def _shares(found: Compared) -> tuple[tuple[str, dict[str, float] | None], ...]:
    """What is compared by its share of the link's session."""
    return ("accounting", found.accounting), ("blame", found.blame)


def _far(points: dict[str, float]) -> str:
    """What is more than POINTS from the truth."""
    far = [f"{name} {away:+.1f}" for name, away in points.items() if abs(away) > POINTS]
    return ", ".join(far) or f"within {POINTS:g} points"


def _sum(done: list[Compared]) -> str:
    both = [one for one in done if one.case.both]
    resends = sum(one.resends for one in both)
    wrong, triggers = (sum(len(getattr(one, name)) for one in both) for name in ("spurious_wrong", "trigger_wrong"))
    logged = [one for one in done if one.accounting is not None]
    near = [sum(all(abs(away) <= POINTS for away in (dict(_shares(one))[name] or {}).values()) for one in logged)
            for name in ("accounting", "blame")]  # fmt: skip
    contradicted = sum(len(one.confirmed_wrong) for one in logged)
    return (
        f"{len(done)} scenarios; both ends: {resends} resends, {wrong} verdicts wrong, {triggers} triggers\n"
        f"{len(logged)} with a link's log: accounting within {POINTS:g} points in {near[0]}, blame in {near[1]}; "
        f"{contradicted} confirmed findings contradicted"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", nargs="?", type=int, default=0, help="the number of the first scenario; default: 0")
    parser.add_argument("count", nargs="?", type=int, default=20, help="how many; default: 20")
    parser.add_argument("longest_s", nargs="?", type=float, help="the longest one, in s; default: 120, or 40 if wide")
    parser.add_argument("--wide", action="store_true", help="scenarios of every link protocol, channel and workload")
    asked = parser.parse_args()
    longest_s = (40 if asked.wide else 120) if asked.longest_s is None else asked.longest_s
    main(asked.first, asked.count, longest_s, wide=asked.wide)
