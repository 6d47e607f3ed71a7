"""The rooms of replay: which of them may import which."""

from __future__ import annotations

import pytest
from house import imports, modules

FLOORS = (
    ("erasures", "arq"), ("channels", "engine", "tcp", "workloads"), ("retrace", "simulate"), ("record", "papers"),
    ("emulate",),
)  # fmt: skip
"""From the ground up; a room imports from floors below its own."""
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


ROOMS = "multitracer.replay."


def room(module: str) -> str:
    """The room of replay that a module stands in; empty for other modules, and for the package itself."""
    return module.removeprefix(ROOMS).split(".")[0] if module.startswith(ROOMS) else ""


def test_every_room_stands_on_a_floor() -> None:
    """A new room is given its place in FLOORS, and no module stands beside the rooms."""
    assert {room(module) for module in modules()} - {""} == set(FLOOR)


@pytest.mark.parametrize("name", FLOOR)
def test_rooms_import_downwards(name: str) -> None:
    """A protocol does not know the engine, nor the engine who retraces."""
    for module, path in modules().items():
        if room(module) == name:
            others = {room(found.module) for found in imports(path)} - {"", name}
            assert not {other for other in others if FLOOR[other] >= FLOOR[name]}, module
