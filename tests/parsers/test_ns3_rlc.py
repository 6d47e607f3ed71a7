"""The RLC traces of ns-3."""

from __future__ import annotations

import gzip

import pytest
from shared_data import shared

from multitracer.parsers import ns3_rlc
from multitracer.parsers.shared.source import open_source


@pytest.mark.data
def test_every_line_is_a_record_or_a_named_loss() -> None:
    """Records and losses of every real trace add up to the lines below its heading."""
    seen = 0
    for path in sorted(shared("public", "rlc_ns3").glob("*")):
        octets = path.read_bytes()
        text = (gzip.decompress(octets) if path.suffix == ".gz" else octets).decode()
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("%")]
        found = ns3_rlc.read(open_source(str(path)))
        lost = sum(skip.count for skip in found.skips)
        assert found.records > 0, path.name
        assert 0 <= len(lines) - found.records - lost <= 1, path.name  # a heading without a mark of its own
        seen += 1
    assert seen > 5
