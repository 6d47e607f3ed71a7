"""The state of an SR or ASR entity: one side of a link, in records and tables with named fields."""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.replay.arq.chains import chained
from multitracer.replay.arq.fields import NEVER, codes, numbers, record, table
from multitracer.replay.arq.sdu_queue import SduQueue, length, sdu_queue
from multitracer.replay.arq.sr.asr import estimate
from multitracer.replay.arq.sr.frames import FRAME, MODULUS
from multitracer.replay.arq.sr.parameters import WindowParameters
from multitracer.replay.arq.stretches import Above, above

SLOTS = MODULUS // 2
"""As many frames as the largest window: frame n is kept at place n modulo SLOTS."""

STATE = numbers("vs va vr vh", "echo nack_ids", "ack_at ack_due", "expired ack_expired")
"""vs: next new frame; va: oldest not acknowledged; vr: next to deliver; vh: one after the highest received.
echo: number of the last NACK answered; nack_ids: NACKs sent. ack_at: when the ACK timer expires (ns); ack_due:
whether it did. expired, ack_expired: the frames' timers, and the ACK timer, that expired in the last `expire`."""

SENT = numbers("sdu start octets", "sent_ns sendings", "expiry_ns answers due", "previous next")
"""A sent frame: its SDU; when it was sent last and how often; when its timer expires; the NACK that its next sending
answers (0: none); whether it is to be sent again; its neighbours in a chain."""
TIMERS, RESENDS = codes(2, SLOTS)
"""Chains of sent frames: those whose timers run, in the order of expiry, and those to be sent again."""

GOT = numbers("sdu start octets", "first_ns here", "nack_id nacked_ns", "previous next")
"""A frame to be received: its SDU and when it arrived, once it is `here`; the number of its last NACK, and when it was
sent; its neighbours in a chain."""
NACKS_DUE, NACKED = codes(2, SLOTS)
"""Chains of missing frames: those to be reported by a NACK, and those that were."""

COUNTS = numbers(
    "delivered_sdus delivered_octets", "first_sendings retransmissions acks nacks", "renacked timeouts duplicates",
    "discarded",
)  # fmt: skip
"""SDUs and octets delivered; frames sent, by kind; missing frames reported anew; frames' timers that expired; data
frames received that were there already; SDUs given up."""


class Entity(NamedTuple):
    """One side of a link."""

    rules: Any
    state: Any
    estimate: Any
    counts: Any
    sent: Any
    got: Any
    queue: SduQueue
    above: Above


def entity(parameters: WindowParameters) -> Entity:
    """A side that has sent and received nothing."""
    rules, state = parameters.rules(), record(STATE)
    state.ack_at = NEVER
    sent = chained(SLOTS, 2, SENT)
    sent["expiry_ns"][SLOTS:] = NEVER  # an empty chain of timers never expires
    return Entity(
        rules, state, estimate(rules), record(COUNTS), sent, chained(SLOTS, 2, GOT), sdu_queue(parameters.queue_sdus),
        above(SLOTS, 1),
    )  # fmt: skip


def frames(capacity: int, parameters: WindowParameters) -> Any:
    """Room for frames that wait or are on the air."""
    return table(capacity, FRAME)


def counters(e: Entity) -> dict[str, int]:
    """What the entity counted, and what is left: SDUs never sent, and frames sent but not acknowledged.

    `discarded` is there only where something can be given up.
    """
    names = COUNTS.names if e.rules.most_sendings else COUNTS.names[:-1]
    counted = {name: int(e.counts[name]) for name in names}
    return {**counted, "waiting": int(length(e.queue)), "unacknowledged": int(e.state.vs - e.state.va)}
