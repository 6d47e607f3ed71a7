"""What the kernel itself logged of a host's sockets, on the link's clock: why it sent again, and its windows."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from multitracer.model.errors import InputError, NoUsableInputError
from multitracer.parsers.shared.experiment import read
from multitracer.recorder.session import MACHINE, PACKETS, PROBES, RETRANSMISSIONS
from multitracer.replay.record.known_run import FAST, PROBE, RECOVERY, TIMEOUT

if TYPE_CHECKING:
    import pandas as pd

BY_TIMER, BY_PROBE, BY_ACKNOWLEDGEMENTS = range(3)
"""What a stack says (the column `resent_by`)."""
IN_RECOVERY, IN_LOSS = 3, 4
"""States of congestion control (tcp_ca_state in linux/tcp.h)."""
UNKNOWN = ""
APART_NS = 2_000_000
"""What is sent again later than this belongs to another event."""
_PROBED_NS = 100_000
"""The tracepoint of a segment's arrival follows within this time."""
_FLAGS = 0xFF

Key = tuple[str, str]
"""A socket: its own address:port, and its peer's."""


class Event(NamedTuple):
    """One resend by the kernel, its time in ns from the link's start, and its trigger; UNKNOWN if its stack is lost."""

    time_ns: int
    trigger: str


@dataclass(frozen=True)
class KernelLog:
    """What a host's kernel logged; empty where nothing was recorded."""

    resends: dict[Key, list[Event]]
    windows: dict[Key, tuple[list[int], list[int]]]
    """When segments came, and the congestion window in segments before each."""
    captured: dict[tuple[int, ...], list[int]]
    """When packets with these headers passed the host's device, in their order."""

    def window(self, key: Key, at: int) -> int | None:
        """The congestion window after what happened at a time: the next arrival's log has it, if there is one.

        The kernel logs no arrivals any more once the application has closed the socket. Where a timer ran out before
        the next arrival, that logs the window which the timer has set, and nothing tells the one before it.
        """
        times, windows = self.windows.get(key, ([], []))
        place = bisect_right(times, at + _PROBED_NS)
        if place >= len(windows):
            return None
        expired = self._expired.get(key, [])
        later = bisect_right(expired, at + APART_NS)
        return None if later < len(expired) and expired[later] < times[place] else windows[place]

    @cached_property
    def _expired(self) -> dict[Key, list[int]]:
        """When timers ran out, or may have done so."""
        return {
            key: sorted(one.time_ns for one in own if one.trigger in (TIMEOUT, UNKNOWN))
            for key, own in self.resends.items()
        }


def kernel_log(directory: Path, start_mono_ns: int) -> KernelLog:
    """What was recorded into a host's folder."""
    tables = {name: _tables(directory / name) for name in (RETRANSMISSIONS, PROBES, PACKETS)}
    real = _mono_of_real(directory / MACHINE)
    resends = {key: list(_events(own, start_mono_ns)) for key, own in _sockets(tables[RETRANSMISSIONS])}
    windows = {
        key: ((own["recorded_ns"] - start_mono_ns).tolist(), own["cwnd_segments"].astype(int).tolist())
        for key, own in _sockets(tables[PROBES])
    }
    return KernelLog(resends, windows, _captured(tables[PACKETS], real, start_mono_ns) if real else {})


def _tables(path: Path) -> dict[str, pd.DataFrame]:
    try:
        return read(path).tables if path.exists() else {}
    except (InputError, NoUsableInputError):
        return {}


def _sockets(tables: dict[str, pd.DataFrame]) -> Iterator[tuple[Key, pd.DataFrame]]:
    """The rows of each socket, in order of time."""
    if "tcp_state" in tables:
        yield from tables["tcp_state"].sort_values("recorded_ns", kind="stable").groupby(["local", "remote"])


def _mono_of_real(path: Path) -> tuple[int, int, float] | None:
    """A moment on the kernel's clock and on that of captures, and how much faster the former is."""
    try:
        tracing = json.loads(path.read_text())["tracing"]
        (mono, later), (real, end) = tracing["mono_ns"], tracing["real_ns"]
    except (OSError, KeyError, TypeError, ValueError):
        return None
    return mono, real, (later - mono) / (end - real)


def _captured(
    tables: dict[str, pd.DataFrame], clocks: tuple[int, int, float], start_mono_ns: int
) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    if "packets" not in tables:
        return found
    mono, real, rate = clocks
    names = ("time_ns", "ip_id", "flags", "raw_seq", "raw_ack", "raw_window", "payload_bytes")
    columns = (tables["packets"][name].tolist() for name in names)
    for time_ns, ip_id, flags, *rest in zip(*columns, strict=True):
        at = mono + round((time_ns - real) * rate) - start_mono_ns
        found.setdefault((ip_id, flags & _FLAGS, *rest), []).append(at)
    return found


def _events(own: pd.DataFrame, start_mono_ns: int) -> Iterator[Event]:
    """The resends of one socket, by its stacks and the states of its congestion control.

    Which resend began a recovery is not known where the stack of one before it in that recovery was lost.
    """
    state, begun, missed = -1, False, False
    columns = (own[name].tolist() for name in ("recorded_ns", "event", "ca_state", "resent_by"))
    for time_ns, event, ca_state, resent_by in zip(*columns, strict=True):
        if event == "state":
            begun = ca_state == IN_RECOVERY and (begun or state != IN_RECOVERY)
            state, missed = int(ca_state), missed and begun
            continue
        trigger = trigger_of(resent_by, state, begun=begun)
        yield Event(int(time_ns) - start_mono_ns, UNKNOWN if trigger == FAST and missed else trigger)
        begun = begun and trigger != FAST
        missed = begun and (missed or trigger == UNKNOWN)


def trigger_of(resent_by: Any, state: int, *, begun: bool) -> str:
    """The trigger by the function that sent again, in this state of congestion control, which has just `begun`."""
    if resent_by == BY_TIMER:
        return TIMEOUT
    if resent_by == BY_PROBE:
        return PROBE
    if resent_by == BY_ACKNOWLEDGEMENTS and state == IN_RECOVERY:
        return FAST if begun else RECOVERY
    return RECOVERY if resent_by == BY_ACKNOWLEDGEMENTS and state == IN_LOSS else UNKNOWN


def triggers(sent_ns: Sequence[int], events: Sequence[Event]) -> list[str]:
    """The trigger of each packet that a socket sent again, by its events; UNKNOWN where they do not tell.

    The kernel logs an event once it has sent what belongs to it, several packets if they were one buffer. Packets and
    events that are near one another and as many belong together one by one; else those that share one trigger.
    """
    found = [UNKNOWN] * len(sent_ns)
    moments = sorted([*((at, 0, place) for place, at in enumerate(sent_ns)),
                      *((event.time_ns, 1, place) for place, event in enumerate(events))])  # fmt: skip
    first = 0
    for at in range(1, len(moments) + 1):
        if at < len(moments) and moments[at][0] - moments[at - 1][0] <= APART_NS:
            continue
        mine, theirs = ([place for _, what, place in moments[first:at] if what == kind] for kind in (0, 1))
        for place, trigger in zip(mine, _shared(len(mine), [events[one].trigger for one in theirs]), strict=True):
            found[place] = trigger
        first = at
    return found


def _shared(count: int, known: list[str]) -> list[str]:
    """The triggers of so many packets by those of the events of the same moment."""
    if len(known) == count:
        return known
    if known and count > len(known) and set(known[1:]) <= {RECOVERY} and known[0] in (FAST, RECOVERY):
        return [known[0]] + [RECOVERY] * (count - 1)
    return known[:1] * count if len(set(known)) == 1 else [UNKNOWN] * count
