"""The progress bar."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from multitracer.commands import messages
from multitracer.compute import kernels


class Screen(io.StringIO):
    """A terminal that remembers what it was told."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def wait_for(screen: io.StringIO, text: str) -> None:
    """Work until the text is on the screen: on a busy machine the bar comes late."""
    until = time.monotonic() + 20
    while text not in screen.getvalue() and time.monotonic() < until:
        time.sleep(0.02)


def worked(
    screen: io.StringIO, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, shown: bool = True
) -> str:  # fmt: skip
    """What is on stderr after some work."""
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(messages, "PATIENCE_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    with messages.Progress(shown=shown) as progress:
        progress("reading a\x1b[2Jfile", 0.1)
        work()
        progress("measuring", 0.5)
    return screen.getvalue()


def test_long_work_on_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the step, and cannot be made to obey a file's name."""
    screen = Screen()
    told = worked(screen, lambda: wait_for(screen, "file"), monkeypatch)
    assert "reading a\\x1b[2Jfile" in told


def test_compiling_is_said_in_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of the step, until it is done; nowhere else on the screen."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(messages, "PATIENCE_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    with messages.Progress(shown=True) as progress:
        progress("measuring", 0.5)
        kernels._tell("compiling (first run only): walk, 1 of 3")
        wait_for(screen, "of 3")
        told = screen.getvalue()
        assert "walk, 1 of 3" in told
        assert "measuring" not in told
        kernels._tell("")
        wait_for(screen, "measuring")
    assert "measuring" in screen.getvalue()
    assert kernels.on_compiling == [kernels.say_once]


def test_short_work_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done at once is not announced."""
    assert worked(Screen(), lambda: None, monkeypatch) == ""


def test_where_nobody_watches_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither into a file nor under -q."""
    assert worked(io.StringIO(), lambda: time.sleep(0.3), monkeypatch) == ""
    assert worked(Screen(), lambda: time.sleep(0.3), monkeypatch, shown=False) == ""
