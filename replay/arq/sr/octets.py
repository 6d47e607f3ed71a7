"""SR and ASR in octets: frames as they are on the air, for a live link and for tests."""

from __future__ import annotations

from multitracer.model.errors import UsageError
from multitracer.replay.arq.ends import End
from multitracer.replay.arq.fields import record
from multitracer.replay.arq.sr import machine
from multitracer.replay.arq.sr.frames import DATA, FRAME, decode, encode
from multitracer.replay.arq.sr.parameters import WindowParameters
from multitracer.replay.arq.sr.state import entity
from multitracer.replay.arq.stretches import Delivered, Flushed, clear


class Sr(End):
    """One side of an SR link in real octets, or of an ASR link when given AsrParameters."""

    def __init__(self, parameters: WindowParameters) -> None:
        self.parameters = parameters
        super().__init__(machine, entity(parameters))
        self._frame = record(FRAME)
        self._sdus: dict[int, bytes] = {}
        self._starts = [0]
        self._handed_down = self._handed_up = 0
        self._arrived: dict[int, bytes] = {}

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """Let an SDU wait to be sent, without limit; raises UsageError for one without octets."""
        if not sdu:
            raise UsageError("an SDU of 0 octets cannot be sent: it must have 1 or more")
        self._sdus[len(self._starts) - 1] = sdu
        self._starts.append(self._starts[-1] + len(sdu))
        self._feed(now)
        return True

    def next_frame(self, now: int) -> bytes | None:
        """The frame to send in this opportunity, or None."""
        self._feed(now)
        frame = self._frame
        if not machine.next_frame(self.entity, frame, now):
            return None
        machine.on_air(self.entity, frame, now)
        self._take_flushed(now)
        if frame.kind != DATA:
            return encode(frame, header_bytes=self.parameters.control_bytes)
        return encode(frame, self._sdus[int(frame.sdu)], self.parameters.header_bytes)

    def receive(self, frame: bytes, now: int) -> None:
        """Take in a frame as it arrived; raises ValueError for octets that are no frame."""
        header, sdu = decode(frame, self.parameters.header_bytes, self.parameters.control_bytes)
        into = self._frame
        into.kind, into.ns, into.has_nr, into.nr, into.id = header
        into.sdu, into.start, into.octets = header.ns, 0, len(sdu)  # no two frames in a window have the same N(S)
        if header.kind == DATA:
            self._arrived[header.ns] = sdu
        oldest = int(self.entity.state.va)
        machine.receive(self.entity, into, len(frame), now)
        self._take_delivered(now)
        for acknowledged in range(oldest, int(self.entity.state.va)):
            del self._sdus[acknowledged]

    def _feed(self, now: int) -> None:
        """Offer the machine as many SDUs as it has room for."""
        while self._handed_down < len(self._starts) - 1:
            number = self._handed_down
            if not machine.offer(self.entity, number, self._starts[number], len(self._sdus[number]), now):
                break
            self._handed_down += 1

    def _take_flushed(self, now: int) -> None:
        above = self.entity.above
        for row in above.lost[: int(above.count.lost)]:
            self._flushed.append(Flushed(int(row["sdu"]), int(row["start"]), int(row["end"]), now))
        clear(above)

    def _take_delivered(self, now: int) -> None:
        above = self.entity.above
        handed = above.handed[: int(above.count.handed)]
        for ns, first_ns in zip(handed["sdu"].tolist(), handed["first_ns"].tolist(), strict=True):
            self._delivered.append(Delivered(self._arrived.pop(ns), self._handed_up, first_ns, first_ns, now))
            self._handed_up += 1
        clear(above)
