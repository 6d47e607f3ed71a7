"""Records scenarios at random and compares what `analyze` finds with the truth: a line each, and what they add up to.

    python benchmarks/recordings.py [FIRST] [COUNT] [LONGEST_S]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from recorded_scenarios import Compared, analysed, case, compared, record


def main(first: int, count: int, longest_s: float) -> None:
    """Print the table."""
    done = []
    for number in range(first, first + count):
        began = time.monotonic()
        found = _one(number, longest_s)
        done.append(found)
        print(_line(found, time.monotonic() - began), flush=True)
    print(_sum(done))


def _one(number: int, longest_s: float) -> Compared:
    one = case(number, longest_s)
    with tempfile.TemporaryDirectory() as directory:
        truth = record(one, Path(directory) / "run")
        return compared(one, truth, analysed(Path(directory) / "run"))


def _line(found: Compared, took_s: float) -> str:
    keys = found.case.keys
    tcp = f"{keys['tcp__variant']}/{keys.get('tcp__model', '-')}"
    known = {name: points for name, points in found.limits.items() if name != "unknown"}
    worst = max(known.items(), key=lambda item: item[1], default=("", 0.0))
    lines = [
        f"{found.case.number:4} {keys['link__protocol']:7} {tcp:14} {keys['channel__model']:9} "
        f"{'both' if found.case.both else 'one':4} {found.resends:4} resends, {found.found:4} found, "
        f"{len(found.spurious_wrong)} wrong, {found.spurious_unknown} unknown, {len(found.trigger_wrong)} triggers; "
        f"{worst[0]} {worst[1]:+.1f}, unknown {found.limits.get('unknown', 0.0):.1f}  ({took_s:.1f} s)",
        *(f"       {text}" for text in [*found.spurious_wrong, *found.trigger_wrong][:4]),
    ]  # fmt: skip
    return "\n".join(lines)


def _sum(done: list[Compared]) -> str:
    both = [one for one in done if one.case.both]
    resends = sum(one.resends for one in both)
    wrong, triggers = (sum(len(getattr(one, name)) for one in both) for name in ("spurious_wrong", "trigger_wrong"))
    return f"{len(done)} scenarios; both ends: {resends} resends, {wrong} verdicts wrong, {triggers} triggers"


if __name__ == "__main__":
    given = [float(text) for text in sys.argv[1:]]
    main(int(given[0]) if given else 0, int(given[1]) if len(given) > 1 else 20, given[2] if len(given) > 2 else 120)
