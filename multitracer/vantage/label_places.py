"""Places that one interface saw: inside and outside a tunnel, in one VLAN and in another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.vantage.flow_labels import Labels, find_labels

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_NETWORKS = ("vlan", "vxlan", "geneve")
"""Labels that name a network, of which a capture holds few; others name a subscriber or a path, of which it may hold
any number: the places on both sides of a node are then told apart by which saw the connection first."""
_MOST_NETWORKS = 64
"""Places of one interface that are told apart by their network."""
_UNPAIRED = (
    "{count} flows of one direction would answer a flow that another answers better, as after a change of the tunnel: "
    "they count as connections of their own."
)
_LEFT = (
    "{count} flows of the same addresses and ports are under more labels (tunnels, VLANs) than can be compared: where "
    "two of them are the directions of one connection, or saw the same packets, they count as two connections."
)
_NUMBER = re.compile(r"\b(?:0x)?[0-9a-f]*[0-9][0-9a-f]*\b")


@dataclass(frozen=True)
class Placed:
    """The tables with the packets of one connection in one flow, and the place of every packet within its input.

    Without `place` it is the interface; `names` says what the others are, by (input, place).
    """

    tables: Mapping[str, pd.DataFrame]
    place: Any = None
    names: Mapping[tuple[int, int], str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)


def join_labels(tables: Mapping[str, pd.DataFrame]) -> Placed:
    """Join the flows of one connection that go under several labels; places that an interface saw apart."""
    packets, flows = tables["packets"], tables["flows"]
    labels = find_labels(packets, flows)
    if labels is None:
        return Placed(tables)
    flow = packets["flow"].to_numpy()
    joined = with_columns(
        packets, flow=labels.flow[flow].astype(np.int32),
        direction=packets["direction"].to_numpy() ^ labels.swapped[flow],
    )  # fmt: skip
    notes = _label_notes(packets, labels)
    if (labels.side[flow] == labels.flow[flow]).all():
        return Placed({**tables, "packets": joined}, notes=notes)
    place, names, split = _Places(packets, flows["tunnel"].tolist(), labels).assign()
    return Placed({**tables, "packets": joined}, place, names, notes | split)


class _Places:
    """Numbers for the places that the interfaces of each input saw."""

    def __init__(self, packets: pd.DataFrame, tunnels: list[str], labels: Labels) -> None:
        self.packets, self.tunnels, self.labels = packets, tunnels, labels
        self.interface: Any = packets["interface"].to_numpy()
        self.next = int(self.interface.max()) + 1
        self.known: dict[tuple[int, int], dict[str, int]] = {}
        self.names: dict[tuple[int, int], str] = {}
        self.flows_of: dict[int, int] = {}

    def assign(self) -> tuple[Any, dict[tuple[int, int], str], dict[int, str]]:
        """The place of every packet, names of places, and notes by input."""
        flow, number = self.packets["flow"].to_numpy().astype(np.int64), self.packets["input"].to_numpy()
        flows, interfaces = len(self.tunnels), self.next
        key = (number.astype(np.int64) * interfaces + self.interface) * flows + flow
        seen, which = np.unique(key, return_inverse=True)
        place_of = self._by_source(seen // flows, seen % flows, interfaces)
        texts = {
            one: f"Saw the packets of {count} connection{'s' if count > 1 else ''} at several places: "
            + "; ".join(name for (where, _), name in self.names.items() if where == one) + "."
            for one, count in self.flows_of.items()
        }  # fmt: skip
        return place_of[which].astype(np.int16), self.names, texts

    def _by_source(self, source: Ints, flow: Ints, interfaces: int) -> Ints:
        """The place of each flow at each source, of which (source, flow) are the pairs seen."""
        place = source % interfaces
        root, side = self.labels.flow[flow], self.labels.side[flow]
        several = np.zeros(len(flow), dtype=np.bool_)
        order = np.lexsort((side, root, source))
        edges = np.flatnonzero(np.diff(source[order]) | np.diff(root[order])) + 1
        for group in np.split(order, edges):
            if len(group) > 1 and len(np.unique(side[group])) > 1:
                several[group] = True
                self._split(group, source, flow, side, place, interfaces)
        for at in np.flatnonzero(~several):
            known = self.known.get((int(source[at]) // interfaces, int(place[at])), {})
            text = self.tunnels[flow[at]]
            place[at] = known.get(_kind(text), known.get(_network(text), place[at]))
        return place

    def _split(self, group: Ints, source: Ints, flow: Ints, side: Ints, place: Ints, interfaces: int) -> None:
        """Give each side of one connection at one source a place of its own."""
        number, interface = int(source[group[0]]) // interfaces, int(place[group[0]])
        self.flows_of[number] = self.flows_of.get(number, 0) + 1
        sides = {one: group[side[group] == one] for one in np.unique(side[group]).tolist()}
        texts = {one: self.tunnels[int(flow[rows[0]])] for one, rows in sides.items()}
        crowded = len(self.known.get((number, interface), {})) >= _MOST_NETWORKS
        for (_, rows), text in zip(sides.items(), _told_apart(list(texts.values()), crowded), strict=True):
            place[rows] = self._number(number, interface, text)

    def _number(self, number: int, interface: int, text: str) -> int:
        known = self.known.setdefault((number, interface), {})
        if text not in known:
            known[text] = interface if not known else self.next
            self.next += bool(len(known) > 1)
            within = f"in {text}" if text else "outside tunnels"
            self.names[number, known[text]] = f"interface {interface}, {within}" if interface else within
        return known[text]


def _kind(tunnel: str) -> str:
    """A label without its numbers."""
    return " ".join(_NUMBER.sub("", tunnel).split())


def _network(tunnel: str) -> str:
    """A label without the numbers of what is no network."""
    return " / ".join(one if one.startswith(_NETWORKS) else _kind(one) for one in tunnel.split(" / "))


def _told_apart(tunnels: list[str], crowded: bool) -> list[str]:
    """Names for the places of one connection: by kind, else by network, else by which of them came first."""
    for named in (_kind, _network):
        names = [named(tunnel) for tunnel in tunnels]
        if len(set(names)) == len(names):
            if named is _kind or not crowded:
                return names
            break
    kinds = [_kind(tunnel) for tunnel in tunnels]
    sides = [kinds[: rank + 1].count(kind) for rank, kind in enumerate(kinds)]
    return [kind if kinds.count(kind) == 1 else f"{kind}, side {side}" for kind, side in zip(kinds, sides, strict=True)]


def _label_notes(packets: pd.DataFrame, labels: Labels) -> dict[int, str]:
    """What is said, by input, of flows that may be parts of one connection and were not joined."""
    number, texts = packets["input"].to_numpy(), []
    if labels.unpaired:
        texts.append(_UNPAIRED.format(count=labels.unpaired))
    if labels.left:
        number = number[np.isin(packets["flow"].to_numpy(), list(labels.left))] if not texts else number
        texts.append(_LEFT.format(count=len(labels.left)))
    return dict.fromkeys(np.unique(number).tolist(), " ".join(texts)) if texts else {}
