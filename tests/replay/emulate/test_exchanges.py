"""The exchanges of a transfer over TCP: what ends them."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import local_transfer

from multitracer.replay.emulate.plan import Plan

WAIT_S = 30
OCTETS, ROOM = 20_000, 2_048
"""What is sent fits the sender's buffer; the receiver has room for a part of it, and acknowledges no more."""


def opener(tmp_path: Path, port: int) -> subprocess.Popen[str]:
    """A process that sends OCTETS over one connection to a port of this machine."""
    plan = Plan(port, 0, connections=(((OCTETS, 0),),), pages=((0.0, 0, 1),))
    plan.save(tmp_path / "plan.json")
    names = (str(tmp_path / "plan.json"), "127.0.0.1", "127.0.0.1", str(tmp_path / "results.csv"))
    module = [sys.executable, "-m", "multitracer.replay.emulate.exchanges"]
    return subprocess.Popen([*module, "open", *names], stderr=subprocess.PIPE, text=True)


def test_a_reset_ends_a_transfer_whose_data_wait_to_be_acknowledged(tmp_path: Path) -> None:
    """The other end was killed with data unread: what it will never acknowledge is not waited for."""
    port = local_transfer.free_port()
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        server.bind(("127.0.0.1", port))
        server.listen()
        with opener(tmp_path, port) as process:
            try:
                peer, _ = server.accept()
                time.sleep(0.5)  # until all is in the sender's buffer
                peer.close()
                _, said = process.communicate(timeout=WAIT_S)
            finally:
                process.kill()
    assert process.returncode == 1
    assert "the transfer failed: Connection reset by peer" in said
