"""Both directions of the connections that a page can show, each with the direction of the link that carried it.

Way 0 of a connection is what the sender of its data sent, way 1 what the other end did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.report import connection_data, link_data, panel_data
from multitracer.report.analysis_panels import link_rate, rate_text
from multitracer.report.connection_data import Shared
from multitracer.report.panel_data import PanelData

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis

SHOWN_CONNECTIONS = 5_000
"""The most connections that can be chosen in a page: those that carried most data."""

NOTHING_BY_DIRECTION = "no connection was captured, and no link logged"
"""Why there is only one direction to show where nothing tells directions apart."""


@dataclass(frozen=True)
class Way:
    """One direction of a connection, or without one of the link alone."""

    group: str | None
    """What its columns are called in the page; None without a connection."""
    title: str
    """Who sent it."""
    data: PanelData
    link: int | None
    """The direction of the link that carried it; None without a log."""
    rate_bps: float | None
    """What that link can carry."""


@dataclass(frozen=True)
class Directions:
    """All that the panels of a page can show."""

    connections: dict[int, tuple[Way, Way]]
    alone: tuple[Way, Way]
    """The link's directions by themselves, for a page without connections."""
    links: dict[int, PanelData]
    """Those that carried the connections, of the first one first, and those of the link that carried most data."""
    titles: dict[int | None, str]
    """Who sent on each of these."""

    @property
    def groups(self) -> list[tuple[str, PanelData]]:
        """What the page loads together, by its name there."""
        own = [(way.group, way.data) for way in self._ways if way.group is not None]
        return [*own, *((_group(link), data) for link, data in self.links.items())]

    @property
    def first(self) -> tuple[PanelData, PanelData]:
        """What is drawn first of a connection and of the link, with an empty source for each series of the others."""
        return _filled(way.data for way in self._ways), _filled(self.links.values())

    @property
    def _ways(self) -> Iterator[Way]:
        return (way for both in self.connections.values() for way in both)

    def described(self) -> dict[str, Any]:
        """What the page's scripts read: of each connection its ways, and why the second has nothing to show."""
        every = {str(number): ways for number, ways in self.connections.items()} or {"": self.alone}
        return {
            number: {"ways": [self._described(way) for way in ways], "nothing": self._nothing(ways[1])}
            for number, ways in every.items()
        }

    def _described(self, way: Way) -> dict[str, Any]:
        rate = None if way.rate_bps is None else {"bps": way.rate_bps, "text": rate_text(way.rate_bps)}
        return {
            "group": way.group, "link": None if way.link is None else _group(way.link), "rate": rate,
            "hasData": bool(way.data.records), "titles": {"connection": way.title, "link": self.titles[way.link]},
        }  # fmt: skip

    def _nothing(self, way: Way) -> str:
        """Why a way has nothing to show; empty where it has something."""
        if way.data.records or (way.link is not None and self.links[way.link].records):
            return ""
        return "; ".join(title for title in (way.title, self.titles[way.link]) if title) or NOTHING_BY_DIRECTION


def directions(analysis: Analysis) -> Directions:
    """Both ways of the connections of most data, as many as a page can hold, and of the link."""
    carriers, shared = Carriers(analysis), Shared(analysis)
    shown: dict[int, tuple[Way, Way]] = {}
    room = panel_data.MOST_RECORDS
    for number in panel_data.largest_first(analysis)[:SHOWN_CONNECTIONS]:
        main = int(analysis.ends.main[number])
        one, other = (_way(analysis, carriers, shared, number, sender) for sender in (main, 1 - main))
        records = one.data.records + other.data.records
        if shown and records > room:
            break
        shown[number] = one, other
        room -= records
    both = carriers.main, carriers.reverse_of(carriers.main)
    nothing = PanelData({})
    one, other = (Way(None, "", nothing, link, _rate(analysis, link)) for link in both)
    carrying = dict.fromkeys([*(way.link for ways in shown.values() for way in ways), *both])
    links = {link: link_data.link(analysis, link) for link in carrying if link is not None}
    return Directions(shown, (one, other), links, _titles(analysis, links))


class Carriers:
    """Which direction of which link carried what each end of each connection sent."""

    def __init__(self, analysis: Analysis) -> None:
        self.ends = analysis.ends
        self.main = analysis.links.main
        """The direction that carried most data; None without a log."""
        self._reverses = analysis.tables["links"]["reverse"].to_numpy()
        self.counts = self._counts(analysis)

    def _counts(self, analysis: Analysis) -> Any:
        """How many segments each carried, shape (connections, ends, links)."""
        table, segments = analysis.tables["segment_frames"], analysis.tables["segments"]
        known = ((table["segment"] >= 0) & (table["link"] >= 0)).to_numpy()
        rows, link = (table[name].to_numpy()[known].astype(np.int64) for name in ("segment", "link"))
        connection, sender = (segments[name].to_numpy()[rows].astype(np.int64) for name in ("connection", "sender"))
        counts = np.zeros((len(self.ends.main), 2, len(self._reverses)), dtype=np.int64)
        followed = connection >= 0
        np.add.at(counts, (connection[followed], sender[followed], link[followed]), 1)
        return counts

    def reverse_of(self, link: int | None) -> int | None:
        """The other direction of a link; None where it was not logged."""
        reverse = -1 if link is None else int(self._reverses[link])
        return reverse if reverse >= 0 else None

    def of(self, number: int, sender: int) -> int | None:
        """The direction that carried most of an end's segments; where none is known, the reverse of the other end's.

        Where no log shows any segment of the connection, those of the main link.
        """
        own, peer = self.counts[number, sender], self.counts[number, 1 - sender]
        if own.any():
            return int(own.argmax())
        if peer.any():
            return self.reverse_of(int(peer.argmax()))
        return self.main if sender == self.ends.main[number] else self.reverse_of(self.main)


def _way(analysis: Analysis, carriers: Carriers, shared: Shared, number: int, sender: int) -> Way:
    """What one end of a connection sent."""
    is_main = sender == analysis.ends.main[number]
    name = analysis.connections[("client", "server")[sender]].iat[number]
    has_data = shared.data_bytes[number, sender] > 0
    link = carriers.of(number, sender)
    rate = link_rate(analysis) if is_main and link is None else _rate(analysis, link)
    return Way(
        f"{number}" if is_main else f"{number} reverse", f"sent by {name}" if has_data else f"{name} sent no data",
        connection_data.connection(analysis, number, sender, shared), link, rate,
    )  # fmt: skip


def _rate(analysis: Analysis, link: int | None) -> float | None:
    """What a direction of the link can carry: as stated for the one that carried most data, or as its log tells."""
    if link is None:
        return None
    if link == analysis.links.main:
        return link_rate(analysis)
    rate: float | None = next(row["rate_bps"] for row in analysis.links.rows if row["id"] == link)
    return rate


def _titles(analysis: Analysis, links: dict[int, PanelData]) -> dict[int | None, str]:
    """Who sent on each direction of the link."""
    titles: dict[int | None, str] = {None: "no log of the other direction" if links else ""}
    for row in analysis.links.rows:
        if row["id"] in links:
            titles[row["id"]] = link_title(analysis, row["id"], links[row["id"]])
    return titles


def link_title(analysis: Analysis, number: int, shown: PanelData) -> str:
    """The protocol of one direction of the link and who sent, or why none of its data frames can be shown."""
    row = next(row for row in analysis.links.rows if row["id"] == number)
    protocol, sender = row["protocol"], f"the {row['sender']}" if row["sender"] else "one end"
    if any(name in shown.sources for name in ("frames_new", "frames_again")):
        return f"{protocol}, sent by {sender}"
    if row["id"] not in analysis.links.by_sender:
        return f"{protocol}, no log of what {sender} sent"
    return f"{protocol}, {sender} logged no data frames that it sent{analysis.options.in_this_part}"


def _filled(every: Iterable[PanelData]) -> PanelData:
    """The first of some, with an empty source for each series that only others have."""
    data = list(every)
    some = {name: source for one in data for name, source in one.sources.items() if len(source["x"])}
    nothing = {name: {column: values[:0] for column, values in source.items()} for name, source in some.items()}
    return PanelData({**nothing, **(data[0].sources if data else {})})


def _group(link: int) -> str:
    return f"link {link}"
