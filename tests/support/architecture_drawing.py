"""The drawing of the floors in docs/architecture.svg, made from the imports.

`python tests/support/architecture_drawing.py` writes it; a test compares it with the sources.
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path
from textwrap import wrap

from house import House, direct, house, modules
from repository import ROOT

DRAWING = ROOT / "docs" / "architecture.svg"

WIDTH, BOX_WIDTH, BOX_HEIGHT, FLOOR_HEIGHT, MARGIN = 1120, 268, 62, 104, 24
LINE_CHARACTERS, MOST_LINES = 38, 2
OUTSIDE = {"cli", "__main__"}
"""Modules that stand beside the rooms: the entry points."""


def drawing() -> str:
    """The SVG's text."""
    found = house()
    places = _places(found)
    height = max(y for _, y in places.values()) + BOX_HEIGHT + MARGIN
    arrows = [_arrow(places[name], places[other]) for name in sorted(places) for other in direct(found, name)]
    boxes = [_box(name, *places[name]) for name in sorted(places)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#7b8794"/></marker></defs>',
        *arrows, *boxes, "</svg>", "",
    ])  # fmt: skip


def _places(found: House) -> dict[str, tuple[int, int]]:
    """The upper left corner of each room's box; the ground floor is at the bottom."""
    highest = max(found.floor.values())
    places = {}
    for floor in range(1, highest + 1):
        names = sorted(name for name, own in found.floor.items() if own == floor)
        gap = (WIDTH - len(names) * BOX_WIDTH) // (len(names) + 1)
        for number, name in enumerate(names):
            x = gap + number * (BOX_WIDTH + gap)
            places[name] = x, MARGIN + (highest - floor) * FLOOR_HEIGHT
    return places


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    """From the bottom of one box to the top of another."""
    x, y = start[0] + BOX_WIDTH // 2, start[1] + BOX_HEIGHT
    to_x, to_y = end[0] + BOX_WIDTH // 2, end[1] - 2
    bend = (to_y - y) // 2
    return (
        f'<path d="M{x} {y}C{x} {y + bend} {to_x} {to_y - bend} {to_x} {to_y}" fill="none" stroke="#7b8794" '
        'stroke-width="1.3" marker-end="url(#tip)"/>'
    )


def _box(name: str, x: int, y: int) -> str:
    middle = x + BOX_WIDTH // 2
    lines = [
        f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="#eef3f8" stroke="#3d5a80"/>',
        f'<text x="{middle}" y="{y + 19}" font-size="15" font-weight="bold" text-anchor="middle">{escape(name)}</text>',
    ]
    for number, line in enumerate(_meaning(name)):
        lines.append(
            f'<text x="{middle}" y="{y + 36 + 15 * number}" font-size="12" text-anchor="middle" fill="#33414f">'
            f"{escape(line)}</text>"
        )
    return "\n".join(lines)


def _meaning(name: str) -> list[str]:
    """The first sentence of a room's docstring, in at most two lines."""
    text = ast.get_docstring(ast.parse(modules()[f"multitracer.{name}"].read_text())) or ""
    return wrap(text.split("\n\n")[0].split(".")[0], LINE_CHARACTERS, max_lines=MOST_LINES, placeholder=" ...")


def write(path: Path = DRAWING) -> None:
    """Bring the drawing up to date."""
    path.write_text(drawing())


if __name__ == "__main__":
    write()
