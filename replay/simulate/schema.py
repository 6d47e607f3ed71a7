"""Every key of a scenario: from this one table come reading and checking, what can be varied, and the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from multitracer.model.errors import UsageError
from multitracer.replay.simulate import link_keys, rlc_keys
from multitracer.replay.simulate.channel_keys import CHANNEL
from multitracer.replay.simulate.kernel_keys import EMULATE, KERNEL
from multitracer.replay.simulate.key import Key, Value, shown
from multitracer.replay.simulate.tcp_keys import TCP
from multitracer.replay.simulate.workload_keys import CONTENTION, WORKLOAD

KEYS: tuple[Key, ...] = (
    *link_keys.LINK, *link_keys.SR, *link_keys.ASR, *link_keys.RLP, *rlc_keys.RLC_AM, *rlc_keys.RLC_UM, *CHANNEL,
    *link_keys.WIRED, *TCP, *WORKLOAD, *CONTENTION, *KERNEL, *EMULATE,
)  # fmt: skip
"""In an order in which each comes after those that it depends on."""
NAMED: Mapping[str, Key] = {key.name: key for key in KEYS}
DOWN, UP, FORWARD, REVERSE = "down", "up", "forward", "reverse"
DIRECTIONS: Mapping[str, tuple[str, ...]] = {
    "link": (DOWN, UP), "wired": (DOWN, UP), "channel": (FORWARD, REVERSE), "tcp": (FORWARD, REVERSE),
}  # fmt: skip
"""Of the rooms whose keys can be said for one direction: the two directions."""
_MS_PER_S = 1000
_OFFERED = 4
_CLOSE = 0.8
"""How much alike the last part of a name must be, where the rest is not."""


def find(name: str) -> tuple[Key, str]:
    """The key of that name, and the direction that it is said for ("" for both); UsageError with the nearest name."""
    room, _, rest = name.partition(".")
    direction, _, bare = rest.partition(".")
    if direction not in (DOWN, UP, FORWARD, REVERSE):
        direction, bare = "", rest
    key = NAMED.get(f"{room}.{bare}")
    if key is None:
        raise UsageError(f"there is no key '{shown(name)}'\n{_meant(f'{room}.{bare}')}")
    if direction and (key.one or direction not in DIRECTIONS.get(room, ())):
        raise UsageError(f"{name}: {_why_not(key)}")
    return key, direction


def _why_not(key: Key) -> str:
    if key.one or key.room not in DIRECTIONS:
        return f"it cannot be said for one direction\nGive {key.name}."
    directions = DIRECTIONS[key.room]
    return f"directions of {key.room} are {' and '.join(directions)}"


def _meant(name: str) -> str:
    """The keys that a wrong name may be meant for."""
    last = name.rpartition(".")[2]
    same = [known for known in NAMED if known.rpartition(".")[2] == last]
    near = same[:_OFFERED] or get_close_matches(name, list(NAMED), n=3, cutoff=0.5)
    near = near or [known for known in NAMED if get_close_matches(last, [known.rpartition(".")[2]], cutoff=_CLOSE)]
    return f"Did you mean {' or '.join(near[:_OFFERED])}?" if near else f"Keys begin with {', '.join(_rooms())}"


def _rooms() -> list[str]:
    return list(dict.fromkeys(f"{key.room}." for key in KEYS))


def parsed(name: str, given: object) -> tuple[str, Value]:
    """The full name of a key and its value; a time x_s can be given in milliseconds as x_ms."""
    if name.endswith("_ms"):
        name, given = f"{name[:-3]}_s", in_seconds(name, given)
    key, direction = find(name)
    room, _, bare = key.name.partition(".")
    full = f"{room}.{direction}.{bare}" if direction else key.name
    return full, replace(key, name=full).parse(given)


def in_seconds(name: str, given: object) -> object:
    """A time that was given in milliseconds."""
    try:
        return float(given) / _MS_PER_S if not isinstance(given, bool) else given  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UsageError(f"{name} = {shown(given)}\nIt must be a number of milliseconds.") from None


def base_of(name: str) -> tuple[str, str]:
    """A full name without its direction, and the direction."""
    key, direction = find(name)
    return key.name, direction
