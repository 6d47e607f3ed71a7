"""Models of channels that erase blocks: one module each, and the one table that lists them.

A model is a frozen dataclass of its parameters, and a `multitracer.replay.channels.model.Channel`: it generates
traces, gives the likelihood of one, and is fitted to one. To add a model, write its module and add a line to
CHANNELS: `erasures generate` and `erasures fit`, the recommendation and the documentation all read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multitracer.replay.channels.model import Channel


@dataclass(frozen=True)
class Entry:
    """One model: its name on the command line, and where its class is."""

    name: str
    module: str
    class_name: str
    note: str = ""
    """What a short name stands for."""


# In the order in which they are documented: simple models first.
CHANNELS = (
    Entry("uniform", "uniform", "Uniform"),
    Entry("even", "even", "Even"),
    Entry("gilbert", "gilbert", "Gilbert"),
    Entry("gilbert-elliott", "gilbert_elliott", "GilbertElliott"),
    Entry("two-state", "two_state", "TwoState"),
    Entry("markov", "markov_chain", "MarkovChain"),
    Entry("mta", "markov_trace", "MarkovTraceAnalysis", "Konrad's Markov-based trace analysis"),
)


def channel_classes() -> dict[str, type[Channel]]:
    """The class of every model by its name on the command line, in the order of the table."""
    return {
        entry.name: getattr(import_module(f"{__name__}.{entry.module}"), entry.class_name) for entry in CHANNELS
    }
