"""Record the examples of this folder: a transfer of the machine's own TCP for each cause of `limits`.

    sudo python examples/causes/record.py [CAUSE ...]

Two network namespaces are joined by a link that this program plays: what one end's TUN device sends comes out of the
other's, later or not at all. dumpcap records at both devices. Needs Linux, root, `ip` and dumpcap; takes ten seconds
a cause. Each folder holds snd.pcap, rcv.pcap and truth.json, which says what was set up: for tests, the tool does
not read it.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import multiprocessing
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
Times = tuple[tuple[float, float], ...]
"""Intervals in seconds since the first packet."""


@dataclass(frozen=True)
class Scenario:
    """What the applications and the link do; everything that is not said is ample."""

    cause: str
    octets: int
    rate_bps: int = 4_000_000
    delay_s: float = 0.03
    """Of each direction."""
    queue_packets: int = 200
    held: Times = ()
    """The link sends nothing in either direction, and keeps what it has."""
    dead: Times = ()
    """The link loses all data packets that it is given; acknowledgements pass."""
    loss: float = 0.0
    """Probability that the link loses a data packet."""
    write_octets: int = 1 << 20
    pause_s: float = 0.0
    """Between two writes of the sending application."""
    send_buffer: int = 0
    """SO_SNDBUF and SO_RCVBUF; 0 leaves them to the kernel."""
    receive_buffer: int = 0
    unread: tuple[tuple[int, float], ...] = ()
    """After how many octets the receiving application stops reading, and for how many seconds."""


SCENARIOS = (
    Scenario("application", 160_000, write_octets=20_000, pause_s=0.7),
    Scenario("receiver_window", 300_000, receive_buffer=30_000, unread=((80_000, 1.5), (200_000, 2.5))),
    Scenario("sender_window", 200_000, rate_bps=10_000_000, delay_s=0.15, send_buffer=16_000),
    Scenario("timeout_recovery", 300_000, rate_bps=2_000_000, dead=((0.6, 1.5), (2.2, 4.0))),
    Scenario("fast_recovery", 160_000, rate_bps=20_000_000, delay_s=0.12, loss=0.08),
    Scenario("path_stall", 300_000, rate_bps=2_000_000, held=((0.5, 2.5), (3.0, 4.5))),
    Scenario("path_rate", 200_000, rate_bps=300_000),
)

ENDS = {"snd": "10.77.0.1", "rcv": "10.77.0.2"}
PORT = 5201
SNAP_OCTETS = 100
HEADERS = 80
"""A packet of at most as many octets has no data."""
SEED = 1
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


class Way:
    """One direction of the link: packets wait for their turn at its rate, then travel for its delay."""

    def __init__(self, scenario: Scenario, *, data: bool) -> None:
        self.scenario, self.data = scenario, data
        self.free = 0.0
        self.chance = Random(SEED)
        self.under_way: deque[tuple[float, bytes]] = deque()

    def offer(self, packet: bytes, now: float) -> None:
        """Take a packet: it is lost, or its arrival is settled now."""
        if self._loses(packet, now):
            return
        begin = max(now, self.free)
        for first, last in self.scenario.held:
            begin = last if first <= begin < last else begin
        self.free = begin + 8 * len(packet) / self.scenario.rate_bps
        self.under_way.append((self.free + self.scenario.delay_s, packet))

    def arrived(self, now: float) -> Iterator[bytes]:
        """The packets that come out by now."""
        while self.under_way and self.under_way[0][0] <= now:
            yield self.under_way.popleft()[1]

    def _loses(self, packet: bytes, now: float) -> bool:
        waiting = sum(arrival - self.scenario.delay_s > now for arrival, _ in self.under_way)
        if waiting >= self.scenario.queue_packets:
            return True
        dead = any(first <= now < last for first, last in self.scenario.dead)
        return self.data and len(packet) > HEADERS and (dead or self.chance.random() < self.scenario.loss)


def play(scenario: Scenario, devices: dict[str, int], end: multiprocessing.Process) -> float:
    """Carry packets until a process has ended and a second is quiet; gives when the first came (Unix time)."""
    ways = {devices["snd"]: Way(scenario, data=True), devices["rcv"]: Way(scenario, data=False)}
    opposite = dict(zip(ways, reversed(ways), strict=True))
    began = now = heard = 0.0
    while end.is_alive() or now < heard + 1:
        next_arrival = min((way.under_way[0][0] for way in ways.values() if way.under_way), default=float("inf"))
        ready, _, _ = select.select(list(ways), [], [], min(max(next_arrival - time.time() + began, 0), 0.1))
        began = began or (time.time() if ready else 0.0)
        now = time.time() - began
        for device in ready:
            heard = now
            ways[device].offer(os.read(device, 1 << 16), now)
        for device, way in ways.items():
            for packet in way.arrived(now):
                os.write(opposite[device], packet)
    return began


@contextmanager
def network(end: str) -> Iterator[int]:
    """A namespace with an address and a TUN device, of which this gives the file."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", end.encode(), IFF_TUN | IFF_NO_PI))
    inside = ["ip", "-n", end]
    subprocess.run(["ip", "netns", "add", end], check=True)
    try:
        subprocess.run(["ip", "link", "set", end, "netns", end], check=True)
        subprocess.run([*inside, "address", "add", f"{ENDS[end]}/24", "dev", end], check=True)
        # Without segmentation offload a small send buffer holds few segments, not a few times 64 Kibyte.
        subprocess.run([*inside, "link", "set", end, "gso_max_segs", "1", "up"], check=True)
        yield device
    finally:
        subprocess.run(["ip", "netns", "del", end], check=True)
        os.close(device)


@contextmanager
def capture(end: str, path: Path) -> Iterator[None]:
    """Record the TCP packets of a device in a file, while this lasts and half a second longer."""
    options = ["-q", "-P", "-i", end, "-f", "tcp", "-s", str(SNAP_OCTETS), "-w", str(path)]
    command = ["ip", "netns", "exec", end, "dumpcap", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        while "File:" not in (line := running.stderr.readline()):
            if not line:
                raise SystemExit(f"dumpcap ended with status {running.wait()}")
        yield
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)


def opened(end: str) -> socket.socket:
    """A TCP socket in a namespace; this process stays there."""
    with Path("/run/netns", end).open() as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {end}")
    made = socket.socket()
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return made


def send(scenario: Scenario) -> None:
    """The sending application; ends when the receiving one has closed."""
    with opened("snd") as end:
        if scenario.send_buffer:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, scenario.send_buffer)
        end.connect((ENDS["rcv"], PORT))
        for written in range(0, scenario.octets, scenario.write_octets):
            time.sleep(scenario.pause_s if written else 0)
            end.sendall(bytes(min(scenario.write_octets, scenario.octets - written)))
        end.shutdown(socket.SHUT_WR)
        end.recv(1)


def receive(scenario: Scenario, listening: multiprocessing.synchronize.Event) -> None:
    """The receiving application."""
    with opened("rcv") as end:
        if scenario.receive_buffer:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, scenario.receive_buffer)
        end.bind((ENDS["rcv"], PORT))
        end.listen()
        listening.set()
        connection, unread, taken = end.accept()[0], deque(scenario.unread), 0
        with connection:
            while octets := connection.recv(4096):
                taken += len(octets)
                if unread and taken >= unread[0][0]:
                    time.sleep(unread.popleft()[1])


def record(scenario: Scenario) -> None:
    """Make the folder of a cause."""
    folder, listening = HERE / scenario.cause, multiprocessing.Event()
    folder.mkdir(exist_ok=True)
    os.umask(0o022)
    receiver = multiprocessing.Process(target=receive, args=(scenario, listening), daemon=True)
    sender = multiprocessing.Process(target=send, args=(scenario,), daemon=True)
    with ExitStack() as stack:
        devices = {end: stack.enter_context(network(end)) for end in ENDS}
        for end in ENDS:
            stack.enter_context(capture(end, folder / f"{end}.pcap"))
        receiver.start()
        listening.wait()
        sender.start()
        began = play(scenario, devices, sender)
        receiver.join()
    truth = {"kernel": os.uname().release, "began_s": began} | asdict(scenario)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # what else the machine does delays nothing
    for one in SCENARIOS:
        if not sys.argv[1:] or one.cause in sys.argv[1:]:
            record(one)
