"""What each retransmission was: timeouts, fast retransmits, probes; needed or needless.

A timeout is called spurious only when data, or its acknowledgement, was on its way: data that had
arrived and whose acknowledgement was lost is a needless resend, but no fault of the timer's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.findings.scene import MS, Finding, Scene

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("timeout", "spurious-timeout", "fast-retransmit", "spurious-fast-retransmit", "probe")
NEEDS = ("retransmissions",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding per timeout and probe, one per recovery that a fast retransmission began."""
    table = scene.retransmissions
    if not len(table):
        return
    follow = _recoveries(table)
    columns = {name: table[name].to_numpy() for name in table.columns}
    trigger = table["trigger"]
    for row in np.flatnonzero(trigger == "timeout").tolist():
        yield _timeout(scene, columns, row)
    for row in np.flatnonzero(trigger == "probe").tolist():
        yield _probe(columns, row)
    for row in np.flatnonzero(trigger == "fast").tolist():
        yield from _fast(columns, row, follow.get(row, []))


def _timeout(scene: Scene, columns: dict[str, Any], row: int) -> Finding:
    spurious, because = columns["spurious"][row], columns["because"][row]
    evidence = _evidence(columns, [row])
    if spurious == "no":
        return _finding("timeout", columns, [row], "confirmed", because, evidence)
    if spurious == "unknown":
        return _finding("timeout", columns, [row], "undecided", because, evidence)
    on_its_way, why = _on_its_way(scene, columns, row)
    if on_its_way == 1:
        return _finding("spurious-timeout", columns, [row], "confirmed", f"{because}; {why}", evidence)
    if on_its_way == 0:
        return _finding("timeout", columns, [row], "confirmed", f"{because}; {why}", evidence)
    return _finding("spurious-timeout", columns, [row], "undecided", f"{because}; {why}", evidence)


def _on_its_way(scene: Scene, columns: dict[str, Any], row: int) -> tuple[int, str]:
    """Whether data or its acknowledgement was on its way when the timer ran out: 1, 0, -1; and why."""
    segment = columns["segment"][row]
    late = _late_by_arrivals(scene, int(segment))
    if late is not None:
        return late
    if columns["late_ack"][row] == 1:
        return 1, "the acknowledgement of an earlier copy arrived after the timer had run out"
    if columns["late_ack"][row] == 0:
        return 0, "the data had arrived but its acknowledgement never came back"
    return -1, "undecided, because whether its acknowledgement was late or lost cannot be told"


def _late_by_arrivals(scene: Scene, segment: int) -> tuple[int, str] | None:
    """From the receiver's capture: the earlier copy's arrival, and the fate of the acknowledgement it caused."""
    connection, sender = (int(scene.column(name)[segment]) for name in ("connection", "sender"))
    direction = scene.direction(connection, sender)
    direction = direction if direction and direction.receiver_point >= 0 else None
    error = scene.error_ns(direction) if direction else None
    if direction is None or error is None:
        return None
    time, seq, length = scene.column("time_ns"), scene.column("seq"), scene.column("payload_bytes")
    rows = scene.rows(connection, direction.sender_point, sender)
    end, sent = seq[segment] + length[segment], time[segment]
    earlier = rows[(seq[rows] <= seq[segment]) & (seq[rows] + length[rows] >= end) & (time[rows] < sent)]
    came = scene.arrival[earlier[scene.arrived[earlier] == 1]]
    came = came[came >= 0]
    if not len(came):
        return None
    first = int(time[came].min())
    if first > sent + error:
        return 1, f"an earlier copy reached the receiver {(first - sent) / MS:.1f} ms after the timer had run out"
    acks = scene.rows(connection, direction.receiver_point, 1 - sender)
    acks = acks[(scene.column("ack")[acks] >= end) & (time[acks] >= first - error)]
    copies = rows[(seq[rows] < end) & (seq[rows] + length[rows] > seq[segment]) & (time[rows] >= sent)]
    answered = scene.arrival[copies[scene.arrival[copies] >= 0]]  # this copy and later ones are answered too
    acks = acks[time[acks] < time[answered].min()] if len(answered) else acks
    if not len(acks):
        return None
    returned = _arrivals_back(scene, acks, connection, 1 - sender)
    if returned is None:
        return None
    if len(returned) and returned.min() > sent:
        late = (int(returned.min()) - sent) / MS
        return 1, f"the acknowledgement of an earlier copy came {late:.1f} ms after the timer had run out"
    if not len(returned):
        return 0, f"none of {len(acks)} acknowledgements that an earlier copy caused came back"
    return None


def _arrivals_back(scene: Scene, acks: Any, connection: int, sender: int) -> Any:
    """When these acknowledgements reached the data sender; None where that was not recorded."""
    direction = scene.direction(connection, sender)
    if direction is None or direction.receiver_point < 0:
        return None
    if (scene.arrived[acks] < 0).any():
        return None
    rows = scene.arrival[acks]
    return scene.column("time_ns")[rows[rows >= 0]]


def _probe(columns: dict[str, Any], row: int) -> Finding:
    needed = {"yes": "needless", "no": "needed", "unknown": "needed or not cannot be told"}[columns["spurious"][row]]
    return _finding(
        "probe", columns, [row], "confirmed", f"{columns['because'][row]} ({needed})", _evidence(columns, [row])
    )


def _fast(columns: dict[str, Any], row: int, recoveries: list[int]) -> Iterator[Finding]:
    """A recovery is told once: as spurious for its needless resends, as a fast retransmission for the rest."""
    rows = [row, *recoveries]
    for kind, spurious, verdict in (
        ("fast-retransmit", "no", "confirmed"),
        ("spurious-fast-retransmit", "yes", "confirmed"),
        ("fast-retransmit", "unknown", "undecided"),
    ):
        mine = [r for r in rows if columns["spurious"][r] == spurious]
        if mine:
            yield _finding(kind, columns, mine, verdict, columns["because"][mine[0]], _evidence(columns, mine))


def _recoveries(table: pd.DataFrame) -> dict[int, list[int]]:
    """For fast retransmissions, the rows of the recovery that each began: all until the next, or a timeout."""
    trigger = table["trigger"]
    begun, over, within = ((trigger == name).to_numpy() for name in ("fast", "timeout", "recovery"))
    if not begun.any():
        return {}
    end = table.groupby(["connection", "sender"], sort=False).ngroup().to_numpy()
    order = np.argsort(end, kind="stable")
    place = np.arange(len(order))
    # Of each row, in order of ends, the latest one at or before it that began or ended a recovery.
    marked = np.maximum.accumulate(np.where((begun | over)[order], place, -1))
    mine = within[order] & (marked >= 0)
    mine[mine] = begun[order[marked[mine]]] & (end[order[marked[mine]]] == end[order[mine]])
    found: dict[int, list[int]] = {}
    for first, row in sorted(zip(order[marked[mine]].tolist(), order[mine].tolist(), strict=True)):
        found.setdefault(first, []).append(row)
    return found


def _evidence(columns: dict[str, Any], rows: list[int]) -> dict[str, Any]:
    return {
        "count": len(rows),
        "seq": int(columns["seq"][rows[0]]),
        "bytes": int(columns["payload_bytes"][rows].sum()),
        "records": [
            {"input": int(columns["input"][row]), "record": int(columns["record"][row])} for row in rows[:5]
        ],
    }


def _finding(
    kind: str, columns: dict[str, Any], rows: list[int], verdict: str, because: str, evidence: dict[str, Any]
) -> Finding:
    time = columns["time_ns"]
    return Finding(
        kind, "tcp", int(columns["connection"][rows[0]]), int(time[rows[0]]), int(time[rows[-1]]), verdict,
        because, evidence,
    )  # fmt: skip
