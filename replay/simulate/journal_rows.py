"""What a loop writes into the journal: parts of it, bound with TCP's kernels (`transport.PARTS`)."""

from __future__ import annotations

from typing import Any

from multitracer.replay.simulate.journal import CAME, GIVEN, LATE, Journal, enter_row
from multitracer.replay.tcp.interface import observe as tcp_observe
from multitracer.replay.tcp.packets import MEDIA


def note_end(source: Any, what: int, k: int, now: int) -> None:
    """Note in the journal, if one is kept, that something happened to an end."""
    if len(source.journal.rows) > 0:
        keep_row(source.journal, source.tcp, what, k, now)


def note_packet(source: Any, what: int, packet: Any, now: int) -> None:
    """Note what happens to a packet of TCP at the end that sends it, or to which it comes."""
    if len(source.journal.rows) > 0 and packet.bits != MEDIA:
        k = 2 * source.work.objects[packet.connection].slot + packet.end
        if what in (CAME, LATE):
            k ^= 1
        keep_packet(source.journal, source.tcp, what, k, packet, now)


def note_given(source: Any, packet: Any, side: int, number: int, taken: int, now: int) -> None:
    """Note that the link was given a packet of TCP as an SDU of that number, and whether it took it."""
    if len(source.journal.rows) > 0 and packet.bits != MEDIA:
        at = keep_packet(source.journal, source.tcp, GIVEN, side, packet, now)
        if at >= 0:
            source.journal.rows[at].number, source.journal.rows[at].taken = number, taken


def keep_packet(journal: Journal, tcp: Any, what: int, k: int, packet: Any, now: int) -> int:
    """Write a row and its packet into the journal; the row's number, -1 where there is no room."""
    at = keep_row(journal, tcp, what, k, now)
    if at >= 0:
        copy_packet(packet, journal.packets[at])
    return at


def keep_row(journal: Journal, tcp: Any, what: int, k: int, now: int) -> int:
    """Write a row into the journal, with what the end is like now; its number, -1 where there is no room."""
    at = enter_row(journal, what, k, now)
    if at >= 0:
        tcp_observe(tcp, k, journal.seen[at])
    return at


def copy_packet(packet: Any, to: Any) -> None:
    """Copy a packet into another row."""
    to.connection, to.end, to.bits, to.seq, to.octets = (
        packet.connection, packet.end, packet.bits, packet.seq, packet.octets,
    )  # fmt: skip
    to.sending, to.ack, to.limit, to.blocks = packet.sending, packet.ack, packet.limit, packet.blocks
    to.sent_ns, to.echo_ns = packet.sent_ns, packet.echo_ns
    for block in range(packet.blocks):
        to.left[block], to.right[block] = packet.left[block], packet.right[block]
