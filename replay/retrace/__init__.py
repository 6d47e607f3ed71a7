"""Retrace: the throughput that a link would have had at every frame size, given which blocks it lost.

Here is the one table of link protocols. To add one, write its `Kind` (see `multitracer.replay.retrace.models`) and add
a row to PROTOCOLS: the commands, the results, the recorder, the documentation, the engine's example and the tests of
every protocol read this table. Nothing here imports a protocol before it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

IDEAL = "ideal"
"""The model without a protocol: a bound for all of them (see `multitracer.replay.retrace.ideal`)."""


@dataclass(frozen=True)
class Entry:
    """One link protocol: its name on the command line, and where it is defined."""

    name: str
    kind: str
    """Module and name of its `Kind`, in this room."""
    recorder: str = ""
    """Module and name of its `Recorder`, in the room `record`; without one its runs cannot be recorded."""
    repeats: bool = False
    """Whether lost frames are sent again."""


PROTOCOLS = (
    Entry("raw", "window.RAW_KIND"),
    Entry("rlp", "rlp.RLP_KIND", "rlp.RLP_RECORDER", repeats=True),
    Entry("rlc-am", "rlc.AM_KIND", "rlc.AM_RECORDER", repeats=True),
    Entry("rlc-um", "rlc.UM_KIND"),
    Entry("rlc-tm", "rlc.TM_KIND"),
    Entry("sr", "window.SR_KIND", repeats=True),
    Entry("asr", "window.ASR_KIND", repeats=True),
)
MODEL_NAMES = (IDEAL, *(entry.name for entry in PROTOCOLS))
REPEATING = tuple(entry.name for entry in PROTOCOLS if entry.repeats)
RECORDABLE = tuple(entry.name for entry in PROTOCOLS if entry.recorder)
