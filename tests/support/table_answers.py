"""What the tables of an analysis answer to the five questions that a reader asks a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from multitracer import Analysis

TIMEOUTS = ("timeout", "spurious-timeout")
OF_RESENDS = (*TIMEOUTS, "fast-retransmit", "spurious-fast-retransmit", "probe")


class Carried(NamedTuple):
    """The frames of a segment, and how many of them came to the other end."""

    frames: int
    repeats: int
    arrived: int


class Answers:
    """Of the connection that carried most data, and of the end that sent most of it."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis, self.tables, self.summary = analysis, analysis.tables, analysis.summary()
        sizes = [
            (way["unique_bytes"], -one["id"], -sender)
            for one in self.summary["connections"]
            for sender, way in enumerate(one["directions"].values())
        ]
        _, connection, sender = max(sizes)  # of several with as much data the first, as the page has it
        self.connection, self.sender = -connection, -sender

    def seconds(self, time_ns: Any) -> Any:
        """A time of a table as the page counts it."""
        return (time_ns - self.analysis.origin_ns) / 1e9

    @property
    def dearest_cause(self) -> dict[str, Any]:
        """What most of the session was lost to."""
        cause: dict[str, Any] = max(self.summary["blame"], key=lambda one: one["share"])
        return cause

    @cached_property
    def first_resend(self) -> Any:
        """The first retransmission, as its row of the table; None without one."""
        table = self.tables["retransmissions"]
        end = self.summary["connections"][self.connection][("client", "server")[self.sender]]
        own = table[(table["connection"] == self.connection) & (table["sender"] == end) & (table["payload_bytes"] > 0)]
        return None if own.empty else own.sort_values("time_ns", kind="stable").iloc[0]

    @property
    def has_link(self) -> bool:
        """Whether the sending end of a link logged its frames."""
        return self.analysis.links.main in self.analysis.links.segments

    def carried(self, segment: int) -> Carried:
        """The frames that carried a segment; one arrived if the other end logged its number a transit time later."""
        link, frames = self.analysis.links.main, self.tables["frames"]
        assert link is not None
        pairs = self.analysis.links.segments[link]
        mine = frames.iloc[pairs.frame[pairs.segment == segment]]
        own = frames[(frames["link"] == link) & (frames["sn"] >= 0)]
        sent, came = own[own["sent"]], own[~own["sent"]]
        transit = _transit(sent, came)
        there = {number: group.to_numpy() for number, group in came.groupby("sn")["time_ns"]}
        arrived = [
            bool((np.abs(there.get(sn, np.array([])) - at - transit) < 5_000_000).any())
            for sn, at in zip(mine["sn"].tolist(), mine["time_ns"].tolist(), strict=True)
        ]
        return Carried(len(mine), int((mine["transmission"] > 0).sum()), sum(arrived))

    def first_of_kind(self, kinds: Sequence[str]) -> Any:
        """The earliest finding of the first of some kinds of which there is one; None without."""
        table = self.tables["findings"]
        own = (table[table["kind"] == kind].sort_values("start_ns", kind="stable") for kind in kinds)
        return next((one.iloc[0] for one in own if len(one)), None)

    def window_at(self, connection: int, time_ns: int) -> float | None:
        """The congestion window in bytes that the sender's host last logged until a time."""
        state = self.tables["tcp_state"]
        sizes = self.summary["connections"][connection]["directions"]
        sender = max((0, 1), key=lambda one: sizes[("client", "server")[one]]["unique_bytes"])
        own = state[(state["connection"] == connection) & (state["sender"] == sender) & (state["time_ns"] <= time_ns)]
        own = own.sort_values("time_ns", kind="stable")
        segment = sizes[("client", "server")[sender]]["max_segment_bytes"]
        window = own["cwnd_bytes"].fillna(own["cwnd_segments"] * segment).dropna()
        return float(window.iat[-1]) if len(window) else None

    @cached_property
    def sent(self) -> pd.DataFrame:
        """The data that was sent, as captured nearest to its sender, with its times in seconds."""
        table = self.tables["segments"]
        point = int(self.analysis.paths.seen_at[self.connection, self.sender])
        own = table[
            (table["connection"] == self.connection) & (table["sender"] == self.sender) & (table["point"] == point)
            & (table["payload_bytes"] > 0)
        ]  # fmt: skip
        return own.assign(at_s=self.seconds(own["time_ns"]))

    def fates(self, start_s: float, end_s: float) -> dict[str, tuple[int, int]]:
        """By fate how many segments, and bytes, were sent between two times."""
        within = self.sent[(self.sent["at_s"] >= start_s) & (self.sent["at_s"] <= end_s)]
        sizes = within.groupby("fate", observed=False)["payload_bytes"].agg(["size", "sum"])
        return {str(fate): (int(count), int(total)) for fate, count, total in sizes.itertuples()}

    def explaining(self, resend: Any) -> Any:
        """The finding whose evidence names the record of a retransmission; None without one."""
        table = self.tables["findings"]
        record = {"input": int(resend["input"]), "record": int(resend["record"])}
        own = table[table["kind"].isin(OF_RESENDS)]
        named = [record in evidence.get("records", []) for evidence in own["evidence"]]
        return own[named].iloc[0] if any(named) else None


def _transit(sent: pd.DataFrame, came: pd.DataFrame) -> int:
    """The most frequent time from a frame to the next arrival of its number, in ns."""
    times = {number: np.sort(group.to_numpy()) for number, group in came.groupby("sn")["time_ns"]}
    waits: Counter[int] = Counter()
    for sn, at in zip(sent["sn"].tolist(), sent["time_ns"].tolist(), strict=True):
        later = times.get(sn, np.array([]))
        later = later[later > at]
        if len(later):
            waits[round((later[0] - at) / 1e6)] += 1
    return waits.most_common(1)[0][0] * 1_000_000
