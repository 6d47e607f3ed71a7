"""Selective repeat (Xylomenos & Makidis, MONET 13 (3-4), 2008): one frame carries one SDU.

An entity sends and receives; its state is in `state`. Inside it, frames have running numbers, which are also the
numbers of their SDUs; on the air there are the low 8 bits. Until it is acknowledged, a sent frame is in one
of two chains: TIMERS, in the order of expiry, or RESENDS. A missing frame is in NACKS_DUE or NACKED. So
nothing is ever searched for. A frame's timer starts when the frame is handed down, also if it then waits in a queue;
or (`timer_starts` sent) when the device below has sent it. Until then it is in no chain.

With multireject, the paper's choice, a frame may be reported more than once. The paper states no mechanism for it;
this one is ours: NACKs are numbered, and each data frame echoes the
number of the last NACK that was answered before it or with it. Neither direction reorders, so if a frame is
missing although its NACK is echoed, it was lost again, or the NACK was: it is reported anew. When
nothing echoes, the sender's timer helps. Other rules (`renack`) go by the time since its last NACK.

Where retransmissions are limited, what is given up leaves a hole that nothing would fill: the sender goes on to send
the frame without its SDU (SKIP), and the receiver moves past it. The paper has no limit, and so no such frame.

The paper's two simpler variants report each missing frame once, and the sender's timer repairs what is lost again:
all of them at once, or each when the one reported before it has arrived, as with the single SREJ of HDLC.

The adaptive timeout (ASR) is in `asr`.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.chains import append, remove
from multitracer.replay.arq.fields import NEVER, codes
from multitracer.replay.arq.notes import EXPIRED, OWN
from multitracer.replay.arq.notes import note as write
from multitracer.replay.arq.sdu_queue import length, offer, take, wants
from multitracer.replay.arq.sr.asr import learn
from multitracer.replay.arq.sr.frames import ACK, DATA, MODULUS, NACK, SKIP, copy_frame
from multitracer.replay.arq.sr.parameters import BY_ECHO, NO_RENACK
from multitracer.replay.arq.sr.state import NACKED, NACKS_DUE, RESENDS, SLOTS, TIMERS
from multitracer.replay.arq.stretches import hand_over, lose

__all__ = [
    "carries_data", "copy_frame", "expire", "gone", "next_frame", "next_timer", "note", "offer", "on_air", "receive",
    "restarted", "span", "total_delivered", "wants",
]  # fmt: skip

TIMEOUT, ACK_TIMEOUT = codes(2, OWN)
"""Events of the log: a frame's timer expired (its `number` is N(S)), and the ACK timer."""


@kernel
def number(base: int, place: int) -> int:
    """The frame kept at `place`, of the SLOTS frames from `base` on."""
    return base + ((place - base) & (SLOTS - 1))


@kernel
def next_frame(e: Any, frame: Any, now: int) -> int:
    """Write the frame to be sent, start its timer, and return its octets on the air; 0 when there is none.

    NACKs go first, then an ACK whose timer expired, retransmissions, and new frames within the window. Where ACKs wait
    for their timer to go with data, one whose timer expired goes with the data that is there to be sent.
    """
    state = e.state
    place = e.got[NACKS_DUE].next
    if place < SLOTS and not (e.rules.one_outstanding and e.got[NACKED].next < SLOTS):
        write_nack(e, place, frame, now)
        return e.rules.control_bytes
    if state.ack_due and not (e.rules.late_acks and has_data(e)):
        write_ack(e, frame)
        return e.rules.control_bytes
    place = e.sent[RESENDS].next
    if place < SLOTS:
        e.counts.retransmissions += 1
        return send(e, number(state.va, place), now, frame)
    if may_admit(e):
        return send(e, admit(e), now, frame)
    return 0


@kernel
def has_data(e: Any) -> bool:
    """Whether a data frame can be sent."""
    return e.sent[RESENDS].next < SLOTS or may_admit(e)


@kernel
def may_admit(e: Any) -> bool:
    """Whether an SDU waits, and the window is open."""
    return e.state.vs - e.state.va < e.rules.window and length(e.queue) > 0


@kernel
def carries_data(frame: Any) -> int:
    """Whether it carries an SDU."""
    return int(frame.kind == DATA)


@kernel
def on_air(e: Any, frame: Any, end: int) -> None:
    """A frame has been sent, or dropped, at `end`: its timer starts then, where it does not at hand-down."""
    state = e.state
    if e.rules.timer_on_air == 0 or (frame.kind != DATA and frame.kind != SKIP):
        return
    ahead = (frame.ns - state.va) % MODULUS
    if ahead < state.vs - state.va:  # not acknowledged meanwhile, by an earlier copy
        place = (state.va + ahead) % SLOTS
        e.sent[place].sent_ns = end
        if e.sent[place].due == 0:  # else it has been asked for while it waited in the queue
            start_timer(e, place, end)


@kernel
def begin(frame: Any, kind: int) -> None:
    """Empty a frame's fields but for its kind."""
    frame.kind = kind
    frame.ns = frame.has_nr = frame.nr = frame.id = frame.sdu = frame.start = frame.octets = 0


@kernel
def write_nack(e: Any, place: int, frame: Any, now: int) -> None:
    """Report the missing frame at `place`, under the next NACK number."""
    state = e.state
    state.nack_ids += 1
    e.got[place].nack_id, e.got[place].nacked_ns = state.nack_ids, now
    remove(e.got, place)
    append(e.got, NACKED, place)
    begin(frame, NACK)
    frame.ns = number(state.vr, place) % MODULUS
    frame.id = state.nack_ids % MODULUS
    e.counts.nacks += 1


@kernel
def write_ack(e: Any, frame: Any) -> None:
    """Acknowledge all that was delivered, in a frame that carries nothing else."""
    begin(frame, ACK)
    write_nr(e, frame)
    e.counts.acks += 1


@kernel
def write_nr(e: Any, frame: Any) -> None:
    """Acknowledge all that was delivered: no ACK is owed any more."""
    frame.has_nr = 1
    frame.nr = e.state.vr % MODULUS
    e.state.ack_at = NEVER
    e.state.ack_due = 0


@kernel
def admit(e: Any) -> int:
    """Make the SDU that waits longest the next new frame, and return the frame's number."""
    state = e.state
    n = state.vs
    row, sdu = e.sent[n % SLOTS], e.queue.rows[take(e.queue)]
    row.sdu, row.start, row.octets = sdu.sdu, sdu.start, sdu.octets
    row.sendings = row.answers = row.due = 0
    state.vs += 1
    e.counts.first_sendings += 1
    return n


@kernel
def send(e: Any, n: int, now: int, frame: Any) -> int:
    """Write data frame `n`, with an ACK if one is owed, and restart its timer; returns its octets on the air."""
    state, place = e.state, n % SLOTS
    row = e.sent[place]
    if row.answers:
        state.echo = row.answers % MODULUS
        row.answers = 0
    if e.rules.most_sendings > 0 and row.sendings == e.rules.most_sendings:
        give_up(e, row)
    begin(frame, DATA if row.octets > 0 else SKIP)
    frame.ns = n % MODULUS
    frame.id = state.echo
    frame.sdu, frame.start, frame.octets = row.sdu, row.start, row.octets
    if state.ack_due or (state.ack_at != NEVER and e.rules.late_acks == 0):
        write_nr(e, frame)
    row.sent_ns = now
    row.sendings += 1
    row.due = 0
    if e.rules.timer_on_air:
        remove(e.sent, place)
    else:
        start_timer(e, place, now)
    return e.rules.header_bytes + row.octets if row.octets > 0 else e.rules.control_bytes


@kernel
def give_up(e: Any, row: Any) -> None:
    """Give up the SDU of a frame that was sent as often as it may; the frame goes on without it."""
    lose(e.above, row.start, row.start + row.octets, row.sdu)
    row.octets = 0
    e.counts.discarded += 1


@kernel
def start_timer(e: Any, place: int, now: int) -> None:
    """Start a frame's timer; it expires no earlier than any timer set before it, so that the chain stays in order."""
    remove(e.sent, place)
    last = e.sent[TIMERS].previous
    expiry = now + e.estimate.rtxto_ns
    if last < SLOTS:
        expiry = max(expiry, e.sent[last].expiry_ns)
    e.sent[place].expiry_ns = expiry
    append(e.sent, TIMERS, place)


@kernel
def receive(e: Any, frame: Any, octets: int, now: int) -> None:
    """Take in a frame that arrived undamaged."""
    if frame.has_nr:
        acknowledge(e, frame.nr, now)
    if frame.kind == NACK:
        answer(e, frame.ns, frame.id)
    elif frame.kind != ACK:
        accept(e, frame, now)
        if e.rules.renacks != NO_RENACK:
            report_again(e, frame.id, now)


@kernel
def acknowledge(e: Any, nr: int, now: int) -> None:
    """Forget the frames below N(R). Only the highest gives a sample, and a duplicate ACK gives none."""
    state = e.state
    count = (nr - state.va) % MODULUS
    if count == 0 or count > state.vs - state.va:
        return
    last = e.sent[(state.va + count - 1) % SLOTS]
    if e.rules.tick_ns and not (e.rules.karn and last.sendings > 1):
        learn(e.estimate, e.rules, now - last.sent_ns)
    for n in range(state.va, state.va + count):
        remove(e.sent, n % SLOTS)
    state.va += count


@kernel
def answer(e: Any, ns: int, identifier: int) -> None:
    """Queue the frame that a NACK asks for; its timer is restarted when it is sent."""
    state = e.state
    ahead = (ns - state.va) % MODULUS
    if ahead >= state.vs - state.va:
        return
    place = (state.va + ahead) % SLOTS
    e.sent[place].answers = MODULUS + identifier  # identifier 0 is a NACK's too
    resend(e, place)


@kernel
def resend(e: Any, place: int) -> None:
    """Queue the frame at `place` to be sent again."""
    e.sent[place].due = 1
    remove(e.sent, place)
    append(e.sent, RESENDS, place)


@kernel
def accept(e: Any, frame: Any, now: int) -> None:
    """Keep a data frame, have the gap before it reported, and deliver what is in sequence."""
    state = e.state
    ahead = (frame.ns - state.vr) % MODULUS
    n = state.vr + ahead
    place = n % SLOTS
    row = e.got[place]
    if ahead >= e.rules.window:  # delivered before: its ACK was lost
        e.counts.duplicates += 1
        owe_ack(e, now)
        return
    if row.here:
        e.counts.duplicates += 1
        return
    row.here = 1
    row.first_ns = now
    row.sdu, row.start, row.octets = frame.sdu, frame.start, frame.octets
    remove(e.got, place)
    for missing in range(state.vh, n):
        append(e.got, NACKS_DUE, missing % SLOTS)
    state.vh = max(state.vh, n + 1)
    deliver(e, now)


@kernel
def deliver(e: Any, now: int) -> None:
    """Hand over the frames that are in sequence now; an ACK is owed for them."""
    state, counts, first = e.state, e.counts, e.state.vr
    row = e.got[first % SLOTS]
    while row.here:
        row.here = 0
        if row.octets > 0:
            hand_over(e.above, row.start, row.start + row.octets, row.sdu, row.first_ns)
            counts.delivered_sdus += 1
        counts.delivered_octets += row.octets
        state.vr += 1
        row = e.got[state.vr % SLOTS]
    if state.vr > first:
        owe_ack(e, now)


@kernel
def owe_ack(e: Any, now: int) -> None:
    """Start the ACK timer, unless it runs or has expired."""
    if e.state.ack_at == NEVER and not e.state.ack_due:
        e.state.ack_at = now + e.rules.ack_delay_ns


@kernel
def report_again(e: Any, echo: int, now: int) -> None:
    """Have the frames reported again that are missing although their NACK was answered, or should have been by now.

    Of all numbers that the 8 bits of the echo can stand for, the sender means the highest that was sent.
    """
    answered = e.state.nack_ids - (e.state.nack_ids - echo) % MODULUS
    by_echo, long_ago = e.rules.renacks == BY_ECHO, now - e.rules.renack_ns
    place = e.got[NACKED].next
    while place < SLOTS and (e.got[place].nack_id <= answered if by_echo else e.got[place].nacked_ns <= long_ago):
        remove(e.got, place)
        append(e.got, NACKS_DUE, place)
        e.counts.renacked += 1
        place = e.got[NACKED].next


@kernel
def next_timer(e: Any) -> int:
    """When `expire` wants to be called; NEVER when no timer runs."""
    return min(e.state.ack_at, e.sent[e.sent[TIMERS].next].expiry_ns)


@kernel
def expire(e: Any, now: int) -> None:
    """Let all timers expire that are due."""
    state = e.state
    state.expired = state.ack_expired = 0
    if state.ack_at <= now:
        state.ack_at = NEVER
        state.ack_due = state.ack_expired = 1
    place = e.sent[TIMERS].next
    while e.sent[place].expiry_ns <= now:
        resend(e, place)
        state.expired += 1
        place = e.sent[TIMERS].next
    e.counts.timeouts += state.expired


@kernel
def total_delivered(e: Any) -> int:
    """Octets handed up so far."""
    return e.counts.delivered_octets


@kernel
def note(e: Any, log: Any, now: int, side: int, why: int) -> None:
    """Log the timers that have just expired: the ACK timer, then frames' in the order of their sending."""
    if why != EXPIRED:
        return
    if e.state.ack_expired:
        write(log, now, side, ACK_TIMEOUT, 0, 0, 0)
    place = RESENDS
    for _ in range(e.state.expired):  # they are the last ones in that chain
        place = e.sent[place].previous
    for _ in range(e.state.expired):
        write(log, now, side, TIMEOUT, 0, number(e.state.va, place) % MODULUS, 0)
        place = e.sent[place].next


@kernel
def span(e: Any, frame: Any) -> tuple[int, int]:
    """The octets of a frame's SDU."""
    return frame.start, frame.start + frame.octets


@kernel
def gone(frame: Any, octets: int) -> tuple[int, int]:
    """What is lost is repeated."""
    return 0, 0


@kernel
def restarted(e: Any) -> int:
    """There is no reset."""
    return -1
