"""Modules that take long to load, loaded while inputs are read."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Iterator
from importlib import import_module
from types import FrameType
from typing import Any


@contextlib.contextmanager
def loading(*names: str) -> Iterator[None]:
    """Load modules in a thread of their own meanwhile; what cannot be loaded is told where it is asked for.

    An interrupt waits until that thread has ended: in the midst of an import the interpreter may lose it, and
    leave a lock behind that the other thread waits for.
    """
    before = signal.getsignal(signal.SIGINT)
    loader = _Loader(names, before)
    # Only the main thread is interrupted, and not where interrupts are ignored.
    interruptible = threading.current_thread() is threading.main_thread() and callable(before)
    if interruptible:
        signal.signal(signal.SIGINT, loader.interrupted)
    loader.start()
    try:
        yield
    finally:
        try:
            loader.leave()
        finally:
            if interruptible:
                signal.signal(signal.SIGINT, before)
        if loader.pending:
            signal.raise_signal(signal.SIGINT)


class _Loader(threading.Thread):
    """Loads modules one after the other, until it is told to leave; remembers an interrupt that came meanwhile."""

    def __init__(self, names: tuple[str, ...], on_interrupt: Any) -> None:
        super().__init__(name="loader", daemon=True)
        self._names, self._on_interrupt = names, on_interrupt
        self._left = self._ended = False
        self._lock = threading.RLock()  # an interrupt may come in the midst of another's handling
        self.pending = False

    def run(self) -> None:
        """Load them; nothing that goes wrong is said here."""
        for name in self._names:
            if not self._left:
                with contextlib.suppress(Exception):
                    import_module(name)
        with self._lock:
            self._ended = True
        if self.pending:
            _thread.interrupt_main()

    def leave(self) -> None:
        """End after the module at hand."""
        self._left = True
        self.join()

    def interrupted(self, number: int, frame: FrameType | None) -> None:
        """The handler of interrupts: what was done before, but not until all is loaded."""
        with self._lock:
            self.pending = not self._ended
        if not self.pending:
            self._on_interrupt(number, frame)
