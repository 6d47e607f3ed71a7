"""A transfer over the loopback interface, to be recorded: `python local_transfer.py OCTETS PORT [STATUS]`."""

from __future__ import annotations

import socket
import sys
import threading


def main(octets: int, port: int, status: int = 0) -> int:
    """Send so many octets from a client to a server, both of this process; returns `status`."""
    with socket.create_server(("127.0.0.1", port)) as server:
        receiver = threading.Thread(target=_receive, args=(server,))
        receiver.start()
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(bytes(octets))
            client.shutdown(socket.SHUT_WR)
            client.recv(1)
        receiver.join()
    return status


def _receive(server: socket.socket) -> None:
    accepted, _ = server.accept()
    with accepted:
        while accepted.recv(1 << 16):
            pass


def free_port() -> int:
    """A port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
