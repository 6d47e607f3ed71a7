"""Two RLC entities under the engine, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep, Protocol
from multitracer.replay.engine.rlc import RLC_AM, RLC_AM_OCTETS
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.rlc import tally

MS = 1_000_000
A, B = 0, 1
Offers = tuple[Sequence[int], Sequence[int]]


class Run:
    """Opportunities of 10 ms, each with room for some PDUs; offers are (times, octets) of A and of B."""

    def __init__(
        self, a: Any, b: Any = None, *, delay_ns: int = 50 * MS, per_frame: tuple[int, int] = (1, 1),
        offers: tuple[Offers, Offers] = (((), ()), ((), ())), saturated_bytes: int = 0,
        erased: tuple[Any, Any] = ((), ()), log_rows: int = 0, sdus: int = 0, protocol: Protocol = RLC_AM,
    ) -> None:  # fmt: skip
        ways = [
            Direction(delay_ns, 10 * MS, count, channel=Erased(np.asarray(lost, np.uint8)))
            for count, lost in zip(per_frame, erased, strict=True)
        ]
        given = [
            (int(time), side, int(size))
            for side, (times, lengths) in enumerate(offers)
            for time, size in zip(times, lengths, strict=True)
        ]
        endless = source(given, saturated=(saturated_bytes, 0))
        keep = Keep(log=log_rows, sdus=sdus, stretches=20 * sdus)
        self.engine = Engine(protocol, (a, a if b is None else b), *ways, endless, keep)

    def carry(self, last: int) -> Run:
        """Run all opportunities before number `last`."""
        self.engine.run((last - 1) * 10 * MS)
        return self

    @property
    def a(self) -> Any:
        """Entity A."""
        return self.engine.a

    @property
    def b(self) -> Any:
        """Entity B."""
        return self.engine.b

    def counts(self, side: int) -> dict[str, int]:
        """What was counted of a side."""
        return tally(self.engine, side)

    def octets(self, at: int) -> bytes:
        """The PDU in row `at` of the log, of a run with octets."""
        log = self.engine.log
        return bytes(log.frames["octets"][at, : log.rows["octets"][at]].tobytes())


def with_octets(parameters: Parameters, **settings: Any) -> Run:
    """A run whose PDUs carry the octets of the SDUs."""
    return Run(parameters, protocol=RLC_AM_OCTETS, **settings)
