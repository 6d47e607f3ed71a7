"""The kernel's clocks of a host's sockets: what is said where the programs that read them are not installed."""

from __future__ import annotations

import shutil

import pytest

from multitracer.replay.emulate.kernel_clocks import WHAT, missing


@pytest.mark.parametrize(
    ("absent", "told"),
    [
        ((), []),
        (("stdbuf",), [(f"{WHAT} that end", "stdbuf: install the package coreutils")]),
        (("ss",), [(WHAT, "ss: install the package iproute2")]),
    ],
)
def test_a_program_that_is_missing_is_named_with_its_package(
    absent: tuple[str, ...], told: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is not recorded without it; nothing where all are there."""
    monkeypatch.setattr(shutil, "which", lambda name: None if name in absent else f"/usr/bin/{name}")
    assert missing() == told
