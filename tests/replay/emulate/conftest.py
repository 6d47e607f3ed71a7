"""Two hosts that are sockets, for a link in real time between them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest


@pytest.fixture
def two_hosts() -> Iterator[tuple[tuple[socket.socket, socket.socket], tuple[int, int]]]:
    """What the two hosts send and receive by, and the descriptors of the link's ends of that."""
    with ExitStack() as stack:
        pairs = [socket.socketpair(type=socket.SOCK_DGRAM) for _ in range(2)]
        for end in (end for pair in pairs for end in pair):
            stack.enter_context(end).setblocking(False)
        yield (pairs[0][1], pairs[1][1]), (pairs[0][0].fileno(), pairs[1][0].fileno())
