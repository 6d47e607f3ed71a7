"""What a scenario asks of the kernel's TCP, and what it asks that only a model of TCP could do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multitracer.model.errors import MissingCapabilityError, UsageError
from multitracer.replay.emulate.schedule import SLOT_S, load
from multitracer.replay.simulate.kernel_keys import BY_DEFAULT, CONGESTION_CONTROL, EMULATE, KERNEL, TRANSFER
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.schema import NAMED, base_of

_ONLY_MODELS = ("tcp", "wired", "contention")
"""Rooms of keys that say what modelled TCP, its wired hop and other traffic are like."""
_OF_HOSTS = ("tcp.interface_queue_packets", "tcp.local_drop")
"""Keys there of a host's own queue, which a device has too."""
_UNCUT = ("raw", "sr", "asr", "rlc-tm")
_NOT_EMULATED = {
    "link.media_past_arq": "here is no source of media beside the hosts",
    "workload.warmup_s": "nothing is left out at the start of what was recorded",
    "workload.packet_bytes": "the kernel cuts requests and replies itself; its packets have kernel.mtu",
    "workload.end": "what was transferred is recorded, and counts as it is",
    "workload.page_from": "what was transferred is recorded, and counts as it is",
}
"""Keys of a scenario that say what nothing here could do, and why."""
_PPP_OCTETS = 4
"""Protocol, FCS, and half of the two flags (RFC 1662 3.1, RFC 1661 6.5)."""
_HEADERS, _TIMESTAMPS = 40, 12
"""Octets of IPv4 and TCP, and those that the timestamps take (RFC 7323 appendix A)."""
WAYS = ("down", "up")
_LEAST_BUFFER = 4096


class KernelKeys:
    """The values of the keys that begin with kernel and emulate, by default or as they were said."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.said = dict(said)

    def __getitem__(self, name: str) -> Any:
        return self.said.get(name, NAMED[name].default)

    def parameters(self, scenario: Scenario) -> dict[str, Any]:
        """The keys of a run: its scenario's without those of modelled TCP, its own, and whatever was said."""
        modelled = {
            name: value for name, value in scenario.parameters.items() if name.partition(".")[0] not in _ONLY_MODELS
        }
        return modelled | {key.name: self[key.name] for key in (*KERNEL, *EMULATE)} | self.said

    def queue_packets(self, side: str) -> int:
        """How many packets wait at most in the host of the data's sender (forward), or of the other one (reverse).

        0: no limit, as they go on to the link at once.
        """
        name = "interface_queue_packets"
        return int(self.said.get(f"tcp.{side}.{name}", self[f"tcp.{name}"]))

    def modelled(self) -> dict[str, Any]:
        """What was said of what is modelled: all but the queues of hosts."""
        return {name: value for name, value in self.said.items() if base_of(name)[0] not in _OF_HOSTS}

    def schedule(self, way: str) -> Any:
        """How many frames each millisecond carries this way; empty where the scenario's rate or TTI says that."""
        path = self[f"emulate.schedule_{way}"]
        return load(path) if path else ()

    def of_schedules(self) -> dict[str, Any]:
        """The keys of a scenario that its schedules need: slots with room for the most frames of one."""
        made = {way: self.schedule(way) for way in WAYS}
        return {f"link.{way}.tti_s": SLOT_S for way in WAYS if len(made[way])} | {
            f"link.{way}.blocks_per_tti": int(made[way].max()) for way in WAYS if len(made[way])
        }

    def of_packets(self) -> dict[str, Any]:
        """The keys of a scenario that its models of the workload need: how long the kernel's packets are."""
        headers = _HEADERS + _TIMESTAMPS * (self["kernel.timestamps"] > 0)
        mtu = self["kernel.mtu"]
        return {"tcp.segment_bytes": mtu, "tcp.header_bytes": headers, "workload.packet_bytes": mtu - headers}

    def sysctls(self) -> list[str]:
        """The settings of a host's network namespace, as sysctl(8) writes them."""
        made = [f"net.ipv4.tcp_{name}={self[f'kernel.{name}']}" for name in ("sack", "frto", "recovery", "timestamps")]
        if (chosen := self[CONGESTION_CONTROL]) != BY_DEFAULT:
            check_congestion_control(chosen)
            made.append(f"net.ipv4.tcp_congestion_control={chosen}")
        for name, sysctl in (("send", "wmem"), ("receive", "rmem")):
            if octets := self[f"kernel.{name}_buffer_bytes"]:
                made.append(f"net.ipv4.tcp_{sysctl}={_LEAST_BUFFER} {octets} {octets}")
        return made


def check_congestion_control(name: str) -> None:
    """Raise MissingCapabilityError for one that this kernel does not have, or does not let a namespace use."""
    available, allowed = (Path(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control").read_text().split()
                          for which in ("available", "allowed"))  # fmt: skip
    if name not in available:
        raise MissingCapabilityError(
            f"{CONGESTION_CONTROL} = {name}: this kernel has {', '.join(available)}\n"
            f"`modprobe tcp_{name}` adds it, where the kernel was built with it as a module."
        )
    if name not in allowed:
        raise MissingCapabilityError(
            f"{CONGESTION_CONTROL} = {name}: network namespaces may use {', '.join(allowed)} here\n"
            f"`sysctl -w net.ipv4.tcp_allowed_congestion_control='{' '.join([*allowed, name])}'` allows it."
        )


def check(scenario: Scenario, said: Mapping[str, Any], *, command: bool = False) -> None:
    """Raise UsageError for what was said that a kernel's TCP, this link, or what runs over it cannot do."""
    for name in said:
        base = base_of(name)[0]
        if base.partition(".")[0] in _ONLY_MODELS and base not in _OF_HOSTS:
            raise UsageError(
                f"{name}: only a modelled TCP can be told this, and here the kernel's own transfers\n"
                "Leave it out; keys that begin with kernel say what the kernel is to do."
            )
        if base == "tcp.local_drop" and said[name] == "quench":
            raise UsageError(f"{name} = quench: the kernel's TCP is not told what a device drops\nSet it to loss.")
        if base in _NOT_EMULATED:
            raise UsageError(f"{name}: {_NOT_EMULATED[base]}\nLeave it out.")
    keys = KernelKeys(said)
    _check_effects(keys, said)
    if any(keys[f"emulate.schedule_{way}"] for way in WAYS) and scenario.word("channel.model") == "trace":
        raise UsageError(
            "channel.model = trace: an erasure trace counts equal slots, which a schedule has not\n"
            "Leave out emulate.schedule_down and emulate.schedule_up, or choose another channel."
        )
    if scenario.word("workload.kind") == "none" and keys[TRANSFER] == "workload" and not command:
        raise UsageError("workload.kind = none: there is nothing to transfer\nGive a command behind --.")
    _check_sizes(scenario, keys["kernel.mtu"])


def _check_effects(keys: KernelKeys, said: Mapping[str, Any]) -> None:
    """Raise UsageError for keys of emulate that others make useless."""
    for key in (NAMED[name] for name in said if name.partition(".")[0] == "emulate"):
        for other, allowed in key.where:
            if keys[other] not in allowed:
                raise UsageError(f"{key.name} has an effect only with {other} = {' or '.join(allowed)}\nSet that, too.")


def _check_sizes(scenario: Scenario, mtu: int) -> None:
    """Raise UsageError for packets that do not go into the frames of a protocol that does not cut them."""
    most = min(scenario.whole("link.frame_bytes", way) for way in ("down", "up"))
    needed, framed = (2 * (mtu + _PPP_OCTETS), ", all escaped in PPP,") if scenario.flag("link.ppp") else (mtu, "")
    if scenario.word("link.protocol") in _UNCUT and needed > most:
        raise UsageError(
            f"kernel.mtu = {mtu}: such packets{framed} do not go into frames of {most} octets (link.frame_bytes), and "
            f"{scenario.word('link.protocol')} does not cut them\nMake link.frame_bytes at least {needed}."
        )
