"""What an entity is told to do at given times, beside its protocol's own events: reset the link, or stop the peer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import NEVER, codes, dtype, numbers

ROOM = 1024
"""Orders of one entity."""
ORDER = numbers("time_ns what")
RESET, STOP, GO = codes(3)
"""Reset the link; stop the peer (XOFF); let it go on (XON)."""
ORDERS = dtype([("next", np.int64), ("rows", ORDER, (ROOM + 1,))])
"""A field `orders` of an entity; after the last order there is one at NEVER."""


def none(e: Any) -> None:
    """An entity without orders."""
    e.orders.rows["time_ns"] = NEVER


def give(e: Any, orders: Iterable[tuple[int, int]]) -> None:
    """Give an entity its orders: times (ns) and what to do."""
    known = sorted(orders)
    if len(known) > ROOM:
        raise UsageError(f"{len(known)} resets and stops of one end are too many; {ROOM} is the most")
    for row, (time_ns, what) in zip(e.orders.rows, known, strict=False):
        row.time_ns, row.what = time_ns, what


@kernel
def order_due(e: Any) -> int:
    """When the next order is to be obeyed; NEVER where there is none."""
    return e.orders.rows[e.orders.next].time_ns


@kernel
def next_order(e: Any) -> int:
    """Take the order that is due."""
    e.orders.next += 1
    return e.orders.rows[e.orders.next - 1].what
