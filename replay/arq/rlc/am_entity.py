"""The arrays that an RLC AM entity consists of, and what stands where in them (3GPP TS 25.322 9.4 to 9.6).

Sequence numbers are kept unwrapped (they count on behind 4095) and are cut to 12 bits in the air only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlc import segmentation as segments
from multitracer.replay.arq.rlc.parameters import DISCARD_MODES, STATUS_FORMATS, Parameters
from multitracer.replay.arq.rlc.segmentation import MOST_SIGNALLED, Queue, Reassembly, most_ends, restart

SN_MASK = 4095
NEVER = 2**62

# Parameters, as the kernels see them.
(
    PDU_BYTES, LI_OCTETS, SPECIAL_HE, PIGGYBACK, CONTROL_BYTES, FORMAT, IN_SEQUENCE, TX_WINDOW, RX_WINDOW,
    POLL_LAST_NEW, POLL_LAST_RETRANSMISSION, POLL_NS, POLL_PDU, POLL_SDU, POLL_WINDOW, POLL_PERIODIC_NS,
    POLL_PROHIBIT_NS, POLL_UNACKNOWLEDGED, MISSING_PDU, STATUS_PERIODIC_NS, STATUS_PROHIBIT_NS, EPC_NS, TTI_NS,
    PDUS_PER_TTI, DISCARD, MAX_DAT, DISCARD_NS, MRW_NS, MAX_MRW, SEND_MRW, RST_NS, MAX_RST, DISCARDS_ALL, WHOLE_REPORTS,
    ANY_STATUS, PARAMETERS,
) = range(36)  # fmt: skip
NO_DISCARD, DISCARD_AT_MAX_DAT, DISCARD_BY_TIMER = range(3)
LIST, BITMAP, RLIST = range(3)

# State. POLL_X is the x of Timer_Poll; NACKED counts PDUs to be sent again, none of them below LOWEST; FLOOR: PDUs
# below are given up; SDUs before DISCARD_TO are given up, before MRW_TO by the MRW under way, which names MRW_SN
# and MRW_N; CUT: one of them was cut short; LISTED: SNs that a STATUS just read calls missing, LSN what it
# acknowledges; EPC_TO: VR(H) at the last report; COMPOSED_*: what the STATUS just composed holds of a report.
(
    VT_S, VT_A, VT_WS, VT_PDU, VT_SDU, VT_RST, VT_MRW, POLL_WANTED, POLL_DELAYED, POLL_X, NACKED, LOWEST, FLOOR,
    DISCARD_TO, MRW_TO, MRW_SN, MRW_N, MRW_DUE, MRW_BEYOND, RESETTING, RESET_DUE, RSN, ENDED, HFN, PEER_HFN,
    LISTED, LSN, STAMP,
    VR_R, VR_H, VR_EP, STATUS_WANTED, STATUS_DELAYED, REPORT_FROM, SKIP_ENDS, MRW_ACK_DUE, MRW_ACK_SN, MRW_ACK_N,
    WINDOW_DUE, RESET_ACK_DUE, LAST_RSN, COMPOSED_TO, COMPOSED_REPORT, EPC_TO, CUT, STATES,
) = range(46)  # fmt: skip

# Timers: when each expires, ns. Timer_Discard is in the queue, for each SDU.
(
    T_POLL, T_POLL_PROHIBIT, T_POLL_PERIODIC, T_EPC, T_EPC_TICK, T_STATUS_PROHIBIT, T_STATUS_PERIODIC, T_MRW, T_RST,
    TIMERS,
) = range(10)  # fmt: skip

FOUND = 6
"""Places for what a STATUS PDU tells besides gaps and ACK; `rlc_status` names them."""
# What an entity counts.
(
    SENT, RESENT, POLLS, REPORTS, STATUS_PDUS, MRWS, RESETS, RESETS_DONE, RESETS_TAKEN, DISCARDED, RECEIVED, DUPLICATE,
    OUTSIDE, MALFORMED, INVALID, PIGGYBACKED, COUNTS,
) = range(17)  # fmt: skip
COUNT_NAMES = (
    "sent", "resent", "polls", "reports", "status_pdus", "mrws", "resets", "resets_done", "resets_taken", "discarded",
    "received", "duplicate", "outside", "malformed", "invalid", "piggybacked",
)  # fmt: skip
"""AMD PDUs sent, and sent again; polls; status reports and STATUS PDUs; MRWs and RESETs sent; resets completed as
their initiator and undergone as the peer; SDUs discarded; AMD PDUs received, known already, and outside the window;
PDUs not understood; invalid STATUS PDUs; piggybacked ones sent."""

# Columns of what is known of a PDU by its number. Sent: VT(DAT); whether it waits to be sent again; the last SDU with a
# segment in it; by which STATUS it was called missing last. Received: whether it is there. NAMED is a list by itself:
# the numbers that the STATUS just read calls missing.
VT_DAT, NACK, LAST_SDU, CALLED, HAVE, NAMED, SLOT = range(7)

# Columns of what is known of a received PDU, behind those of rlc_segments.
HE, DONE, META = 4, 5, 6


class Entity(NamedTuple):
    """An RLC AM entity; slots of PDUs go by the sequence number."""

    p: Any
    v: Any
    timer: Any
    counts: Any
    queue: Queue
    r: Reassembly
    tx: Any
    """Octets of the PDUs sent."""
    slot: Any
    """What is known of each, by the columns VT_DAT to HAVE."""
    rx: Any
    """Octets of PDUs received ahead of sequence."""
    meta: Any
    lis: Any
    scratch: Any
    found: Any
    """What the STATUS just read says besides."""


def entity(parameters: Parameters) -> Entity:
    """A new entity, its periodic timers running from time 0."""
    q = parameters
    p = np.array(_numbers(q), np.int64)
    slots, size = SN_MASK + 1, q.pdu_bytes
    ends = most_ends(size, q.li_octets)
    # Where an MRW may have to stop behind any end in a PDU, a PDU has no more than it can name.
    told = ends if q.discard == "no_discard" else min(ends, MOST_SIGNALLED)
    out_bytes = (q.rx_window + 2) * size + 2 * q.max_sdu_bytes
    made = Entity(
        p, np.zeros(STATES, np.int64), np.full(TIMERS, NEVER, np.int64), np.zeros(COUNTS, np.int64),
        segments.queue(q.queue_sdus, q.queue_bytes, told),
        segments.reassembly(q.max_sdu_bytes, out_bytes, (q.rx_window + 2) * ends),
        np.zeros((slots, size), np.uint8), np.zeros((slots, SLOT), np.int64),
        np.zeros((slots, size), np.uint8), np.zeros((slots + 1, META), np.int64),
        np.zeros((slots + 1, ends), np.int16), np.zeros(2 * size, np.uint8), np.zeros(FOUND, np.int64),
    )  # fmt: skip
    made.v[LAST_RSN] = made.v[REPORT_FROM] = -1
    clear(made, 0)
    return made


def _numbers(q: Parameters) -> list[int]:
    return [
        q.pdu_bytes, q.li_octets, q.special_he, q.piggyback, q.control_pdu_bytes, STATUS_FORMATS.index(q.status_format),
        q.in_sequence, q.tx_window, q.rx_window, q.poll_last_new, q.poll_last_retransmission, q.poll_ns, q.poll_pdu,
        q.poll_sdu, q.poll_window_percent, q.poll_periodic_ns, q.poll_prohibit_ns, q.poll_when_unacknowledged,
        q.missing_pdu_indication, q.status_periodic_ns, q.status_prohibit_ns, q.epc_ns, q.tti_ns, q.pdus_per_tti,
        DISCARD_MODES.index(q.discard), q.max_dat, q.discard_ns, q.mrw_ns, q.max_mrw, q.send_mrw, q.rst_ns, q.max_rst,
        q.reset_discards_all, q.whole_reports, q.any_status_stops_poll, 0,
    ]  # fmt: skip


@kernel
def start(e: Entity, timer: int, now: int, duration: int) -> None:
    """Start a timer; one of no duration is not configured."""
    e.timer[timer] = now + duration if duration > 0 else NEVER


@kernel
def clear(e: Entity, now: int) -> None:
    """Variables and timers as they are at the beginning, 11.4.3; what was sent or received is forgotten."""
    v = e.v
    v[VT_S] = v[VT_A] = v[VT_PDU] = v[VT_SDU] = v[VT_MRW] = v[POLL_WANTED] = v[POLL_DELAYED] = 0
    v[POLL_X] = v[NACKED] = v[LOWEST] = v[FLOOR] = v[MRW_TO] = v[MRW_DUE] = 0
    v[VR_R] = v[VR_H] = v[VR_EP] = v[STATUS_WANTED] = v[STATUS_DELAYED] = v[SKIP_ENDS] = 0
    v[MRW_ACK_DUE] = v[WINDOW_DUE] = v[CUT] = v[MRW_BEYOND] = 0
    v[REPORT_FROM] = -1
    v[VT_WS] = e.p[TX_WINDOW]
    e.slot[:, NACK] = 0
    e.slot[:, HAVE] = 0
    e.timer[:] = NEVER
    start(e, T_POLL_PERIODIC, now, e.p[POLL_PERIODIC_NS])
    start(e, T_STATUS_PERIODIC, now, e.p[STATUS_PERIODIC_NS])
    restart(e.r)
