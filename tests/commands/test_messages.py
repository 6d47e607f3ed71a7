"""The progress bar, and what is said at its end."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from multitracer.commands import messages
from multitracer.compute import kernel_cache, kernels, patience


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
    assert text in screen.getvalue()


def worked(
    screen: io.StringIO, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *,
    shown: bool = True, patience_s: float = 0.05,
) -> str:  # fmt: skip
    """What is on stderr after some work."""
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(messages, "PATIENCE_S", patience_s)
    monkeypatch.setenv("TERM", "xterm")
    with messages.Progress(shown=shown) as progress:
        progress("reading a\x1b[2Jfile", 0.1)
        work()
        progress("measuring", 0.5)
    return screen.getvalue()


def test_a_long_step_shows_a_progress_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the step, and escapes control characters of file names."""
    screen = Screen()
    told = worked(screen, lambda: wait_for(screen, "file"), monkeypatch)
    assert "reading a\\x1b[2Jfile" in told


def test_compiling_is_shown_in_the_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of the step until it ends, and nowhere else on the screen."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(messages, "PATIENCE_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    with messages.Progress(shown=True) as progress:
        progress("measuring", 0.5)
        kernels._tell("compiling (first run only): walk, 1 of 3")
        wait_for(screen, "walk, 1 of 3")
        assert "measuring" not in screen.getvalue()
        kernels._tell("")
        wait_for(screen, "measuring")
    assert kernels.on_compiling == [kernels.say_once]


def test_how_far_a_long_part_of_a_step_is_stands_in_the_place_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it ends; a kernel that is compiled meanwhile is shown before it."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(messages, "PATIENCE_S", 0.05)
    monkeypatch.setattr(patience, "MANY", 2)
    monkeypatch.setenv("TERM", "xterm")
    with messages.Progress(shown=True) as progress:
        progress("reading", 0.5)
        rows = patience.Patience("opening envelopes").told([1, 2, 3])
        next(rows)
        wait_for(screen, "opening envelopes: 0 of about 3 records, which takes longer")
        assert list(rows) == [2, 3]
        wait_for(screen, "reading")
    assert patience.on_waiting == [patience.say_once]


def test_a_short_step_shows_no_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that ends before its time is not shown, however busy the machine is."""
    assert worked(Screen(), lambda: None, monkeypatch, patience_s=60) == ""


def test_no_progress_bar_without_a_terminal_or_with_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither if stderr is a file nor with -q."""
    assert worked(io.StringIO(), lambda: time.sleep(0.3), monkeypatch) == ""
    assert worked(Screen(), lambda: time.sleep(0.3), monkeypatch, shown=False) == ""


@pytest.mark.parametrize("shown", [True, False])
def test_a_refused_kernel_cache_is_said_once(shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the path and the reason, also where there is no terminal; not with -q."""
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(kernel_cache, "_checked", lambda: (None, "others can write to /shared"))
    monkeypatch.setattr(kernels, "_state", dict.fromkeys(kernels._state, False))
    assert kernels.Kernel(wait_for)._kept_function() is None
    for _ in range(2):
        with messages.Progress(shown=shown):
            pass
    said = "compiled kernels are not kept, so that each run compiles them again: others can write to /shared"
    assert stderr.getvalue() == (f"multitracer: {said}\n" if shown else "")
