"""Bokeh's identifiers in a page, numbered anew, so that equal analyses make equal pages.

Bokeh counts its objects from the start of the process, and names a document and its places at random.
"""

from __future__ import annotations

import re

_COUNTED = re.compile(r'("id":|data-root-id=|"roots":\{|"root_ids":\[)"(p\d+)"')
_RANDOM = (
    re.compile(r'"docid":"([-\w]+)"'),
    re.compile(r'"roots":\{"p\d+":"([-\w]+)"\}'),
    re.compile(r"getElementById\('([-\w]+)'\)\.textContent"),
)
"""Where a page that Bokeh made names its document, the place of its figures, and the element with its data."""


def numbered(page: str) -> str:
    """The page with identifiers that depend on its content alone."""
    for number, pattern in enumerate(_RANDOM):
        for name in dict.fromkeys(pattern.findall(page)):
            page = page.replace(name, f"bokeh-{number}")
    given: dict[str, str] = {}
    return _COUNTED.sub(lambda found: f'{found[1]}"{given.setdefault(found[2], f"p{1000 + len(given)}")}"', page)
