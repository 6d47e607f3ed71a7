"""Data was in flight, none of it lost, and nothing arrived for more than two round trips.

With a log of the link that carried the data, other findings say what the link did meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.findings.finding import Finding
from multitracer.findings.limited_stretches import Limited, finding, limited
from multitracer.findings.needs import LIMITS
from multitracer.findings.observations import Observations

KINDS = ("path-stall",)
NEEDS = (LIMITS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each stretch in which a path stood still that no log describes."""
    assert observed.limits is not None  # by NEEDS
    logged = _logged(observed)
    for one in limited(observed, "path_stall", group_rtts=0):
        direction = one.direction
        if _described(observed, one, logged) or one.cost_ns <= observed.thresholds.stall_rtts * one.rtt_ns:
            continue
        seen = bool(observed.limits.by_arrivals[2 * direction.connection + direction.sender])
        what = "nothing arrived at the receiver" if seen else "nothing was acknowledged"
        layer = "path" if seen and observed.frames is None else "unknown"
        yield finding(
            "path-stall", layer, one._replace(hole=one.hole or observed.incomplete(direction)),
            f"data was in flight, nothing of it had to be resent, and {what}",
        )  # fmt: skip


def _logged(observed: Observations) -> set[tuple[int, str]]:
    """(Connection, "ip:port") of the senders whose segments are found in the link's log."""
    table = observed.segment_frames
    if table is None or not len(table):
        return set()
    own = table[["connection", "sender"]].drop_duplicates()
    return {(int(connection), str(sender)) for connection, sender in own.itertuples(index=False)}


def _described(observed: Observations, one: Limited, logged: set[tuple[int, str]]) -> bool:
    """Whether a link's log says what happened then to what this end sent."""
    connection = one.direction.connection
    name = observed.connections[("client", "server")[one.direction.sender]].iat[connection]
    frames = observed.frames
    if frames is None or (connection, str(name)) not in logged:
        return False
    return bool(frames["time_ns"].min() < one.stop_ns and frames["time_ns"].max() > one.start_ns)
