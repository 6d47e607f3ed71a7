"""The tables of channel models and link protocols: one line adds a model everywhere."""

from __future__ import annotations

from pathlib import Path

import click

from multitracer.commands.docs import models_page
from multitracer.commands.erasures import generate
from multitracer.commands.retrace import command as retrace
from multitracer.replay import channels
from multitracer.replay.channels import CHANNELS, channel_classes
from multitracer.replay.channels.recommendation import simplest_first
from multitracer.replay.retrace import MODEL_NAMES, PROTOCOLS
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
    headings = [line.removeprefix("## ") for line in models_page().splitlines() if line.startswith("## ")]
    assert headings == [entry.name for entry in (*PROTOCOLS, *CHANNELS)]


def test_every_protocol_of_the_table_can_be_built() -> None:
    """With its defaults, and its parameters in plain values."""
    for name, kind in kinds().items():
        assert all(isinstance(value, int | float | str) for value in kind.build(name, {}).parameters.values())


def test_the_deterministic_channel_is_the_simplest() -> None:
    """Then those of the table in their order, which decides between models with equally many parameters."""
    assert [kind.name for kind in simplest_first()] == [
        "even", "uniform", "gilbert", "gilbert_elliott", "two_state", "markov", "mta",
    ]  # fmt: skip
