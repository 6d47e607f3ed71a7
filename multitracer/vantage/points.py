"""Observation points: which captures were taken at the same place, and which packets were captured twice.

Each interface of each capture is an observation point, unless its packets show otherwise: rotated files
continue where the previous one ended; two files of one interface hold the same packets at the same times; the ports
of one tap hold different packets of the same connections; and a capture on a bridge, a mirror port or "any" holds
packets several times.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.model.trace import Input
from multitracer.vantage.copies import Copies
from multitracer.vantage.rotation import continues_capture
from multitracer.vantage.same_interface import also_in
from multitracer.vantage.sources import Source, find_sources
from multitracer.vantage.taps import CLOCKS_NS, answer_in_order, may_be_ports

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

Names: TypeAlias = Mapping[tuple[int, int], str]
Notes: TypeAlias = dict[int, list[str]]

_ONE_TAP = (
    "Is one observation point {others}, as the ports of a tap or the lines of a bonded link are: they hold different "
    "packets of the same connections."
)
_CLOCKS = (
    " Their clocks are taken to be within {apart:.0f} ms of one another, and are not corrected: round trips may be "
    "wrong by that, and whether a resend was needless is said where its acknowledgement was recorded that near to it "
    "only if a DSACK or an echoed timestamp tells."
)
_UNDECIDED = (
    "{count} packets repeat another one at once and bear neither an IP ID nor a timestamp that tells a copy from a "
    "retransmission: they are counted."
)

_EDGE_PACKETS = 4096
"""Packets at the end of one file and the start of the next that are read to see whether it is the next file."""


@dataclass(frozen=True)
class Point:
    """One observation point: the (input, place) pairs that belong to it, in order of time.

    A place is an interface, or one side of what an interface saw twice. `first_ns` is the earliest time recorded
    there, on its own clock.
    """

    number: int
    sources: tuple[tuple[int, int], ...]
    description: str
    first_ns: int
    at_once: bool = False
    """Whether several of its inputs recorded at the same time."""
    ports: bool = False
    """Whether several of its inputs are ports of one tap: their clocks may be `taps.CLOCKS_NS` apart."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """The numbers of its inputs."""
        return tuple(dict.fromkeys(number for number, _ in self.sources))


@dataclass(frozen=True)
class Points:
    """`point` (int16) and `captured_twice` (bool), shape (packets,), and the points themselves.

    Of what was captured twice, `find_points` finds what two files of one interface hold; `with_copies` adds the rest.
    """

    point: npt.NDArray[np.int16]
    captured_twice: Bools
    points: tuple[Point, ...]
    notes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Notes for the report, by input number."""

    def with_notes(self, more: Mapping[int, str]) -> Points:
        """With one more note for some inputs."""
        notes = {number: (*self.notes.get(number, ()), text) for number, text in more.items()}
        return replace(self, notes={**self.notes, **notes})

    def with_copies(self, found: Copies, order: Ints | None = None) -> Points:
        """With what one place saw twice; `order` has the row of each packet in `found`, where it is another one."""
        twice = found.twice if order is None else found.twice[order]
        notes = {number: (*texts, *self.notes.get(number, ())) for number, texts in _copy_notes(found).items()}
        return replace(self, captured_twice=self.captured_twice | twice, notes={**self.notes, **notes})


def find_points(
    trace_tables: Mapping[str, pd.DataFrame], inputs: Sequence[Input], place: Any = None, names: Names | None = None
) -> Points:
    """Find the observation point of every packet, and which packets another file of their interface holds, too.

    `place` tells apart what one interface saw at several places, one number per packet; without it, it is the
    interface. `names` describes (input, place) where a number does not.
    """
    packets = trace_tables["packets"]
    flows = int(packets["flow"].max()) + 1 if len(packets) else 0
    place = packets["interface"].to_numpy() if place is None else place
    twice = np.zeros(len(packets), dtype=np.bool_)
    notes: Notes = {}
    groups: list[list[Source]] = []
    sources = sorted(find_sources(packets, place), key=lambda s: (s.first_ns, s.key))
    if len({source.number for source in sources}) == 1:  # rotated and equal captures are of several inputs
        groups, sources = [[source] for source in sources], []
    for source in sources:
        _place_source(source, groups, packets, inputs, twice, notes)
    single = {source.key: at for at, group in enumerate(groups) for source in group}
    groups = _with_ports_joined(packets, groups, flows, inputs, notes)
    groups.sort(key=lambda group: min(source.key for source in group))
    made = tuple(_points(groups, single, inputs, names or {}))
    by_input = {number: tuple(texts) for number, texts in notes.items()}
    return Points(_point_of_rows(len(packets), groups), twice, made, by_input)


def _place_source(
    source: Source, groups: list[list[Source]], packets: pd.DataFrame, inputs: Sequence[Input], twice: Bools,
    notes: Notes,
) -> None:  # fmt: skip
    """Put a source into the group whose interface it recorded, or into one of its own."""
    for group in groups:
        if _continues(packets, inputs, group[-1], source):
            break
        rows = also_in(packets, group[0], source)
        if rows is not None:
            twice[rows] = True
            other = inputs[group[0].number].path
            text = f"{len(rows)} of its packets are also in {other}, and are counted once."
            notes.setdefault(source.number, []).append(text)
            break
    else:
        groups.append(group := [])
    group.append(source)


def _continues(packets: pd.DataFrame, inputs: Sequence[Input], early: Source, late: Source) -> bool:
    """Whether `late` is the next file of a rotated capture of which `early` is one."""
    if early.number == late.number or late.first_ns < early.last_ns:
        return False
    if _link_type(inputs[early.number]) != _link_type(inputs[late.number]):
        return False
    before, after = early.row_numbers[-_EDGE_PACKETS:], late.row_numbers[:_EDGE_PACKETS]
    return continues_capture(packets.take(before), packets.take(after))


def _link_type(one: Input) -> Any:
    return one.recording.metadata.get("link_type")


def _with_ports_joined(
    packets: pd.DataFrame, groups: list[list[Source]], flows: int, inputs: Sequence[Input], notes: Notes
) -> list[list[Source]]:
    """The groups, with those that are ports of one tap as one."""
    if len(groups) < 2:
        return groups
    joined: list[list[Source]] = []
    for taps in _grown(packets, groups, lambda tap, group: may_be_ports(packets, _rows(tap), _rows(group))):
        if len(taps) == 1 or answer_in_order(packets, [_rows(group) for group in taps], flows):
            joined.append([source for group in taps for source in group])
        else:
            joined += _joined_by_two(packets, taps, flows)
    if len(joined) < len(groups):
        part = {source.key: at for at, group in enumerate(groups) for source in group}
        joined = _with_lines_joined(packets, joined, part)
    _tell_ports(groups, joined, inputs, notes)
    return joined


def _joined_by_two(packets: pd.DataFrame, groups: list[list[Source]], flows: int) -> list[list[Source]]:
    """The same where not all are ports of one tap: each with those before that it answers."""

    def are_ports(tap: list[Source], group: list[Source]) -> bool:
        one, other = _rows(tap), _rows(group)
        return may_be_ports(packets, one, other) and answer_in_order(packets, [one, other], flows)

    return [[source for group in taps for source in group] for taps in _grown(packets, groups, are_ports)]


def _grown(
    packets: pd.DataFrame, groups: list[list[Source]], belongs: Callable[[list[Source], list[Source]], bool]
) -> list[list[list[Source]]]:
    """The groups, each with the first ones before that share a flow with it and to which it `belongs`."""
    flow = packets["flow"].to_numpy()
    taps: list[list[list[Source]]] = []
    taps_of: dict[int, set[int]] = {}
    for group in groups:
        own = np.unique(flow[_rows(group)]).tolist()
        # Only those that share a flow are compared: a file may have a thousand interfaces.
        near = sorted({tap for one in own for tap in taps_of.get(one, ())})
        found = next((tap for tap in near if belongs(list(itertools.chain(*taps[tap])), group)), len(taps))
        if found == len(taps):
            taps.append([])
        taps[found].append(group)
        for one in own:
            taps_of.setdefault(one, set()).add(found)
    return taps


def _with_lines_joined(
    packets: pd.DataFrame, joined: list[list[Source]], part: dict[tuple[int, int], int]
) -> list[list[Source]]:
    """The groups, with the lines of a bonded link that carried whole connections joined to the others of their file."""
    flow = packets["flow"].to_numpy()
    made: list[list[Source]] = []
    bonded = {group[0].number for group in joined if len({part[s.key] for s in group}) > 1 and len(_inputs(group)) == 1}
    seen: dict[int, tuple[list[Source], Ints]] = {}
    for group in joined:
        number, own = group[0].number, np.unique(flow[_rows(group)])
        one_file = number in bonded and len(_inputs(group)) == 1
        if one_file and number in seen and not np.isin(own, seen[number][1]).any():
            seen[number][0].extend(group)
            seen[number] = seen[number][0], np.union1d(own, seen[number][1])
        else:
            made.append(group)
            if one_file:
                seen.setdefault(number, (group, own))
    return made


def _inputs(group: list[Source]) -> set[int]:
    return {source.number for source in group}


def _rows(group: list[Source]) -> Ints:
    return np.concatenate([source.row_numbers for source in group])


def _point_of_rows(total: int, groups: list[list[Source]]) -> npt.NDArray[np.int16]:
    point = np.zeros(total, dtype=np.int16)  # the first group is point 0
    for number, group in enumerate(groups[1:], start=1):
        for source in group:
            point[source.rows] = number
    return point


def _points(
    groups: list[list[Source]], single: dict[tuple[int, int], int], inputs: Sequence[Input], names: Names
) -> list[Point]:
    """The points of the groups; `single` numbers the parts of each, by source."""
    made = []
    for number, group in enumerate(groups):
        texts = [
            inputs[number].path + _place_names([source.key for source in group if source.number == number], names)
            for number in dict.fromkeys(source.number for source in group)
        ]
        first = min(source.first_ns for source in group)
        keys = tuple(source.key for source in group)
        ports = len(_inputs(group)) > 1 and len({single[key] for key in keys}) > 1
        made.append(Point(number, keys, " + ".join(texts), first, _at_once(group), ports))
    return made


def _at_once(group: list[Source]) -> bool:
    """Whether the times of two inputs overlap."""
    by_time = sorted(group, key=lambda source: source.first_ns)
    return any(one.number != two.number and two.first_ns < one.last_ns for one, two in itertools.pairwise(by_time))


def _place_names(keys: list[tuple[int, int]], names: Names) -> str:
    """What is said behind the path of an input of its places; nothing of an interface that is its only one."""
    told = [names.get(key, f"interface {key[1]}" if key[1] or len(keys) > 1 else "") for key in keys]
    return f" ({', '.join(told)})" if any(told) else ""


# What is said to people.


def _copy_notes(found: Copies) -> Notes:
    notes: Notes = {}
    for (number, _), count in found.counts.items():
        if count:
            notes.setdefault(number, []).append(f"Holds {count} packets a second time; the copies are not counted.")
    for (number, _), count in found.undecided.items():
        if count:
            notes.setdefault(number, []).append(_UNDECIDED.format(count=count))
    return notes


def _tell_ports(groups: list[list[Source]], joined: list[list[Source]], inputs: Sequence[Input], notes: Notes) -> None:
    part = {source.key: at for at, group in enumerate(groups) for source in group}
    for tap in joined:
        if len({part[source.key] for source in tap}) == 1:
            continue
        for number in sorted(_inputs(tap)):
            others = [inputs[other].path for other in sorted(_inputs(tap) - {number})]
            with_what = "with " + ", ".join(others) if others else "with all its interfaces that hold them"
            clocks = _CLOCKS.format(apart=CLOCKS_NS / 1e6) if others else ""
            notes.setdefault(number, []).append(_ONE_TAP.format(others=with_what) + clocks)
