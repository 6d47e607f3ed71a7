"""Every format is recognised by what it is recognised by, and by nothing else."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import ROOT
from samples import files, sources

from multitracer.parsers import FORMATS, Format, Parser
from multitracer.parsers.shared.source import HEAD_BYTES, open_source

PARSERS: dict[str, Parser] = {entry.name: entry.parser for entry in FORMATS}


def claims(head: bytes) -> list[str]:
    """The formats whose sniff says yes, each asked by itself."""
    return [name for name, parser in PARSERS.items() if parser.sniff(head)]


def test_the_table_lists_every_parser() -> None:
    """Each module in parsers/ is the one of a format in the table, and each format has a module."""
    modules = {path.stem for path in (ROOT / "parsers").glob("*.py")} - {"__init__"}
    assert sorted(entry.name.replace("-", "_") for entry in FORMATS) == sorted(modules)


@pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.name)
def test_a_format_s_files_are_recognised_as_it_and_as_no_other(entry: Format) -> None:
    """Each sniff says yes to its own format's files, and all others say no to them."""
    found = {source.path: claims(source.head) for source in sources(entry.name)}
    assert found
    assert {path: names for path, names in found.items() if names != [entry.name]} == {}


def test_files_beside_the_recordings_are_taken_for_no_format() -> None:
    """What iperf, ping and scripts wrote, tables, JSON and text are nothing that is read."""
    found = {path.name: claims(open_source(str(path)).head) for path in files(None) if path.stat().st_size}
    assert len(found) > 20
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n",
        b"\n\n \n",
        b"\0" * 4096,
        b"#\n",
        b"# a comment\n",
        b"{}\n",
        b"[]\n",
        b"1\n",
        b"a,b\n1,2\n",
        b"7",
    ],
    ids=repr,
)
def test_nearly_nothing_is_no_format(head: bytes) -> None:
    """A file that says next to nothing is not given a format."""
    assert claims(head) == []


@given(st.binary(max_size=600))
def test_no_sniff_raises_or_claims_noise(head: bytes) -> None:
    """Whatever the octets are, a sniff answers; noise of more than a few octets is nobody's."""
    names = claims(head)
    assert len(names) <= 1


@given(st.data())
def test_a_sniff_bears_a_head_cut_anywhere(data: st.DataObject) -> None:
    """A shorter head is never taken for another format."""
    name = data.draw(st.sampled_from(sorted(PARSERS)))
    source = sources(name)[0]
    head = source.head[: data.draw(st.integers(0, min(len(source), HEAD_BYTES)))]
    assert set(claims(head)) <= {name}


@pytest.mark.parametrize(
    "shape", ["{}", "ESTAB 0 0 {}", "# a: {}", "x-1 [0] {}", "1 {}", "timeval {}", '{{"{}']
)
@pytest.mark.parametrize("filling", [" ", ":", "1", "-1 ", '"', "{", "a", ". "])
def test_no_line_is_long_enough_to_keep_a_sniff_busy(shape: str, filling: str) -> None:
    """However a long line is made, each sniff answers at once."""
    head = (shape.format(filling * (60_000 // len(filling))) + "\n").encode()
    started = perf_counter()
    claims(head)
    assert perf_counter() - started < 3
