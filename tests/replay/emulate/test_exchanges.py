"""The exchanges of a transfer over TCP: what ends them."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import local_transfer

from multitracer.replay.emulate.plan import Plan

WAIT_S = 30
MUCH = 8_000_000
"""More than the buffers of both sockets hold."""


def opener(tmp_path: Path, port: int) -> subprocess.Popen[str]:
    """A process that sends MUCH over one connection to a port of this machine."""
    plan = Plan(port, 0, connections=(((MUCH, 0),),), pages=((0.0, 0, 1),))
    plan.save(tmp_path / "plan.json")
    names = (str(tmp_path / "plan.json"), "127.0.0.1", "127.0.0.1", str(tmp_path / "results.csv"))
    module = [sys.executable, "-m", "multitracer.replay.emulate.exchanges"]
    return subprocess.Popen([*module, "open", *names], stderr=subprocess.PIPE, text=True)


def test_a_reset_ends_a_transfer_whose_data_wait_to_be_acknowledged(tmp_path: Path) -> None:
    """The other end was killed with data unread: what it will never acknowledge is not waited for."""
    port = local_transfer.free_port()
    with socket.create_server(("127.0.0.1", port)) as server, opener(tmp_path, port) as process:
        peer, _ = server.accept()
        peer.settimeout(WAIT_S)
        taken = 0
        while taken < MUCH - 100_000:  # the rest fits the sender's buffer, where it waits
            taken += len(peer.recv(1 << 16))
        peer.close()
        _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1
    assert "the transfer failed: " in said
