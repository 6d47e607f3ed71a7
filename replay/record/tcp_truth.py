"""What is true of a simulated run's retransmissions: what set each off, whether it was needless, what lost the data."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

from multitracer.replay.record.known_run import FAST, RECOVERY, TIMEOUT, Copy, KnownRun, Resend
from multitracer.replay.tcp.packets import DATA


def resends(run: KnownRun) -> Iterator[Resend]:
    """All of them, in the order in which they were sent."""
    triggers = _Triggers(run)
    earlier: dict[tuple[int, int, int], list[Copy]] = defaultdict(list)
    for copy in run.copies:
        if not copy.packet.bits & DATA:
            continue
        before = earlier[copy.segment.flow.number, copy.segment.end, copy.packet.seq]
        if copy.packet.sending > 0:
            needless = any(one.taken for one in before)
            yield Resend(copy, triggers.of(copy), needless, None if needless else lost_by(before[-1]))
        before.append(copy)


def lost_by(copy: Copy) -> str | None:
    """The kind of finding that the loss of a packet is."""
    if copy.refused or (copy.dropped_ns is not None and copy.given_ns is None):
        return "local-drop"
    return "link-reset" if copy.lost_ns is not None else None


class _Triggers:
    """What let segments be sent again: the retransmission timer, acknowledgements that showed a loss, a recovery.

    Linux begins a recovery also where the congestion window has no room for a resend; a later acknowledgement makes it.
    """

    def __init__(self, run: KnownRun) -> None:
        counted: dict[tuple[int, int], tuple[int, int]] = {}
        self._begun: dict[tuple[int, int], deque[tuple[int, str]]] = defaultdict(deque)
        for state in run.states:
            who = state.flow.number, state.end
            timeouts, fast = counted.get(who, (0, 0))
            if state.seen.timeouts > timeouts:
                self._begun[who].append((state.event, TIMEOUT))
            elif state.seen.fast_retransmits > fast:
                self._begun[who].append((state.event, FAST))
            counted[who] = state.seen.timeouts, state.seen.fast_retransmits

    def of(self, copy: Copy) -> str:
        """Of the next segment that was sent again: the first since a repair began has what began it."""
        begun = self._begun[copy.segment.flow.number, copy.segment.end]
        trigger = RECOVERY
        while begun and begun[0][0] <= copy.event:
            trigger = begun.popleft()[1]
        return trigger
