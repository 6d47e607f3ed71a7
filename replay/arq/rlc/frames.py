"""A PDU on its way: its octets, or its header alone, and which octets of the sender's stream it carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import dtype, table
from multitracer.replay.arq.rlc.parameters import LARGEST_PDU_BYTES

FRAME_OCTETS = LARGEST_PDU_BYTES + 96
"""Room for what is due beside a report that fills a PDU."""

FRAME = dtype(
    [
        *((name, np.int64) for name in ("start", "end", "jump", "sdu", "skip", "cut", "kept", "report", "answered")),
        ("octets", np.uint8, (FRAME_OCTETS,)),
    ]
)
"""`start`: the position in the sender's stream of the first octet of data; after the first end of an SDU positions go
on `jump` later. `end`: the position after the last one, in unacknowledged mode. `sdu`: the number of the SDU with that
octet, `skip` of its octets came before; -1: not known. `cut`: the first indicator ends an SDU that is not whole.
`kept`: the number of octets in `octets`: all, or those before the data. `report`: the number of the status report that
a STATUS PDU is of, `answered`: of the last one that was answered before an AMD PDU was sent, or with it; neither is on
the air, and 0 stands for none."""


def frames(capacity: int, parameters: Any) -> Any:
    """A table of `capacity` PDUs."""
    return table(capacity, FRAME)


@kernel
def copy_frame(frame: Any, to: Any, octets: int) -> None:
    """Copy a PDU into another."""
    to.start, to.end, to.jump, to.sdu = frame.start, frame.end, frame.jump, frame.sdu
    to.skip, to.cut = frame.skip, frame.cut
    to.kept, to.report, to.answered = frame.kept, frame.report, frame.answered
    for i in range(frame.kept):
        to.octets[i] = frame.octets[i]


@kernel
def clear_octets(octets: Any, first: int, last: int) -> None:
    """Set octets [first, last) to 0. A kernel of its own: inlined, it would double the compile time of each caller."""
    for i in range(first, last):
        octets[i] = 0
