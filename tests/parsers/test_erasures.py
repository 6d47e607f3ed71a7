"""Block-erasure traces as text."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import erasures, recognise
from multitracer.parsers.shared.source import Source, open_source


@given(st.lists(st.booleans(), min_size=1, max_size=400))
def test_what_was_written_is_read(blocks: list[bool]) -> None:
    """The trace and its header come back."""
    out = io.StringIO()
    erasures.write(out, blocks, {"block_ms": 40, "name": "made"})
    found = erasures.read(Source("x", out.getvalue().encode()))
    assert found.metadata["erased"].tolist() == blocks
    assert (found.metadata["block_bytes"], found.metadata["block_ms"], found.metadata["name"]) == (30, 40, "made")
    assert found.skips == []


def test_white_space_is_ignored() -> None:
    """White space may stand between any characters."""
    found = erasures.read(Source("x", b"# name: a\n0 1\t1\r\n\n000\n"))
    assert found.metadata["erased"].tolist() == [False, True, True, False, False, False]


def test_other_characters_are_counted() -> None:
    """They are left out, with the line of the first."""
    found = erasures.read(Source("x", b"0011\n01x1y\n"))
    assert len(found.metadata["erased"]) == 7
    assert [(skip.record, skip.count) for skip in found.skips] == [(2, 2)]


def test_a_wrong_character_is_placed_where_it_stands() -> None:
    """The loss names the line and the octet of the first one, also in the middle of a long line."""
    data = b"# name: a\n" + b"01" * 700_000 + b"7" + b"01" * 700_000 + b"89\n"
    found = erasures.read(Source("x", data))
    assert len(found.metadata["erased"]) == 2_800_000
    assert [(skip.record, skip.offset, skip.count) for skip in found.skips] == [(2, 1_400_010, 3)]


@pytest.mark.parametrize("between", [b"", b" ", b"\t "])
@pytest.mark.parametrize("header", [b"", b"# block_ms: 20\n", b"# name: made elsewhere\n"])
def test_a_trace_on_one_line_of_any_length_is_read(header: bytes, between: bytes) -> None:
    """It is recognised by the first 64 KiB without a line end, and read in memory for its blocks."""
    source = Source("x", header + between.join([b"0", b"1", b"1"] * 200_000) + b"\n")
    assert recognise(source).name == "erasures"
    tracemalloc.start()
    found = erasures.read(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.metadata["erased"].tolist() == [False, True, True] * 200_000
    assert (found.skips, found.complete) == ([], True)
    assert peak < 4 * 600_000 + (4 << 20)


def test_one_wrong_character_in_thousands_is_still_recognised() -> None:
    """A damaged trace is read with a loss; text that is half digits is no trace."""
    assert erasures.sniff(b"0110" * 1000 + b"x" + b"01" * 50)
    assert erasures.sniff(b"# block_ms: 20\n0110x10110101010111\n")
    assert not erasures.sniff(b"0110x10110101010111\n")


def test_a_number_sign_within_a_line_begins_no_comment() -> None:
    """It is a wrong character; what follows on the line are blocks."""
    found = erasures.read(Source("x", b"  # name: a\n01#0110\n# name: b\n11\n"))
    assert len(found.metadata["erased"]) == 8
    assert [(skip.record, skip.offset, skip.count) for skip in found.skips] == [(2, 14, 1)]


@pytest.mark.parametrize("text", [b"# block_ms: -3\n01\n", b"# block_bytes: many\n01\n", b"# block_ms: 0\n01\n"])
def test_an_invalid_header_value_is_reported(text: bytes) -> None:
    """The default is used instead."""
    found = erasures.read(Source("x", text))
    assert (found.metadata["block_bytes"], found.metadata["block_ms"]) == (30, 20)
    assert len(found.skips) == 1


def test_an_empty_trace_is_refused() -> None:
    """Only comments."""
    with pytest.raises(InputError, match="no block"):
        erasures.read(Source("x", b"# name: nothing\n"))


@pytest.mark.data
def test_a_real_trace_has_its_blocks() -> None:
    """As many as characters in the text."""
    path = shared("linux/rlp-bad/erasures.mobile.txt")
    found = erasures.read(open_source(str(path)))
    digits = "".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    digits = "".join(digits.split())
    assert (found.counts["blocks"], found.counts["erased_blocks"]) == (len(digits), digits.count("1"))
    assert np.array_equal(found.metadata["erased"], np.array(list(digits)) == "1")


def test_a_trace_without_line_ends_is_recognised() -> None:
    """A long row of digits is no record of a binary format."""
    assert recognise(Source("x", b"0000010100" * 10_000)).name == "erasures"


@pytest.mark.parametrize(
    ("data", "cut"), [(b"0110", False), (b"01 10", False), (b"# a: b\n01", True), (b"01\n10", True), (b"01\n# a", True)]
)
def test_a_trace_without_any_line_end_is_not_called_cut(data: bytes, cut: bool) -> None:
    """Where a line, of a header too, has an end, a last one without may have been cut off."""
    assert erasures.read(Source("x", data)).complete == (not cut)


PARTS = st.sampled_from([b"0", b"11", b"\n", b" ", b"#", b"# a: b\n", b"x", b"\r\n"])


@given(st.lists(PARTS), st.integers(1, 9))
def test_a_trace_is_alike_in_pieces_of_any_size(parts: list[bytes], size: int) -> None:
    """Blocks, header, losses with their places: wherever pieces end, within comments too."""
    data = b"".join([b"01", *parts])
    whole = erasures.read(Source("x", data))
    found = erasures.read(Source("x", (data[at : at + size] for at in range(0, len(data), size))))
    assert found.metadata["erased"].tolist() == whole.metadata["erased"].tolist()
    assert (found.skips, found.bytes_read, found.complete) == (whole.skips, whole.bytes_read, whole.complete)
    assert {**found.metadata, "erased": 0} == {**whole.metadata, "erased": 0}
