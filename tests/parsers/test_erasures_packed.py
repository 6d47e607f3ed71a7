"""Block-erasure traces, a bit a block."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.model.errors import InputError
from multitracer.parsers import erasures_packed
from multitracer.parsers.shared.source import Source


def packed(blocks: list[bool], **header: object) -> bytes:
    """A trace as it stands in a file."""
    out = io.BytesIO()
    erasures_packed.write(out, blocks, header)
    return out.getvalue()


@given(st.lists(st.booleans(), min_size=1, max_size=400))
def test_what_was_written_is_read(blocks: list[bool]) -> None:
    """The trace and its header come back, an eighth of an octet a block."""
    octets = packed(blocks, block_bytes=40, name="made")
    found = erasures_packed.read(Source("x", octets))
    assert found.metadata["erased"].tolist() == blocks
    assert (found.metadata["block_bytes"], found.metadata["name"], found.skips) == (40, "made", [])
    assert len(octets) == len(packed([True], block_bytes=40, name="made")) - 1 + -(-len(blocks) // 8)


def test_a_cut_trace_keeps_its_beginning() -> None:
    """What is there is read, and the loss is named."""
    found = erasures_packed.read(Source("x", packed([True, False] * 40)[:-4]))
    assert found.metadata["erased"].tolist() == [True, False] * 24
    assert not found.complete


def test_octets_behind_the_trace_are_counted() -> None:
    """They belong to nothing."""
    found = erasures_packed.read(Source("x", packed([True] * 8) + b"more"))
    assert [skip.count for skip in found.skips] == [4]


@pytest.mark.parametrize("size", [8, 11, 14, 30])
def test_a_header_that_ends_early_is_refused(size: int) -> None:
    """Without it the number of blocks is not known."""
    with pytest.raises(InputError, match="within its header"):
        erasures_packed.read(Source("x", packed([True] * 99)[:size]))


def test_a_trace_without_blocks_is_refused() -> None:
    """A header with zero blocks is an error."""
    with pytest.raises(InputError, match="no block"):
        erasures_packed.read(Source("x", packed([])))


@given(st.binary(max_size=60))
def test_any_octets_are_read_or_refused(octets: bytes) -> None:
    """Whatever follows the magic is read, or refused with a reason."""
    with contextlib.suppress(InputError):
        found = erasures_packed.read(Source("x", erasures_packed.MAGIC + octets))
        assert len(found.metadata["erased"]) <= 8 * len(octets)
