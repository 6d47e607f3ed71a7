"""Retrace: the throughput that a link would have had at every frame size, given which blocks it lost.

To add a link protocol, write its module with a `KINDS` (see `multitracer.replay.retrace.models.Kind`) and add a line
to PROTOCOLS: the commands, the results and the documentation all read this table.
"""

from __future__ import annotations

from dataclasses import dataclass

IDEAL = "ideal"
"""The model without a protocol: a bound for all of them (see `multitracer.replay.retrace.ideal`)."""


@dataclass(frozen=True)
class Entry:
    """One link protocol: its name on the command line, and the module that has it in its KINDS."""

    name: str
    module: str


PROTOCOLS = (
    Entry("raw", "window"),
    Entry("rlp", "rlp"),
    Entry("rlc-am", "rlc"),
    Entry("rlc-um", "rlc"),
    Entry("rlc-tm", "rlc"),
    Entry("sr", "window"),
    Entry("asr", "window"),
)
MODEL_NAMES = (IDEAL, *(entry.name for entry in PROTOCOLS))
