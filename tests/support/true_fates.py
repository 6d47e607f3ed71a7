"""The true fate of every data segment of a recorded simulation, from what became of each packet of the run itself."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from recorded_scenarios import Case, shift
from simulations import scenario

from multitracer import Analysis, analyze
from multitracer.compute import kernels
from multitracer.replay.record.known_run import Copy
from multitracer.replay.record.link_frames import LOGGED
from multitracer.replay.record.simulated_run import SimulatedRun
from multitracer.replay.record.simulation import CAPTURES, TRUTH, recorded
from multitracer.replay.tcp.packets import DATA

NO_FATE = "null"


@dataclass
class Checked:
    """What was said of one recording, and what of it is wrong."""

    fates: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def recorded_run(one: Case, directory: Path) -> SimulatedRun:
    """A case recorded; the run with all its packets."""
    kernels.choose(0)
    run = recorded(scenario(**one.keys), one.number + 1, directory)
    if one.offset_ns or one.drift_ppm:
        shift(directory / CAPTURES[1], one.offset_ns, one.drift_ppm)
    return run


def analysed_without(directory: Path, *left_out: str) -> Analysis:
    """The analysis of what instruments wrote, without the truth and the files whose names begin so."""
    inputs = directory.with_name("-".join((directory.name, "without", *left_out)))
    patterns = (f"{name}*" for name in left_out)
    shutil.copytree(directory, inputs, ignore=shutil.ignore_patterns(TRUTH, ".multitracer", *patterns))
    return analyze(sorted(map(str, inputs.iterdir())))


def checked(run: SimulatedRun, analysis: Analysis) -> Checked:
    """Every fate in the table of segments, against the truth."""
    truth, found = _Truth(run, analysis), Checked()
    table = analysis.tables["segments"]
    fates = table["fate"].astype(object).where(table["fate"].notna(), NO_FATE)
    paths = [str(one.path) for one in analysis.trace.inputs]
    ends = {number: CAPTURES.index(Path(path).name) for number, path in enumerate(paths) if path.endswith(".pcap")}
    columns = (table[name].tolist() for name in ("input", "record", "payload_bytes"))
    for number, record, size, fate in zip(*columns, fates.tolist(), strict=True):
        end = run.sender if ends[number] == 0 else 1 - run.sender
        copy = truth.of[id(run.captured[end][record - 1][1])]
        found.fates[fate] += 1
        if not truth.allows(copy, fate) or (fate == NO_FATE) != (size == 0):
            found.wrong.append(f"{fate}: {copy.segment.seq} sent at {copy.sent_ns / 1e9:.3f} s is {truth.said(copy)}")
    return found


class _Truth:
    """What became of the packets of a run."""

    def __init__(self, run: SimulatedRun, analysis: Analysis) -> None:
        self.of = {id(copy.segment.octets): copy for copy in run.copies}
        self.logged = run.scenario.word("link.protocol") in LOGGED and analysis.links.main is not None
        self.last_ns = max((copy.sent_ns for copy in run.arrived), default=-1)
        """When the last packet was sent that came: all sent before have come, or never will."""
        self.before: dict[int, list[Copy]] = {}
        earlier: dict[tuple[int, int, int], list[Copy]] = defaultdict(list)
        for copy in run.copies:
            if not copy.packet.bits & DATA:
                continue
            same = earlier[copy.segment.flow.number, copy.segment.end, copy.packet.seq]
            self.before[id(copy)] = list(same)
            same.append(copy)

    def allows(self, copy: Copy, fate: str) -> bool:
        """Whether this may be said of a packet."""
        needless = any(one.taken for one in self.before.get(id(copy), []))
        if fate in ("unknown", NO_FATE):
            return True
        if fate == "needless":
            return needless
        if fate in ("delivered", "repeated"):
            return copy.came_ns is not None and not needless
        if copy.came_ns is not None:
            return False
        return fate in self.places(copy)

    def places(self, copy: Copy) -> tuple[str, ...]:
        """Where a packet was lost that did not arrive: none while it is under way."""
        before_link = copy.refused or (copy.dropped_ns is not None and copy.given_ns is None)
        if not self.logged:
            return ("lost",) if copy.sent_ns < self.last_ns else ()
        if before_link:
            return ("dropped",)
        if copy.lost_ns is not None:  # a part of it may have been delivered, of the rest something else
            return ("flushed", "lost") if copy.delivered_ns is not None else ("flushed",)
        return ("lost",) if copy.dropped_ns is not None else ()

    def said(self, copy: Copy) -> str:
        """What is true of it, for people."""
        if copy.came_ns is not None:
            return "needless" if any(one.taken for one in self.before.get(id(copy), [])) else "delivered"
        return " or ".join(self.places(copy)) or "under way"
