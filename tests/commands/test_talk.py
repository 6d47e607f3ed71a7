"""The progress bar."""

from __future__ import annotations

import io
import sys
import time

import pytest

from multitracer.commands import talk
from multitracer.compute import kernels


class Screen(io.StringIO):
    """A terminal that remembers what it was told."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def worked(screen: io.StringIO, seconds: float, monkeypatch: pytest.MonkeyPatch, *, shown: bool = True) -> str:
    """What is on stderr after work of that length."""
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(talk, "PATIENCE_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    with talk.Progress(shown=shown) as progress:
        progress("reading a\x1b[2Jfile", 0.1)
        time.sleep(seconds)
        progress("measuring", 0.5)
    return screen.getvalue()


def test_long_work_on_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the step, and cannot be made to obey a file's name."""
    told = worked(Screen(), 0.4, monkeypatch)
    assert "reading a\\x1b[2Jfile" in told


def test_compiling_is_said_in_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of the step, until it is done; nowhere else on the screen."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(talk, "PATIENCE_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    with talk.Progress(shown=True) as progress:
        progress("measuring", 0.5)
        kernels._tell("compiling (first run only): walk, 1 of 3")
        time.sleep(0.4)
        told = screen.getvalue()
        assert "walk, 1 of 3" in told
        assert "measuring" not in told
        kernels._tell("")
        time.sleep(0.4)
    assert "measuring" in screen.getvalue()
    assert kernels.on_compiling == [kernels.say_once]


def test_short_work_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done at once is not announced."""
    assert worked(Screen(), 0, monkeypatch) == ""


def test_where_nobody_watches_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither into a file nor under -q."""
    assert worked(io.StringIO(), 0.3, monkeypatch) == ""
    assert worked(Screen(), 0.3, monkeypatch, shown=False) == ""
