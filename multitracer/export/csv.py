"""Tables as CSV: the schema's column names as header, nulls as empty fields; columns.csv has the meanings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitracer.model.schema import SCHEMA, Column
from multitracer.model.short_texts import encodable

if TYPE_CHECKING:
    import pandas as pd

COLUMNS_FILE = "columns.csv"

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


def write(tables: Mapping[str, pd.DataFrame], directory: Path) -> list[Path]:
    """Write every table that the schema marks as written to NAME.csv, and their columns' meanings to columns.csv."""
    directory.mkdir(parents=True, exist_ok=True)
    names = [name for name in tables if name in SCHEMA and SCHEMA[name].written]
    for name in names:
        write_table(name, tables[name], directory / f"{name}.csv")
    described = directory / COLUMNS_FILE
    described.write_text(_description(names), encoding="utf-8")
    return [*(directory / f"{name}.csv" for name in names), described]


def write_table(name: str, frame: pd.DataFrame, path: Path) -> None:
    """Write one table; an unknown value is an empty field."""
    import pyarrow as pa
    from pyarrow import csv

    public = [column for column in SCHEMA[name].columns if not column.private and column.name in frame]
    table = pa.table({column.name: _values(column, frame[column.name]) for column in public})
    with path.open("wb") as file:  # pyarrow refuses a path with octets that are not UTF-8
        csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed", include_header=True))


def cell_text(value: Any) -> str:
    """The text of a cell: a dict (evidence) as JSON, text made encodable as UTF-8."""
    return json.dumps(value) if isinstance(value, dict) else encodable(value)


def not_a_formula(text: str) -> str:
    """The text as spreadsheets take it for text: with an apostrophe before what would begin a formula; no number."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _values(column: Column, values: pd.Series[Any]) -> Any:
    import pyarrow as pa

    if column.dtype == "object" or isinstance(column.dtype, tuple):
        texts = values.astype(object).map(lambda value: not_a_formula(cell_text(value)), na_action="ignore")
        return pa.array(texts.tolist(), type=pa.string(), from_pandas=True)
    array = values.to_numpy()
    if column.null is None:
        return pa.array(array)
    return pa.array(array, mask=(array != array) | (array == column.null))


def _description(names: list[str]) -> str:
    import pandas as pd

    rows = [
        (name, column.name, not_a_formula(column.unit), not_a_formula(column.meaning))
        for name in names
        for column in SCHEMA[name].columns
        if not column.private
    ]
    frame = pd.DataFrame(rows, columns=["table", "column", "unit", "meaning"])
    return str(frame.to_csv(index=False, lineterminator="\n"))
