"""What an RLC AM entity consists of, in named fields (3GPP TS 25.322 9.4 to 9.6).

Sequence numbers are kept unwrapped (they count on after 4095) and are cut to 12 bits in the air only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq import orders
from multitracer.replay.arq.fields import NEVER, dtype, joined, numbers, record
from multitracer.replay.arq.orders import ORDERS
from multitracer.replay.arq.rlc import queue as queues
from multitracer.replay.arq.rlc import reassembly as reassemblies
from multitracer.replay.arq.rlc.frames import FRAME_OCTETS
from multitracer.replay.arq.rlc.parameters import (
    AFTER_MAX_RST,
    DISCARD_MODES,
    LARGEST_PDU_BYTES,
    LARGEST_WINDOW,
    LAST_POLLS,
    MOST_QUEUE_SDUS,
    STATUS_FORMATS,
    Parameters,
)
from multitracer.replay.arq.rlc.queue import QUEUE
from multitracer.replay.arq.rlc.reassembly import HANDED_OVER, MOST_PIECES, REASSEMBLY, restart
from multitracer.replay.arq.rlc.segmentation import MOST_SIGNALLED, most_ends
from multitracer.replay.arq.stretches import above_dtype

SN_MASK = 4095
NEW_PDU = SN_MASK + 1
"""The row of `slot` and `lis` where a PDU is read before its place is known."""

NO_DISCARD, DISCARD_AT_MAX_DAT, DISCARD_BY_TIMER = range(3)
"""Values of `discard`, in the order of DISCARD_MODES."""
COUNTED, UNCOUNTED, DROPPED = range(3)
"""Values of `last_poll`, in the order of LAST_POLLS."""
LIST, BITMAP, RLIST = range(3)
"""Values of `status_format`, in the order of STATUS_FORMATS."""
END, REESTABLISH = range(2)
"""Values of `after_max_rst`, in the order of AFTER_MAX_RST."""
_WORDS = {"discard": DISCARD_MODES, "status_format": STATUS_FORMATS, "after_max_rst": AFTER_MAX_RST,
          "last_poll": LAST_POLLS}  # fmt: skip

PARAMETERS = numbers(*(field.name for field in fields(Parameters)), "li_octets")
"""Parameters by their names; words as numbers."""

STATE = numbers(
    "vt_s", "vt_a", "vt_ws", "vt_pdu", "vt_sdu", "vt_rst", "vt_mrw", "poll_wanted", "poll_delayed", "poll_x", "nacked",
    "lowest", "floor", "discard_to", "mrw_to", "mrw_sn", "mrw_n", "mrw_due", "mrw_beyond", "resetting", "reset_due",
    "rsn", "ended", "hfn", "peer_hfn", "listed", "lsn", "stamp", "cut",
    "vr_r", "vr_h", "vr_ep", "status_wanted", "status_delayed", "report_from", "skip_ends", "mrw_ack_due",
    "mrw_ack_sn", "mrw_ack_n", "window_due", "reset_ack_due", "last_rsn", "composed_to", "composed_report", "epc_to",
    "heard", "report_to", "report_heard", "answered", "reset_ns", "noted_full",
)  # fmt: skip
"""State variables (9.4) and what else an entity keeps.

`poll_x` is the x of Timer_Poll; `nacked` counts PDUs to be sent again, none of them below `lowest`; PDUs below
`floor` are given up; SDUs before `discard_to` are given up, before `mrw_to` by the MRW under way, which names
`mrw_sn` and `mrw_n`; `cut`: one of them was cut short; `listed`: SNs that a STATUS just read calls missing, `lsn`
what it acknowledges, `stamp` its number; `epc_to`: VR(H) at the last report; `heard`: AMD PDUs came since;
`composed_*`: what the STATUS just composed holds of a report. `report_to`: the last report named what was missing below
it; 0 once that was found missing again. `report_heard`: the peer's last report, `answered`: the last one of which
nothing waits to be sent again. `reset_ns`: when this end heard of the end of a reset last (-1: never).
`noted_full`: the log's last word on the window.
"""

TIMERS = numbers(
    "poll", "poll_prohibit", "poll_periodic", "epc", "epc_tick", "status_prohibit", "status_periodic", "mrw", "rst",
    "order",
)
"""When each timer expires, ns, and when the next order is to be obeyed. Timer_Discard is in the queue, for each SDU."""

FOUND = dtype(
    [
        *((name, np.int64) for name in ("window", "mrw_sn", "mrw_n", "mrw_ack_sn", "mrw_ack_n", "poll_sn", "padding")),
        ("scratch", np.uint8, (FRAME_OCTETS,)),
    ]
)
"""What a STATUS PDU says besides gaps and ACK, -1: nothing; and one to be piggybacked, with the `padding` it is for."""

COUNTS = numbers(
    "sent", "resent", "polls", "reports", "status_pdus", "mrws", "resets", "resets_done", "resets_taken",
    "reestablished", "discarded", "received", "duplicate", "outside", "malformed", "invalid", "piggybacked",
)  # fmt: skip
"""AMD PDUs sent, and sent again; polls; status reports and STATUS PDUs; MRWs and RESETs sent; resets completed as
their initiator and undergone as the peer; how often the link was re-established; SDUs discarded; AMD PDUs received,
known already, and outside the window; PDUs not understood; invalid STATUS PDUs; piggybacked ones sent."""

_SENT = numbers("vt_dat sent_ns long nack last_sdu called named head tx_start tx_sdu tx_skip tx_cut have")
SLOT = joined(_SENT, reassemblies.PDU)
"""What is known of a PDU by its number. Sent: VT(DAT); when it was sent last; its octets; whether it waits to be sent
again; the last SDU with a segment in it; by which STATUS it was called missing last; octets before its data, and what
its frame says (`tx_`). Received: whether it is there, and what its header says. `named` is a list by itself: the
numbers that the STATUS just read calls missing."""


MOST_HANDED = MOST_QUEUE_SDUS + LARGEST_WINDOW + MOST_PIECES
"""Pieces of SDUs that one PDU can complete: the sender's queue of SDUs, some of them in several PDUs."""
STORE = dtype(
    [
        ("slot", SLOT, (SN_MASK + 2,)),
        ("tx", np.uint8, ((SN_MASK + 1) * LARGEST_PDU_BYTES,)),
        ("rx", np.uint8, ((SN_MASK + 1) * LARGEST_PDU_BYTES,)),
        ("lis", np.int16, ((SN_MASK + 2) * (LARGEST_PDU_BYTES // 2),)),
    ]
)
"""By PDU: what is known of it; octets of those sent, or of their headers alone; octets of those received ahead of
sequence (mode with octets), and their length indicators. There is room for the largest PDUs; what is not used takes no
memory."""


ENTITY = dtype(
    [
        ("p", PARAMETERS), ("v", STATE), ("timer", TIMERS), ("counts", COUNTS), ("queue", QUEUE), ("r", REASSEMBLY),
        ("store", STORE), ("found", FOUND), ("orders", ORDERS), ("above", above_dtype(MOST_HANDED, MOST_QUEUE_SDUS)),
    ]
)  # fmt: skip
"""An RLC AM entity in one record: each part more would be handed over in every call of a kernel."""
Entity: TypeAlias = Any


def entity(parameters: Parameters) -> Entity:
    """A new entity, its periodic timers running from time 0, whose PDUs carry no payload."""
    return _made(parameters, keeps_octets=False)


def entity_with_octets(parameters: Parameters) -> Entity:
    """A new entity whose PDUs carry the octets of the SDUs, which are made up by `queue.numbered_octet`."""
    return _made(parameters, keeps_octets=True)


def live_entity(parameters: Parameters) -> Entity:
    """A new entity whose PDUs carry octets, and whose SDUs must be taken away from its reassembly."""
    return _made(parameters, keeps_octets=True, hands_out=True)


def _made(q: Parameters, *, keeps_octets: bool, hands_out: bool = False) -> Entity:
    if keeps_octets and not q.length_indicators:
        raise UsageError("PDUs without length indicators are simulated only; a live link needs them")
    ends = most_ends(q.pdu_bytes, q.li_octets)
    # Where an MRW may have to stop after any end in a PDU, a PDU has no more than it can name.
    told = ends if q.discard == "no_discard" else min(ends, MOST_SIGNALLED)
    made = record(ENTITY)
    _set(made.p, q)
    queues.set_up(made.queue, q.queue_sdus, q.queue_bytes, told, keeps_octets, q.waiting_sdus)
    reassemblies.set_up(made.r, q.max_sdu_bytes, keeps_octets, hands_out)
    made.store.slot[NEW_PDU].li = NEW_PDU * ends
    made.v.last_rsn = made.v.reset_ns = -1
    made.timer.order = NEVER
    orders.none(made)
    clear(made, 0)
    return made


def ended(e: Entity) -> bool:
    """Whether an entity has given up the link for good."""
    return bool(e.v.ended)


def obey(e: Entity, given: Iterable[tuple[int, int]]) -> None:
    """Give an entity its orders (see `arq.orders`), all of them resets."""
    orders.give(e, given)
    e.timer.order = e.orders.rows[0].time_ns


def _set(p: Any, q: Parameters) -> None:
    """The parameters as kernels see them."""
    for field in fields(Parameters):
        given = getattr(q, field.name)
        setattr(p, field.name, _WORDS[field.name].index(given) if field.name in _WORDS else given)
    p.li_octets = q.li_octets


def counters(e: Entity) -> dict[str, int]:
    """What an entity handed over and counted, and how it stands."""
    r, v = e.r.v, e.v
    handed = {name: int(r[name]) for name in HANDED_OVER}
    return {**handed, **dict(zip(COUNTS.names, e.counts.item(), strict=True)),
            "resetting": int(v.resetting), "ended": int(v.ended)}  # fmt: skip


@kernel
def after(now: int, duration: int) -> int:
    """When a timer started now expires; one of no duration is not configured."""
    return now + duration if duration > 0 else NEVER


@kernel
def stop_timers(e: Entity) -> None:
    """Stop all timers."""
    timer = e.timer
    timer.poll = timer.poll_prohibit = timer.poll_periodic = timer.epc = timer.epc_tick = NEVER
    timer.status_prohibit = timer.status_periodic = timer.mrw = timer.rst = NEVER


@kernel
def clear(e: Entity, now: int) -> None:
    """Variables and timers as they are at the beginning, 11.4.3; what was sent or received is forgotten."""
    v = e.v
    v.vt_s = v.vt_a = v.vt_pdu = v.vt_sdu = v.vt_mrw = v.poll_wanted = v.poll_delayed = 0
    v.poll_x = v.nacked = v.lowest = v.floor = v.mrw_to = v.mrw_due = 0
    v.vr_r = v.vr_h = v.vr_ep = v.heard = v.status_wanted = v.status_delayed = v.skip_ends = 0
    v.mrw_ack_due = v.window_due = v.cut = v.mrw_beyond = v.report_to = 0
    v.report_from = -1
    v.vt_ws = e.p.tx_window
    for slot in range(SN_MASK + 1):
        e.store.slot[slot].nack = e.store.slot[slot].have = 0
    stop_timers(e)
    e.timer.poll_periodic = after(now, e.p.poll_periodic_ns)
    e.timer.status_periodic = after(now, e.p.status_periodic_ns)
    restart(e.r)
