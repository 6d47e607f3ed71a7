"""The commit of the checkout that runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from multitracer.model.version import VERSION

_CHECKOUT = Path(__file__).parents[2]
_PATIENCE_S = 10


def commit() -> str:
    """The commit of the checkout that this runs from, with -dirty where it was changed since; else the version."""
    if not ((_CHECKOUT / ".git").exists() and (_CHECKOUT / "setup.cfg").is_file()):
        return VERSION
    question = ["git", "-C", str(_CHECKOUT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        asked = subprocess.run(question, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return VERSION
    return asked.stdout.strip() or VERSION
