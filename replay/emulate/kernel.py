"""What a scenario asks of the kernel's TCP, and what it asks that only a model of TCP could do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multitracer.model.errors import MissingCapabilityError, UsageError
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.schema import NAMED

_ONLY_MODELS = ("tcp", "wired", "contention")
"""Rooms of keys that say what modelled TCP, its wired hop and other traffic are like."""
_UNCUT = ("raw", "sr", "asr", "rlc-tm")
_NOT_YET = ("link.vj", "link.media_past_arq", "link.upper_queue_packets")
_LEAST_BUFFER = 4096


class KernelKeys:
    """The values of the keys that begin with kernel and emulate, by default or as they were said."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = said

    def __getitem__(self, name: str) -> Any:
        key = NAMED[name]
        return self._said.get(name, key.default)

    def sysctls(self) -> list[str]:
        """The settings of a host's network namespace, as sysctl(8) writes them."""
        made = [f"net.ipv4.tcp_{name}={self[f'kernel.{name}']}" for name in ("sack", "frto", "recovery", "timestamps")]
        if (chosen := self["kernel.congestion_control"]) != NAMED["kernel.congestion_control"].default:
            check_congestion_control(chosen)
            made.append(f"net.ipv4.tcp_congestion_control={chosen}")
        for name, sysctl in (("send", "wmem"), ("receive", "rmem")):
            if octets := self[f"kernel.{name}_buffer_bytes"]:
                made.append(f"net.ipv4.tcp_{sysctl}={_LEAST_BUFFER} {octets} {octets}")
        return made


def check_congestion_control(name: str) -> None:
    """Raise MissingCapabilityError for one that this kernel does not have."""
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if name not in available:
        raise MissingCapabilityError(
            f"kernel.congestion_control = {name}: this kernel has {', '.join(available)}\n"
            f"`modprobe tcp_{name}` adds it, where the kernel was built with it as a module."
        )


def check(scenario: Scenario, said: Mapping[str, Any]) -> None:
    """Raise UsageError for what was said that a kernel's TCP, or this link, cannot do."""
    for name in said:
        if name.partition(".")[0] in _ONLY_MODELS:
            raise UsageError(
                f"{name}: only a modelled TCP can be told this, and here the kernel's own transfers\n"
                "Leave it out; keys that begin with kernel say what the kernel is to do."
            )
        if name in _NOT_YET:
            raise UsageError(f"{name} cannot be emulated yet\nLeave it out.")
    _check_sizes(scenario, KernelKeys(said)["kernel.mtu"])
    if scenario.word("workload.kind") not in ("file-transfer", "none"):
        raise UsageError(f"workload.kind = {scenario.word('workload.kind')} cannot be emulated yet\nUse file-transfer.")


def _check_sizes(scenario: Scenario, mtu: int) -> None:
    """Raise UsageError for packets that do not go into the frames of a protocol that does not cut them."""
    most = min(scenario.whole("link.frame_bytes", way) for way in ("down", "up"))
    if scenario.word("link.protocol") in _UNCUT and mtu > most:
        raise UsageError(
            f"kernel.mtu = {mtu}: such packets do not go into frames of {most} octets (link.frame_bytes), and "
            f"{scenario.word('link.protocol')} does not cut them\nSet both to the same."
        )
