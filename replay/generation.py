"""Erasure traces made by a channel's model, named on a command line or in a file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multitracer.errors import InputError, UsageError
from multitracer.replay.channels import Channel, Even, Gilbert, GilbertElliott, MarkovChain, TwoState, Uniform
from multitracer.replay.erasures import BLOCK_BYTES, BLOCK_MS, ErasureTrace
from multitracer.replay.mta import MarkovTraceAnalysis
from multitracer.replay.settings import parsed

CHANNELS: dict[str, type[Any]] = {
    kind.name.replace("_", "-"): kind
    for kind in (Uniform, Even, Gilbert, GilbertElliott, TwoState, MarkovChain, MarkovTraceAnalysis)
}
MINUTES = 60.0
MOST_BLOCKS = 1_000_000_000
_ASKED = ("blocks", "minutes", "block_bytes", "block_ms", "name")


def made(
    model: str, *, parameters: Mapping[str, Any] | None = None, seed: int = 0, **asked: Any
) -> ErasureTrace:
    """A trace by a model's name, or by a file of its parameters; what is `asked` for overrides the file.

    `asked`: blocks, or minutes (60 if neither is given), block_bytes, block_ms, name.
    """
    name = model
    if model.endswith(".toml"):
        written, name = _file(Path(model)), Path(model).stem
        model, more = str(written.pop("model", "")), {key: written.pop(key) for key in _ASKED if key in written}
        parameters = {**written, **(parameters or {})}
        asked = {**more, **{key: value for key, value in asked.items() if value is not None}}
    wanted = {key: value for key, value in asked.items() if value is not None}
    block_bytes, block_ms = wanted.get("block_bytes", BLOCK_BYTES), wanted.get("block_ms", BLOCK_MS)
    blocks = wanted.get("blocks") or round(wanted.get("minutes", MINUTES) * 60_000 / block_ms)
    if not 1 <= blocks <= MOST_BLOCKS:
        raise UsageError(f"a trace of {blocks} blocks; it must have 1 to {MOST_BLOCKS}")
    made_by = channel(model, parameters or {}, {"block_bytes": block_bytes, "block_ms": block_ms})
    name = wanted.get("name") or f"{name}-{seed}"
    return ErasureTrace(name, made_by.generate(blocks, seed), block_bytes, block_ms)


def channel(name: str, parameters: Mapping[str, Any], geometry: Mapping[str, Any]) -> Channel:
    """A model by its name; those in seconds are told how large and how long a block is."""
    kind = CHANNELS.get(name.lower().replace("_", "-"))
    if kind is None:
        raise UsageError(f"there is no channel '{name}'\nThere are: {', '.join(CHANNELS)}.")
    own = {**geometry, **parameters} if kind is TwoState else parameters
    found: Channel = parsed(kind, own, name)
    return found


def _file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"is no TOML: {error}") from error
