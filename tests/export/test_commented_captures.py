"""Copies of captures with findings as comments: the same packets for tshark and for the reader here."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from packets import ipv4, tcp
from repository import EXAMPLES

from multitracer import cli, parsers
from multitracer.export import commented_captures
from multitracer.model.errors import InputError
from multitracer.model.trace import Input, Recording
from multitracer.parsers import pcap
from multitracer.parsers.shared import source
from multitracer.parsers.shared.source import open_source

RAW = 101
SEGMENTS = [ipv4(tcp(b"x" * size, seq=1 + size)) for size in (10, 11, 12, 13)]


def finding(kind: str, *references: tuple[int, int]) -> dict[str, Any]:
    """A finding that names records of inputs."""
    records = [{"input": number, "record": record} for number, record in references]
    return {"kind": kind, "verdict": "confirmed", "because": "größer als ±1", "evidence": {"records": records}}


def copied(tmp_path: Path, original: Path, *findings: dict[str, Any]) -> Path:
    """The copy of a capture, input 0, with the comments of these findings."""
    kind = parsers.recognise(open_source(str(original))).name
    entry = Input(0, str(original), Recording(kind))
    [path] = commented_captures.write([entry], findings, tmp_path / "copies")
    return path


def tables(path: Path) -> dict[str, Any]:
    """What is read of a capture."""
    return parsers.read(open_source(str(path))).tables


def assert_same(original: Path, copy: Path) -> None:
    """The same packets, flows and options are read of both."""
    before, after = tables(original), tables(copy)
    assert before.keys() == after.keys()
    assert [name for name in before if not before[name].equals(after[name])] == []


def tshark(path: Path, *fields: str) -> list[list[str]]:
    """Fields of each packet."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    asked = [part for name in fields for part in ("-e", name)]
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def block(kind: int, body: bytes, order: str) -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    size = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + size + body + size


def section(order: str, content: bytes, *, said: bool) -> bytes:
    """A section, that says how long it is, or does not."""
    length = len(content) if said else -1
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, length), order) + content


def described(order: str, *, resolution: int = 6) -> bytes:
    """An interface with a name and a resolution."""
    options = struct.pack(f"{order}HH4s", 2, 4, b"eth0") + struct.pack(f"{order}HHB3xHH", 9, 1, resolution, 0, 0)
    return block(1, struct.pack(f"{order}HHI", RAW, 0, 0) + options, order)


def enhanced(order: str, ticks: int, octets: bytes, options: bytes = b"") -> bytes:
    """A packet of interface 0."""
    head = struct.pack(f"{order}IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(octets), len(octets) + 100)
    return block(6, head + octets + bytes(-len(octets) % 4) + options, order)


@pytest.mark.parametrize("nanoseconds", [True, False])
def test_a_pcap_file_becomes_pcapng(tmp_path: Path, nanoseconds: bool) -> None:
    """Times in ns, lengths on the wire, and one comment for each finding that names the packet."""
    packets = [(1_700_000_000_123_456_789 + at, octets) for at, octets in enumerate(SEGMENTS)]
    original = tmp_path / "a.pcap"
    pcap.write(original, packets, RAW, original_bytes=[len(one) + 7 for one in SEGMENTS], nanoseconds=nanoseconds)
    copy = copied(tmp_path, original, finding("timeout", (0, 2), (1, 3)), finding("burst-loss", (0, 2), (0, 4)))
    assert copy.name == "a.pcapng"
    assert_same(original, copy)
    fields = ("frame.number", "frame.time_epoch", "frame.len", "frame.cap_len", "tcp.seq_raw")
    assert tshark(copy, *fields) == tshark(original, *fields)
    comments = [row[0] if row else "" for row in tshark(copy, "frame.comment")]
    said = ["timeout (confirmed): größer als ±1", "burst-loss (confirmed): größer als ±1"]
    assert comments == ["", ",".join(said), "", said[1]]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("said", [True, False], ids=["length", "no length"])
def test_a_pcapng_file_keeps_its_blocks_and_options(tmp_path: Path, order: str, said: bool) -> None:
    """All octets but the commented blocks stay, and the lengths of sections fit; either byte order."""
    comment = struct.pack(f"{order}HH5s3x", 1, 5, b"first") + struct.pack(f"{order}HH", 0, 0)
    names = block(4, struct.pack(f"{order}HH4s6sxxHH", 1, 10, bytes([10, 0, 0, 1]), b"snd.x\0", 0, 0), order)
    parts = [
        described(order, resolution=9), names, enhanced(order, 10, SEGMENTS[0], comment),
        enhanced(order, 20, SEGMENTS[1]), block(5, struct.pack(f"{order}III", 0, 0, 50), order),
    ]  # fmt: skip
    other = described("<") + enhanced("<", 30, SEGMENTS[2]) + enhanced("<", 40, SEGMENTS[3])
    original = tmp_path / "a.pcapng"
    original.write_bytes(section(order, b"".join(parts), said=said) + section("<", other, said=said))
    copy = copied(tmp_path, original, finding("timeout", (0, 1), (0, 2), (0, 4)))
    assert_same(original, copy)
    octets = copy.read_bytes()
    assert parts[0] + parts[1] in octets
    assert parts[4] in octets
    text = b"timeout (confirmed): "
    assert octets.count(text) == 3
    assert octets.index(text) < octets.index(b"first")
    assert [row[0] for row in tshark(copy, "frame.number")] == ["1", "2", "3", "4"]
    assert len([row for row in tshark(copy, "frame.comment") if row[:1] != [""]]) == 3


def test_without_comments_a_pcapng_file_is_copied_octet_by_octet(tmp_path: Path) -> None:
    """Also where its end is cut off."""
    content = section("<", described("<") + enhanced("<", 10, SEGMENTS[0]) + enhanced("<", 20, SEGMENTS[1]), said=True)
    original = tmp_path / "a.pcapng"
    original.write_bytes(content[:-9])
    assert copied(tmp_path, original).read_bytes() == content[:-9]


def test_packets_without_room_for_options_stay_as_they_are(tmp_path: Path) -> None:
    """A simple packet block has no options; an old packet block has."""
    simple = block(3, struct.pack("<I", len(SEGMENTS[0])) + SEGMENTS[0], "<")
    old = block(2, struct.pack("<HHIIII", 0, 0, 0, 9, len(SEGMENTS[1]), len(SEGMENTS[1])) + SEGMENTS[1], "<")
    original = tmp_path / "a.pcapng"
    original.write_bytes(section("<", described("<") + simple + old, said=True))
    copy = copied(tmp_path, original, finding("timeout", (0, 1), (0, 2)))
    assert_same(original, copy)
    octets = copy.read_bytes()
    assert simple in octets
    assert octets.count(b"timeout (confirmed): ") == 1


def test_a_compressed_capture_is_copied_unpacked(tmp_path: Path) -> None:
    """Captures of one name get copies of their own; other inputs none."""
    paths = []
    for name in ("a/snd.pcap.gz", "b/snd.pcap"):
        path = tmp_path / name
        path.parent.mkdir()
        content = (EXAMPLES / "rlp-reset" / "snd.pcap").read_bytes()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        paths.append(path)
    inputs = [Input(at, str(path), Recording("pcap")) for at, path in enumerate(paths)]
    inputs.append(Input(2, "rlpdump.txt", Recording("rlpdump")))
    written = commented_captures.write(inputs, [finding("timeout", (1, 5))], tmp_path / "copies")
    assert [path.name for path in written] == ["snd.pcapng", "snd-2.pcapng"]
    assert [path.read_bytes().count(b"timeout (conf") for path in written] == [0, 1]
    assert_same(paths[0], written[0])


@pytest.mark.parametrize("name", ["a.pcap", "a.pcapng"])
def test_a_capture_that_is_larger_than_half_of_the_memory_is_copied_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never held whole."""
    content = (EXAMPLES / "rlp-reset" / "snd.pcap").read_bytes()
    if name == "a.pcapng":
        content = section("<", described("<") + b"".join(enhanced("<", 9, one) for one in SEGMENTS), said=True)
    (tmp_path / name).write_bytes(content)
    entry = Input(0, str(tmp_path / name), Recording(name[2:]))
    [whole] = commented_captures.write([entry], [finding("timeout", (0, 1))], tmp_path / "whole")
    monkeypatch.setattr(source, "half_of_memory", lambda: len(content) // 2)
    [copy] = commented_captures.write([entry], [finding("timeout", (0, 1))], tmp_path / "copies")
    assert copy.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("name", ["a.pcap.gz", "a.pcapng.gz"])
def test_a_capture_that_lost_octets_after_its_analysis_is_refused(name: str, tmp_path: Path) -> None:
    """What the analysis found missing already is no reason to refuse."""
    content = gzip.compress((EXAMPLES / "rlp-reset" / "snd.pcap").read_bytes())
    if "pcapng" in name:
        content = gzip.compress(section("<", described("<") + enhanced("<", 9, SEGMENTS[0]), said=True))
    path = tmp_path / name
    path.write_bytes(content[:-9])
    kind = name.split(".")[1]
    known = parsers.read(open_source(str(path))).skips
    assert commented_captures.write([Input(0, str(path), Recording(kind, skips=known))], [], tmp_path / "copies")
    with pytest.raises(InputError, match=r"cannot be copied whole: .*gzip"):
        commented_captures.write([Input(0, str(path), Recording(kind))], [], tmp_path / "copies")


def test_the_command_writes_what_findings_say_at_their_records(tmp_path: Path) -> None:
    """`--export pcapng`: every record that evidence names has the finding's kind, verdict and reason."""
    original = EXAMPLES / "rlp-reset" / "snd.pcap"
    assert cli.run(["export", str(original), "--format", "pcapng", "-o", str(tmp_path), "-q"]) == 0
    assert cli.run(["analyze", str(original), "--summary-only", "-o", str(tmp_path / "s"), "-q"]) == 0
    found = json.loads((tmp_path / "s" / "summary.json").read_text())["findings"]
    wanted: dict[str, list[str]] = {}
    for one in found:
        for reference in one["evidence"].get("records", ()):
            text = f"{one['kind']} ({one['verdict']}): {one['because']}"
            wanted.setdefault(str(reference["record"]), []).append(text)
    rows = tshark(tmp_path / "pcapng" / "snd.pcapng", "frame.number", "frame.comment")
    assert {row[0]: row[1] for row in rows if row[1:] and row[1]} == {
        record: ",".join(texts) for record, texts in wanted.items()
    }
    assert wanted


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--anonymize"], "not with --anonymize"), (["-"], "cannot be read twice")],
)
def test_captures_are_not_copied_where_that_would_be_wrong(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Addresses that are to be hidden, and what can be read only once: wrong usage, before any work."""
    capture = str(EXAMPLES / "rlp-reset" / "snd.pcap")
    for command in (["analyze", "--export"], ["export", "--format"]):
        assert cli.run([command[0], capture, command[1], "pcapng", *arguments, "-o", str(tmp_path / "out")]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
