"""The contract of all parsers: the same tests for every format."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import small, sources

from multitracer import parsers
from multitracer.compute import kernels
from multitracer.model.errors import InputError
from multitracer.model.schema import SCHEMA
from multitracer.model.trace import Recording
from multitracer.parsers.shared.source import Source, open_source

every_format = pytest.mark.parametrize("entry", parsers.FORMATS, ids=lambda entry: entry.name)


@pytest.fixture(autouse=True)
def _plain_kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain, for files that are small or damaged; not where all samples are read whole, of which some are large."""
    monkeypatch.setitem(kernels._state, "plain", request.node.get_closest_marker("compiled") is None)


@pytest.fixture(scope="module", autouse=True)
def _garbage_is_cheap() -> Iterator[None]:
    yield
    if tracemalloc.is_tracing():
        tracemalloc.stop()


def read(entry: parsers.Format, data: bytes) -> Recording:
    """The recording that the format's own parser reads from these octets, without recognition."""
    return entry.parser.read(Source("sample", data))


def smallest(entry: parsers.Format) -> Source:
    """The smallest of the format's samples that is usable."""
    return min(sources(entry.name), key=len)


def check_schema(recording: Recording) -> None:
    """Tables have the schema's columns and types, and their rows name the record they come from."""
    for name, table in recording.tables.items():
        assert list(table.columns) == SCHEMA[name].names
        for column in SCHEMA[name].columns:
            check_dtype(column.dtype, table[column.name], f"{name}.{column.name}")
        if "record" in table:
            records = table["record"].to_numpy().astype(np.int64)
            in_time = "time_ns" in table and (np.diff(table["time_ns"]) >= 0).all()
            assert (np.diff(records) >= 0).all() or in_time, f"{name}: neither in order of records nor of time"
            assert not len(records) or records.min() >= 1


def check_dtype(dtype: str | tuple[str, ...], values: pd.Series, what: str) -> None:
    if isinstance(dtype, tuple):
        assert list(values.cat.categories) == list(dtype), what
    else:
        assert values.dtype == np.dtype(dtype), what


@pytest.mark.data
@pytest.mark.compiled
@every_format
def test_tables_keep_to_the_schema(entry: parsers.Format) -> None:
    """Times are int64 nanoseconds, every column has the schema's type, records are numbered in order."""
    recording = parsers.read(smallest(entry))
    assert recording.format == entry.name
    assert recording.records > 0
    assert recording.bytes_read > 0
    assert recording.clock in ("epoch", "monotonic", "relative")
    check_schema(recording)


@pytest.mark.data
@pytest.mark.compiled
@every_format
def test_the_table_of_formats_says_what_an_input_gives(entry: parsers.Format) -> None:
    """Every table with rows is one that the format's entry names; an erasure trace is named as one."""
    for source in sources(entry.name):
        recording = parsers.read(source)
        filled = {name for name in ("packets", "frames", "tcp_state") if len(recording.tables.get(name, ()))}
        assert filled <= set(entry.tables), source.path
        assert entry.erasure_trace == ("erased" in recording.metadata)


@pytest.mark.data
@every_format
def test_a_cut_file_keeps_its_beginning(entry: parsers.Format) -> None:
    """Records before the cut are read as from the whole file, and the loss is reported."""
    data = small(entry.name)
    whole = read(entry, data)
    cut = data[: len(data) * 3 // 5]
    if cut.endswith(b"\n"):
        cut = cut[:-2]
    part = read(entry, cut)
    assert part.skips or not part.complete
    assert 0 < part.records < whole.records
    for name, table in part.tables.items():
        if "record" in table and len(table):
            check_prefix(table, whole.tables[name])


def check_prefix(part: pd.DataFrame, whole: pd.DataFrame) -> None:
    public = [name for name in ("record", "time_ns", "recorded_ns") if name in part]
    pd.testing.assert_frame_equal(part[public], whole[public].head(len(part)))


@every_format
def test_an_empty_file_is_an_input_error(entry: parsers.Format, tmp_path: Path) -> None:
    """An empty file is refused before recognition, and no parser reads a record from it."""
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(InputError, match="is empty"):
        open_source(str(path))
    with suppress(InputError):
        assert read(entry, b"").records == 0


@pytest.mark.data
@every_format
def test_gzip_is_read_through(entry: parsers.Format, tmp_path: Path) -> None:
    """A compressed file gives the same records, and one that is cut off is reported."""
    data = small(entry.name)
    path = tmp_path / "sample.gz"
    path.write_bytes(gzip.compress(data))
    assert parsers.read(open_source(str(path))).records == parsers.read(Source("sample", data)).records
    path.write_bytes(gzip.compress(data)[:-9])
    assert any("gzip" in skip.reason for skip in parsers.read(open_source(str(path))).skips)


def mutated(data: bytes, draw: st.DrawFn) -> bytes:
    """The octets with a few bits flipped, parts removed, and random octets inserted."""
    octets = bytearray(data)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(octets) - 1, 0)))
        match draw(st.sampled_from(("flip", "cut", "delete", "insert", "repeat"))):
            case "flip" if octets:
                octets[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del octets[at:]
            case "delete":
                del octets[at : at + draw(st.integers(1, 200))]
            case "insert":
                octets[at:at] = draw(st.binary(min_size=1, max_size=40))
            case "repeat":
                octets[at:at] = octets[at : at + draw(st.integers(1, 400))]
    return bytes(octets)


@pytest.mark.data
@every_format
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_files_are_read_as_far_as_they_go(entry: parsers.Format, data: st.DataObject) -> None:
    """Damaged input loses records or raises InputError, within limits of time and memory."""
    octets = mutated(small(entry.name, 4096), data.draw)
    started = time.perf_counter()
    tracemalloc.start()
    try:
        recording = read(entry, octets)
        parsers.read(Source("damaged", octets))
    except InputError:
        pass
    else:
        check_schema(recording)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.perf_counter() - started < 10
    assert peak < 64 << 20
