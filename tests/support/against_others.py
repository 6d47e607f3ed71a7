"""Our counts against tshark's and tcptrace's: every figure equal, or different by a rule that counting again confirms.

    python tests/support/against_others.py FILE...

prints a table. A difference is explained only if tshark's packets, counted again by `recounting` with the rule, give
exactly our figure, and, for tcptrace, without our rules and with its own exactly its figure.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import other_tools
from other_tools import FIGURES, Ends, Packet
from recounting import (
    Figures,
    applied,
    counted,
    counted_by_tcptrace,
    outside_tunnels,
    repeated_by_tcptrace,
    rule_sets,
)

import multitracer
from multitracer.model.errors import InputError

EQUAL, UNEXPLAINED = "equal", "unexplained"
RESENT = "resent octets, not Wireshark's suspicion"
DIVIDED = "tcptrace divides connections, at silence too, and counts a SYN that begins elsewhere as an octet"
REPEATED = "tcptrace repeats the packet before a record that is not IPv4"
_READ = ("quoted by another protocol", "no whole TCP header", "length of the IP header")


class Compared(NamedTuple):
    """One figure of one direction (connections: of the file), what both have, and why they differ."""

    file: str
    tool: str
    where: str
    figure: str
    theirs: int
    ours: int
    why: str


class Own(NamedTuple):
    """Our figures by direction, those of connections between the same ends added up, and connections by both ends."""

    figures: dict[Ends, Counter[str]]
    connections: Counter[Ends]


@cache
def own(path: Path) -> Own:
    """Ours; none of a capture that is refused because it holds nothing to analyse."""
    made = Own({}, Counter())
    try:
        found = multitracer.analyze([str(path)]).summary()["connections"]
    except InputError:
        return made
    for one in found:
        client, server = _end(one["client"]), _end(one["server"])
        made.connections[client + server] += 1
        for end, ends in (("client", client + server), ("server", server + client)):
            sent = one["directions"][end]
            made.figures.setdefault(ends, Counter()).update({name: sent[name] or 0 for name in FIGURES})
    return made


def _end(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return other_tools.address(host.strip("[]")), int(port)


class _Capture:
    """A capture, and what its packets count under sets of rules."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.packets, self.others = other_tools.tshark(path)
        self.figures, self.connections = own(path)
        self._under: dict[tuple[str, ...], Figures] = {}

    def under(self, rules: tuple[str, ...]) -> Figures:
        """The packets counted again."""
        if rules not in self._under:
            self._under[rules] = counted(applied(rules, self.packets))
        return self._under[rules]

    def rules_of(self, ends: Ends) -> tuple[str, ...] | None:
        """The fewest rules under which all figures of a direction are ours; None where none are."""
        mine = _positive(self.figures.get(ends))
        sets = rule_sets()
        return next((rules for rules in sets if _positive(self.under(rules)[0].get(ends)) == mine), None)

    def against_tshark(self) -> Iterator[Compared]:
        """Every figure that tshark has."""
        theirs: dict[Ends, Counter[str]] = {}
        for one in self.packets:
            theirs.setdefault(one.ends, Counter()).update(
                packets=1, data_segments=one.size > 0, data_bytes=one.size, retransmitted_segments=one.retransmission
            )
        for ends in sorted({*theirs, *(ends for ends, mine in self.figures.items() if mine["packets"])}):
            rules = self.rules_of(ends)
            for name in FIGURES:
                if name != "unique_bytes":
                    why = None if rules is None else (*rules, *[RESENT] * (name == "retransmitted_segments"))
                    yield self._row("tshark", ends, name, theirs.get(ends, Counter())[name], why)
        yield self._of_file("tshark", len({one.stream for one in self.packets}), self.connections.total(), self.packets)

    def against_tcptrace(self) -> Iterator[Compared]:
        """Every figure of the directions that tcptrace reads."""
        theirs, connections = other_tools.tcptrace(self.path)
        again = self._as_tcptrace()
        for ends, row in sorted(theirs.items()):
            rules = self.rules_of(ends)
            for name in FIGURES:
                own_rule = next((why for why, (figures, _) in again.items() if figures[ends][name] == row[name]), None)
                why = None if rules is None or own_rule is None else (*rules, *[own_rule] * (not rules))
                yield self._row("tcptrace", ends, name, row[name], why)
        if connections:
            read = [one for one in self.packets if one.ends in theirs]
            mine = sum(number for ends, number in self.connections.items() if ends in theirs)
            yield self._of_file("tcptrace", connections, mine, read)

    def _as_tcptrace(self) -> dict[str, Figures]:
        """What tcptrace counts in the directions that it reads, by the rule that makes it."""
        theirs, _ = other_tools.tcptrace(self.path)
        read = outside_tunnels(applied(_READ, [one for one in self.packets if one.ends in theirs]))
        repeated = repeated_by_tcptrace(read, self.others)
        return {
            DIVIDED: counted_by_tcptrace(read),
            REPEATED: counted_by_tcptrace(repeated),
        }

    def _row(self, tool: str, ends: Ends, name: str, theirs: int, why: tuple[str, ...] | None) -> Compared:
        mine = self.figures.get(ends, Counter())[name]
        where = f"{ends[0]}:{ends[1]} > {ends[2]}:{ends[3]}"
        return Compared(self.path.name, tool, where, name, theirs, mine, _reason(theirs == mine, why))

    def _of_file(self, tool: str, theirs: int, mine: int, packets: list[Packet]) -> Compared:
        """The number of connections that `packets` belong to."""
        sets = () if theirs == mine else rule_sets()
        rules = next((rules for rules in sets if counted(applied(rules, packets))[1] == mine), None)
        if tool == "tcptrace" and rules is not None:
            made = [why for why, (_, number) in self._as_tcptrace().items() if number == theirs]
            rules = (*rules, *made[:1]) if made else None
        return Compared(self.path.name, tool, "", "connections", theirs, mine, _reason(theirs == mine, rules))


def _positive(figures: Counter[str] | None) -> dict[str, int]:
    return {name: value for name, value in (figures or {}).items() if value}


def _reason(equal: bool, rules: tuple[str, ...] | None) -> str:
    if equal:
        return EQUAL
    return "; ".join(rules) if rules else UNEXPLAINED


def compared(paths: Iterable[Path]) -> list[Compared]:
    """All figures of some captures."""
    found: list[Compared] = []
    for path in paths:
        capture = _Capture(path)
        found += [*capture.against_tshark(), *capture.against_tcptrace()]
    return found


def table(found: list[Compared]) -> str:
    """How many figures are equal, or different by each rule, and those that nothing explains."""
    lines = []
    for tool in ("tshark", "tcptrace"):
        reasons = Counter(one.why for one in found if one.tool == tool)
        lines += [f"{tool}: {reasons.total()} figures", *(f"{count:8} {why}" for why, count in reasons.most_common())]
    lines += [str(tuple(one)) for one in found if one.why == UNEXPLAINED]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(compared(map(Path, sys.argv[1:]))))
