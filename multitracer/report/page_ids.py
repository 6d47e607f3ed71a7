"""Bokeh's identifiers in the figures of a page, numbered anew, so that equal analyses make equal pages.

Bokeh counts its objects from the start of the process.
"""

from __future__ import annotations

import json
import re
from typing import Any

_COUNTED = re.compile(r'"id":"(p\d+)"')


def numbered(document: Any) -> Any:
    """A Bokeh document as JSON, with identifiers that depend on its content alone."""
    text, given = json.dumps(document, separators=(",", ":")), dict[str, str]()
    return json.loads(_COUNTED.sub(lambda found: f'"id":"{given.setdefault(found[1], f"p{1000 + len(given)}")}"', text))
