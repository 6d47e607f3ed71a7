"""A file transfer between two hosts: `python -m multitracer.replay.emulate.bulk receive|send ADDRESS OCTETS`."""

from __future__ import annotations

import socket
import sys
import time

PORT = 5001
_CONNECT_S = 120.0


def receive(address: str) -> None:
    """Take one connection's data until its end."""
    with socket.create_server((address, PORT)) as server, server.accept()[0] as peer:
        while peer.recv(1 << 16):
            pass


def send(address: str, octets: int) -> None:
    """Connect, send so many octets, and wait until the other end has them all."""
    with _connected(address) as peer:
        peer.sendall(bytes(octets))
        peer.shutdown(socket.SHUT_WR)
        peer.recv(1)


def _connected(address: str) -> socket.socket:
    """A connection; a receiver that is not there yet refuses it, and is asked again."""
    end = time.monotonic() + _CONNECT_S
    while True:
        try:
            return socket.create_connection((address, PORT), timeout=None)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2])
    else:
        send(sys.argv[2], int(sys.argv[3]))
