"""What is concluded about one trace: the type that the summary, the report and the exports are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.model.limits import Limits
from multitracer.model.options import AnalyzeOptions
from multitracer.model.paths import Paths
from multitracer.model.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ends:
    """What every end of every connection sent, by the point that saw it best.

    Ends are numbered 2 * connection + sender, where the sender is 0 for the client and 1 for the server.
    """

    measures: pd.DataFrame
    """What each point saw of each end; `row` is where in it each end stands, -1 where nobody saw it."""
    row: Ints
    triggers: Mapping[str, Ints]
    """How often each end retransmitted, by what made it."""
    spurious: Mapping[str, Ints]
    """How often each end retransmitted, by whether that was needless: "yes", "no" or "unknown"."""
    limits: Limits
    """What limited each end, as far as it sent data."""
    kernel_clocks: npt.NDArray[np.float64]
    """The kernel's own clocks of each end where a log has them, columns as in multitracer.tcp.kernel_clocks."""

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of `measures` as arrays."""
        return {name: column.to_numpy() for name, column in self.measures.items()}

    def counts(self, name: str) -> Ints:
        """A column of counts of `measures`, shape (connections, 2); 0 where nothing was seen."""
        seen, counts = self.row >= 0, np.zeros(len(self.row), dtype=np.int64)
        counts[seen] = self.measures[name].to_numpy()[self.row[seen]]
        return counts.reshape(-1, 2)

    @cached_property
    def main(self) -> Ints:
        """Which end of each connection sent more data: 0 the client, 1 the server."""
        return self.counts("unique_bytes").argmax(axis=1)

    @cached_property
    def largest(self) -> int | None:
        """The end that sent most data of all; None if none sent any."""
        data = self.counts("unique_bytes").ravel()
        return int(data.argmax()) if data.any() else None

    @cached_property
    def limited_s(self) -> float | None:
        """The time that the limits of this end divide: from its first data to the last acknowledgement of it."""
        if self.largest is None or self.limits.end_ns[self.largest] < 0:
            return None
        return float(self.limits.end_ns[self.largest] - self.limits.start_ns[self.largest]) / 1e9


@dataclass(frozen=True)
class Totals:
    """What all connections sent together, and which of them sent most."""

    connections: int
    data_segments: int
    spurious: dict[str, int]
    """Retransmissions by whether they were needless: "yes", "no" or "unknown"."""
    busiest: list[dict[str, Any]]
    """Items of connections[] of the summary, the one whose one end sent most data first."""
    limited_s: float | None
    """The time that the limits of the end that sent most data divide."""


@dataclass(frozen=True)
class SegmentFrames:
    """Which frames held octets of which segment: pairs of a row of frames and a row of segments."""

    frame: Ints
    segment: Ints


class Covered(Protocol):
    """When a log has every frame."""

    def covers(self, since_ns: Any, until_ns: Any) -> Any:
        """Whether it has all frames of each of these times."""


@dataclass(frozen=True)
class Links:
    """What is concluded about the links; nothing without a log of their frames, or the link's rate."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    """links[] of the summary."""
    main: int | None = None
    """The link and direction that carried most data; what follows is about this one."""
    shares: dict[str, float] | None = None
    """The share of the session's time that each cause of the accounting took."""
    utilization: dict[str, Any] | None = None
    rate_bps: float | None = None
    """Its rate of user data, as its log shows it."""
    intervals: pd.DataFrame | None = None
    """When any link was reset, released, stopped or without a frame."""
    notes: list[str] = field(default_factory=list)
    """What could not be matched and why, one sentence each."""
    segments: Mapping[int, SegmentFrames] = field(default_factory=dict)
    """Of each link whose sender logged: which of its frames held which segment with data."""
    by_sender: frozenset[int] = frozenset()
    """The links whose sender logged frames that it sent, in the part that is analysed or outside of it."""
    received: Callable[[int], Covered] | None = None
    """What the log of a link's receiver covers; None without links."""


class Blame(NamedTuple):
    """Time of the session that is charged to the roots of one kind and layer."""

    cause: str
    """Their kind of finding, or `vocabulary.UNEXPLAINED`."""
    layer: str
    lost_ns: int
    session_ns: int
    findings: list[int]
    """Rows of the findings table."""
    because: str

    @property
    def share(self) -> float:
        """Its share of the session."""
        return self.lost_ns / self.session_ns if self.session_ns else 0.0


@dataclass(frozen=True, repr=False)
class Analysis:
    """Everything concluded about one trace; `tables` are those of `multitracer.model.schema`."""

    trace: Trace
    """The inputs with their clocks and roles, and the tables that the analysis began from."""
    tables: dict[str, pd.DataFrame]
    paths: Paths
    ends: Ends
    links: Links
    origin_ns: int
    """The first time of the whole trace, from which seconds are counted."""
    options: AnalyzeOptions
    missing: list[str] = field(default_factory=list)
    """Which further input would answer what is not known, one sentence each."""
    not_looked_for: dict[str, str] = field(default_factory=dict)
    """Kinds of finding that these inputs do not allow, each with the inputs that it needs."""
    blame: list[Blame] | None = None
    """Who is to blame for the time that carried no new data, dearest first; None without an accounting."""

    @property
    def connections(self) -> pd.DataFrame:
        """The table of connections."""
        return self.tables["connections"]

    @property
    def shares(self) -> dict[str, float] | None:
        """The accounting's shares of the link that carried most data; None without a log or a rate of the link."""
        return self.links.shares

    @property
    def utilization(self) -> dict[str, Any] | None:
        """Utilization of that link; None without a log or a rate of the link."""
        return self.links.utilization

    @property
    def main_accounting(self) -> pd.DataFrame:
        """The accounting of the link that carried most data, or by the stated rate."""
        table = self.tables["accounting"]
        own = table["link"] == self.links.main if self.links.main is not None else table["link"] == -1
        return table[own if own.any() else table["link"] == -1]
