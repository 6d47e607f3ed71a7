"""The result directory: summary.json, tables/*.parquet, series/NAME.csv, and other tools' formats."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.analysis.early_times import as_recorded
from multitracer.analysis.summary import Summary
from multitracer.compute.threads import ahead
from multitracer.export import commented_captures, csv, series, xgraph, xplot
from multitracer.export.disk import begin_writing
from multitracer.export.json_text import json_pieces
from multitracer.export.markdown import markdown
from multitracer.export.series import View
from multitracer.model.analysis import Analysis
from multitracer.model.schema import SCHEMA, Column, build

if TYPE_CHECKING:
    import pandas as pd

EXPORTS = ("xgraph", "xplot", "csv")
"""The formats that hold no payload: written where none is named."""
MOST_CONNECTIONS = 100
"""Series are written of at most this many connections, those with most data: they are plotted one at a time."""

_BATCH_BYTES = 8 << 20
"""Octets that are written at once, about: each batch costs a change of threads."""

SUMMARY, MARKDOWN, TABLES, SERIES, REPORT = "summary.json", "summary.md", "tables", "series", "report.html"


def write_summary(document: dict[str, Any], directory: Path) -> Path:
    """Write summary.json. A long one (211 MB for 100,000 connections) goes to the disk while its text is made."""
    path = directory / SUMMARY
    batches = _batches(json_pieces(document))
    with path.open("wb") as file:
        file.writelines(next(batches))
        with closing(ahead(batches)) as following:
            for batch in following:
                start = file.tell()
                file.writelines(batch)
                begin_writing(file, start)
        file.write(b"\n")
    return path


def _batches(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The pieces in lists of _BATCH_BYTES or a little more, the last one of fewer."""
    batch: list[bytes] = []
    octets = 0
    for piece in pieces:
        batch.append(piece)
        octets += len(piece)
        if octets >= _BATCH_BYTES:
            yield batch
            batch, octets = [], 0
    yield batch


def write_markdown(summary: Summary, directory: Path) -> Path:
    """Write summary.md."""
    path = directory / MARKDOWN
    path.write_text(markdown(summary), encoding="utf-8", errors="backslashreplace")
    return path


# Tables


def write_tables(tables: Mapping[str, pd.DataFrame], directory: Path) -> list[Path]:
    """Write every table that the schema marks as written to tables/NAME.parquet, with meanings and units."""
    from pyarrow import parquet

    directory.joinpath(TABLES).mkdir(exist_ok=True)
    written = []
    for name in (name for name, table in SCHEMA.items() if table.written and name in tables):
        path = directory / TABLES / f"{name}.parquet"
        with path.open("wb") as file:  # pyarrow refuses a path with octets that are not UTF-8
            parquet.write_table(as_arrow(name, tables[name]), file, compression="zstd")
        written.append(path)
    return written


def as_arrow(name: str, frame: pd.DataFrame) -> Any:
    """A table as pyarrow.Table for writing: unknown values are nulls, integers stay integers when read by pandas."""
    import pandas as pd
    import pyarrow as pa

    public = [column for column in SCHEMA[name].columns if not column.private and column.name in frame]
    plain = pd.DataFrame({column.name: _nullable(column, frame[column.name]) for column in public}, copy=False)
    table = pa.Table.from_pandas(plain, preserve_index=False)
    fields = [
        field.with_metadata({"meaning": column.meaning, "unit": column.unit})
        for field, column in zip(table.schema, public, strict=True)
    ]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _nullable(column: Column, values: pd.Series[Any]) -> Any:
    import pandas as pd

    if column.dtype == "object":
        return values.map(csv.cell_text, na_action="ignore").astype("string")
    if isinstance(column.dtype, tuple) or column.null is None or column.dtype.startswith("float"):
        return values.array
    array = values.to_numpy()
    return pd.arrays.IntegerArray(array, array == column.null)


def inputs_table(document: dict[str, Any]) -> pd.DataFrame:
    """The inputs of a summary document as a table."""
    rows = []
    for number, entry in enumerate(document["inputs"]):
        clock = entry["clock"] or {}
        row = {name: entry[name] for name in SCHEMA["inputs"].names if name in entry}
        row |= {
            name: clock.get(name.removeprefix("clock_")) for name in SCHEMA["inputs"].names if name.startswith("clock_")
        }
        row |= {"input": number, "losses": json.dumps(entry["losses"]), "notes": json.dumps(entry["notes"])}
        rows.append(row)
    columns = SCHEMA["inputs"].columns
    return build("inputs", {c.name: [c.null if row[c.name] is None else row[c.name] for row in rows] for c in columns})


# Series


def write_series(analysis: Analysis, directory: Path) -> list[Path]:
    """Write every series that the inputs support to series/NAME.csv."""
    written = []
    for connection, named in series_by_connection(analysis):
        written += series.write(named, directory / SERIES, connection)
    return written


def series_by_connection(analysis: Analysis) -> Iterator[tuple[int, dict[str, pd.DataFrame]]]:
    """(Connection, its series) of the connections with most data; the main link's series are with the first."""
    tables = analysis.tables
    chosen = connections_with_series(analysis)
    state = _by_connection(tables["tcp_state"], chosen)
    segments = _by_connection(tables["segments"], chosen)
    rest: dict[str, pd.DataFrame] = {name: tables[name] for name in ("connections", "links", "frames", "link_events")}
    link = analysis.links.main
    if not chosen and link is not None:
        yield 0, series.series(rest, 0, View(0, link=link), analysis.origin_ns)
    for place, connection in enumerate(chosen):
        own = rest | {"segments": segments[connection], "tcp_state": state[connection]}
        seen = view(analysis, connection, None if place else link)
        yield connection, series.series(own, connection, seen, analysis.origin_ns)


def connections_with_series(analysis: Analysis) -> list[int]:
    """The numbers of the connections that get series: at most MOST_CONNECTIONS, those with most data."""
    measures = analysis.ends.measures
    data = np.zeros(len(analysis.connections), dtype=np.int64)
    np.maximum.at(data, measures["connection"].to_numpy(), measures["unique_bytes"].to_numpy())
    return sorted(np.argsort(-data, kind="stable")[:MOST_CONNECTIONS].tolist())


def view(analysis: Analysis, connection: int, link: int | None) -> View:
    """The end of a connection that sent the data, and the observation points beside both ends."""
    sender, paths = int(analysis.ends.main[connection]), analysis.paths
    near, far = (int(points[connection, sender]) for points in (paths.sender_point, paths.receiver_point))
    return View(sender, near if near >= 0 else None, far if far >= 0 else None, link)


def _by_connection(table: pd.DataFrame, chosen: list[int]) -> dict[int, pd.DataFrame]:
    """The rows of each chosen connection, found by sorting once."""
    number = table["connection"].to_numpy()
    order = np.argsort(number, kind="stable")
    first = np.searchsorted(number[order], chosen, side="left")
    last = np.searchsorted(number[order], chosen, side="right")
    return {one: table.iloc[order[a:b]] for one, a, b in zip(chosen, first, last, strict=True)}


# Other tools' formats


def write_exports(analysis: Analysis, document: dict[str, Any], directory: Path, kinds: Iterable[str]) -> list[Path]:
    """Write the named formats, each to a directory of its name.

    Series for xgraph, graphs for xplot, tables as CSV, captures with the findings as comments for pcapng.
    """
    makers = {"xgraph": _xgraph, "xplot": _xplot, "csv": _csv, "pcapng": _pcapng}
    return [path for kind in dict.fromkeys(kinds) for path in makers[kind](analysis, document, directory / kind)]


def _xgraph(analysis: Analysis, _: dict[str, Any], directory: Path) -> list[Path]:
    frame_bytes = xgraph.frame_bytes(analysis.tables["frames"], analysis.links.main)
    written = []
    for connection, named in series_by_connection(analysis):
        written += xgraph.write(named, directory, connection, frame_bytes)
    return written


def _xplot(analysis: Analysis, _: dict[str, Any], directory: Path) -> list[Path]:
    recorded = as_recorded(analysis.tables, analysis.trace.shift_ns)
    tables = {**recorded, "packets": analysis.trace.tables["packets"]}
    written = []
    for connection in connections_with_series(analysis):
        seen = view(analysis, connection, None)
        point = seen.receiver_point if seen.sender_point is None else seen.sender_point
        if point is not None:
            written += xplot.write_connection(directory, tables, connection, point)
    return written


def _csv(analysis: Analysis, document: dict[str, Any], directory: Path) -> list[Path]:
    recorded = as_recorded(analysis.tables, analysis.trace.shift_ns)
    return csv.write({**recorded, "inputs": inputs_table(document)}, directory)


def _pcapng(analysis: Analysis, document: dict[str, Any], directory: Path) -> list[Path]:
    return commented_captures.write(analysis.trace.inputs, document["findings"], directory)
