"""Recognition: every format's sniff accepts its own files and no others."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import ROOT
from samples import files, sources

from multitracer.parsers import FORMATS, Format, Parser, without_endings
from multitracer.parsers.shared.source import HEAD_BYTES, open_source

PARSERS: dict[str, Parser] = {entry.name: entry.parser for entry in FORMATS}


def claims(head: bytes) -> list[str]:
    """The formats whose sniff accepts `head`, each called separately."""
    return [name for name, parser in PARSERS.items() if parser.sniff(head)]


def test_the_table_lists_every_parser() -> None:
    """Each module in parsers/ is the one of a format in the table, and each format has a module."""
    modules = {path.stem for path in (ROOT / "parsers").glob("*.py")} - {"__init__"}
    assert sorted(entry.name.replace("-", "_") for entry in FORMATS) == sorted(modules)


def test_a_result_is_named_without_the_endings_of_any_format() -> None:
    """An ending that a format has in the table is left out of names, one after the other."""
    assert without_endings("snd.pcap.gz") == "snd"
    assert without_endings("2024.01.02") == "2024.01.02"
    assert {without_endings(f"run{ending}") for entry in FORMATS for ending in entry.endings} == {"run"}


@pytest.mark.data
@pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.name)
def test_a_format_s_files_are_recognised_as_it_and_as_no_other(entry: Format) -> None:
    """Each sniff accepts its own format's files, and all others reject them."""
    found = {source.path: claims(source.head) for source in sources(entry.name)}
    assert found
    assert {path: names for path, names in found.items() if names != [entry.name]} == {}


@pytest.mark.data
def test_files_of_other_programs_are_not_recognised() -> None:
    """Output of iperf, ping and scripts, and unknown tables, JSON and text are not recognised."""
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
def test_a_nearly_empty_file_is_not_recognised(head: bytes) -> None:
    """A file with hardly any content is not recognised."""
    assert claims(head) == []


@given(st.binary(max_size=600))
def test_no_sniff_raises_or_accepts_random_octets(head: bytes) -> None:
    """A sniff accepts any octets without an error, and random octets, if more than a few, are not recognised."""
    names = claims(head)
    assert len(names) <= 1


@pytest.mark.data
@given(st.data())
def test_a_file_cut_anywhere_is_not_recognised_as_another_format(data: st.DataObject) -> None:
    """A sniff that gets a shorter head accepts it for its own format or not at all."""
    name = data.draw(st.sampled_from(sorted(PARSERS)))
    source = sources(name)[0]
    head = source.head[: data.draw(st.integers(0, min(len(source), HEAD_BYTES)))]
    assert set(claims(head)) <= {name}


@pytest.mark.parametrize("shape", ["{}", "ESTAB 0 0 {}", "# a: {}", "x-1 [0] {}", "1 {}", "timeval {}", '{{"{}'])
@pytest.mark.parametrize("filling", [" ", ":", "1", "-1 ", '"', "{", "a", ". "])
def test_a_sniff_is_fast_for_long_lines(shape: str, filling: str) -> None:
    """Each sniff returns quickly for every kind of long line."""
    head = (shape.format(filling * (60_000 // len(filling))) + "\n").encode()
    started = perf_counter()
    claims(head)
    assert perf_counter() - started < 3
