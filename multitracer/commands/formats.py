"""`multitracer formats`: every input format, and what it is recognised by."""

from __future__ import annotations

import json

import click

from multitracer.commands.messages import verbosity_options
from multitracer.parsers import FORMATS


@click.command("formats")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@verbosity_options
def command(as_json: bool) -> None:
    """List every input format that is read, and what it is recognised by.

    Formats are recognised by content, never by name; .gz, .zst, .xz and .bz2 are read through.
    """
    click.echo(_json() if as_json else _table())


def _json() -> str:
    keys = ("name", "holds", "recognised_by")
    return json.dumps([{key: getattr(entry, key) for key in keys} for entry in FORMATS], indent=1)


def _table() -> str:
    rows = [("FORMAT", "HOLDS", "RECOGNISED BY")]
    rows += [(entry.name, entry.holds, entry.recognised_by) for entry in FORMATS]
    name, holds = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{row[0]:{name}}  {row[1]:{holds}}  {row[2]}" for row in rows)
