"""Above the link: TCP's ends, the wired hop, media and the applications, as the source of a link's loop.

Side A of the link is the access point's, at the other end of the wired hop; side B is the terminal's. `take_offers` is
what the loop calls whenever something is due here, or an SDU ended on the link. All of it can be left in the middle,
when the link lacks room, and goes on from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import codes, numbers, record, table
from multitracer.replay.engine.ledger import FOUND, GONE, beside
from multitracer.replay.engine.loop import MORE, A, B, Link, Parts, always_merged, give, to_side
from multitracer.replay.engine.protocol import restarted, wants
from multitracer.replay.engine.way import DONE, STOPPED, lacks, poke, ring_place
from multitracer.replay.simulate.connections import (
    FIRSTS,
    REPAIR,
    TOTALS,
    count_end,
    end_gap,
    note_again,
    note_local_drop,
    note_progress,
    note_repair,
    note_sent,
    note_timeout,
    serve,
    show_rooms,
    start_object,
)
from multitracer.replay.simulate.framing import Framing, framed_octets, is_read, remember
from multitracer.replay.simulate.interface_queue import InterfaceQueue, go, has_waiting, join, longest_waiting
from multitracer.replay.simulate.journal import (
    CAME,
    DROPPED,
    EXPIRED,
    LATE,
    SENT,
    Journal,
    journal,
)
from multitracer.replay.simulate.journal_rows import (
    copy_packet,
    keep_packet,
    keep_row,
    note_end,
    note_given,
    note_packet,
)
from multitracer.replay.simulate.resends import Resends, come, data_lost, data_sent, end_watch, is_watched, resends
from multitracer.replay.simulate.resends import forget as forget_resends
from multitracer.replay.simulate.wired import ROOM, Wired, enter, leave, next_arrival
from multitracer.replay.simulate.work import Work, due_slot, may_start, next_due
from multitracer.replay.tcp.interface import expire as tcp_expire
from multitracer.replay.tcp.interface import receive as tcp_receive
from multitracer.replay.tcp.packets import MEDIA, PACKET

TCP_FLOW, MEDIA_FLOW = codes(2, 1)
DOWN, UP = codes(2)
NOTHING, POSTED, MEDIA_DOWN, MEDIA_QUEUED, ENDED, CAME_UP, TIMER, ANSWER, START = codes(9)
POSTED_UP, CAME_DOWN, MEDIA_UP = codes(3, 9)
"""What may be due: packets that TCP or media send onto the wired hop or into the terminal's interface queue, SDUs that
ended on the link, packets at the end of the wired hop, timers, answers of a server, objects to begin; and packets that
the link is to have."""
OFFERS = POSTED_UP
"""From here on the link is to have a packet."""

STATE = numbers(
    "next_ns listens saturated_a saturated_b",  # as the loop reads them of any source
    "taken ends active",  # packets of the box that went on; ends, and those in use
    "segment_octets header_octets past wired_host outstanding",
    "reset_ns watched work_ns",
)
"""`wired_host`: the queue of the wired hop is the wired host's interface queue; `outstanding`: the most segments that a
server had sent and not heard of. `reset_ns`: when the link was reset last (-1: never). `watched`: packets on the link
that TCP sent again. `work_ns`: when the applications act next of themselves; what is not later is worked out anew."""
MEDIA_STATE = numbers("next octets sent came dropped delay_ns longest_ns")
"""Of one direction: the next packet's place among the times; counted: sent, arrived, dropped in queues, and the sum of
the delays of those that arrived, and the longest."""
TRAFFIC = numbers("sent came refused carried lost late on_air gone")
"""Of one host, octets: sent by TCP and media; that came to it; refused by the link protocol; that the link carried from
it, and lost for good; and packets that came for a connection that is over. Positions in what its side was offered:
what is before `on_air` has been on the air, what is before `gone` will not come any more."""


class Transport(NamedTuple):
    """Everything above a link."""

    state: Any
    tcp: Any
    wired: Wired
    air: Any
    """Packets that the link carries, by kind of SDU (see engine.ledger) and number."""
    media: Any
    media_down: Any
    """When media packets leave their source (ns), as far as drawn."""
    media_up: Any
    work: Work
    totals: Any
    scratch: Any
    """A packet of media of each direction, as it leaves its source."""
    queue: InterfaceQueue
    traffic: Any
    """Of the wired host and of the terminal's."""
    repairs: Any
    """An end's fast retransmit (connections.REPAIR)."""
    firsts: Any
    """See connections.FIRSTS."""
    resends: Resends
    framing: Framing
    journal: Journal

    def grown(self, books: Any) -> Transport:
        """The same with a packet on the link for each row of the ledgers."""
        resends = self.resends._replace(copies=beside(books, self.resends.copies))
        return self._replace(air=beside(books, self.air), resends=resends)


def transport(
    tcp: Any,
    wired: Wired,
    work: Work,
    queue: InterfaceQueue,
    framing: Framing,
    *,
    segment_octets: int,
    header_octets: int,
    past: bool,
) -> Transport:
    """Nothing sent yet, and no media."""
    state = record(STATE)
    state.listens, state.segment_octets, state.header_octets, state.past = 1, segment_octets, header_octets, past
    state.ends, state.reset_ns = len(tcp.ends), -1
    none = np.zeros(0, dtype=np.int64)
    made = Transport(
        state, tcp, wired, table((4, 1), PACKET), table(2, MEDIA_STATE), none, none, work, record(TOTALS),
        table(2, PACKET), queue, table(2, TRAFFIC), table(len(tcp.ends), REPAIR), record(FIRSTS),
        resends(*tcp.board.shape), framing, journal(0),
    )  # fmt: skip
    forget_firsts(made)
    state.next_ns = next_due.run_plain(work, 0)  # nothing else is due before the applications begin
    return made


def forget_firsts(source: Transport) -> None:
    """Nothing of FIRSTS has happened yet, and nothing has been sent again."""
    for name in FIRSTS.names:
        source.firsts[name] = np.nan
    forget_resends(source.resends)
    source.repairs["undecided"], source.state.watched = 0, 0


def take_offers(link: Link, now: int) -> int:
    """Do what is due, one thing after the other; DONE, or what the link lacks to go on, or STOPPED.

    Each kind of thing is done in one place only: the loop is compiled into one function, and grows with the places.
    """
    source, books = link.upper.source, link.upper.books
    source.state.reset_ns = max(restarted(link.a), restarted(link.b))
    short, due = DONE, now
    while due <= now and short == DONE:
        what = next_thing(source, books, now)
        if what >= OFFERS:
            short = offer_next(link, what, now)
        elif what != NOTHING:
            act(source, books, what, now)
        due = now if has_more(source, books) else next_time(source, now)
    if short != DONE:
        return short
    if has_waiting(source.queue):
        poke(link.back.state, now)
    source.state.next_ns = due
    return STOPPED if source.work.state.finished_ns <= now else DONE


def has_more(source: Transport, books: Any) -> bool:
    """Whether TCP has just sent packets, or SDUs ended that were not looked at yet."""
    return bool(source.state.taken < source.tcp.out.state.packets or books.ends.taken < books.ends.posted)


def next_thing(source: Transport, books: Any, now: int) -> int:
    """What is due first: packets that TCP has just sent, then what came off the link, then all else."""
    out, media = source.tcp.out, source.media
    queued = source.queue.state.used
    if source.state.taken < out.state.packets:
        return POSTED if queued or out.rows[np.uint64(source.state.taken)].end == 0 else POSTED_UP
    if books.ends.taken < books.ends.posted:
        return ENDED
    if next_arrival(source.wired, UP) <= now:
        return CAME_UP
    if due_timer(source.tcp, now) >= 0:
        return TIMER
    if due_slot(source.work, now) >= 0:
        return ANSWER
    if may_start(source.work, now):
        return START
    if media[DOWN].next < len(source.media_down) and source.media_down[media[DOWN].next] <= now:
        return MEDIA_DOWN
    if next_arrival(source.wired, DOWN) <= now:
        return CAME_DOWN
    if media[UP].next < len(source.media_up) and source.media_up[media[UP].next] <= now:
        return MEDIA_QUEUED if queued and source.state.past == 0 else MEDIA_UP
    return NOTHING


def due_timer(tcp: Any, now: int) -> int:
    """The first end whose timer is due, -1 for none."""
    for k in range(len(tcp.ends)):
        if tcp.ends[k].timer_ns <= now:
            return k
    return -1


def act(source: Transport, books: Any, what: int, now: int) -> None:
    """Do one thing that needs no room on the link."""
    tcp, slot = source.tcp, -1
    show_rooms(source, now)
    if what in (POSTED, MEDIA_DOWN, MEDIA_QUEUED):
        send_off(source, books, what, now)
    elif what == ENDED and books.ended[ring_place(len(books.ended), books.ends.taken)].kind & 1 == B:
        row = books.ended[ring_place(len(books.ended), books.ends.taken)]
        packet = source.air[np.uint64(row.kind), ring_place(source.air.shape[1], row.number)]
        note_ended(source, B, row, packet)
        read = row.became != GONE and is_read(source.framing, row.kind, row.number)
        if read and not onto_wire(source.wired, UP, packet, now):
            note_packet(source, DROPPED, packet, now)
        books.ends.taken += 1
    elif what == TIMER:
        k = due_timer(tcp, now)
        timeouts = tcp.ends[k].timeouts
        tcp_expire(tcp, k, now)
        note_timeout(source, k, timeouts, now)
        note_end(source, EXPIRED, k, now)
        slot = k // 2
    elif what == ANSWER:
        slot = due_slot(source.work, now)
    elif what == START:
        slot = start_object(source, now)
    else:
        slot = come_to_end(source, books, what, now)
    if slot >= 0:
        serve(source, slot, now)


def come_to_end(source: Transport, books: Any, what: int, now: int) -> int:
    """Let a packet arrive at the server or at the terminal; the connection that it belongs to, -1 for none."""
    end, at = 0, source.wired.hops[UP].first & (ROOM - 1)
    packet = source.wired.packets[UP, at]
    if what == ENDED:
        row = books.ended[ring_place(len(books.ended), books.ends.taken)]
        end, packet = 1, source.air[np.uint64(row.kind), ring_place(source.air.shape[1], row.number)]
        note_ended(source, A, row, packet)
        books.ends.taken += 1
        if row.became == GONE or not is_read(source.framing, row.kind, row.number):
            return -1
    else:
        leave(source.wired, UP)
    source.traffic[end].came += packet.octets
    if packet.bits == MEDIA:
        media = source.media[1 - end]
        media.came += 1
        media.delay_ns += now - packet.sent_ns
        media.longest_ns = max(media.longest_ns, now - packet.sent_ns)
        return -1
    slot = source.work.objects[np.uint64(packet.connection)].slot
    if source.work.slots[np.uint64(slot)].object != packet.connection:  # late: another object has it now
        source.traffic[end].late += 1
        note_packet(source, LATE, packet, now)
        return -1
    k = 2 * slot + end
    before = source.tcp.ends[np.uint64(k)]
    fast, acked, timeouts = before.fast_retransmits, before.acked, before.timeouts
    tcp_receive(source.tcp, k, packet, now)
    come(source.resends, source.totals, k ^ 1, packet)
    note_timeout(source, k, timeouts, now)
    note_repair(source, k, fast)
    note_progress(source, k, acked, now)
    note_packet(source, CAME, packet, now)
    return int(slot)


def note_ended(source: Transport, side: int, ended: Any, packet: Any) -> None:
    """Count the octets of an SDU of a side that ended on the link; one that was given up may come after all."""
    traffic = source.traffic[side]
    if source.state.watched > 0 and is_watched(source.resends, ended):
        k = 2 * source.work.objects[packet.connection].slot + packet.end
        end_watch(source.resends, source.totals, k, ended, packet)
        source.state.watched -= 1
    traffic.carried += packet.octets * int(ended.became != GONE)
    traffic.lost += packet.octets * (int(ended.became == GONE) - int(ended.became == FOUND))


def send_off(source: Transport, books: Any, what: int, now: int) -> None:
    """Put the next packet of TCP or of a source of media onto the wired hop, or into the terminal's interface queue."""
    side, packet = A, source.tcp.out.rows[np.uint64(source.state.taken)]
    if what != POSTED:
        side = A if what == MEDIA_DOWN else B
        emit_media(source, side, now)
        packet = source.scratch[side]
    elif packet.end == 1:
        side = B
    if what == POSTED:
        note_packet(source, SENT, packet, now)
    taken = into_queue(source.queue, packet) if side == B else onto_wire(source.wired, DOWN, packet, now)
    if not taken:
        note_packet(source, DROPPED, packet, now)
    if what == POSTED:
        if not taken and (side == B or source.state.wired_host):
            note_local_drop(source, packet, now)
        forget_posted(source, books, now)


def onto_wire(wired: Wired, way: int, packet: Any, now: int) -> bool:
    """Put a packet on the wired hop, or drop it."""
    at = enter(wired, way, packet.octets, now)
    if at >= 0:
        copy_packet(packet, wired.packets[way, at])
    return bool(at >= 0)


def into_queue(queue: InterfaceQueue, packet: Any) -> bool:
    """Put a packet into the terminal's interface queue, or drop it."""
    at = join(queue, packet.octets)
    if at >= 0:
        copy_packet(packet, queue.packets[at])
    return bool(at >= 0)


def forget_posted(source: Transport, books: Any, now: int) -> None:
    """The box's next packet went on."""
    packet = source.tcp.out.rows[np.uint64(source.state.taken)]
    note_sent(source, books, packet, now)
    source.traffic[np.uint64(packet.end)].sent += packet.octets
    source.state.taken += 1
    if source.state.taken == source.tcp.out.state.packets:
        source.tcp.out.state.packets = source.state.taken = 0


def emit_media(source: Transport, way: int, now: int) -> None:
    """Make the next packet of a source of media, in its row of `scratch`."""
    media, packet = source.media[way], source.scratch[way]
    media.next += 1
    media.sent += 1
    source.traffic[way].sent += media.octets
    packet.bits, packet.octets, packet.sent_ns, packet.blocks, packet.end = MEDIA, media.octets, now, 0, way


def offer_next(link: Link, what: int, now: int) -> int:
    """Give the link the packet that is due; DONE also where it was refused or dropped, else what the link lacks."""
    source = link.upper.source
    side, packet = B, source.tcp.out.rows[np.uint64(source.state.taken)]
    if what == CAME_DOWN:
        side, packet = A, source.wired.packets[DOWN, source.wired.hops[DOWN].first & (ROOM - 1)]
    elif what == MEDIA_UP:
        emit_media(source, UP, now)
        packet = source.scratch[UP]
    of_media = int(packet.bits == MEDIA)
    past = of_media * source.state.past
    kind = side + 2 * past
    number = link.upper.books.state[np.uint64(kind)].offered
    octets = packet.octets if past else framed_octets(source.framing, side, packet)
    taken = to_side(link, side, octets, TCP_FLOW + of_media, past, now)
    if taken < 0:
        undone = int(what == MEDIA_UP)
        source.media[UP].next -= undone
        source.media[UP].sent -= undone
        source.traffic[UP].sent -= undone * packet.octets
        return -taken
    copy_packet(packet, source.air[np.uint64(kind), ring_place(source.air.shape[1], number)])
    source.traffic[side].refused += packet.octets * int(taken == 0 and past == 0)
    if taken > past:
        remember(source.framing, side, number, packet)
    if what == POSTED_UP:
        note_packet(source, SENT, packet, now)
    note_given(source, packet, side, number, taken, now)
    if what == CAME_DOWN:
        leave(source.wired, DOWN)
    elif what == POSTED_UP:
        forget_posted(source, link.upper.books, now)
    return DONE


def stock(e: Any, way: Any, upper: Any, now: int) -> int:
    """Hand over what waits in the terminal's interface queue while the link protocol wants more.

    MORE, or what the link lacks for a frame, negative.
    """
    short, queue = lacks(way), upper.source.queue
    while (
        short == DONE and way.state.side == B and has_waiting(queue)
        and wants(e, queue.packets[longest_waiting(queue)].octets)
    ):  # fmt: skip
        short = hand_over_waiting(e, way.state, upper, now)
    return MORE if short == DONE else -short


def hand_over_waiting(e: Any, state: Any, upper: Any, now: int) -> int:
    """Give the link protocol the packet that waits longest; DONE, or what the link lacks."""
    source = upper.source
    packet = source.queue.packets[longest_waiting(source.queue)]
    number = upper.books.state[B].offered
    octets = framed_octets(source.framing, B, packet)
    taken = give(e, state, upper, octets, TCP_FLOW + int(packet.bits == MEDIA), now)
    if taken < 0:
        return -taken
    copy_packet(packet, source.air[B, ring_place(source.air.shape[1], number)])
    if taken > 0:
        remember(source.framing, B, number, packet)
    source.traffic[B].refused += packet.octets * (1 - taken)
    note_given(source, packet, B, number, taken, now)
    go(source.queue)
    return DONE


def next_time(source: Transport, now: int) -> int:
    """When something is due next, beside what is there already."""
    due = min(next_arrival(source.wired, DOWN), next_arrival(source.wired, UP))
    for k in range(source.state.ends):
        due = min(due, source.tcp.ends[k].timer_ns)
    if source.media[DOWN].next < len(source.media_down):
        due = min(due, source.media_down[source.media[DOWN].next])
    if source.media[UP].next < len(source.media_up):
        due = min(due, source.media_up[source.media[UP].next])
    if source.state.work_ns <= now:
        source.state.work_ns = next_due(source.work, now)
    return int(min(due, source.state.work_ns))


_BESIDE: Parts = {
    copy_packet: inlined, keep_row: kernel, keep_packet: kernel, note_end: merged, note_packet: inlined,
    note_given: inlined, hand_over_waiting: kernel, data_sent: merged, data_lost: inlined,
}  # fmt: skip
_ALWAYS: Parts = {
    stock: merged, count_end: merged, end_gap: inlined, start_object: merged, serve: merged, show_rooms: merged,
    note_local_drop: merged, note_again: kernel, note_sent: merged, note_repair: merged, note_timeout: inlined,
    note_progress: merged, onto_wire: inlined, into_queue: merged, note_ended: inlined, emit_media: inlined,
    forget_posted: inlined, send_off: merged, due_timer: inlined, has_more: merged, next_thing: merged,
    come_to_end: merged, act: always_merged, offer_next: merged, next_time: merged, take_offers: always_merged,
}  # fmt: skip
PARTS: Parts = {**_BESIDE, **_ALWAYS}
"""What a loop is bound with in place of the engine's own source, each function after those that it calls. All but
what interface queues need, and what writes the journal, are compiled into it: a call would pass every array of the
link."""
