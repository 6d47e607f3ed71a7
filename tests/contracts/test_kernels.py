"""Kernels run compiled, plain and bounds-checked: the conclusions are the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from repository import EXAMPLES

COMPILED = """
import sys
from multitracer.compute import kernels
from multitracer import analyze
from multitracer.export.summary_json import json_text
kernels.choose = lambda records: None  # compiled, however few records there are
sys.stdout.buffer.write(json_text(analyze(sys.argv[1:]).summary()))
"""
LIVES = {
    "compiled": {},
    "plain": {"NUMBA_DISABLE_JIT": "1"},
    "bounds-checked": {"NUMBA_BOUNDSCHECK": "1"},
}


@cache
def summary(life: str, cached: Path) -> dict[str, Any]:
    """The summary of the example with both layers as one process of that kind makes it."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cached / life), **LIVES[life]}
    inputs = [str(path) for path in sorted((EXAMPLES / "rlp-reset").iterdir())]
    command = [sys.executable, "-W", "error", "-c", COMPILED, *inputs]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="session")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled kernels go: bounds-checked ones must not be taken for the others."""
    return tmp_path_factory.mktemp("kernels")


@pytest.mark.compiled
@pytest.mark.parametrize("life", ["compiled", "bounds-checked"])
def test_each_life_comes_to_the_same_conclusions(life: str, cached: Path) -> None:
    """Every key of the summary, against the plain run; no warning, and nothing read out of bounds."""
    assert summary(life, cached) == summary("plain", cached)
