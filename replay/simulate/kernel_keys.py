"""The keys of `emulate` beside those of `simulate`: the kernel's TCP, and the run in real time."""

from __future__ import annotations

import re
from typing import Any

from multitracer.replay.simulate.key import NONE, Key, Value, flag, number, seconds, whole, word

EMULATED = ("kernel", "emulate")
"""The rooms of these keys, which have no effect on a simulation."""
LARGEST_BUFFER = 1 << 30
CONGESTION_CONTROL, BY_DEFAULT = "kernel.congestion_control", "default"
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,15}")
"""What kernels may call an algorithm (TCP_CA_NAME_MAX in include/net/tcp.h)."""
_ADDS = "net.ipv4.tcp_{}, by its bits and values there (ip-sysctl)."


class Name(Key):
    """A key whose value is any plain name; whether there is such a thing is asked where it is needed."""

    @property
    def range_text(self) -> str:
        """What it may be, in words."""
        return "a name of at most 15 letters, digits, _ . -"

    def parse(self, given: Any) -> Value:
        """The name; UsageError for what is none."""
        name = given.strip() if isinstance(given, str) else ""
        if name.lower() == NONE or not _PLAIN.fullmatch(name):
            raise self.wrong(given)
        return name


KERNEL: tuple[Key, ...] = (
    Name(CONGESTION_CONTROL, "name", "One of those that the kernel has; default: the one that it takes itself.",
         BY_DEFAULT, one=True),
    whole("kernel.sack", _ADDS.format("sack"), 1, most=1),
    whole("kernel.frto", _ADDS.format("frto"), 2, most=2),
    whole("kernel.recovery", _ADDS.format("recovery"), 1, most=7),
    whole("kernel.timestamps", _ADDS.format("timestamps"), 1, most=2),
    whole("kernel.send_buffer_bytes", "The sender's socket buffer; unset: as the kernel sizes it.", None, least=4096,
          most=LARGEST_BUFFER, default_text="the kernel's"),
    whole("kernel.receive_buffer_bytes", "The receiver's socket buffer; unset: as the kernel sizes it.", None,
          least=4096, most=LARGEST_BUFFER, default_text="the kernel's"),
    whole("kernel.mtu", "The largest packet.", 1500, least=576, most=65_535),
    flag("kernel.offloads", "Segmentation and merging by the device (TSO, GSO, GRO)."),
)  # fmt: skip
TRANSFER = "emulate.transfer"
_REQUESTS = ((TRANSFER, ("request-response",)),)
_DATAGRAMS = ((TRANSFER, ("datagrams",)),)
_MOST = 1_000_000
EMULATE: tuple[Key, ...] = (
    word(TRANSFER, "What is transferred: the scenario's workload over TCP; requests and their responses over one "
         "connection of TCP; or datagrams of UDP, whose delay and loss are measured.", "workload", "request-response",
         "datagrams"),
    whole("emulate.requests", "Requests, one after the other.", 20, least=1, most=_MOST, where=_REQUESTS),
    whole("emulate.request_bytes", "Octets of each, from the host that takes the data.", 300, least=1,
          most=LARGEST_BUFFER, where=_REQUESTS),
    whole("emulate.response_bytes", "Octets of each response.", 10_000, least=1, most=LARGEST_BUFFER, where=_REQUESTS),
    seconds("emulate.think_s", "Between a response and the next request.", 0.5, where=_REQUESTS),
    whole("emulate.datagrams", "Datagrams, the way of the workload's data.", 100, least=1, most=_MOST,
          where=_DATAGRAMS),
    whole("emulate.datagram_bytes", "Octets of each as a packet of IP.", 200, least=44, most=65_535, where=_DATAGRAMS),
    seconds("emulate.datagram_interval_s", "From one to the next.", 0.1, where=_DATAGRAMS),
    Key("emulate.schedule_down", "path", "A link schedule of mahimahi's for the way down, instead of its rate or TTI: "
        "a frame of the link at each opportunity, from the schedule's end on anew.", None, default_text="none"),
    Key("emulate.schedule_up", "path", "The same for the way up.", None, default_text="none"),
    whole("emulate.pairs", "Links at once, each with two hosts and a folder of its own, and seeds one after the other.",
          1, least=1, most=64),
    whole("emulate.port", "Of the host that connections are opened to. Tracepoints see all hosts of a machine: pairs "
          "have this port and those above it.", 5001, least=1, most=9935),
    flag("emulate.realtime", "Be woken before all other processes (SCHED_FIFO), and keep processors "
         "from sleeping, where the system allows it.", True),
    number("emulate.max_lateness_percent", "A run is trusted if 99 % of its slots, and 99 % of its packets, were late "
           "by at most so much of a frame's time (packets by 1 ms in any case).", 10.0, most=1000),
)  # fmt: skip
