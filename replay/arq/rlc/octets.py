"""UMTS RLC in octets: PDUs as they are on the air, for a live link and for tests; times in ns."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.kernels import octets as octets_of
from multitracer.replay.arq.ends import End
from multitracer.replay.arq.fields import record
from multitracer.replay.arq.rlc import am, tm, um
from multitracer.replay.arq.rlc.am_entity import COUNTS, live_entity
from multitracer.replay.arq.rlc.am_receiver import set_window, trigger_status
from multitracer.replay.arq.rlc.frames import FRAME
from multitracer.replay.arq.rlc.parameters import LARGEST_PDU_BYTES, Parameters, check
from multitracer.replay.arq.rlc.reassembly import taken_away
from multitracer.replay.arq.rlc.tm import TM_FRAME, TmParameters, tm_entity
from multitracer.replay.arq.rlc.um import UM_COUNTS, UmParameters, live_um_entity
from multitracer.replay.arq.stretches import Delivered, Flushed, clear


@kernel
def put_octets(queue: Any, sdu: Any) -> None:
    """Give the SDU that was offered last these octets."""
    first, ring = queue.v.back - len(sdu), queue.v.ring
    for i in range(len(sdu)):
        queue.octets[(first + i) % ring] = sdu[i]


class _End(End):
    """What the ends of an acknowledged and of an unacknowledged link have in common; they number no SDUs delivered."""

    def __init__(self, machine: Any, entity: Any) -> None:
        super().__init__(machine, entity)
        self._frame = record(FRAME)
        self._offered = 0

    def _offer(self, sdu: bytes, now: int) -> bool:
        if not self._machine.offer(self.entity, self._offered, 0, len(sdu), now):
            return False
        put_octets(self.entity.queue, octets_of(sdu))
        self._offered += 1
        return True

    def next_frame(self, now: int) -> bytes | None:
        """What to send in this opportunity."""
        length = self._machine.next_frame(self.entity, self._frame, now)
        self._take_flushed(now)
        return bytes(self._frame.octets[:length].tobytes()) if length else None

    def receive(self, frame: bytes, now: int) -> None:
        """A PDU from the air."""
        length = min(len(frame), LARGEST_PDU_BYTES)
        self._frame.octets[:length] = np.frombuffer(frame[:length], np.uint8)
        self._frame.start, self._frame.sdu, self._frame.skip, self._frame.cut, self._frame.jump = 0, -1, 0, 0, 0
        self._machine.receive(self.entity, self._frame, len(frame), now)
        self._take_delivered(now)
        self._take_flushed(now)

    def expire(self, now: int) -> None:
        """Timers that are due by `now` expire."""
        super().expire(now)
        self._take_flushed(now)

    def _take_delivered(self, now: int) -> None:
        r, rows = self.entity.r, self.entity.above
        count, begin = int(r.v.out_count), 0
        pieces = iter(rows.handed[: int(rows.count.handed)].tolist())
        for end in r.v.ends[:count].tolist():
            came, left = [], end - begin
            while left > 0:
                start, stop, _, first_ns = next(pieces)
                left -= stop - start
                came.append(first_ns)
            self._delivered.append(Delivered(r.out[begin:end].tobytes(), -1, min(came), max(came), now))
            begin = end
        if count:
            taken_away(r)

    def _take_flushed(self, now: int) -> None:
        above = self.entity.above
        lost = above.lost[: int(above.count.lost)].tolist()
        self._flushed += [Flushed(sdu, start, end, now) for start, end, sdu, _ in lost]
        clear(above)


class RlcAm(_End):
    """One end of an acknowledged-mode link."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or Parameters()
        super().__init__(am, live_entity(self.parameters))

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """An SDU from above; False when the queue is full."""
        check("the SDU's length", len(sdu), 1, self.parameters.max_sdu_bytes)
        return self._offer(sdu, now)

    def request_report(self) -> None:
        """Have a status report sent, as a lower layer may ask for; Timer_Status_Prohibit may delay it."""
        trigger_status(self.entity)

    def set_window(self, size: int) -> None:
        """Have the peer send at most `size` PDUs ahead (WINDOW SUFI)."""
        check("the window", size, 1, self.parameters.rx_window)
        set_window(self.entity, size)

    @property
    def counts(self) -> dict[str, int]:
        """What happened so far, by the names of COUNTS."""
        return dict(zip(COUNTS.names, self.entity.counts.item(), strict=True))

    @property
    def ended(self) -> bool:
        """The link was given up: MaxRST RESETs were not answered."""
        return bool(self.entity.v.ended)

    @property
    def window(self) -> tuple[int, int, int]:
        """VT(A), VT(S) and VT(MS), unwrapped."""
        v = self.entity.v
        return int(v.vt_a), int(v.vt_s), int(v.vt_a + v.vt_ws)


class RlcUm(_End):
    """One end of an unacknowledged-mode link."""

    def __init__(self, parameters: UmParameters | None = None) -> None:
        self.parameters = parameters or UmParameters()
        super().__init__(um, live_um_entity(self.parameters))

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """An SDU from above; False when the queue is full."""
        check("the SDU's length", len(sdu), 1, self.parameters.max_sdu_bytes)
        return self._offer(sdu, now)

    @property
    def counts(self) -> dict[str, int]:
        """What happened so far, by the names of UM_COUNTS."""
        return dict(zip(UM_COUNTS.names, self.entity.counts.item(), strict=True))


class RlcTm(End):
    """One end of a transparent-mode link."""

    def __init__(self, parameters: TmParameters | None = None) -> None:
        self.parameters = parameters or TmParameters()
        super().__init__(tm, tm_entity(self.parameters))
        self._frame = record(TM_FRAME)
        self._waiting: deque[bytes] = deque()
        self._offered = self._octets = 0

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """An SDU from above; False when the queue is full."""
        check("the SDU's length", len(sdu), 1, self.parameters.max_sdu_bytes)
        if not tm.offer(self.entity, self._offered, self._octets, len(sdu), now):
            return False
        self._waiting.append(sdu)
        self._offered += 1
        self._octets += len(sdu)
        return True

    def next_frame(self, now: int) -> bytes | None:
        """What to send in this opportunity."""
        return self._waiting.popleft() if tm.next_frame(self.entity, self._frame, now) else None

    def receive(self, frame: bytes, now: int) -> None:
        """A PDU from the air: it is the SDU."""
        self._frame.sdu, self._frame.start = -1, 0
        tm.receive(self.entity, self._frame, len(frame), now)
        clear(self.entity.above)
        self._delivered.append(Delivered(frame, -1, now, now, now))

    def expire(self, now: int) -> None:
        """SDUs whose time has come are discarded, 11.1.5."""
        super().expire(now)
        above = self.entity.above
        for start, end, sdu, _ in above.lost[: int(above.count.lost)].tolist():
            self._waiting.popleft()
            self._flushed.append(Flushed(sdu, start, end, now))
        clear(above)
