"""How the link of a run spent the session of its transfers: in use, idle, carrying what TCP had sent before.

The link's log and the journal are read part by part. The session is from the first packet beside the data sender to the
last acknowledgement of data there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.replay.arq import notes
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate import journal
from multitracer.replay.simulate.frames_sent import (
    Arrivals,
    FramesSent,
    Ints,
    Offered,
    full_windows,
    held_by,
    octets_of,
    resets_of,
    rlp_frames,
    together,
    waited_until,
)
from multitracer.replay.simulate.framing import PPP_OCTETS
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Simulation
from multitracer.replay.simulate.transport import MEDIA_FLOW, TCP_FLOW
from multitracer.replay.tcp.packets import DATA

NS = 1_000_000_000
ROWS = 1 << 17
"""Room in the log and in the journal for a part of a run; what is not used takes no memory."""
PART_NS = 200 * NS
"""So much simulated time is run at once, if what happens in it has room."""
ROWS_A_FRAME = 20
"""Rows of the link's log that a frame and what it causes make at most."""


def link_session(scenario: Scenario) -> LinkSession | None:
    """What hears the parts of a run; None for links other than RLP's, whose logs no ordinary run keeps."""
    return LinkSession(scenario) if scenario.word("link.protocol") == "rlp" else None


class LinkSession:
    """What both sides of an RLP link sent, and what TCP's ends did, as far as the link's use depends on it."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._side = 0 if scenario.forward == "down" else 1
        self._sent: tuple[list[FramesSent], list[FramesSent]] = [], []
        self._link: list[Any] = []
        self._packets: list[tuple[Any, Any, Any]] = []

    @property
    def part_ns(self) -> int:
        """So much time that all that happens in it has room."""
        fastest = max(self._frames_a_second(way) for way in ("down", "up"))
        return max(1, min(PART_NS, round(NS * ROWS / (ROWS_A_FRAME * fastest))))

    def _frames_a_second(self, way: str) -> float:
        scenario = self._scenario
        if scenario.value("link.tti_s", way) is not None:
            return scenario.whole("link.blocks_per_tti", way) / scenario.number("link.tti_s", way)
        return scenario.number("link.rate_bps", way) / (8 * scenario.whole("link.frame_bytes", way))

    def run(self, done: Simulation) -> Simulation:
        """Run to the end, and hear all of it."""
        for _ in done.parts(self.part_ns):
            self.hear(done)
            done.engine.clear()
            done.source.journal.state.rows = done.source.journal.state.noted = 0
        return done

    def hear(self, done: Simulation) -> None:
        """The next part of a run, before it is forgotten."""
        log, kept = done.engine.log, done.source.journal
        for side in (0, 1):
            self._sent[side].append(rlp_frames(log.rows, log.frames, side, done.setting.radio[side]))
        self._link.append(log.rows[log.rows["event"] != notes.SENT].copy())
        count = int(kept.state.rows)
        seen = kept.seen["una"][:count].copy()
        self._packets.append((kept.rows[:count].copy(), kept.packets[:count].copy(), seen))

    def metrics(self, done: Simulation) -> dict[str, Any]:
        """The link's utilization and idle time, and its longest hole; nothing of a run without a session."""
        link = np.concatenate(self._link)
        rows, packets, una = (np.concatenate(parts) for parts in zip(*self._packets, strict=True))
        session = self._session(rows, packets, una)
        if session is None:
            return {}
        own = together(self._sent[self._side])
        came = [self._arrivals(link, side) for side in (0, 1)]
        sent = [together(parts) for parts in self._sent]
        resets = [one[:2] for one in resets_of(sent, came, done.engine.until, either_resets=True)]
        offered, since, until = self._offered(link, rows, packets, past=done.setting.past)
        octets = octets_of(own, offered)
        waits = union(since, waited_until(own, offered, until))
        stops = self._stops(link, own, waits, done.engine.until)
        used = own.numbered > 0
        used |= inside(own.begin_ns, waits)
        busy = union(*spans(zip(own.begin_ns[used], own.end_ns[used], strict=True), stops, resets))
        again = (own.end_ns - own.begin_ns) * octets.again / np.maximum(own.octets, 1)
        again_ns = float(again[(own.begin_ns >= session[0]) & (own.begin_ns < session[1])].sum())
        whole = session[1] - session[0]
        idle = whole - within(busy, *session)
        repairs = union(*spans(zip(own.begin_ns[octets.repeat], own.end_ns[octets.repeat], strict=True), resets))
        return {
            "utilization_percent": 100 * (1 - (idle + again_ns) / whole), "idle_s": idle / NS,
        } | self._hole(rows, packets, repairs)  # fmt: skip

    def _session(self, rows: Any, packets: Any, una: Ints) -> tuple[int, int] | None:
        """From the first packet beside the data sender to the last acknowledgement of data; None without one."""
        there = np.isin(rows["what"], (journal.SENT, journal.CAME)) & (rows["end"] & 1 == self._side)
        order = np.argsort(packets["connection"][there], kind="stable")
        number, connection = una[there][order], packets["connection"][there][order]
        news = (np.diff(number, prepend=0) > 0) & (number > 1) & (np.diff(connection, prepend=-1) == 0)
        if not news.any():
            return None
        return int(rows["time_ns"][there].min()), int(rows["time_ns"][there][order][news].max())

    @staticmethod
    def _arrivals(link: Any, side: int) -> Arrivals:
        mine = link[
            (link["side"] == side) & (link["what"] == 0) & np.isin(link["event"], (notes.RECEIVED, notes.ERASED))
        ]
        return Arrivals(mine["time_ns"], (mine["event"] == notes.RECEIVED).astype(np.int64))

    def _offered(self, link: Any, rows: Any, packets: Any, *, past: bool) -> tuple[list[Offered], Ints, Ints]:
        """The packets of the sender's stream; since when each waited, and when it was given up, if it was."""
        given = (rows["what"] == journal.GIVEN) & (rows["end"] == self._side)
        columns = (packets[name][given].tolist() for name in ("connection", "bits", "seq", "octets", "sent_ns"))
        packet_of = dict(zip(rows["number"][given].tolist(), zip(*columns, strict=True), strict=True))
        lost = link[(link["event"] == notes.LOST) & (link["side"] == self._side) & (link["what"] == TCP_FLOW)]
        gone = dict(zip(lost["number"].tolist(), lost["time_ns"].tolist(), strict=True))
        mine = link[(link["event"] == notes.OFFERED) & (link["side"] == self._side)]
        mine = mine[~((mine["what"] == MEDIA_FLOW) & past)]
        framing = PPP_OCTETS if self._scenario.flag("link.ppp") else 0
        header = self._scenario.whole("tcp.header_bytes")
        found, since, until, end = [], [], [], 0
        for number, octets, flow, now in mine[["number", "octets", "what", "time_ns"]].tolist():
            own = packet_of.get(number) if flow == TCP_FLOW else None
            connection, bits, seq, size, sent_ns = own or (-1, 0, 0, 0, now)
            begin, end = end, end + octets
            payload = min(size - header, octets - framing) if bits & DATA else 0
            found.append(Offered(begin, end, octets - framing - payload, payload, (connection,), seq))
            since.append(sent_ns if self._side == 1 else now)
            until.append(gone.get(number, NEVER) if flow == TCP_FLOW else NEVER)
        return found, np.array(since, dtype=np.int64), np.array(until, dtype=np.int64)

    def _stops(self, link: Any, own: FramesSent, waits: Ints, until: int) -> Iterator[tuple[int, int]]:
        """When the peer had said stop; when the window was full, as far as data waited."""
        changes = link[(link["event"] == notes.HELD) & (link["side"] == self._side)]
        yield from (span[:2] for span in held_by(changes, notes.STOPPED, until))
        for begin, end in full_windows(own, changes, until):
            near = waits[np.searchsorted(waits[:, 1], begin, side="right") : np.searchsorted(waits[:, 0], end)]
            yield from ((max(begin, int(one)), min(end, int(other))) for one, other in near)

    def _hole(self, rows: Any, packets: Any, repairs: Ints) -> dict[str, float]:
        """The longest time between two deliveries of data in which the link repeated or was reset."""
        data = (rows["what"] == journal.CAME) & (packets["end"] == self._side) & (packets["bits"] & DATA > 0)
        came = rows["time_ns"][data]
        gaps = np.flatnonzero(
            np.searchsorted(repairs[:, 0], came[1:]) > np.searchsorted(repairs[:, 1], came[:-1], side="right")
        )
        return {"link_recovery_hole_s": float(np.diff(came)[gaps].max()) / NS} if len(gaps) else {}


def spans(*several: Any) -> tuple[Ints, Ints]:
    """Begins and ends of spans of several kinds."""
    every = np.array([span for each in several for span in each], dtype=np.int64).reshape(-1, 2)
    return every[:, 0], every[:, 1]


def union(begin: Ints, end: Ints) -> Ints:
    """Sorted spans without overlap that hold the same instants; shape (spans, 2)."""
    keep = end > begin
    order = np.argsort(begin[keep], kind="stable")
    begin, end = begin[keep][order], end[keep][order]
    if not len(begin):
        return np.empty((0, 2), dtype=np.int64)
    reached = np.maximum.accumulate(end)
    first = np.flatnonzero(np.concatenate([[True], begin[1:] > reached[:-1]]))
    return np.column_stack([begin[first], reached[np.append(first[1:], len(begin)) - 1]])


def inside(times: Ints, others: Ints) -> Any:
    """Whether each time is in one of sorted spans."""
    return np.searchsorted(others[:, 0], times, side="right") > np.searchsorted(others[:, 1], times, side="right")


def within(others: Ints, begin: int, end: int) -> int:
    """How much of sorted spans lies between two times."""
    return int(np.maximum(np.minimum(others[:, 1], end) - np.maximum(others[:, 0], begin), 0).sum())
