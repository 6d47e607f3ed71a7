"""What is offered to a link: SDUs at given times, windows that keep SDUs under way, or sources that never end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from multitracer.compute.kernels import kernel, merged
from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import NEVER, numbers, record, table
from multitracer.replay.engine.ledger import FOUND, GONE

OFFER = numbers("time_ns side octets flow past")
"""`past`: the packet goes past the entity, straight into the device's queue."""
WINDOW = numbers("side octets flow past most total offered under_way delivered lost")
"""A flow of `total` packets, of which at most `most` are under way."""
STATE = numbers("next_ns listens saturated_a saturated_b next_offer")
"""When it wants to act next; whether it wants to hear which SDUs ended; octets of each side's SDUs that never run out,
0 for none. The loop reads these of any source."""


class Source(NamedTuple):
    """All that is offered, to both sides."""

    state: Any
    offers: Any
    windows: Any

    def grown(self, books: Any) -> Source:  # noqa: ARG002
        """The same for ledgers with more room."""
        return self


def source(
    offers: Sequence[tuple[int, ...]] = (), windows: Sequence[tuple[int, ...]] = (), saturated: tuple[int, int] = (0, 0)
) -> Source:
    """Offers are (time_ns, side, octets[, flow, past]), windows (side, octets, flow, most, total[, past]).

    SDUs that never run out are offered to A and to B whenever one more can be sent.
    """
    rows = table(len(offers), OFFER)
    for row, offer in zip(rows, sorted(offers, key=lambda offer: offer[:2]), strict=True):
        row.time_ns, row.side, row.octets = offer[:3]
        row.flow, row.past = (*offer[3:], 0, 0)[:2]
    flows = table(len(windows), WINDOW)
    for row, window in zip(flows, windows, strict=True):
        row.side, row.octets, row.flow, row.most, row.total = window[:5]
        row.past = (*window[5:], 0)[0]
    if (rows["octets"] < 1).any() or (flows["octets"] < 1).any() or min(saturated) < 0:
        raise UsageError("an SDU must have 1 octet or more")
    if any((t["past"] & (t["flow"] < 1)).any() for t in (rows, flows)):
        raise UsageError("packets past the entity need a flow of 1 or more")
    made = Source(record(STATE), rows, flows)
    made.state.saturated_a, made.state.saturated_b = saturated
    made.state.listens = int(len(flows) > 0)
    plan(made, -1)
    return made


@merged
def plan(source: Any, now: int) -> None:
    """Work out when the next SDU is offered: for a window that is open, now."""
    state = source.state
    state.next_ns = source.offers[state.next_offer].time_ns if state.next_offer < len(source.offers) else NEVER
    for k in range(len(source.windows)):
        if is_open(source.windows[k]):
            state.next_ns = min(state.next_ns, max(now, 0))


@kernel
def is_open(window: Any) -> bool:
    """Whether a window has room for one more of its packets."""
    return window.under_way < window.most and window.offered < window.total


@merged
def hear(source: Any, books: Any) -> None:
    """Count the packets that ended, in the windows of their senders."""
    ends = books.ends
    while ends.taken < ends.posted:
        row = books.ended[ends.taken & (len(books.ended) - 1)]
        ends.taken += 1
        delivered = int(row.became != GONE)
        lost = 1 if row.became == GONE else -1 if row.became == FOUND else 0  # FOUND: was counted as lost before
        for k in range(len(source.windows)):
            window = source.windows[k]
            if window.flow == row.flow and window.side == row.kind & 1:
                window.under_way -= delivered + lost
                window.delivered += delivered
                window.lost += lost


@kernel
def endless_octets(source: Any, side: int) -> int:
    """The size of a side's SDUs that never run out; 0: they do."""
    return source.state.saturated_b if side else source.state.saturated_a
