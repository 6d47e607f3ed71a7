"""What an RLP link did, as lines that a person reads: slot, side, direction, frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.replay.arq.rlp.entity import Parameters, frame_of
from multitracer.replay.arq.rlp.link import (
    ERASED,
    EVENT,
    FLUSH,
    HEADER,
    RECEIVED,
    RESET,
    SENT,
    SIDE,
    TIME,
    XOFF,
    XON,
    Link,
    offers_of,
)

SLOT_NS = 20_000_000
WAYS = {SENT: ">", RECEIVED: "<", ERASED: "x", RESET: "reset", XOFF: "xoff", XON: "xon"}


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
) -> Link:
    """A link over so many slots; what is lost by slot, what is offered as (slot, octets); T1 is 6 slots."""
    erased = np.zeros((2, slots), dtype=np.uint8)
    erased[0, [slot for slot in lost_a if slot < slots]] = 1
    erased[1, [slot for slot in lost_b if slot < slots]] = 1
    settings = {"t1_ns": 6 * SLOT_NS, **parameters}
    rows = [None if who is None else offers_of([s * SLOT_NS for s, _ in who], [n for _, n in who]) for who in (a, b)]
    return Link(
        Parameters(**settings), Parameters(**{**settings, **(parameters_b or {})}), SLOT_NS, delay_slots * SLOT_NS,
        erased[0], erased[1], rows[0], rows[1], log_rows=12 * slots, delivery_rows=2 * slots,
    )  # fmt: skip


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
