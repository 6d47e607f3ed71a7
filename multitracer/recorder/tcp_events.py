"""TCP's events in the kernel: its state at every acknowledgement, and what made it retransmit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from multitracer.recorder.tracefs import Instance, TraceFs, usual_buffer_mb

PROBE_EVENT, RETRANSMIT_EVENT = "tcp/tcp_probe", "tcp/tcp_retransmit_skb"
STATE_EVENT = "tcp/tcp_cong_state_set"
"""Recorded beside the retransmissions where the kernel has it: which of them begin a recovery."""
EVENTS = {
    PROBE_EVENT: "TCP's state at every acknowledgement",
    RETRANSMIT_EVENT: "what made TCP retransmit",
}
"""The kernel's events that are recorded, and what each tells."""
FILES = {PROBE_EVENT: "tcp_probe.txt", RETRANSMIT_EVENT: "retransmit.txt"}


def filter_of(ports: Sequence[int]) -> str:
    """An event filter of the kernel for packets with one of these ports at either end; empty without any."""
    return " || ".join(f"sport == {port} || dport == {port}" for port in ports)


class TcpEvents:
    """Both events, each in an instance and a file of its own, from when `with` is entered until it is left.

    Where the kernel refuses one of them, entering raises OSError and leaves nothing behind.
    """

    def __init__(self, tracefs: TraceFs, directory: Path, ports: Sequence[int], buffer_mb: int | None = None) -> None:
        self.no_stacks: OSError | None = None
        """Why retransmissions are recorded without the kernel's stack; None with it."""
        self._tracefs, self._directory, self._filter = tracefs, directory, filter_of(ports)
        self._buffer_mb = usual_buffer_mb(len(FILES)) if buffer_mb is None else buffer_mb
        self._instances: list[Instance] = []

    @property
    def lost_events(self) -> int:
        """Those that the kernel had no room for, known at the end."""
        return sum(one.lost_events for one in self._instances)

    def __enter__(self) -> TcpEvents:
        try:
            with ExitStack() as begun:
                for event in FILES:
                    self._begin(event, begun)
                self._begun = begun.pop_all()
        except OSError:
            for name in FILES.values():
                (self._directory / name).unlink(missing_ok=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._begun.close()

    def _begin(self, event: str, begun: ExitStack) -> None:
        file = begun.enter_context((self._directory / FILES[event]).open("wb"))
        instance = begun.enter_context(Instance(self._tracefs, event.replace("/", "_"), file, self._buffer_mb))
        if event == RETRANSMIT_EVENT:
            self._add_stacks(instance)
            if self._tracefs.has_event(STATE_EVENT):
                instance.record(STATE_EVENT, self._filter)
        instance.record(event, self._filter)
        self._instances.append(instance)

    def _add_stacks(self, instance: Instance) -> None:
        try:
            instance.add_stacks(RETRANSMIT_EVENT, self._filter)
        except OSError as error:
            self.no_stacks = error
