"""Ctrl-C, SIGTERM and closed streams: the program ends with the status that shells expect, and without a traceback.

Only the program sets this up (`multitracer.__main__`), as the first thing that it does; as a library MultiTracer leaves
signals alone. Little is imported here: an interrupt before `begin` shows a traceback of the interpreter.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress

GRACE_S = 3.0
"""What runs may take to end once it was interrupted, in s; then the process ends without waiting for it."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_SHOW_CURSOR = "\x1b[?25h"
_state = {"unwinding": False, "by": 0}


def begin() -> None:
    """Take over the signals that end the program: until `unwind`, at once. One that is ignored stays so."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    signal.signal(signal.SIGALRM, _leave)
    atexit.register(_ignore)  # the first hook registered runs last
    sys.unraisablehook = _unraisable
    _open_streams()


def unwind() -> None:
    """From now on signals raise KeyboardInterrupt, so that what is open is closed."""
    _state["unwinding"] = True


def settled() -> None:
    """From now on signals end the process at once: there is nothing to close any more."""
    _state["unwinding"] = False


def stopped() -> bool:
    """Whether a signal came that ends the program."""
    return bool(_state["by"])


def word() -> str:
    """What happened, for people."""
    return _WORDS.get(signal.Signals(_state["by"] or signal.SIGINT), "stopped")


def status() -> int:
    """The exit status of a program ended by that signal."""
    return 128 + (_state["by"] or signal.SIGINT)


def _stop(number: int, _: object) -> None:
    again, _state["by"] = _state["by"], number
    if again or not _state["unwinding"]:
        _leave()
    signal.setitimer(signal.ITIMER_REAL, GRACE_S)
    raise KeyboardInterrupt


def _ignore() -> None:
    """Ignore the signals while the interpreter takes itself down: it puts back their default action, which kills."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _leave(*_: object) -> None:
    """End the process now: nothing is waited for, and nothing is cleaned up."""
    if not _state["by"]:
        return
    with suppress(OSError):
        cursor = _SHOW_CURSOR if os.isatty(2) else ""
        os.write(2, f"{cursor}multitracer: {word()}\n".encode())
    os._exit(status())


def _unraisable(seen: sys.UnraisableHookArgs) -> None:
    """An exception where none can be raised, as in a finalizer: an interrupt there would be lost."""
    if stopped():
        _leave()
    sys.__unraisablehook__(seen)


def _open_streams() -> None:
    """Put nothing in the place of closed standard streams: else the next file opened would be taken for them."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for the process's life


def drop_output() -> None:
    """Let nothing more be written to standard output, which is closed or full: Python flushes it at the end."""
    with suppress(OSError, ValueError):  # a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
