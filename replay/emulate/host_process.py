"""Holds one network namespace with a TUN device, for as long as its standard input is open.

Started by `host` in a new network namespace. Sends the device's file descriptor over the socket that it was given, and
then waits: when the process that started it ends, however it ends, the namespace and the device go with it.

    python -m multitracer.replay.emulate.host_process SOCKET OWN PEER MTU OFFLOADS PACKETS [SYSCTL=VALUE...]
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

DEVICE = "mt0"
_TUNSETIFF = 0x400454CA
_SIOCETHTOOL = 0x8946
_SET_OFFLOADS = (0x1F, 0x24, 0x2C)
"""linux/ethtool.h: ETHTOOL_STSO, ETHTOOL_SGSO and ETHTOOL_SGRO."""
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
"""linux/if_tun.h: packets of IP, without a header of the device's own in front of each."""
PINNED = (
    "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.tcp_no_metrics_save=1",
    "net.ipv4.tcp_pacing_ss_ratio=200", "net.ipv4.tcp_pacing_ca_ratio=120",
)  # fmt: skip
"""No router solicitations, nothing that one transfer learns from another, and the kernel's own pacing."""


def main(number: int, own: str, peer: str, mtu: int, offloads: int, packets: int, *sysctls: str) -> None:
    """Make the device, send its descriptor, and wait until the standard input is closed."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    set_values(*PINNED, *sysctls)
    configure(own, peer, mtu, packets)
    set_offloads(offloads)
    with socket.socket(fileno=number) as to_parent:
        socket.send_fds(to_parent, [b"d"], [device])
    os.close(device)
    sys.stdin.buffer.read()


def set_values(*sysctls: str) -> None:
    """Set what the kernel has for each network namespace; names as sysctl(8) writes them."""
    for one in sysctls:
        name, _, value = one.partition("=")
        path = Path("/proc/sys", name.replace(".", "/"))
        if path.exists() or "ipv6" not in name:  # a kernel may be without IPv6
            path.write_text(value)


def configure(own: str, peer: str, mtu: int, packets: int) -> None:
    """Give the device its address, the route to its peer, and room for packets that nobody has read yet."""
    for command in (
        "ip link set lo up",
        f"ip address add {own} peer {peer} dev {DEVICE}",
        f"ip link set {DEVICE} mtu {mtu} txqueuelen {packets} up",
        f"tc qdisc replace dev {DEVICE} root pfifo",
    ):
        subprocess.run(command.split(), check=True)


def set_offloads(on: int) -> None:
    """Let the device cut and merge segments, or not (netdevice(7): an ifreq that points to a command and a value)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in _SET_OFFLOADS:
            value = array.array("I", [command, on])
            with suppress(OSError):  # one that this device never does
                fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP16x", DEVICE.encode(), value.buffer_info()[0]))


if __name__ == "__main__":
    number, own, peer, mtu, offloads, packets, *sysctls = sys.argv[1:]
    main(int(number), own, peer, int(mtu), int(offloads), int(packets), *sysctls)
