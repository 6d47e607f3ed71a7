"""Opens a page in the user's browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from multitracer.commands.messages import quiet, say


def open_page(path: Path) -> None:
    """Open a file in the browser; that there is none is said, and no error: the file is there."""
    try:
        opened = webbrowser.open(path.resolve().as_uri())
    except (webbrowser.Error, OSError):
        opened = False
    if not opened and not quiet():
        say(f"{path}: no browser was found to open it with\nOpen it by hand, or name a browser in $BROWSER.")
