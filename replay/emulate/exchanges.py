"""Carries out a plan over TCP: `python -m multitracer.replay.emulate.exchanges serve|open PLAN OWN PEER [RESULTS]`.

The one host answers at a port, the other opens the connections, each from a port of its own: by that both know which
of the plan it is. What comes from other ports is taken, and not answered.
"""

from __future__ import annotations

import csv
import fcntl
import os
import socket
import sys
import termios
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from multitracer.replay.emulate.plan import FIRST_PORT, Plan

READY = "ready"
"""Said by the host that answers, once it does."""
COLUMNS = ("connection", "port", "request_bytes", "reply_bytes", "begin_s", "end_s")
_PIECE = 1 << 16
_WAITING = 128
_POLL_S = 0.005


def serve(plan: Plan, own: str) -> None:
    """Answer the requests of all connections, for ever."""
    with socket.create_server((own, plan.port), backlog=_WAITING) as server:
        print(READY, flush=True)
        while True:
            peer, (_, port, *_) = server.accept()
            number = port - FIRST_PORT
            known = plan.connections[number] if 0 <= number < len(plan.connections) else ()
            threading.Thread(target=_answer, args=(peer, known, plan.server_s), daemon=True).start()


def _answer(peer: socket.socket, exchanges: Sequence[tuple[int, int]], server_s: float) -> None:
    """Answer the requests of one connection, and take what comes then until its end."""
    with peer:
        for request, reply in exchanges:
            if not _took(peer, request):
                return
            if reply:
                time.sleep(server_s)
                peer.sendall(bytes(reply))
        while peer.recv(_PIECE):
            pass


def _took(peer: socket.socket, octets: int) -> bool:
    """Take so many octets; whether they came before the connection's end."""
    while octets:
        if not (came := len(peer.recv(min(octets, _PIECE)))):
            return False
        octets -= came
    return True


def _unacknowledged(peer: socket.socket) -> int:
    """The octets that were sent, or wait to be, and that the other end has not acknowledged (SIOCOUTQ, tcp(7))."""
    return int.from_bytes(fcntl.ioctl(peer, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def _wait_until_acknowledged(peer: socket.socket) -> None:
    """Wait until the other end has everything. Raises OSError when the connection fails: its octets stay counted."""
    while _unacknowledged(peer):
        if error := peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(error, os.strerror(error))
        time.sleep(_POLL_S)


class Opener:
    """Opens the connections of a plan, and writes a row for each exchange when it has ended."""

    def __init__(self, plan: Plan, own: str, peer: str, results: IO[str]) -> None:
        self._plan, self._own, self._peer, self._begun = plan, own, peer, time.monotonic()
        self._results, self._lock = csv.writer(results), threading.Lock()
        self._results.writerow(COLUMNS)

    def run(self) -> None:
        """Transfer everything."""
        plan = self._plan
        with ThreadPoolExecutor(plan.parallel) as pool, ThreadPoolExecutor(1) as beside:
            second = beside.submit(self._second)
            for pause_s, first, end in plan.pages:
                time.sleep(pause_s)
                alone = first + plan.first_alone
                for some in (range(first, alone), range(alone, end)):
                    list(pool.map(self._connection, some))
            second.result()

    def _second(self) -> None:
        if self._plan.second_at_s is not None:
            time.sleep(self._plan.second_at_s)
            self._connection(len(self._plan.connections) - 1)

    def _connection(self, number: int) -> None:
        with self._opened(number) as peer:
            for place, (request, reply) in enumerate(self._plan.connections[number]):
                time.sleep(self._plan.think_s if place else 0)
                begin = time.monotonic()
                self._exchange(peer, number, request, reply)
                self._write(number, request, reply, begin)

    def _opened(self, number: int) -> socket.socket:
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((self._own, FIRST_PORT + number))
        found.connect((self._peer, self._plan.port))
        return found

    def _exchange(self, peer: socket.socket, number: int, request: int, reply: int) -> None:
        """Send a request and take its reply; one without a reply is over when the other end has all of it.

        Its end is told when all was acknowledged: a kernel logs nothing more of a socket that was shut down.
        """
        peer.sendall(bytes(request))
        if reply and not _took(peer, reply):
            raise ConnectionError(f"connection {number} ended within a reply")
        if not reply:
            _wait_until_acknowledged(peer)
            peer.shutdown(socket.SHUT_WR)
            peer.recv(1)

    def _write(self, number: int, request: int, reply: int, begin: float) -> None:
        times = (f"{at - self._begun:.6f}" for at in (begin, time.monotonic()))
        with self._lock:
            self._results.writerow((number, FIRST_PORT + number, request, reply, *times))


def main(role: str, path: str, own: str, peer: str = "", results: str = "") -> None:
    """Be one of the two hosts."""
    plan = Plan.load(Path(path))
    if role == "serve":
        serve(plan, own)
    with Path(results).open("w", newline="", buffering=1) as file:
        if plan.until_s is not None:
            end = threading.Timer(plan.until_s, os._exit, (0,))
            end.daemon = True
            end.start()
        Opener(plan, own, peer, file).run()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(f"the transfer failed: {error.strerror or error}")
