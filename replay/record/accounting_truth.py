"""What the link did at each instant of a simulated transfer, from what its frames carried and TCP's state.

The causes are those of the accounting in `analyze`. Each instant of the session, from the first packet of the transfers
in that direction to the last acknowledgement of their data, has the first that applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan

import numpy as np

from multitracer.model.schema import CAUSES
from multitracer.replay.record.link_frames import SideTruth
from multitracer.replay.record.spans import Spans, both, charged, joined, length, within, without
from multitracer.replay.record.transfer import Transfer, transfers

IDLE = ("idle_recovery", "idle_window_limited", "idle_sender")
ON_AIR = ("link_retransmitted", "link_overhead", "tcp_retransmitted", "new_data")


@dataclass(frozen=True)
class LinkAccounting:
    """One side of a link that sent data, and the transfers that it carried, that with most data first."""

    side: SideTruth
    transfers: Sequence[Transfer]

    @cached_property
    def session(self) -> tuple[int, int]:
        """From the first packet to the last acknowledgement of data."""
        return min(_first(one) for one in self.transfers), max(one.session[1] for one in self.transfers)

    @cached_property
    def causes(self) -> dict[str, Spans]:
        """The instants of each cause."""
        side, parts = self.side, self.on_air
        data = joined(span for spans in parts.values() for span in spans)
        return charged(
            self.session,
            [
                ("link_reset", side.resets), ("flow_controlled", without(side.held, data)), *parts.items(),
                ("link_control", self._control()), *self._idle(),
            ],
        )  # fmt: skip

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of each cause of the session."""
        start, end = self.session
        return {name: length(self.causes.get(name, [])) / (end - start) for name in CAUSES}

    @cached_property
    def on_air(self) -> dict[str, Spans]:
        """When frames with user data were on the air, divided by what their octets were."""
        frames, octets = self.side.frames, self.side.octets
        own = frames.numbered > 0
        packets = np.minimum(octets.packets, frames.octets)
        again = np.minimum(octets.again, packets)
        parts = (
            np.where(octets.repeat, frames.octets, 0), np.where(octets.repeat, 0, frames.octets - packets),
            again, packets - again,
        )  # fmt: skip
        lasts, done, found = frames.end_ns - frames.begin_ns, 0 * frames.octets, {}
        for name, part in zip(ON_AIR, parts, strict=True):
            begin = frames.begin_ns + lasts * done // frames.octets
            done = done + part
            end = frames.begin_ns + lasts * done // frames.octets
            found[name] = joined(zip(begin[own].tolist(), end[own].tolist(), strict=True))
        return found

    def _control(self) -> Spans:
        """When frames without user data were on the air that began while user data waited."""
        frames, waiting = self.side.frames, self.side.waiting
        begins, ends = [one for one, _ in waiting], [other for _, other in waiting]
        control = np.flatnonzero(frames.numbered == 0)
        began = frames.begin_ns[control]
        own = control[np.searchsorted(begins, began, side="right") > np.searchsorted(ends, began, side="right")]
        return joined(zip(frames.begin_ns[own].tolist(), frames.end_ns[own].tolist(), strict=True))

    def _idle(self) -> Iterator[tuple[str, Spans]]:
        """Why TCP gave the link nothing: of the transfers that go on, that with most data decides."""
        left: Spans = joined([self.session])
        for one in self.transfers:
            span = (_first(one), one.session[1])
            if mine := within(left, *span):
                yield from ((name, both(spans, mine)) for name, spans in idle(one, span))
                left = without(left, [span])
        yield "idle_sender", [self.session]


def _first(transfer: Transfer) -> int:
    """When its first packet was seen beside the data sender: its own, or that of the other end."""
    run, end = transfer.run, transfer.end
    own = next(one.sent_ns for one in run.copies if one.segment.flow is transfer.flow and one.segment.end == end)
    came = next((s.time_ns for s in run.states if s.flow is transfer.flow and s.end == end and s.came), own)
    return min(own, came)


def idle(transfer: Transfer, span: tuple[int, int]) -> Iterator[tuple[str, Spans]]:
    """Why this transfer would leave a link idle at each instant."""
    yield "idle_recovery", joined(span for _, span in transfer.repairs)
    causes: dict[str, list[tuple[int, int]]] = {"idle_window_limited": [], "unknown": []}
    for state, after in zip(transfer.states, [*transfer.states[1:], None], strict=True):
        end = after.time_ns if after is not None else span[1]
        if transfer.is_full(state):
            causes["idle_window_limited"].append((state.time_ns, end))
        elif isnan(state.seen.cwnd) and state.seen.una < state.seen.top:
            causes["unknown"].append((state.time_ns, end))
    yield from ((name, joined(spans)) for name, spans in causes.items())
    yield "idle_sender", [span]


def accounting_of(run_side: SideTruth | None, largest: Transfer | None) -> LinkAccounting | None:
    """That of the direction of the link with most data; None where the link's frames are not logged."""
    if run_side is None or largest is None or not (run_side.frames.numbered > 0).any():
        return None
    found = LinkAccounting(run_side, [one for one in transfers(run_side.run) if one.end == largest.end])
    return found if found.session[1] > found.session[0] else None
