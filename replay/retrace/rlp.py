"""GSM RLP in a retrace: both entities, with timers that grow with the frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from multitracer.replay.arq.rlp import entity
from multitracer.replay.arq.rlp import link as rlp_link
from multitracer.replay.arq.rlp import state as rlp_state
from multitracer.replay.retrace.models import MS, Air, Carried, Ints, Kind, by_stretch, why_nothing


@dataclass(frozen=True)
class Rlp:
    """GSM RLP, both entities."""

    settings: entity.Parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, at frames of one block."""
        return {name: value for name, value in asdict(self.settings).items() if name != "frame_bytes"}

    def link(self, air: Air, log_rows: int = 0) -> rlp_link.Link:
        """Both ends, not yet run; T1, and T_RCVS where it is one of its own, grow with the frame."""
        base = self.settings
        own = replace(
            base, frame_bytes=air.frame_bytes, t1_ns=base.t1_ns + air.patience_ns,
            t_rcvs_ns=base.t_rcvs_ns and base.t_rcvs_ns + air.patience_ns,
        )  # fmt: skip
        return rlp_link.Link(own, own, air.frame_ns, air.delay_ns, air.forth, air.back, log_rows=log_rows)

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """Run it from end to end."""
        link = self.link(air)
        octets = by_stretch(firsts, lambda _, last: int(link.carry(last).b[rlp_state.DELIVERED]))
        counts = {"sender": link.summary(rlp_link.A), "receiver": link.summary(rlp_link.B)}
        resets = counts["sender"]["resets"] + counts["receiver"]["resets"]
        return Carried(octets, counts, why_nothing(octets, air, resets), tuple(_rlp_warnings(link, air)))


def _rlp_warnings(link: rlp_link.Link, air: Air) -> Iterator[str]:
    """What went wrong on the way, in words."""
    if rlp_state.FAILED in (link.summary(rlp_link.A)["state"], link.summary(rlp_link.B)["state"]):
        yield "the link was given up: SABM found no answer"
    wrong = link.summary(rlp_link.B)["misdelivered"]
    if wrong:
        own = link.parameters_a
        round_trip = 2 * air.delay_ns
        short = f"; T1 of {own.t1_ns / MS:g} ms is not above the round trip" if own.t1_ns <= round_trip else ""
        yield (
            f"{wrong} times a frame was taken for another, and data was lost: numbers modulo 62 are ambiguous with "
            f"SREJ and a window of {own.window}{short}"
        )


KINDS = {
    # A link that gave up for good after one long outage would say nothing of the frame size.
    "rlp": Kind(entity.Parameters, Rlp, {"persistent": "yes"}, ("frame_bytes",)),
}
