"""GSM RLP in octets: frames as they are on the air, for a live link and for tests."""

from __future__ import annotations

from multitracer.replay.arq.ends import End
from multitracer.replay.arq.fields import record
from multitracer.replay.arq.rlp import l2r, machine, state
from multitracer.replay.arq.rlp.entity import Parameters, entity, header_of, octets_of
from multitracer.replay.arq.stretches import Delivered, Flushed, clear
from multitracer.wire import rlp


class Rlp(End):
    """An entity that sends and receives real frames; all times are given to it, in ns.

    Where every opportunity has a frame, `fill` sends NULL in those that have nothing else. What is delivered are the
    characters of one frame each; what resets flush includes characters that had arrived, unacknowledged.
    """

    def __init__(self, parameters: Parameters | None = None, *, fill: bool = False) -> None:
        self.parameters = parameters or Parameters()
        super().__init__(machine, entity(self.parameters))
        self.fill = fill
        self._frame = record(state.FRAME)
        self._sent = bytearray()
        self._dropped = 0
        self._buffered: dict[int, bytes] = {}

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """Characters to send; RLP keeps no boundaries between packets, and has room for all."""
        self._sent += sdu
        return bool(machine.offer(self.entity, -1, int(self.entity.offered), len(sdu), now))

    def next_frame(self, now: int) -> bytes | None:
        """The frame to send in the opportunity that begins now."""
        said = machine.next_frame(self.entity, self._frame, now) > 0
        header, position = int(self._frame.header), int(self._frame.position)
        start = position - self._dropped
        characters = bytes(self._sent[start : start + (header >> state.COUNT_AT)])
        self._take_flushed(now)
        self._forget()
        return octets_of(header, characters, self.parameters) if said or self.fill else None

    def receive(self, frame: bytes, now: int) -> None:
        """Take in a frame as it arrived; a damaged one, or one of another size, is ignored."""
        if len(frame) != self.parameters.frame_bytes:
            return
        decoded = rlp.decode(frame, any_size=True)
        if decoded.type == "BAD":
            return
        before, vr = self._resets(), int(self.entity.vr)
        if decoded.type.startswith("I "):
            # Before the machine sees it: what it keeps already, and a copy that it will drop, stay out.
            self._buffered.setdefault(decoded.ns, l2r.characters_of(decoded.information))
        self._frame.header, self._frame.position = header_of(decoded), -1
        machine.receive(self.entity, self._frame, len(frame), now)
        if self._resets() == before:
            self._deliver(vr, now)
        self._drop_unkept()
        self._take_flushed(now)

    def expire(self, now: int) -> None:
        """Timers that ran out until now take effect."""
        super().expire(now)
        self._drop_unkept()
        self._take_flushed(now)

    def _resets(self) -> tuple[int, bool]:
        """What flushes the receiver: resets by the peer, and its hanging up."""
        return int(self.entity.resets_seen), self.entity.state == state.DETACHED

    def _deliver(self, vr: int, now: int) -> None:
        handed = iter(self.entity.above.handed["first_ns"].tolist())
        while vr != self.entity.vr:
            characters = self._buffered.pop(vr)
            if characters:
                first_ns = next(handed)
                self._delivered.append(Delivered(characters, -1, first_ns, first_ns, now))
            vr = (vr + 1) % rlp.MODULUS

    def _take_flushed(self, now: int) -> None:
        above = self.entity.above
        for row in above.lost[: int(above.count.lost)]:
            self._flushed.append(Flushed(-1, int(row["start"]), int(row["end"]), now))
        clear(above)

    def _drop_unkept(self) -> None:
        kept = self.entity.r_state[: rlp.MODULUS] == state.RECEIVED
        self._buffered = {n: characters for n, characters in self._buffered.items() if kept[n]}

    def _forget(self) -> None:
        """Let go of characters that can never be sent again."""
        e = self.entity
        first = e.s_position[e.va] if e.filled else e.next_octet
        del self._sent[: int(first) - self._dropped]
        self._dropped = int(first)
