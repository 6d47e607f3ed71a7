"""The tables of channel models and link protocols: one line adds a model everywhere."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click
import pytest

from multitracer.commands.docs import models_page
from multitracer.commands.erasures import generate
from multitracer.commands.retrace import command as retrace
from multitracer.replay import channels, engine, record
from multitracer.replay.channels import CHANNELS, channel_classes
from multitracer.replay.channels.recommendation import simplest_first
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.driver import Engine, Keep, Protocol
from multitracer.replay.engine.source import source
from multitracer.replay.record.recording import recorder_of
from multitracer.replay.retrace import MODEL_NAMES, PROTOCOLS, RECORDABLE
from multitracer.replay.retrace.models import kinds


def test_a_channel_is_called_the_same_everywhere() -> None:
    """On the command line with hyphens, in results with underscores."""
    assert {name: kind.name for name, kind in channel_classes().items()} == {
        entry.name: entry.name.replace("-", "_") for entry in CHANNELS
    }


def test_every_module_with_a_channel_is_in_the_table() -> None:
    """No module of the room defines a model that the table does not list."""
    room = Path(channels.__file__).parent
    defining = {path.stem for path in room.glob("*.py") if "why_unfitted: ClassVar[str] =" in path.read_text()}
    assert defining == {entry.module for entry in CHANNELS}


def test_commands_and_documentation_read_the_tables() -> None:
    """Help, choices and headings name every model, in the order of the tables."""
    help_text = " ".join((generate.help or "").split())
    places = [help_text.index(entry.name) for entry in CHANNELS if entry.name not in ("gilbert", "markov")]
    assert places == sorted(places)
    (model,) = [each for each in retrace.params if each.name == "models"]
    assert isinstance(model.type, click.Choice)
    assert tuple(model.type.choices) == MODEL_NAMES
    headings = [line.removeprefix("### ") for line in models_page().splitlines() if line.startswith("### ")]
    assert headings == [entry.name for entry in (*PROTOCOLS, *CHANNELS)]


def test_every_protocol_of_the_table_can_be_built() -> None:
    """With its defaults, and its parameters in plain values."""
    for name, kind in kinds().items():
        assert all(isinstance(value, int | float | str) for value in kind.build(name, {}).parameters.values())


def test_every_protocol_under_the_engine_is_in_the_table() -> None:
    """By its own name; RLC whose PDUs carry octets is for the recorder."""
    room = Path(engine.__file__).parent
    modules = [import_module(f"{engine.__name__}.{path.stem}") for path in room.glob("*.py") if path.stem != "__init__"]
    machines = {each.name: each for module in modules for each in vars(module).values() if isinstance(each, Protocol)}
    named = {name: kind.protocol for name, kind in kinds().items()}
    assert {name: machine for name, machine in machines.items() if " with octets" not in name} == named


@pytest.mark.parametrize("name", [entry.name for entry in PROTOCOLS])
def test_every_protocol_runs_in_octets_and_under_the_engine(name: str) -> None:
    """One packet, from Python and compiled: offered, made into frames, and delivered whole."""
    protocol = kinds()[name].protocol
    parameters = protocol.parameters()
    one, other = protocol.octets(parameters), protocol.octets(parameters)
    packet = bytes(range(20))
    assert one.offer(packet, 0)
    assert one.flushed() == []
    other.receive(one.next_frame(0), 1)
    other.expire(other.next_timer() or 1)
    assert b"".join(piece.octets for piece in other.delivered()) == packet
    way = Direction(1000, 1000)
    run = Engine(protocol, (parameters, parameters), way, way, source([(0, 0, 20)]), Keep(sdus=1)).run(10_000)
    assert run.sdus["octets"].tolist() == [20]


def test_every_recorder_is_in_the_table() -> None:
    """Modules of the recorder's room that define one, by the protocols that can be recorded."""
    room = Path(record.__file__).parent
    modules = [import_module(f"{record.__name__}.{path.stem}") for path in room.glob("*.py") if path.stem != "__init__"]
    defined = {id(found) for module in modules for name, found in vars(module).items() if name.endswith("_RECORDER")}
    assert {id(recorder_of(name)) for name in RECORDABLE} == defined
    assert len(defined) == len(RECORDABLE)


def test_the_deterministic_channel_is_the_simplest() -> None:
    """Then those of the table in their order, which decides between models with equally many parameters."""
    assert [kind.name for kind in simplest_first()] == [
        "even", "uniform", "gilbert", "gilbert_elliott", "two_state", "markov", "mta",
    ]  # fmt: skip
