"""The files of a paper, as they lie in the package."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.papers import PAPERS

FIRST_RUN = "first_run.json"
_EXAMINED = "examined"
_NO_EXPERIMENTS = ("base", "paper", "alternatives", "statements", _EXAMINED)


@cache
def read(paper: str, name: str) -> dict[str, Any]:
    """The file `name`.toml of a paper, as tables."""
    return tomllib.loads((_folder(paper) / f"{name}.toml").read_text("utf-8"))


def _folder(paper: str) -> Traversable:
    if paper not in PAPERS:
        raise UsageError(f"there is no paper '{paper}'\nIt must be one of {', '.join(PAPERS)}.")
    return resources.files("multitracer.replay.papers") / paper


def scenario_file(paper: str, experiment: str) -> str:
    """The path of an experiment's scenario, as `simulate` takes it."""
    return str(_folder(paper) / f"{experiment}.toml")


@cache
def experiments(paper: str) -> tuple[str, ...]:
    """The names of a paper's scenario files, in the order of the alphabet."""
    found = (entry.name.removesuffix(".toml") for entry in _folder(paper).iterdir() if entry.name.endswith(".toml"))
    return tuple(sorted(name for name in found if name not in _NO_EXPERIMENTS))


def examined(paper: str) -> list[str]:
    """What was looked at for a defect of ours where the first full run fell short, a sentence or more each."""
    has = (_folder(paper) / f"{_EXAMINED}.toml").is_file()
    return list(read(paper, _EXAMINED)["found"]) if has else []


def first_run(paper: str) -> dict[str, Any] | None:
    """The score of the first full run, and the commit that it was made with; None before there was one."""
    kept = _folder(paper) / FIRST_RUN
    return dict(json.loads(kept.read_text("utf-8"))) if kept.is_file() else None
