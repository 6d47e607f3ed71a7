"""Modules loaded while inputs are read."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from multitracer.commands.loading import loading
from multitracer.commands.parameters import _NEEDED_NEXT

SLOW = "import time\ntime.sleep(0.3)\ndone = True\n"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module that takes long, one that is damaged, and one that is quick."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (("made_slow", SLOW), ("made_bad", "raise OSError('damaged')"), ("made_quick", "")):
        (tmp_path / f"{name}.py").write_text(text)
    yield
    for name in ("made_slow", "made_bad", "made_quick"):
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Interrupts are handled afterwards as they were before."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def test_what_cannot_be_loaded_is_not_told_here(modules: None, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither a missing module nor a damaged one keeps the others from being loaded."""
    with loading("made_nowhere", "made_bad", "made_quick"):
        wait_for("made_quick")
    assert capfd.readouterr().err == ""


def wait_for(name: str) -> None:
    """Wait until a module's loading has begun."""
    for _ in range(1000):
        if name in sys.modules:
            return
        time.sleep(0.01)
    raise AssertionError(f"{name} was never loaded")


def interrupted(name: str, *, work_s: float, failing: bool = False) -> float:
    """Load a module during work that is interrupted; how long it took to end."""
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        work(name, work_s, failing)
    return time.perf_counter() - started


def work(name: str, work_s: float, failing: bool) -> None:
    """Work that is interrupted as soon as the module's loading has begun, and maybe fails."""
    with loading(name):
        wait_for(name)
        signal.raise_signal(signal.SIGINT)
        for _ in range(int(work_s * 100)):
            time.sleep(0.01)
        if failing:
            raise OSError


def test_an_interrupt_waits_until_all_is_loaded(modules: None) -> None:
    """It ends what is done meanwhile, but no import."""
    assert interrupted("made_slow", work_s=60) < 30
    assert sys.modules["made_slow"].done


@pytest.mark.parametrize("failing", [False, True])
def test_an_interrupt_that_waits_comes_before_anything_else_is_done(failing: bool, modules: None) -> None:
    """Where the work is done before the module is loaded, or fails."""
    interrupted("made_slow", work_s=0, failing=failing)
    assert sys.modules["made_slow"].done


def test_once_all_is_loaded_an_interrupt_comes_at_once(modules: None) -> None:
    """As if nothing had been loaded."""
    assert interrupted("made_quick", work_s=60) < 30


def test_interrupts_that_are_ignored_stay_so(modules: None) -> None:
    """As of a command that runs in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with loading("made_slow"):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_failure_does_not_wait_for_what_is_not_needed_any_more(modules: None) -> None:
    """The module at hand is loaded, and no other."""
    with pytest.raises(ValueError, match="bad input"):
        fail_while_loading("made_slow", "made_quick")
    assert "made_slow" in sys.modules
    assert "made_quick" not in sys.modules


def fail_while_loading(*names: str) -> None:
    """Fail while the first of these is loaded."""
    with loading(*names):
        wait_for(names[0])
        raise ValueError("bad input")


@pytest.mark.parametrize("name", _NEEDED_NEXT)
def test_what_an_analysis_needs_next_is_there(name: str) -> None:
    """A misspelt name would only make it slower."""
    assert import_module(name)
