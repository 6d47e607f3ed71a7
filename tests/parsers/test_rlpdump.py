"""rlpdump: real dumps read whole, written again to the letter, and every kind of bad line."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import rlpdump
from multitracer.parsers.shared.source import Source, open_source

FOLDERS = ("rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff")
SMALL = """# rlpdump 1
# side: mobile
1795210707.711804 > I RR ns=0 nr=0 pf=0 cr=1 len=25 l2r=1e
1795210707.731816 < RR nr=1 pf=0 cr=0
1795210707.751837 < BAD
1795210707.751900 < EVENT xoff
1795210707.751901 > EVENT drop bytes=130
1795210707.800000001 > SABM pf=1 cr=1
"""


def read(text: str) -> rlpdump.Recording:
    """The recording of a text."""
    return rlpdump.read(Source("x", text.encode()))


@pytest.mark.data
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("side", ["mobile", "network"])
def test_real_dumps_are_read_whole(folder: str, side: str) -> None:
    """No line is skipped, and the counts are those of the text."""
    path = shared("linux", folder, f"rlpdump.{side}.txt")
    found = rlpdump.read(open_source(str(path)))
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    expected = Counter((" ".join(w[2:4]) if w[2] == "I" else w[2], w[1]) for w in lines if w[2] != "EVENT")
    frames = found.tables["frames"]
    ours = Counter(zip(frames["type"].astype(str), frames["sent"].map({True: ">", False: "<"}), strict=True))
    assert found.skips == []
    assert ours == expected
    assert len(found.tables["link_events"]) == sum(w[2] == "EVENT" for w in lines)


@pytest.mark.data
@pytest.mark.parametrize("folder", FOLDERS)
def test_writing_what_was_read_is_the_identity(folder: str) -> None:
    """To the character."""
    path = shared("linux", folder, "rlpdump.mobile.txt")
    assert written(path) == path.read_text()


def written(path: Path) -> str:
    """What the writer makes of what the reader found."""
    found = rlpdump.read(open_source(str(path)))
    out = io.StringIO()
    header = {key: value for key, value in found.metadata.items() if key != "side"}
    rlpdump.write(out, found.tables["frames"], side="mobile", events=found.tables["link_events"], header=header)
    return out.getvalue()


def test_each_kind_of_line_has_its_fields() -> None:
    """Times to the nanosecond, numbers, L2R octet, events with their bytes."""
    found = read(SMALL)
    frames, events = found.tables["frames"], found.tables["link_events"]
    assert frames["type"].tolist() == ["I RR", "RR", "BAD", "SABM"]
    assert frames["sn"].tolist() == [0, -1, -1, -1]
    assert frames["nr"].tolist() == [0, 1, -1, -1]
    assert frames["l2r"].tolist() == [0x1E, -1, -1, -1]
    assert frames["payload_bytes"].tolist() == [24, 0, -1, 0]
    assert frames["time_ns"].tolist()[-1] == 1795210707_800000001
    assert frames["link"].tolist() == [0, 1, 1, 0]
    assert events[["event", "bytes", "link"]].to_numpy().tolist() == [["xoff", -1, 1], ["drop", 130, 0]]
    assert found.tables["links"]["reverse"].tolist() == [1, 0]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense", "1.0 > WHAT ns=0", "1.0 ? RR nr=0", "1.0 > I RR nr=0", "1.0 > RR nr=62", "1.0 > I RR ns=0 data=zz",
        "1.0 > I RR ns=0 len=3 data=0102", "1.0 > EVENT boom", "99999999999.0 > RR nr=0",
        "1.0 > I RR ns=0 l2r=-1ffffffffffffffffffff", "1.0 > I RR ns=0 l2r=1ffffffffffffffffffff",
    ],
)  # fmt: skip
def test_lines_that_cannot_be_read_are_counted(line: str) -> None:
    """The others stay; the loss has line number and offset."""
    found = read(SMALL + line + "\n")
    assert len(found.tables["frames"]) == 4
    assert [(skip.record, skip.offset, skip.count) for skip in found.skips] == [(9, len(SMALL), 1)]


@pytest.mark.parametrize("value", ["0", "-20", "twenty", "", "1e3", "20 ms"])
def test_a_frame_duration_that_is_no_positive_number_is_counted(value: str) -> None:
    """And not kept; a good one is."""
    found = read(SMALL.replace("# side", f"# frame_ms: {value}\n# side"))
    assert [skip.record for skip in found.skips] == [2]
    assert "frame_ms" not in found.metadata
    assert read(SMALL.replace("# side", "# frame_ms: 4.615\n# side")).metadata["frame_ms"] == "4.615"


def test_a_dump_without_side_says_so() -> None:
    """Its links have no sender, and a note tells why."""
    found = read(SMALL.replace("# side: mobile\n", ""))
    assert any("which end logged it" in note for note in found.notes)
    assert len(found.tables["links"]) == 2


def test_a_dump_without_a_single_line_is_refused() -> None:
    """The error names the first bad line."""
    with pytest.raises(InputError, match="no line of an rlpdump"):
        read("# rlpdump 1\nnothing\n")
