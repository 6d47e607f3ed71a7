"""Selective repeat with multireject (Xylomenos & Makidis, MONET 13 (3-4), 2008): one frame carries one SDU.

An entity sends and receives. Inside it frames have their running number, which is also how many SDUs came
before; on the air there are its low 8 bits. A sent frame is in one of two chains until it is acknowledged:
TIMERS, in the order of expiry, or RESENDS. A missing frame is in NACKS_DUE or NACKED. So nothing is
ever searched for. Timers run from when a frame is handed down, whatever queue stands below.

Multireject, our mechanism, as the paper states none: NACKs are numbered, and each data frame echoes the number
of the last NACK that was answered with it or before it. Neither direction reorders, so a frame missing although
its NACK is echoed was lost again, or the NACK was: it is reported anew. When nothing echoes, the sender's timer helps.

A timeout that adapts (ASR) is in asr.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.queues import NEVER, NEXT, PREVIOUS, TAKEN, Ring, append, chains, head, length, remove, ring
from multitracer.replay.arq.queues import offer as put
from multitracer.replay.arq.sr.asr import RTXTO_NS, estimate, learn
from multitracer.replay.arq.sr.frames import (
    ACK,
    DATA,
    FIELDS,
    HAS_NR,
    ID,
    KIND,
    MODULUS,
    NACK,
    NR,
    NS,
    OCTETS,
    SDU,
    decode,
    encode,
)
from multitracer.replay.arq.sr.parameters import (
    ACK_DELAY_NS,
    KARN,
    RENACKS,
    TICK_NS,
    WINDOW,
    WindowParameters,
)

SLOTS = MODULUS // 2
"""As many frames as the largest window: frame n is kept at place n modulo SLOTS."""

VS, VA, VR, VH, ECHO, NACK_IDS, ACK_AT, ACK_DUE = range(8)
"""Columns of the state: next new frame, oldest not acknowledged, next to deliver, one behind the highest
received; number of the last NACK answered, NACKs sent; when the ACK timer expires (ns), whether it did."""

FRAME_SDU, FRAME_OCTETS, SENT_NS, SENDINGS, EXPIRY_NS, ANSWERS = range(6)
"""Columns of a sent frame; ANSWERS is the NACK that its next sending answers (0: none)."""
TIMERS, RESENDS = SLOTS, SLOTS + 1

GOT_SDU, GOT_OCTETS, HERE, NACK_ID = range(4)
"""Columns of a frame to be received: its SDU when it is HERE, else the number of its last NACK."""
NACKS_DUE, NACKED = SLOTS, SLOTS + 1

DELIVERED_SDUS, DELIVERED_OCTETS, FIRST_SENDINGS, RETRANSMISSIONS, ACKS = range(5)
NACKS, RENACKED, TIMEOUTS, DUPLICATES = range(5, 9)
"""Columns of the counts: SDUs and octets delivered; frames sent by kind; missing frames reported anew;
timers expired; data frames received that were there already."""
COUNTS = ("delivered_sdus", "delivered_octets", "first_sendings", "retransmissions", "acks", "nacks", "renacked",
          "timeouts", "duplicates")  # fmt: skip

NOTHING, ACK_TIMER = -2, -1
"""What `expire` did other than to send a frame again."""


class Entity(NamedTuple):
    """One side of a link, in arrays of int64; the columns are the constants above."""

    rules: Any
    state: Any
    believed: Any
    sent: Any
    sent_links: Any
    got: Any
    got_links: Any
    waiting: Ring
    delivered: Any
    counts: Any


def entity(parameters: WindowParameters, waiting: int = 256) -> Entity:
    """A side that has sent and received nothing, with room for so many SDUs that wait to be sent."""
    rules = parameters.rules()
    state = np.zeros(8, dtype=np.int64)
    state[ACK_AT] = NEVER
    sent = np.zeros((SLOTS + 2, 6), dtype=np.int64)
    sent[SLOTS:, EXPIRY_NS] = NEVER  # an empty chain of timers expires never
    return Entity(
        rules, state, estimate(rules), sent, chains(SLOTS, 2), np.zeros((SLOTS, 4), dtype=np.int64),
        chains(SLOTS, 2), ring(waiting, 2), np.zeros((SLOTS, 2), dtype=np.int64), np.zeros(len(COUNTS), dtype=np.int64),
    )  # fmt: skip


@kernel
def offer(side: Any, sdu: int, octets: int) -> int:
    """Let an SDU wait to be sent; 0 when there is no room for it."""
    return put(side.waiting, sdu, octets)


@kernel
def number(base: int, place: int) -> int:
    """The frame kept at `place`, of the SLOTS frames from `base` on."""
    return base + ((place - base) & (SLOTS - 1))


@kernel
def next_frame(side: Any, now: int, frame: Any) -> int:
    """Write what is to be sent into `frame`, and start its timer; 0 when there is nothing.

    NACKs go first, then an ACK whose timer expired, retransmissions, and new frames within the window.
    """
    state = side.state
    frame[:] = 0
    place = side.got_links[NACKS_DUE, NEXT]
    if place < SLOTS:
        write_nack(side, place, frame)
        return 1
    if state[ACK_DUE]:
        frame[KIND] = ACK
        write_nr(side, frame)
        side.counts[ACKS] += 1
        return 1
    place = side.sent_links[RESENDS, NEXT]
    if place < SLOTS:
        side.counts[RETRANSMISSIONS] += 1
        send(side, number(state[VA], place), now, frame)
        return 1
    if state[VS] - state[VA] < side.rules[WINDOW] and length(side.waiting) > 0:
        send(side, admit(side), now, frame)
        return 1
    return 0


@kernel
def write_nack(side: Any, place: int, frame: Any) -> None:
    """Report the missing frame at `place`, under the next NACK number."""
    side.state[NACK_IDS] += 1
    side.got[place, NACK_ID] = side.state[NACK_IDS]
    remove(side.got_links, place)
    append(side.got_links, NACKED, place)
    frame[KIND] = NACK
    frame[NS] = number(side.state[VR], place) % MODULUS
    frame[ID] = side.state[NACK_IDS] % MODULUS
    side.counts[NACKS] += 1


@kernel
def write_nr(side: Any, frame: Any) -> None:
    """Acknowledge all that was delivered; no ACK is owed then."""
    frame[HAS_NR] = 1
    frame[NR] = side.state[VR] % MODULUS
    side.state[ACK_AT] = NEVER
    side.state[ACK_DUE] = 0


@kernel
def admit(side: Any) -> int:
    """Make the SDU that waits longest the next new frame, and return its number."""
    n = side.state[VS]
    place, row = n % SLOTS, head(side.waiting)
    side.sent[place, FRAME_SDU] = side.waiting.rows[row, 0]
    side.sent[place, FRAME_OCTETS] = side.waiting.rows[row, 1]
    side.sent[place, SENDINGS] = 0
    side.sent[place, ANSWERS] = 0
    side.waiting.ends[TAKEN] += 1
    side.state[VS] += 1
    side.counts[FIRST_SENDINGS] += 1
    return n


@kernel
def send(side: Any, n: int, now: int, frame: Any) -> None:
    """Write data frame `n`, with an ACK if one is owed, and start its timer anew."""
    place = n % SLOTS
    row = side.sent[place]
    if row[ANSWERS]:
        side.state[ECHO] = row[ANSWERS] % MODULUS
        row[ANSWERS] = 0
    frame[KIND] = DATA
    frame[NS] = n % MODULUS
    frame[ID] = side.state[ECHO]
    frame[SDU] = row[FRAME_SDU]
    frame[OCTETS] = row[FRAME_OCTETS]
    if side.state[ACK_DUE] or side.state[ACK_AT] != NEVER:
        write_nr(side, frame)
    row[SENT_NS] = now
    row[SENDINGS] += 1
    start_timer(side, place, now)


@kernel
def start_timer(side: Any, place: int, now: int) -> None:
    """Let a frame's timer run, to expire not before any that was set earlier: so the chain stays in order."""
    remove(side.sent_links, place)
    last = side.sent_links[TIMERS, PREVIOUS]
    expiry = now + side.believed[RTXTO_NS]
    if last < SLOTS:
        expiry = max(expiry, side.sent[last, EXPIRY_NS])
    side.sent[place, EXPIRY_NS] = expiry
    append(side.sent_links, TIMERS, place)


@kernel
def receive(side: Any, frame: Any, now: int) -> int:
    """Take a frame from the air; returns how many SDUs (number, octets) it put into `delivered`."""
    if frame[HAS_NR]:
        acknowledge(side, frame[NR], now)
    if frame[KIND] == NACK:
        answer(side, frame[NS], frame[ID])
    if frame[KIND] != DATA:
        return 0
    count = accept(side, frame, now)
    if side.rules[RENACKS]:
        report_again(side, frame[ID])
    return count


@kernel
def acknowledge(side: Any, nr: int, now: int) -> None:
    """Forget the frames below N(R). Only the highest gives a sample, and a duplicate ACK gives none."""
    state = side.state
    count = (nr - state[VA]) % MODULUS
    if count == 0 or count > state[VS] - state[VA]:
        return
    last = side.sent[(state[VA] + count - 1) % SLOTS]
    if side.rules[TICK_NS] and not (side.rules[KARN] and last[SENDINGS] > 1):
        learn(side.believed, side.rules, now - last[SENT_NS])
    for n in range(state[VA], state[VA] + count):
        remove(side.sent_links, n % SLOTS)
    state[VA] += count


@kernel
def answer(side: Any, ns: int, identifier: int) -> None:
    """Queue the frame that a NACK asks for; its timer starts anew when it is sent."""
    state = side.state
    ahead = (ns - state[VA]) % MODULUS
    if ahead >= state[VS] - state[VA]:
        return
    place = (state[VA] + ahead) % SLOTS
    side.sent[place, ANSWERS] = MODULUS + identifier  # identifier 0 is a NACK, too
    remove(side.sent_links, place)
    append(side.sent_links, RESENDS, place)


@kernel
def accept(side: Any, frame: Any, now: int) -> int:
    """Keep a data frame, have the gap before it reported, and deliver what is in sequence."""
    state = side.state
    ahead = (frame[NS] - state[VR]) % MODULUS
    n = state[VR] + ahead
    place = n % SLOTS
    if ahead >= side.rules[WINDOW]:  # delivered before: its ACK was lost
        side.counts[DUPLICATES] += 1
        owe_ack(side, now)
        return 0
    if side.got[place, HERE]:
        side.counts[DUPLICATES] += 1
        return 0
    side.got[place, HERE] = 1
    side.got[place, GOT_SDU] = frame[SDU]
    side.got[place, GOT_OCTETS] = frame[OCTETS]
    remove(side.got_links, place)
    for missing in range(state[VH], n):
        append(side.got_links, NACKS_DUE, missing % SLOTS)
    state[VH] = max(state[VH], n + 1)
    return deliver(side, now)


@kernel
def deliver(side: Any, now: int) -> int:
    """Hand up the frames that are in sequence now; an ACK is owed for them."""
    state = side.state
    count = 0
    while side.got[state[VR] % SLOTS, HERE]:
        row = side.got[state[VR] % SLOTS]
        row[HERE] = 0
        side.delivered[count, 0] = row[GOT_SDU]
        side.delivered[count, 1] = row[GOT_OCTETS]
        side.counts[DELIVERED_OCTETS] += row[GOT_OCTETS]
        state[VR] += 1
        count += 1
    if count:
        side.counts[DELIVERED_SDUS] += count
        owe_ack(side, now)
    return count


@kernel
def owe_ack(side: Any, now: int) -> None:
    """Let the ACK timer run, unless it does or has expired."""
    if side.state[ACK_AT] == NEVER and not side.state[ACK_DUE]:
        side.state[ACK_AT] = now + side.rules[ACK_DELAY_NS]


@kernel
def report_again(side: Any, echo: int) -> None:
    """Have the frames reported again that are missing although their NACK was answered.

    Of all numbers that the echo can stand for, the sender means the highest that was sent.
    """
    answered = side.state[NACK_IDS] - (side.state[NACK_IDS] - echo) % MODULUS
    place = side.got_links[NACKED, NEXT]
    while place < SLOTS and side.got[place, NACK_ID] <= answered:
        remove(side.got_links, place)
        append(side.got_links, NACKS_DUE, place)
        side.counts[RENACKED] += 1
        place = side.got_links[NACKED, NEXT]


@kernel
def next_timer(side: Any) -> int:
    """When (ns) the side wants `expire`; NEVER when no timer runs."""
    return min(side.state[ACK_AT], side.sent[side.sent_links[TIMERS, NEXT], EXPIRY_NS])


@kernel
def expire(side: Any, now: int) -> int:
    """Expire the earliest timer due, if any: returns ACK_TIMER, the number of a frame to resend, or NOTHING.

    At equal times the ACK timer comes first.
    """
    if next_timer(side) > now:
        return NOTHING
    place = side.sent_links[TIMERS, NEXT]
    if side.state[ACK_AT] <= side.sent[place, EXPIRY_NS]:
        side.state[ACK_AT] = NEVER
        side.state[ACK_DUE] = 1
        return ACK_TIMER
    remove(side.sent_links, place)
    append(side.sent_links, RESENDS, place)
    side.counts[TIMEOUTS] += 1
    return number(side.state[VA], place)


@kernel
def idle(side: Any) -> int:
    """Whether all that was offered has been sent and acknowledged."""
    return int(side.state[VS] == side.state[VA] and length(side.waiting) == 0)


class Sr:
    """One side of an SR link in real octets, or of an ASR link when given AsrParameters; times in ns."""

    def __init__(self, parameters: WindowParameters) -> None:
        self.parameters = parameters
        self.entity = entity(parameters)
        self._frame = np.zeros(FIELDS, dtype=np.int64)
        self._sdus: dict[int, bytes] = {}
        self._offered = self._handed = 0
        self._arrived: dict[int, bytes] = {}
        self._delivered: list[bytes] = []

    def offer(self, sdu: bytes) -> None:
        """Let an SDU wait to be sent, without limit; raises UsageError for one without octets."""
        if not sdu:
            raise UsageError("an SDU of 0 octets cannot be sent: it must have 1 or more")
        self._sdus[self._offered] = sdu
        self._offered += 1

    def next_frame(self, now: int) -> bytes | None:
        """The frame to send in this opportunity, or None."""
        while self._handed < self._offered and offer(self.entity, self._handed, len(self._sdus[self._handed])):
            self._handed += 1
        frame = self._frame
        if not next_frame(self.entity, now, frame):
            return None
        if frame[KIND] != DATA:
            return encode(frame, header_bytes=self.parameters.control_bytes)
        return encode(frame, self._sdus[int(frame[SDU])], self.parameters.header_bytes)

    def receive(self, octets: bytes, now: int) -> None:
        """Take a frame from the air; raises ValueError for octets that are none."""
        fields, sdu = decode(octets, self.parameters.header_bytes, self.parameters.control_bytes)
        if fields[KIND] == DATA:
            fields[SDU] = fields[NS]  # all frames in a window differ in it
            self._arrived[fields[NS]] = sdu
        oldest = int(self.entity.state[VA])
        self._frame[:] = fields
        count = receive(self.entity, self._frame, now)
        self._delivered += [self._arrived.pop(ns) for ns in self.entity.delivered[:count, 0].tolist()]
        for acknowledged in range(oldest, int(self.entity.state[VA])):
            del self._sdus[acknowledged]

    def delivered(self) -> list[bytes]:
        """The SDUs delivered since the last call, in order."""
        handed_up, self._delivered = self._delivered, []
        return handed_up

    def next_timer(self) -> int | None:
        """When `expire` is wanted, or None."""
        when = int(next_timer(self.entity))
        return None if when == NEVER else when

    def expire(self, now: int) -> None:
        """Expire all timers that are due."""
        while expire(self.entity, now) != NOTHING:
            pass
