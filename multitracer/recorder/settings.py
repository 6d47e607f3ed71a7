"""What a transfer ran under: the kernel, the interface and its queue, offloads, and TCP's settings."""

from __future__ import annotations

import array
import fcntl
import json
import platform
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_SIOCGIFMTU, _SIOCGIFTXQLEN, _SIOCETHTOOL = 0x8921, 0x8942, 0x8946
"""linux/sockios.h."""
_OFFLOADS = {
    "rx-checksumming": 0x14, "tx-checksumming": 0x16, "scatter-gather": 0x18, "tcp-segmentation-offload": 0x1E,
    "generic-segmentation-offload": 0x23, "generic-receive-offload": 0x2B,
}  # fmt: skip
"""The commands of ethtool that ask for each (linux/ethtool.h, ETHTOOL_GRXCSUM and following), by ethtool's names."""
_SYSCTLS = ("net/ipv4", "net/core", "net/ipv6/conf/all")
_WANTED = re.compile(r"tcp_.*|[rw]mem_(?:default|max)|default_qdisc|netdev_max_backlog|disable_ipv6")
_CLOCK_MONOTONIC_COARSE = 6
"""linux/time.h: the clock that goes on with each tick, and has that for its resolution (clock_getres(2))."""


def default_interface() -> str:
    """The interface of the route to everywhere (proc(5), net/route); the loopback interface if there is none."""
    with suppress(OSError):
        for line in Path("/proc/net/route").read_text().splitlines()[1:]:
            name, destination, *_ = line.split()
            if destination == "00000000":
                return name
    return "lo"


def interfaces() -> list[str]:
    """The names of this machine's interfaces."""
    return sorted(name for _, name in socket.if_nameindex())


def settings(interface: str) -> dict[str, Any]:
    """All of them, as machine.json has them; null for what this machine does not tell."""
    return {
        "kernel": platform.release(),
        "host": platform.node(),
        "interface": interface,
        "mtu": _of_interface(interface, _SIOCGIFMTU),
        "queue_packets": _of_interface(interface, _SIOCGIFTXQLEN),
        "qdisc": qdisc(interface),
        "offloads": {name: _offload(interface, asked) for name, asked in _OFFLOADS.items()},
        "sysctls": _sysctls(),
        "congestion_controls": (_text("/proc/sys/net/ipv4/tcp_available_congestion_control") or "").split(),
        "hz": _hz(),
    }


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _of_interface(interface: str, asked: int) -> int | None:
    """A number that the kernel keeps for an interface (netdevice(7): an ifreq with the answer behind the name)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket, asked, struct.pack("16s24x", interface.encode()[:15]))
        except OSError:
            return None
    return int.from_bytes(answer[16:20], sys.byteorder)


def qdisc(interface: str) -> list[dict[str, Any]] | None:
    """What tc tells of the interface's queues, its root and those below; None where it tells nothing."""
    if not shutil.which("tc"):
        return None
    done = subprocess.run(["tc", "-j", "qdisc", "show", "dev", interface], capture_output=True, check=False)
    with suppress(ValueError):
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found
    return None


def _offload(interface: str, asked: int) -> bool | None:
    """Whether an offload is on (netdevice(7): an ifreq that points to a command and its answer)."""
    value = array.array("I", [asked, 0])
    request = struct.pack("16sP16x", interface.encode()[:15], value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)
        except OSError:
            return None
    return bool(value[1])


def _sysctls() -> dict[str, str]:
    """TCP's settings and those of its buffers and queues that this user may read, by sysctl's names."""
    return {
        f"{folder.replace('/', '.')}.{path.name}": " ".join(text.split())
        for folder in _SYSCTLS
        for path in sorted(Path("/proc/sys", folder).glob("*"))
        if _WANTED.match(path.name) and (text := _text(str(path))) is not None
    }


def _hz() -> int | None:
    """How often the kernel's clock ticks each second: the granularity of TCP's timers."""
    try:
        return round(1 / time.clock_getres(_CLOCK_MONOTONIC_COARSE))
    except OSError:
        return None
