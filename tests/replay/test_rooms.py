"""The rooms of replay: which of them may import which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

REPLAY = Path(__file__).resolve().parents[2] / "replay"
FLOORS = (("erasures", "arq"), ("channels", "engine"), ("retrace",), ("record",))
"""From the ground up; a room imports from floors below its own."""
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def imported_rooms(path: Path) -> set[str]:
    """The rooms of replay that a module imports from."""
    tree = ast.parse(path.read_text())
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    prefix = "multitracer.replay."
    return {name.removeprefix(prefix).split(".")[0] for name in names if name.startswith(prefix)}


def test_every_room_stands_on_a_floor() -> None:
    """A new room is given its place in FLOORS."""
    assert {folder.name for folder in REPLAY.iterdir() if (folder / "__init__.py").exists()} == set(FLOOR)


@pytest.mark.parametrize("room", FLOOR)
def test_rooms_import_downwards(room: str) -> None:
    """A protocol does not know the engine, nor the engine who retraces."""
    for path in sorted((REPLAY / room).rglob("*.py")):
        above = {other for other in imported_rooms(path) - {room} if FLOOR[other] >= FLOOR[room]}
        assert not above, path
