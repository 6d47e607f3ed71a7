"""Which link types are read, and in which pass."""

from __future__ import annotations

from multitracer.wire.layers import LINK_TYPES, NONE, RARE, USER, USER_LINK_TYPES
from multitracer.wire.rare_links import RARE_LINK_TYPES


def link_kind(kind: int) -> int:
    """The group of a link type: how the IP header is found in its records."""
    if kind in USER_LINK_TYPES:
        return USER
    return LINK_TYPES.get(kind, RARE if kind in RARE_LINK_TYPES else NONE)


def is_known(kind: int) -> bool:
    """Whether records of a link type are read."""
    return link_kind(kind) != NONE
