"""rlcdump: real dumps read whole and written again to the letter, and lines that are none."""

from __future__ import annotations

import gzip
import io

import pytest
from shared_data import shared

from multitracer.parsers import rlcdump
from multitracer.parsers.shared.source import Source, open_source

SMALL = """# rlcdump 1
# mode: am
# rat: umts
# side: network
1.000000 > AMD sn=0 p=1 li=22,127 len=40
1.100000 < STATUS ack=1 nack=
1.200000 > RESET rsn=0
1.300000 < BAD
"""


@pytest.mark.data
@pytest.mark.parametrize("folder", ["rlc-inseq", "rlc-outseq", "rlc-reset"])
@pytest.mark.parametrize("side", ["mobile", "network"])
def test_writing_what_was_read_is_the_identity(folder: str, side: str) -> None:
    """No line is skipped, and every character comes back."""
    path = shared("linux", folder, f"rlcdump.{side}.txt.gz")
    found = rlcdump.read(open_source(str(path)))
    assert found.skips == []
    out = io.StringIO()
    header = {key: value for key, value in found.metadata.items() if key not in ("mode", "rat", "side")}
    rlcdump.write(out, found.tables["frames"], side=side, rat="umts", events=found.tables["link_events"], header=header)
    assert out.getvalue() == gzip.decompress(path.read_bytes()).decode()


def test_each_kind_of_line_has_its_fields() -> None:
    """Numbers, polls, length indicators and acknowledgements."""
    frames = rlcdump.read(Source("x", SMALL.encode())).tables["frames"]
    assert frames["type"].astype(str).tolist() == ["AMD", "STATUS", "RESET", "BAD"]
    assert frames["sn"].tolist() == [0, -1, 0, -1]
    assert frames["nr"].tolist() == [-1, 1, -1, -1]
    assert frames["lis"].iloc[0] == (22, 127)
    assert frames["payload_bytes"].iloc[0] == 22
    assert frames["link"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "line", ["1.4 > AMD sn=4096 p=0 li= len=40", "1.4 > AMD sn=x p=0", "1.4 < STATUS ack=99999 nack=", "what"]
)
def test_lines_that_cannot_be_read_are_counted(line: str) -> None:
    """Among them numbers that no field holds; the loss has its line."""
    found = rlcdump.read(Source("x", (SMALL + line + "\n").encode()))
    assert len(found.tables["frames"]) == 4
    assert [(skip.record, skip.count) for skip in found.skips] == [(9, 1)]
