"""A host of its own: a network namespace with one TUN device, held by a process."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType

from multitracer.model.errors import MissingCapabilityError

_ANSWER_S = 20.0
QUEUE_PACKETS = 1000
"""What a device holds of what its host sends until that is read, which is at once where nothing limits it."""
_NEEDS = "It takes root; or user namespaces, and a /dev/net/tun that this user may open (chmod 666 /dev/net/tun)."


def _is_root() -> bool:
    return os.geteuid() == 0


def _unshare() -> list[str]:
    """What makes a network namespace: without root, in a user namespace of its own."""
    return ["unshare", *([] if _is_root() else ["--user", "--map-root-user"]), "--net"]


class Host:
    """A network namespace and its device, from when `with` is entered until it is left.

    `device` is the descriptor of the device: what is read from it was sent by the host, what is written to it arrives.
    """

    def __init__(
        self, own: str, peer: str, mtu: int, sysctls: Sequence[str] = (), *, offloads: bool = False,
        queue_packets: int = QUEUE_PACKETS,
    ) -> None:  # fmt: skip
        self.device = -1
        self._arguments = [own, peer, str(mtu), str(int(offloads)), str(queue_packets), *sysctls]

    def __enter__(self) -> Host:
        if lacking := [tool for tool in ("unshare", "nsenter", "setpriv", "ip", "tc") if not shutil.which(tool)]:
            raise MissingCapabilityError(f"{', '.join(lacking)}: install the packages util-linux and iproute2")
        ours, theirs = socket.socketpair()
        with ours, theirs:
            module = [sys.executable, "-P", "-m", "multitracer.replay.emulate.host_process", str(theirs.fileno())]
            self._holder = subprocess.Popen(
                [*_unshare(), *module, *self._arguments], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
            theirs.close()
            ours.settimeout(_ANSWER_S)
            _, devices, _, _ = socket.recv_fds(ours, 1, 1)
        if not devices:
            raise MissingCapabilityError(f"no network namespace with a TUN device: {self._complaint()}\n{_NEEDS}")
        self.device = devices[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.device)
        self._complaint()

    def inside(self, command: Sequence[str], *, at_end: str = "KILL") -> list[str]:
        """The command, to be run in the host; it gets that signal when this process ends."""
        spaces = f"/proc/{self._holder.pid}/ns"
        user = [] if _is_root() else [f"--user={spaces}/user", "--preserve-credentials"]
        return ["nsenter", *user, f"--net={spaces}/net", "setpriv", "--pdeathsig", at_end, "--", *command]

    def _complaint(self) -> str:
        """The last line of what the holder said, once it has ended."""
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        assert self._holder.stderr is not None
        with self._holder.stderr as stderr:
            said = stderr.read().strip().splitlines()
        self._holder.wait()
        return said[-1] if said else "it said nothing"
