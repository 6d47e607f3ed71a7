"""The Raw link in octets: frames as they are on the air, for a live link and for tests."""

from __future__ import annotations

from collections import deque

from multitracer.model.errors import UsageError
from multitracer.replay.arq.ends import End
from multitracer.replay.arq.fields import record
from multitracer.replay.arq.raw import machine
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.sr.frames import FRAME, SMALLEST_HEADER, decode, encode
from multitracer.replay.arq.sr.parameters import LARGEST_HEADER, within
from multitracer.replay.arq.stretches import Delivered, clear


class Raw(End):
    """One side of a Raw link in real octets; it has no timers, and does not know what it lost.

    SDUs delivered are numbered as they came, lost ones left out.
    """

    def __init__(self, parameters: RawParameters | None = None) -> None:
        self.parameters = parameters or RawParameters()
        within("header_bytes", self.parameters.header_bytes, SMALLEST_HEADER, LARGEST_HEADER)
        super().__init__(machine, machine.entity(self.parameters))
        self._frame = record(FRAME)
        self._sdus: deque[bytes] = deque()
        self._sent = self._handed_up = 0

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """Let an SDU wait to be sent, without limit; raises UsageError for one without octets."""
        if not sdu:
            raise UsageError("an SDU of 0 octets cannot be sent: it must have 1 or more")
        self._sdus.append(sdu)
        return True

    def next_frame(self, now: int) -> bytes | None:
        """The frame to send in this opportunity, or None."""
        if not self._sdus:
            return None
        sdu = self._sdus.popleft()
        machine.offer(self.entity, int(self.entity.counts.sent), self._sent, len(sdu), now)
        machine.next_frame(self.entity, self._frame, now)
        self._sent += len(sdu)
        return encode(self._frame, sdu, self.parameters.header_bytes)

    def receive(self, frame: bytes, now: int) -> None:
        """Take in a frame as it arrived; raises ValueError for octets that are no frame."""
        header, sdu = decode(frame, self.parameters.header_bytes)
        into = self._frame
        into.kind, into.ns, into.has_nr, into.nr, into.id = header
        into.sdu, into.start, into.octets = self._handed_up, 0, len(sdu)
        machine.receive(self.entity, into, len(frame), now)
        if self.entity.above.count.handed:
            self._delivered.append(Delivered(sdu, self._handed_up, now, now, now))
            self._handed_up += 1
            clear(self.entity.above)
