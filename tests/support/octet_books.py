"""Where the octets of a simulation are: what went into each queue against what left it, was dropped or still waits."""

from __future__ import annotations

from typing import Any

from multitracer.replay.simulate.simulation import Simulation
from multitracer.replay.simulate.wired import ROOM


def unbalanced(done: Simulation) -> list[str]:
    """The places at which octets appear or vanish; none are expected."""
    source, (down, up) = done.source, done.source.wired.hops
    wired, terminal = source.traffic
    offered, under_way = [_offered(done, side) for side in (0, 1)], [_under_way(done, side) for side in (0, 1)]
    queue = source.queue.state
    books = {
        "wired host and hop": (wired.sent, offered[0], wired.refused, down.dropped_octets, _on_hop(source, 0)),
        "terminal": (wired.carried, terminal.came),
        "terminal's host": (terminal.sent, offered[1], terminal.refused, queue.dropped_octets, queue.waiting),
        "hop up": (terminal.carried, wired.came, up.dropped_octets, _on_hop(source, 1)),
    }
    silent = [offered[side] - int(source.traffic[side].carried + source.traffic[side].lost) - under_way[side]
              for side in (0, 1)]  # fmt: skip
    return _beyond_losses(done, silent) + [
        f"{place}: {int(into)} is not {' + '.join(str(int(part)) for part in parts)}"
        for place, (into, *parts) in books.items() if into != sum(parts) or min(parts) < 0
    ]  # fmt: skip


def _beyond_losses(done: Simulation, silent: list[int]) -> list[str]:
    """Where more is gone than what a link without repairs loses without saying so: a packet a frame at most."""
    link, found = done.engine.link, []
    for place, way, octets in (("link down", link.forth.state, silent[0]), ("link up", link.back.state, silent[1])):
        repairs = done.engine.protocol.name in ("sr", "asr", "rlp", "rlc-am")
        lost = 0 if repairs else int(way.erased + way.dropped) * int(done.source.state.segment_octets)
        if not 0 <= octets <= lost:
            found.append(f"{place}: {octets} octets are gone, at most {lost} were lost")
    return found


def _offered(done: Simulation, side: int) -> int:
    """Octets that a side of the link was offered, those past its protocol included."""
    state = done.engine.link.upper.books.state
    return int(state[side].end + state[2 + side].end)


def _under_way(done: Simulation, side: int) -> int:
    """Octets of packets that the link has neither delivered nor lost, by its own ledger."""
    books, octets = done.engine.link.upper.books, 0
    for kind in (side, 2 + side):
        state = books.state[kind]
        for number in range(max(int(state.settled), int(state.reached)), int(state.offered)):
            row = books.rows[kind, number & int(state.mask)]
            octets += int(row.octets) * (row.done == 0)
    return octets


def _on_hop(source: Any, way: int) -> int:
    """Octets on the wired hop and in its queue."""
    hop = source.wired.hops[way]
    return sum(int(source.wired.packets[way, at & (ROOM - 1)].octets) for at in range(int(hop.first), int(hop.end)))
