"""The keys of `emulate` beside those of `simulate`: the kernel's TCP, and the run in real time."""

from __future__ import annotations

from multitracer.replay.simulate.key import Key, flag, number, whole, word

EMULATED = ("kernel", "emulate")
"""The rooms of these keys, which have no effect on a simulation."""
LARGEST_BUFFER = 1 << 30
CONGESTION_CONTROLS = (
    "default", "reno", "cubic", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
_ADDS = "net.ipv4.tcp_{}, by its bits and values there (ip-sysctl)."

KERNEL: tuple[Key, ...] = (
    word("kernel.congestion_control", "Of those that the kernel has; default: the one that it takes itself.",
         *CONGESTION_CONTROLS, one=True),
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
EMULATE: tuple[Key, ...] = (
    flag("emulate.realtime", "Be woken before all other processes (SCHED_FIFO), where the system allows it.", True),
    number("emulate.max_lateness_percent", "99 % of slots may be late by so much of a slot, for a run to be trusted.",
           10.0, most=1000),
)  # fmt: skip
