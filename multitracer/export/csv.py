"""Tables as CSV: the schema's names as headings, nulls empty, and what each column means beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitracer.model.schema import SCHEMA, Column, encodable

if TYPE_CHECKING:
    import pandas as pd

COLUMNS_FILE = "columns.csv"


def write(tables: Mapping[str, pd.DataFrame], directory: Path) -> list[Path]:
    """Write every table meant for writing to NAME.csv, and what their columns mean to columns.csv."""
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
    with path.open("wb") as file:  # a path may hold octets that are no text, which pyarrow refuses
        csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed", include_header=True))


def cell_text(value: Any) -> str:
    """The text of a cell: evidence as JSON, and text as UTF-8 can hold it."""
    return json.dumps(value) if isinstance(value, dict) else encodable(value)


def _values(column: Column, values: pd.Series[Any]) -> Any:
    import pyarrow as pa

    if column.dtype == "object" or isinstance(column.dtype, tuple):
        texts = values.astype(object).map(cell_text, na_action="ignore")
        return pa.array(texts.tolist(), type=pa.string(), from_pandas=True)
    array = values.to_numpy()
    if column.null is None:
        return pa.array(array)
    return pa.array(array, mask=(array != array) | (array == column.null))


def _description(names: list[str]) -> str:
    import pandas as pd

    rows = [
        (name, column.name, column.unit, column.meaning)
        for name in names
        for column in SCHEMA[name].columns
        if not column.private
    ]
    frame = pd.DataFrame(rows, columns=["table", "column", "unit", "meaning"])
    return str(frame.to_csv(index=False, lineterminator="\n"))
