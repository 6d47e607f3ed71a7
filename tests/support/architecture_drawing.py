"""The drawing of the floors in docs/architecture.svg, made from the imports.

`python tests/support/architecture_drawing.py` writes it; a test compares it with the sources. Rooms stand on their
floors; an arrow that passes a floor has a place of its own there between the rooms, so that it runs behind none.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from textwrap import wrap

from house import House, direct, house, modules
from repository import ROOT

DRAWING = ROOT / "docs" / "architecture.svg"

WIDTH, MARGIN = 1120, 24
BOX_WIDTH, BOX_HEIGHT, FLOOR_HEIGHT = 268, 77, 124
PASSAGE_WIDTH, GAP, PORT_DISTANCE = 12, 28, 26
LINE_CHARACTERS, MOST_LINES = 38, 3
SWEEPS = 12
"""How often places follow those above and below; more changes nothing in the drawing."""


@dataclass
class Place:
    """A room's box, or where an arrow passes a floor."""

    name: str
    floor: int
    is_room: bool
    middle: float = 0.0
    above: list[Place] = field(default_factory=list)
    below: list[Place] = field(default_factory=list)

    @property
    def width(self) -> int:
        """How much of its floor it takes."""
        return BOX_WIDTH if self.is_room else PASSAGE_WIDTH

    def port(self, other: Place) -> float:
        """Where on its edge the arrow from or to another place stands: those of one edge side by side."""
        side = sorted(self.below if other in self.below else self.above, key=lambda place: place.middle)
        return self.middle + (side.index(other) - (len(side) - 1) / 2) * (PORT_DISTANCE if self.is_room else 0)


def drawing() -> str:
    """The SVG's text."""
    found = house()
    floors = _arranged(_places(found))
    height = 2 * MARGIN + (len(floors) - 1) * FLOOR_HEIGHT + BOX_HEIGHT
    places = [place for floor in floors for place in floor]
    arrows = [_arrow(place, other, height) for place in places if place.is_room for other in place.below]
    boxes = [_box(place, height) for place in places if place.is_room]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#7b8794"/></marker></defs>',
        *arrows, *boxes, "</svg>", "",
    ])  # fmt: skip


def _places(found: House) -> list[list[Place]]:
    """The floors from the ground up, with a place for each arrow on the floors that it passes."""
    rooms = {name: Place(name, floor, is_room=True) for name, floor in sorted(found.floor.items())}
    places = list(rooms.values())
    for name, start in rooms.items():
        for other in direct(found, name):
            passed = [
                Place(f"{name} {other}", floor, is_room=False)
                for floor in range(start.floor - 1, rooms[other].floor, -1)
            ]
            places += passed
            for upper, lower in pairwise([start, *passed, rooms[other]]):
                upper.below.append(lower)
                lower.above.append(upper)
    return [[place for place in places if place.floor == floor] for floor in range(1, max(found.floor.values()) + 1)]


def _arranged(floors: list[list[Place]]) -> list[list[Place]]:
    """Every place below and above those it is joined to, as far as there is room."""
    for floor in floors:
        for number, place in enumerate(floor):
            place.middle = WIDTH * (number + 1) / (len(floor) + 1)
    for _ in range(SWEEPS):
        for floor in floors:
            _align(floor, {place.name: place.below or place.above for place in floor})
        for floor in reversed(floors):
            _align(floor, {place.name: place.above or place.below for place in floor})
    return floors


def _align(floor: list[Place], joined: dict[str, list[Place]]) -> None:
    """Move the places of a floor towards what they are joined to, side by side within the drawing."""
    wanted = {place.name: fmean(other.middle for other in joined[place.name] or [place]) for place in floor}
    floor.sort(key=lambda place: (wanted[place.name], place.name))
    free = float(MARGIN)
    for place in floor:
        place.middle = max(wanted[place.name], free + place.width / 2)
        free = place.middle + place.width / 2 + GAP
    room_left = min(place.middle - place.width / 2 for place in floor) - MARGIN
    too_far = fmean(place.middle - wanted[place.name] for place in floor)
    beyond = free - GAP - (WIDTH - MARGIN)
    shift = max(min(too_far, room_left), beyond)
    for place in floor:
        place.middle -= shift


def _top(place: Place, height: int) -> int:
    """The upper edge of its floor; the ground floor is at the bottom."""
    return height - MARGIN - BOX_HEIGHT - (place.floor - 1) * FLOOR_HEIGHT


def _arrow(start: Place, via: Place, height: int) -> str:
    """From the bottom of a room, past the floors between, to the top of another."""
    upper, lower = start, via
    path = f"M{start.port(via):.0f} {_top(start, height) + BOX_HEIGHT}"
    while True:
        x, y = upper.port(lower), _top(upper, height) + BOX_HEIGHT
        to_x, to_y = lower.port(upper), _top(lower, height) - (2 if lower.is_room else 0)
        bend = (to_y - y) / 2
        path += f"C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y}"
        if lower.is_room:
            break
        path += f"V{to_y + BOX_HEIGHT}"
        upper, lower = lower, lower.below[0]
    return f'<path d="{path}" fill="none" stroke="#7b8794" stroke-width="1.3" marker-end="url(#tip)"/>'


def _box(place: Place, height: int) -> str:
    middle, y = round(place.middle), _top(place, height)
    lines = [
        f'<rect x="{middle - BOX_WIDTH // 2}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="#eef3f8" '
        'stroke="#3d5a80"/>',
        f'<text x="{middle}" y="{y + 19}" font-size="15" font-weight="bold" text-anchor="middle">'
        f"{escape(place.name)}</text>",
    ]
    for number, line in enumerate(_meaning(place.name)):
        lines.append(
            f'<text x="{middle}" y="{y + 37 + 15 * number}" font-size="12" text-anchor="middle" fill="#33414f">'
            f"{escape(line)}</text>"
        )
    return "\n".join(lines)


def _meaning(name: str) -> list[str]:
    """The first sentence of a room's docstring."""
    text = ast.get_docstring(ast.parse(modules()[f"multitracer.{name}"].read_text())) or ""
    sentence = text.split("\n\n")[0].split(". ")[0].rstrip(".").replace("`", "")
    return wrap(sentence, LINE_CHARACTERS, max_lines=MOST_LINES, placeholder=" ...")


def write(path: Path = DRAWING) -> None:
    """Bring the drawing up to date."""
    path.write_text(drawing())


if __name__ == "__main__":
    write()
