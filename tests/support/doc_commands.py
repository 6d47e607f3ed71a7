"""The commands that a page of docs/ gives, by section, and programs that stand in for those a test cannot have."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from repository import ROOT

DOCS = ROOT / "docs"
FORBIDDEN = re.compile(r"not permitted|permission|Access to performance", re.IGNORECASE)
"""What programs say where even root may not record."""
SUDO = '#!/bin/sh\n[ "$1" = -v ] || exec "$@"\n'
"""What root has instead of sudo, which a container may not have."""


class Section(NamedTuple):
    """A part of a page under one heading."""

    blocks: list[str]
    """Indented blocks: commands."""
    shown: list[str]
    """The lines of blocks in fences of text: what commands print."""


def sections(page: str) -> dict[str, Section]:
    """The sections of a page of docs/, by heading."""
    found: dict[str, Section] = {}
    now, fence, before = Section([], []), "", ""
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fence = "" if fence else line
        elif fence:
            now.shown.extend([line] * (fence == "```text"))
        elif line.startswith("#"):
            now = found[line.lstrip("# ")] = Section([], [])
        elif line.startswith("    "):
            if before:
                now.blocks.append("")
            now.blocks[-1] += line[4:] + "\n"
        before = "" if line.startswith("    ") else "text"
    return found


def surroundings(directory: Path) -> dict[str, str]:
    """Links in `directory` to what a checkout has, and the environment in which the program is installed."""
    for name in ("docs", "examples"):
        (directory / name).symlink_to(ROOT / name)
    programs = directory / "programs"
    programs.mkdir()
    _program(programs / "multitracer", f'#!/bin/sh\nexec "{sys.executable}" -m multitracer "$@"\n')
    _program(programs / "python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    _program(programs / "browser", f'#!/bin/sh\necho "$1" > "{directory}/opened"\n')
    if os.getuid() == 0:
        _program(programs / "sudo", SUDO)
    path = f"{programs}:{os.environ['PATH']}:/usr/sbin"
    return {**os.environ, "PATH": path, "BROWSER": f"{programs}/browser %s"}


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def lacking(*programs: str) -> str:
    """Why commands that need root and these programs cannot be run here; empty if they can."""
    if os.getuid():
        return "needs root"
    return ", ".join(f"{name} is not installed" for name in programs if not shutil.which(name))
