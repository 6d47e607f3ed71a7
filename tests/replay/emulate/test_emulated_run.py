"""What is true of an emulated run, from made packets, fates on the link and logs of kernels."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.emulate.emulated_run import EmulatedRun, emulated_run
from multitracer.replay.emulate.kernel_log import Event, KernelLog
from multitracer.replay.emulate.link import Packet
from multitracer.replay.emulate.tcp_header import ACK, FIN, SYN, header_of
from multitracer.replay.record.kept_log import KeptLog
from multitracer.replay.record.known_run import FAST, TIMEOUT

MS = 1_000_000
ISN = (0xFFFFFF00, 5000)
"""Of the data's sender, near the end of the numbers, and of its receiver."""
NAMES = ("10.0.0.1:40000", "10.0.0.2:5001")
WINDOW = 2000


def packet(side: int, seq: int, ack: int, flags: int = ACK, size: int = 0, options: bytes = b"") -> bytes:
    """A packet of TCP from a side; numbers are relative, and headers have options of a multiple of 4 octets."""
    ports = (40000, 5001) if side == 0 else (5001, 40000)
    numbers = (ISN[side] + seq) & 0xFFFFFFFF, (ISN[1 - side] + ack) & 0xFFFFFFFF
    tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, (20 + len(options)) // 4 << 4, flags, WINDOW, 0, 0) + options
    ends = bytes([10, 0, 0, 1 + side, 10, 0, 0, 2 - side])
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp) + size, 7, 0, 64, 6, 0) + ends + tcp + bytes(size)


class Scene:
    """Packets given to a link, and what it did with them."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        self.rows: list[tuple[int, ...]] = []
        self.counts = [0, 0]
        self.give(0, packet(0, 0, 0, SYN), 0, came=10)
        self.give(1, packet(1, 0, 1, SYN | ACK), 11, came=20)

    def give(self, side: int, octets: bytes, at: int, came: int | None = None, lost: int | None = None) -> None:
        """The link took a packet at a time (ms), and delivered it or lost it."""
        number = self.counts[side]
        self.counts[side] += 1
        self.packets.append(Packet(side, octets, at * MS, octets, number))
        self.rows.append((at * MS, side, notes.OFFERED, len(octets), number, 0))
        if came is not None:
            self.rows.append((came * MS, 1 - side, notes.DELIVERED, len(octets), number, 0))
        if lost is not None:
            self.rows.append((lost * MS, side, notes.LOST, len(octets), number, 0))

    def data(self, seq: int, size: int, at: int, came: int | None = None, **fate: int) -> None:
        """A segment with data."""
        self.give(0, packet(0, seq, 1, size=size), at, came, **fate)

    def run(self, *events: Event, captured: Any = None) -> EmulatedRun:
        """The run, with what the sender's kernel logged."""
        log = KeptLog(frames=False)
        log.append(Log(None, np.array(sorted(self.rows), dtype=notes.ROW), None))
        link: Any = SimpleNamespace(packets=self.packets, log=log, engine=None)
        windows = [15 * MS, 45 * MS + 50_000, 90 * MS], [9, 10, 11]
        kernel = KernelLog({NAMES: list(events)}, {NAMES: windows}, captured or {})
        scenario: Any = SimpleNamespace(word=lambda _: "rlc-am")
        return emulated_run(scenario, None, link, (kernel, KernelLog({}, {}, {})))  # type: ignore[arg-type]


def told(run: EmulatedRun) -> list[tuple[int, int, str, list[bool]]]:
    """Of each packet that was sent again its number, octets, trigger, and whether its pieces were sent needlessly."""
    needless = {id(one.copy): one.spurious for one in run.resends}
    return [
        (one.passed.begin, one.passed.header.payload_bytes, one.trigger, [needless[id(copy)] for copy in one.copies])
        for one in run.sent if one.again and one.passed.header.payload_bytes
    ]  # fmt: skip


def test_a_header_says_what_the_packet_says() -> None:
    """Addresses, numbers, octets of data, the window's scale and SACK blocks; nothing else is TCP's."""
    sack = b"\1\1" + struct.pack(">BBII", 5, 10, 1, 2)
    header = header_of(packet(0, 300, 7, ACK | FIN, 60, b"\3\3\7\1" + sack))
    assert header is not None
    assert (header.source, header.target, header.seq, header.ack) == (*NAMES, 300 - 0x100, 5007)
    assert (header.flags, header.payload_bytes, header.scale, header.sacks) == (ACK | FIN, 60, 7, True)
    assert header_of(packet(0, 0, 0)[:30]) is None
    assert header_of(b"\x60" + bytes(60)) is None


@pytest.mark.parametrize(("came", "spurious"), [(40, True), (None, False)])
def test_a_resend_is_needless_if_the_earlier_copy_came(came: int | None, spurious: bool) -> None:
    """Also where that came later than the resend was sent; its trigger is the event's of that moment."""
    scene = Scene()
    scene.data(1, 100, 21, came=came)
    scene.data(1, 100, 35, came=60)
    assert told(scene.run(Event(35 * MS + 50_000, TIMEOUT))) == [(1, 100, TIMEOUT, [spurious])]


def test_a_resend_that_is_cut_anew_is_told_piece_by_piece() -> None:
    """Of two segments sent again as one the first came, and the second was lost."""
    scene = Scene()
    scene.data(1, 100, 21, came=30)
    scene.data(101, 50, 22, lost=50)
    scene.data(1, 150, 40, came=60)
    run = scene.run(Event(40 * MS, FAST))
    assert told(run) == [(1, 150, FAST, [True, False])]
    assert [one.root for one in run.resends] == [None, "link-reset"]


def test_what_the_link_refused_was_dropped_by_the_host() -> None:
    """It was sent, and never was under way."""
    scene = Scene()
    scene.packets.append(Packet(0, packet(0, 1, 1, size=100), 21 * MS, b"", lost_ns=21 * MS))
    scene.data(1, 100, 40, came=60)
    (resend,) = scene.run().resends
    assert (resend.spurious, resend.root, resend.trigger) == (False, "local-drop", "")


def test_numbers_wrap_and_states_follow_acknowledgements() -> None:
    """Acknowledged, sent, written and allowed pieces, and the kernel's window, after each event of the sender."""
    scene = Scene()
    scene.data(1, 1000, 21, came=30)
    scene.data(1001, 1000, 22, came=31)
    scene.give(1, packet(1, 1, 1001), 32, came=45)
    run = scene.run()
    states = [one for one in run.states if one.end == 0 and one.time_ns >= 21 * MS]
    assert [(one.seen.una, one.seen.top, one.seen.written, one.seen.limit) for one in states] == [
        (1, 2, 3, 3), (1, 3, 3, 3), (2, 3, 3, 4)
    ]  # fmt: skip
    assert [one.seen.cwnd for one in states] == [10, 10, 11]
    assert run.whole_bytes == 1000


def test_what_came_with_wrong_headers_was_not_taken() -> None:
    """A decompressor rebuilt another packet: the receiver's TCP discards it, and what is sent again is needed."""
    scene = Scene()
    scene.data(1, 100, 21, came=30)
    scene.packets[-1].damaged = True
    scene.data(1, 100, 40, came=60)
    assert told(scene.run(Event(40 * MS, TIMEOUT))) == [(1, 100, TIMEOUT, [False])]


def test_packets_have_the_times_of_the_captures() -> None:
    """Where there are any, and they are not after the link had the packet."""
    scene = Scene()
    scene.data(1, 100, 21, came=30)
    key = header_of(scene.packets[-1].octets).key  # type: ignore[union-attr]
    assert scene.run(captured={key: [20 * MS]}).copies[-1].sent_ns == 20 * MS
    assert scene.run(captured={key: [22 * MS]}).copies[-1].sent_ns == 21 * MS
