"""A short play of two RLC AM entities: a line for every PDU sent, and for what was handed over or given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from multitracer.replay.arq.rlc.octets import RlcAm
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.wire import rlc_umts as codec

MS = 1_000_000
Lose = Callable[[str, str], bool]


@dataclass
class Scene:
    """A sends, B receives; an opportunity every 10 ms, `delay` opportunities on the way; `lose(side, line)`."""

    a: Parameters
    b: Parameters | None = None
    lose: Lose = lambda side, line: False
    delay: int = 2
    per_frame: int = 1
    lines: list[str] = field(default_factory=list)
    received: dict[str, list[bytes]] = field(default_factory=lambda: {"A": [], "B": []})
    at: int = 0

    def __post_init__(self) -> None:
        self.ends = {"A": RlcAm(self.a), "B": RlcAm(self.b or self.a)}
        self._air: list[tuple[int, str, bytes]] = []

    def offer(self, *sdus: bytes, side: str = "A") -> Scene:
        """SDUs for one side, now."""
        for sdu in sdus:
            assert self.ends[side].offer(sdu, self.at * 10 * MS)
        return self

    def run(self, opportunities: int) -> list[str]:
        """Play on for so many opportunities; gives all lines so far."""
        for _ in range(opportunities):
            self._happen(self.at * 10 * MS)
            for side in "AB":
                for _ in range(self.per_frame if side == "A" else 1):
                    self._send(side)
            self.at += 1
        return self.lines

    def _happen(self, now: int) -> None:
        while self._air and self._air[0][0] <= self.at:
            _, to, frame = self._air.pop(0)
            self.ends[to].receive(frame, now)
            self._hand_over(to)
        for end in self.ends.values():
            while (due := end.next_timer()) is not None and due <= now:
                end.expire(due)

    def _hand_over(self, side: str) -> None:
        for sdu in [each.octets for each in self.ends[side].delivered()]:
            self.lines.append(f"{self.at} {side} gets {sdu[:1].decode()}*{len(sdu)}")
            self.received[side].append(sdu)

    def _send(self, side: str) -> None:
        end = self.ends[side]
        frame = end.next_frame(self.at * 10 * MS)
        low, new, _ = end.window
        assert low <= new <= low + end.parameters.tx_window
        if frame is None:
            return
        pdu = codec.decode(frame, 8 * end.parameters.li_octets - 1)
        assert codec.encode(pdu) == frame
        line = said(pdu)
        lost = self.lose(side, f"{self.at} {line}")
        self.lines.append(f"{self.at} {side} {line}{' lost' if lost else ''}")
        if not lost:
            self._air.append((self.at + self.delay, "B" if side == "A" else "A", frame))


def said(pdu: codec.Pdu) -> str:
    """A PDU in a few words."""
    if isinstance(pdu, codec.Reset):
        return f"RESET{'_ACK' if pdu.ack else ''} {pdu.rsn}"
    if isinstance(pdu, codec.Status):
        return " ".join(_sufi(sufi) for sufi in pdu.sufis)
    status = codec.piggybacked(pdu)
    more = f" + {said(status)}" if status else ""
    return f"{pdu.sn}{' P' if pdu.poll else ''}{more}"


def _sufi(sufi: codec.Sufi) -> str:
    match sufi:
        case codec.Ack(lsn):
            return f"ACK {lsn}"
        case codec.Window(size):
            return f"WINDOW {size}"
        case codec.Mrw(sns, n, beyond):
            return f"MRW {','.join(map(str, sns))} N={n}{' beyond' if beyond else ''}"
        case codec.MrwAck(n, sn):
            return f"MRW_ACK {sn} N={n}"
        case codec.NoMore():
            return "."
        case _:
            return "NACK " + ",".join(map(str, codec.missing(codec.Status((sufi,)))))


BARE = Parameters(
    pdu_bytes=16, tx_window=16, rx_window=16, poll_last_new=False, poll_last_retransmission=False, poll_ns=0,
    poll_window_percent=0, missing_pdu_indication=False,
)  # fmt: skip
"""Nothing polls and nothing is reported."""


def sdus(count: int, size: int = 13) -> list[bytes]:
    return [bytes([ord("a") + i]) * size for i in range(count)]


def play(count: int, *lost: str, size: int = 13, **parameters: Any) -> Scene:
    """A scene of so many SDUs; the PDUs in `lost` ("A 1") are lost, one for each time they are named."""
    left = list(lost)

    def lose(side: str, line: str) -> bool:
        name = f"{side} {line.split(' ', 1)[1]}"
        if name in left:
            left.remove(name)
            return True
        return False

    return Scene(replace(BARE, **parameters), lose=lose).offer(*sdus(count, size))


def tell(scene: Scene, side: str, *sufis: codec.Sufi) -> None:
    """A STATUS PDU for a side, now."""
    scene.ends[side].receive(codec.encode(codec.Status(sufis)), scene.at * 10 * MS)
