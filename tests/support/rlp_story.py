"""RLP links for tests: a run with its log as plain rows, and as lines that a person reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from multitracer.replay.arq.notes import ERASED, RECEIVED, SENT
from multitracer.replay.arq.rlp.entity import Parameters, counters, frame_of
from multitracer.replay.arq.rlp.state import FLUSH, RESET, XOFF, XON
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.rlp import RLP
from multitracer.replay.engine.source import source

A, B = 0, 1
SLOT_NS = 20_000_000
WAYS = {SENT: ">", RECEIVED: "<", ERASED: "x", RESET: "reset", XOFF: "xoff", XON: "xon"}
TIME, SIDE, EVENT, HEADER, POSITION = range(5)
"""Columns of a run's log; of FLUSH, HEADER is how many octets were lost and POSITION where the stream goes on."""
START, END = 2, 3
"""Columns of the deliveries after TIME and SIDE: the stretch of the stream that came."""


class Run:
    """Two entities over slots that are erased or not; offers are (time_ns, octets), None is a stream without end."""

    def __init__(
        self, parameters: tuple[Parameters, Parameters], slot_ns: int, delay_ns: int, erased: tuple[Any, Any],
        offers: tuple[Any, Any] = (None, ()),
    ) -> None:  # fmt: skip
        slots = len(erased[0])
        forth, back = (Direction(delay_ns, slot_ns, channel=Erased(lost)) for lost in erased)
        given = [(time, side, octets) for side in (A, B) for time, octets in offers[side] or () if octets]
        keep = Keep(log=20 * slots, stretches=2 * slots)
        # Of a stream without end a reset drops only what was sent, as in retrace.
        a, b = (p if o is not None else replace(p, flush_queue=False) for p, o in zip(parameters, offers, strict=True))
        saturated = (a.room if offers[A] is None else 0, b.room if offers[B] is None else 0)
        self.engine = Engine(RLP, (a, b), forth, back, source(given, saturated=saturated), keep)
        self.slots, self.slot_ns, self.done = slots, slot_ns, 0
        self.erased_a, self.erased_b = (way.trace for way in (self.engine.link.forth, self.engine.link.back))

    def carry(self, last: int | None = None) -> Run:
        """Run the slots up to `last` (all there are when None) that have not been run."""
        self.done = max(self.done, self.slots if last is None else min(last, self.slots))
        self.engine.run((self.done - 1) * self.slot_ns)
        return self

    @property
    def log(self) -> Any:
        """What happened to frames and entities, rows of TIME to POSITION."""
        kept = self.engine.log
        rows, frames = kept.rows, kept.frames
        own = rows["event"] == FLUSH
        table = np.stack([
            rows["time_ns"], rows["side"], rows["event"], np.where(own, rows["octets"], frames["header"]),
            np.where(own, rows["number"], frames["position"]),
        ], axis=1)  # fmt: skip
        return table[np.isin(rows["event"], [FLUSH, *WAYS])]

    @property
    def deliveries(self) -> Any:
        """What was delivered when: TIME, SIDE, START and END; what one frame released is one row."""
        rows: list[list[int]] = []
        for time, side, start, end in self.engine.handed[["time_ns", "side", "start", "end"]].tolist():
            if rows and rows[-1][:2] == [time, side]:
                start -= rows[-1][END] - rows.pop()[START]
            rows.append([time, side, start, end])
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    def summary(self, side: int = B) -> dict[str, int]:
        """The counters of an entity, and how it ended."""
        e = self.engine.b if side == B else self.engine.a
        return {**counters(e), "state": int(e.state)}

    def flushed(self, side: int) -> list[tuple[int, int]]:
        """Stretches (start, end) of the stream that a side lost in resets."""
        lost = self.engine.lost
        return [(int(row["start"]), int(row["end"])) for row in lost if row["side"] == side]


def link(
    slots: int,
    *,
    lost_a: tuple[int, ...] = (),
    lost_b: tuple[int, ...] = (),
    a: tuple[tuple[int, int], ...] | None = (),
    b: tuple[tuple[int, int], ...] | None = (),
    delay_slots: int = 2,
    parameters_b: dict[str, Any] | None = None,
    **parameters: Any,
) -> Run:
    """A link over `slots` slots; what is lost by slot, what is offered as (slot, octets); T1 is 6 slots."""
    erased = np.zeros((2, slots), dtype=np.uint8)
    erased[0, [slot for slot in lost_a if slot < slots]] = 1
    erased[1, [slot for slot in lost_b if slot < slots]] = 1
    settings = {"t1_ns": 6 * SLOT_NS, **parameters}
    both = Parameters(**settings), Parameters(**{**settings, **(parameters_b or {})})
    rows = [None if who is None else [(slot * SLOT_NS, octets) for slot, octets in who] for who in (a, b)]
    return Run(both, SLOT_NS, delay_slots * SLOT_NS, (erased[0], erased[1]), (rows[0], rows[1]))


def story(log: Any) -> list[str]:
    """The log as lines like `7 B > SREJ 3 p`; NULL frames and their arrivals are left out."""
    lines = []
    for row in log.tolist():
        side, slot = "AB"[row[SIDE]], row[TIME] // SLOT_NS
        if row[EVENT] == FLUSH:
            lines.append(f"{slot} {side} flush {row[HEADER]}")
        elif row[EVENT] not in (SENT, RECEIVED, ERASED):
            lines.append(f"{slot} {side} {WAYS[row[EVENT]]}")
        else:
            frame = frame_of(row[HEADER])
            numbers = [str(n) for n in (frame.ns, frame.nr) if n >= 0]
            flag = ["P" if frame.command else "F"] if frame.poll else []
            if frame.type != "NULL":
                lines.append(" ".join([str(slot), side, WAYS[row[EVENT]], frame.type, *numbers, *flag]))
    return lines
