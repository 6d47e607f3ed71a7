"""What a receiver holds and reports: segments out of order, and SACK blocks (RFC 2018, 4)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import codes
from multitracer.replay.tcp.ends import place
from multitracer.replay.tcp.packets import FIN, SACK_BLOCKS

DUPLICATE, BEYOND, HELD, FILLING, IN_ORDER = codes(5)
"""What a segment was to a receiver: here already; above the window, not taken; above a gap; one that fills a gap in
part; the next one, with nothing held. Up to HELD it is not in order, from FILLING on it is."""


@inlined
def take_in(tcp: Any, k: int, packet: Any) -> int:
    """Hold or deliver a segment of data or a FIN, and return what it was."""
    end, seq = tcp.ends[k], packet.seq
    if seq < end.rcv_nxt or (seq < end.rcv_top and tcp.board[k, place(tcp, seq)].here):
        return DUPLICATE
    if seq >= end.rcv_nxt + end.window:
        return BEYOND
    if packet.bits & FIN:
        end.peer_fin = seq
    if seq > end.rcv_nxt:
        hold(tcp, k, seq)
        return HELD
    gap = end.rcv_top > seq + 1
    end.rcv_nxt += 1
    if gap:
        deliver_held(tcp, k)
    end.rcv_top = max(end.rcv_top, end.rcv_nxt)
    end.delivered = end.rcv_nxt - 1 - (0 < end.peer_fin < end.rcv_nxt)
    return FILLING if gap else IN_ORDER


@merged
def deliver_held(tcp: Any, k: int) -> None:
    """Deliver the held segments that are in sequence now, and report their block no more."""
    end = tcp.ends[k]
    segment = tcp.board[k, place(tcp, end.rcv_nxt)]
    while segment.here:
        segment.here = 0
        end.rcv_nxt += 1
        segment = tcp.board[k, place(tcp, end.rcv_nxt)]
    forget(end, 0, end.rcv_nxt)


@merged
def hold(tcp: Any, k: int, seq: int) -> None:
    """Hold a segment above a gap, and report its block first from now on."""
    end = tcp.ends[k]
    left, right = seq, seq + 1
    before, after = tcp.board[k, place(tcp, seq - 1)], tcp.board[k, place(tcp, seq + 1)]
    if seq - 1 > end.rcv_nxt and before.here:
        left = before.left
    if seq + 1 < end.rcv_top and after.here:
        right = after.right
    tcp.board[k, place(tcp, seq)].here = 1
    tcp.board[k, place(tcp, left)].right = right
    tcp.board[k, place(tcp, right - 1)].left = left
    end.rcv_top = max(end.rcv_top, seq + 1)
    report_first(end, left, right)


@merged
def report_first(end: Any, left: int, right: int) -> None:
    """Report the block from `left` to `right` first, and no block that lies in it."""
    forget(end, left, right)
    end.reports = min(end.reports + 1, SACK_BLOCKS)
    for at in range(end.reports - 1, 0, -1):
        end.left[at], end.right[at] = end.left[at - 1], end.right[at - 1]
    end.left[0], end.right[0] = left, right


@kernel
def forget(end: Any, left: int, right: int) -> None:
    """Report no block any more that lies between `left` and `right`."""
    kept = 0
    for at in range(end.reports):
        if end.left[at] < left or end.right[at] > right:
            end.left[kept], end.right[kept] = end.left[at], end.right[at]
            kept += 1
    end.reports = kept
