"""Erasure traces made by a channel's model, named on a command line or in a file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multitracer.model.errors import InputError, UsageError
from multitracer.model.settings import parsed
from multitracer.replay.channels.markov_trace import MarkovTraceAnalysis
from multitracer.replay.channels.models import (
    Channel,
    Even,
    Gilbert,
    GilbertElliott,
    MarkovChain,
    TwoState,
    Uniform,
)
from multitracer.replay.erasures.trace import BLOCK_BYTES, BLOCK_MS, ErasureTrace

CHANNELS: dict[str, type[Any]] = {
    kind.name.replace("_", "-"): kind
    for kind in (Uniform, Even, Gilbert, GilbertElliott, TwoState, MarkovChain, MarkovTraceAnalysis)
}
MOST_BLOCKS = 1_000_000_000
_ASKED = ("blocks", "minutes", "block_bytes", "block_ms", "name")


def made(
    model: str, *, parameters: Mapping[str, Any] | None = None, seed: int = 0, **asked: Any
) -> ErasureTrace:
    """A trace by a model's name, or by a file of its parameters; what is `asked` for overrides the file.

    `asked`: blocks, or minutes (60 if neither is given), block_bytes, block_ms, name.
    """
    wanted = {key: value for key, value in asked.items() if value is not None}
    name = model
    if model.endswith(".toml"):
        written, name = _file(Path(model)), Path(model).stem
        model = str(written.pop("model", ""))
        more = {key: written.pop(key) for key in _ASKED if key in written}
        if "minutes" in wanted or "blocks" in wanted:
            more = {key: value for key, value in more.items() if key not in ("minutes", "blocks")}
        parameters, wanted = {**written, **(parameters or {})}, {**more, **wanted}
    trace = parsed(Trace, {"name": f"{name}-{seed}", **wanted}, "the trace")
    made_by = channel(
        model, parameters or {}, {"block_bytes": trace.block_bytes, "block_ms": trace.block_ms}
    )
    return ErasureTrace(trace.name, made_by.generate(trace.count, seed), trace.block_bytes, trace.block_ms)


@dataclass(frozen=True)
class Trace:
    """What is asked of a trace, whatever makes it."""

    name: str
    minutes: float = 60.0
    blocks: int = 0
    """0: as many as the minutes have."""
    block_bytes: int = BLOCK_BYTES
    block_ms: float = BLOCK_MS

    @property
    def count(self) -> int:
        """How many blocks; raises UsageError for more than can be made."""
        minutes = self.minutes * 60_000 / self.block_ms if self.block_ms > 0 else 0
        blocks = self.blocks or (round(minutes) if minutes < MOST_BLOCKS else MOST_BLOCKS + 1)
        if not 1 <= blocks <= MOST_BLOCKS:
            raise UsageError(
                f"a trace of {self.minutes:g} minutes, {self.blocks} blocks; it must have 1 to {MOST_BLOCKS} blocks"
            )
        return blocks


def channel(name: str, parameters: Mapping[str, Any], geometry: Mapping[str, Any]) -> Channel:
    """A model by its name; those in seconds are told how large and how long a block is."""
    kind = CHANNELS.get(name.lower().replace("_", "-"))
    if kind is None:
        raise UsageError(f"there is no channel '{name}'\nThere are: {', '.join(CHANNELS)}.")
    for key in geometry if kind is TwoState else ():
        if key in parameters:
            raise UsageError(f"{name}: {key} is the trace's: give --{key.replace('_', '-')}")
    found: Channel = parsed(kind, {**parameters, **(geometry if kind is TwoState else {})}, name)
    return found


def _file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"is no TOML: {error}") from error
