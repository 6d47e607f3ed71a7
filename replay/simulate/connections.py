"""What the applications do at the ends of TCP's connections: begin objects, ask, answer, close; and what is counted.

The functions are parts of a link's loop: `transport` binds them, and TCP's kernels stand in place of the interface's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.replay.arq.fields import NEVER, dtype, numbers
from multitracer.replay.simulate.interface_queue import places
from multitracer.replay.simulate.resends import begin, look_on_link, send_again
from multitracer.replay.simulate.wired import room as hop_places
from multitracer.replay.simulate.work import (
    ANSWERING,
    ASKING,
    BEGUN,
    CLOSING,
    IDLE,
    THINKING,
    end_object,
    idle_slot,
    take_next,
)
from multitracer.replay.tcp.interface import close as tcp_close
from multitracer.replay.tcp.interface import local_drop as tcp_local_drop
from multitracer.replay.tcp.interface import start as tcp_start
from multitracer.replay.tcp.interface import write as tcp_write
from multitracer.replay.tcp.packets import ACK, DATA, FIN, SYN

TOTALS = numbers(
    "packets retransmissions timeouts fast_retransmits rtt_ns rtts", "local_drops quenched fast_after_drop",
    "resent needless held_octets spurious_timeouts competing outside_resets",
)  # fmt: skip
"""Packets with data, SYN or FIN that TCP sent. What its ends counted in connections before those that they have now;
round trips are the servers'. Packets that a host's own queue dropped, those with data or a FIN among them, and fast
retransmits after the first of these. Segments with data sent again, those of them of which an earlier copy came, and
application octets of those of which the link had one; timeouts of which an earlier copy came; segments sent again that
the link was repeating; timeouts after the first round trips and not within a reset's gap."""
FIRST_TRIPS = 10
"""Round trips of a connection after which its timer is taken to have learnt."""
FIRSTS = dtype([
    (name, np.float64) for name in ("cwnd_before_drop", "cwnd_after_drop", "cwnd_after_repair", "burst_after_repair")
])  # fmt: skip
"""In segments, not a number until then: the congestion window before and after the first such drop; when what the
first fast retransmit after it (or of all, where there is none) repaired was acknowledged: the window, and what left at
once."""
REPAIR = numbers("fast acked timeouts", "timed_ns undecided since_ns")
"""Of an end: whether a fast retransmit waits for its acknowledgement; what was acknowledged, and how often the timer
had run out, when it was sent. When the timer ran out last; how often since the acknowledgement moved last, after the
first round trips; when that was."""


def start_object(source: Any, now: int) -> int:
    """Begin the next object on an idle connection, anew; the connection."""
    work = source.work
    slot, number = idle_slot(work), take_next(work, now)
    work.objects[number].slot = slot
    for k in range(2 * slot, 2 * slot + 2):
        count_end(source.totals, source.tcp.ends[k], int(k & 1 == work.state.server))
        end_gap(source, k, now)
        tcp_start(source.tcp, k, number, now)
        source.repairs[k].fast = 0
    work.slots[slot].object, work.slots[slot].phase = number, BEGUN
    return int(slot)


def count_end(totals: Any, end: Any, is_server: int) -> None:
    """Add to the totals what an end has counted, which begins anew."""
    totals.retransmissions += end.retransmissions
    totals.timeouts += end.timeouts
    totals.fast_retransmits += end.fast_retransmits
    totals.rtt_ns += is_server * end.rtt_ns
    totals.rtts += is_server * end.rtts


def serve(source: Any, slot: int, now: int) -> None:
    """Let the applications of a connection go on, as far as data have come: send what is next, or end the object."""
    work, tcp = source.work, source.tcp
    state, row = work.state, work.slots[np.uint64(slot)]
    phase = row.phase
    thing = work.objects[np.uint64(row.object)]
    payload = source.state.segment_octets - source.state.header_octets
    server, client = 2 * slot + state.server, 2 * slot + state.client
    at_server, at_client = tcp.ends[np.uint64(server)], tcp.ends[np.uint64(client)]
    sender, octets = server, 0
    if row.phase == BEGUN and thing.request > 0:
        sender, octets, row.phase = client, thing.request, ASKING
    elif row.phase == BEGUN:
        row.phase, row.due_ns = THINKING, now
    elif row.phase == ASKING:
        asked = at_client.acked if state.acknowledged else at_server.delivered
        if asked * payload >= thing.request:
            row.phase, row.due_ns = THINKING, now + state.server_ns
    if row.phase == THINKING and row.due_ns <= now:
        octets, row.phase, row.due_ns = thing.reply, ANSWERING, NEVER
    if octets > 0:
        segments = (octets + payload - 1) // payload
        last = octets - (segments - 1) * payload + source.state.header_octets
        tcp_write(tcp, sender, segments, last, now)
        if sender == server and state.closes:
            tcp_close(tcp, server, now)
    elif row.phase == ANSWERING:
        done = at_server.acked if state.acknowledged else at_client.delivered
        if done * payload >= thing.reply:
            end_object(work, slot, now)
    if row.phase == ASKING and at_client.established:
        page = work.pages[state.page]
        page.asked_ns = min(page.asked_ns, now)
    if row.phase == CLOSING and min(at_server.timer_ns, at_client.timer_ns) == NEVER:
        row.phase = IDLE
    if row.phase != phase:
        source.state.work_ns = now
    source.state.outstanding = max(source.state.outstanding, at_server.top - at_server.una)


def show_rooms(source: Any, now: int) -> None:
    """Tell TCP how many full segments the hosts' interface queues take now, where they have one."""
    rooms, octets = source.tcp.out.rooms, source.state.segment_octets
    if source.state.wired_host:
        rooms[0] = hop_places(source.wired, 0, octets, now)
    if source.queue.state.used:
        rooms[1] = places(source.queue, octets)


def note_local_drop(source: Any, packet: Any, now: int) -> None:
    """The queue of a packet's own host had no room for it: its sender is told."""
    totals, firsts, tcp = source.totals, source.firsts, source.tcp
    k = 2 * source.work.objects[packet.connection].slot + packet.end
    before = tcp.ends[k].cwnd
    tcp_local_drop(tcp, k, packet, now)
    totals.local_drops += 1
    totals.quenched += int(packet.bits & (DATA | FIN) != 0)
    if packet.bits & (DATA | FIN) and np.isnan(firsts.cwnd_before_drop):
        firsts.cwnd_before_drop, firsts.cwnd_after_drop = before, tcp.ends[k].cwnd
        firsts.cwnd_after_repair = firsts.burst_after_repair = np.nan


def note_sent(source: Any, books: Any, packet: Any, now: int) -> None:
    """Count a packet that TCP sent, and when a connection's SYN went out again."""
    thing = source.work.objects[np.uint64(packet.connection)]
    source.totals.packets += int(packet.bits != ACK)
    if packet.bits == SYN and packet.sending > 0:
        thing.syn_ns = min(thing.syn_ns, now)
    if packet.bits & DATA:
        if packet.sending == 0:
            begin(source.resends, 2 * thing.slot + packet.end, packet)
        else:
            note_again(source, books, 2 * thing.slot + packet.end, packet, now)


def note_again(source: Any, books: Any, k: int, packet: Any, now: int) -> None:
    """Count a segment that end `k` sends again; the first one after its timer ran out is the timer's."""
    totals, state, repair = source.totals, source.state, source.repairs[k]
    timed = int(repair.timed_ns == now)
    repair.timed_ns = -1
    send_again(source.resends, totals, k, packet, timed)
    traffic = source.traffic[packet.end]
    held, watched = look_on_link(source.resends, books, source.air, packet, traffic.on_air, traffic.gone)
    totals.held_octets += held * (packet.octets - state.header_octets)
    state.watched += watched


def note_timeout(source: Any, k: int, timeouts: int, now: int) -> None:
    """End `k` had counted so many timeouts before what just happened to it."""
    end, repair = source.tcp.ends[k], source.repairs[k]
    if end.timeouts > timeouts:
        repair.timed_ns = now
        repair.undecided += int(end.rtts >= FIRST_TRIPS) * (end.timeouts - timeouts)


def note_progress(source: Any, k: int, acked: int, now: int) -> None:
    """A packet came to end `k`, of whose data so much was acknowledged before.

    The gap of a reset begins with the last progress before the reset's end, and ends when something is acknowledged
    that was sent after it: what was acknowledged before the reset may still arrive.
    """
    end, reset_ns = source.tcp.ends[k], source.state.reset_ns
    if end.acked > acked:
        sent_ns = source.tcp.board[k, end.acked & (source.tcp.board.shape[1] - 1)].sent_ns
        if reset_ns < source.repairs[k].since_ns or sent_ns > reset_ns:
            end_gap(source, k, now)


def end_gap(source: Any, k: int, now: int) -> None:
    """TCP's standstill at end `k` is over: its timeouts count unless the link was reset meanwhile."""
    repair = source.repairs[k]
    source.totals.outside_resets += repair.undecided * int(source.state.reset_ns < repair.since_ns)
    repair.undecided, repair.since_ns = 0, now


def note_repair(source: Any, k: int, fast: int) -> None:
    """A packet came to end `k`, which had counted so many fast retransmits before.

    What a fast retransmit repaired is acknowledged when the acknowledgement first moves, unless the timer ran out.
    """
    firsts, end, row = source.firsts, source.tcp.ends[k], source.repairs[k]
    if end.fast_retransmits > fast:
        row.fast, row.acked, row.timeouts = 1, end.acked, end.timeouts
        source.totals.fast_after_drop += int(source.totals.quenched > 0)
    elif row.fast and end.acked > row.acked:
        row.fast = 0
        if end.timeouts == row.timeouts and np.isnan(firsts.cwnd_after_repair):
            firsts.cwnd_after_repair, firsts.burst_after_repair = end.cwnd, 0.0
            for at in range(source.tcp.out.state.packets):
                firsts.burst_after_repair += int(source.tcp.out.rows[at].bits & DATA != 0)
