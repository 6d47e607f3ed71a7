"""Writes the pages of docs/ that are made from the program: `python -m multitracer.commands.docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from multitracer.parsers import FORMATS
from multitracer.tables import SCHEMA, Column, Table

MADE = "<!-- made by python -m multitracer.commands.docs -->\n"


def pages() -> dict[str, str]:
    """The text of every made page, by file name."""
    return {"tables.md": tables_page(), "formats.md": formats_page()}


def tables_page() -> str:
    """Every table that is written, and what each column means."""
    intro = (
        "# Tables\n\n"
        "`analyze` writes these to `DIR/tables/NAME.parquet`, where every column carries its meaning and unit too.\n"
        "`read` and `analyze` give them as pandas DataFrames. What the inputs cannot tell is null.\n"
    )
    return MADE + intro + "".join(_table(table) for table in SCHEMA.values() if table.written)


def _table(table: Table) -> str:
    rows = [_column(column) for column in table.columns if not column.private]
    head = "| column | type | unit | meaning |\n|---|---|---|---|\n"
    return f"\n## {table.name}\n\n{table.meaning[0].upper()}{table.meaning[1:]}.\n\n{head}" + "".join(rows)


def _column(column: Column) -> str:
    dtype = "text" if column.dtype == "object" else column.dtype
    if isinstance(dtype, tuple):
        dtype = ", ".join(dtype)
    return f"| `{column.name}` | {dtype} | {column.unit} | {column.meaning} |\n"


def formats_page() -> str:
    """Every input format, and what it is recognised by."""
    rows = [f"| {entry.name} | {entry.holds} | {_escaped(entry.recognised_by)} |\n" for entry in FORMATS]
    intro = (
        "# Input formats\n\n"
        "Recognised by content, never by name, in this order; gzip and zstandard are read through.\n\n"
        "| format | holds | recognised by |\n|---|---|---|\n"
    )
    return MADE + intro + "".join(rows)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


if __name__ == "__main__":
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    directory.mkdir(exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8")
