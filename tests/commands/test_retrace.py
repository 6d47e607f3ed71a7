"""`multitracer retrace` and `erasures` as their users run them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import multitracer
from multitracer import cli
from multitracer.parsers import erasures


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two minutes in which every 20th block is lost."""
    path = tmp_path / "bad.txt"
    with path.open("w") as stream:
        erasures.write(stream, np.arange(6000) % 20 == 10, {"name": "every 20th"})
    return path


@pytest.mark.slow
def test_results_are_written_and_printed(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON, CSV and a page; the summary names the best frame size."""
    out = tmp_path / "out"
    assert cli.run(["retrace", str(trace), "-o", str(out)]) == 0
    told = capsys.readouterr()
    assert sorted(path.name for path in out.iterdir()) == [
        ".multitracer", "retrace.csv", "retrace.html", "retrace.json"
    ]  # fmt: skip
    row = json.loads((out / "retrace.json").read_text())["traces"][0]
    assert f"best frame: {row['optimal_frame_bytes']} octets" in told.out
    with (out / "retrace.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(line["throughput_bps"]) for line in rows] == list(row["throughput_bps"].values())
    assert [line["frame_bytes"] for line in rows] == [str(30 * blocks) for blocks in range(1, 51)]


def test_json_is_all_that_is_printed(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document with the contract's keys, equal to what Python gives."""
    assert cli.run(["retrace", str(trace), "-o", str(tmp_path / "out"), "--json", "-q", "--no-report"]) == 0
    found = json.loads(capsys.readouterr().out)
    keys = {
        "name", "blocks", "block_bytes", "block_ms", "minutes", "erased", "error_rate", "bursts", "model", "parameters",
        "throughput_bps", "ci95_bps", "optimal_frame_bytes", "plateau_frame_bytes", "gain_percent",
        "baseline_frame_bytes",
    }  # fmt: skip
    assert keys <= set(found["traces"][0])
    assert found == multitracer.retrace(str(trace))


def test_options_set_block_size_and_duration(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """100 octets every millisecond with 4 octets of overhead: without losses one block carries 96 octets per ms."""
    arguments = ["--block-bytes", "100", "--block-ms", "1", "--overhead", "4", "--frame-sizes", "100:200:100"]
    assert cli.run(["retrace", str(trace), "-o", str(tmp_path), "--json", "--no-report", "-q", *arguments]) == 0
    row = json.loads(capsys.readouterr().out)["traces"][0]
    assert row["throughput_bps"] == {"100": 8000 * 96 * 0.95, "200": 8000 * 98 * 0.9}


@pytest.mark.slow
def test_a_trace_with_evenly_spread_losses_can_be_added(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has as many losses as the original."""
    assert cli.run(["retrace", str(trace), "--even", "-o", str(tmp_path), "--json", "--no-report", "-q"]) == 0
    rows = json.loads(capsys.readouterr().out)["traces"]
    assert [row["name"] for row in rows] == ["every 20th", "every 20th-even"]
    assert rows[0]["erased"] == rows[1]["erased"]


@pytest.mark.slow
def test_several_models_are_run_side_by_side(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its own parameters."""
    arguments = ["--model", "raw", "--model", "rlp", "--set", "rlp.n2=9", "--frame-sizes", "30,60"]
    assert cli.run(["retrace", str(trace), *arguments, "-o", str(tmp_path), "--json", "--no-report", "-q"]) == 0
    rows = json.loads(capsys.readouterr().out)["traces"]
    assert [(row["model"], row["parameters"].get("n2")) for row in rows] == [("raw", None), ("rlp", 9)]


@pytest.mark.slow
def test_a_run_is_recorded_and_analysed(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What instruments on the link would have logged: `analyze` reads it, and it holds the losses put in."""
    arguments = ["--model", "rlp", "--frame-sizes", "30", "--record", "--no-report", "-q"]
    assert cli.run(["retrace", str(trace), *arguments, "-o", str(tmp_path)]) == 0
    folder = tmp_path / "every-20th-rlp-30"
    assert sorted(path.name for path in folder.iterdir()) == [
        "erasures.mobile.txt", "erasures.network.txt", "frames.pcap", "rlpdump.mobile.txt", "rlpdump.network.txt",
    ]  # fmt: skip
    capsys.readouterr()
    assert cli.run(["analyze", str(folder), "--json", "-q", "--no-report", "-o", str(tmp_path / "a")]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert links[0]["frames_retransmitted"] > 200


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"0101x01\n", 3, "record 1, byte 4: holds 'x'"),
        (b"", 3, "is empty"),
        (b"# name: nothing\n\n", 3, "none of the formats"),
    ],
)
def test_a_file_that_is_not_a_trace_is_refused(
    content: bytes, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the file, the place and what was expected."""
    (tmp_path / "t.txt").write_bytes(content)
    assert cli.run(["retrace", str(tmp_path / "t.txt"), "-o", str(tmp_path / "out")]) == status
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--frame-sizes", "45"], "45 is no multiple"),
        (["--frame-sizes", "60:30:10"], "must name 1 to"),
        (["--frame-sizes", "a:b"], "FIRST:LAST:STEP"),
        (["--frame-sizes", "300000"], "shorter than one frame"),
        (["--overhead", "31", "--frame-sizes", "30"], "below the overhead"),
        (["--rtt-ms", "nan"], "finite"),
        (["--set", "N2"], "KEY=VALUE"),
        (["--set", "N2=6"], "no parameters"),
        (["--record"], "'ideal' cannot be recorded"),
        (["--model", "rlp", "--record"], "at most 20"),
        (["--model", "rlp", "--record", "--frame-sizes", "65460"], "7 to 65400"),
        (["--model", "rlp", "--model", "sr", "--set", "n2=6"], "give MODEL.KEY=VALUE"),
        (["--block-bytes", "70000"], "1<=x<=65535"),
        (["--frame-sizes", "30:99999999:30"], "1 to 10000 sizes"),
        (["--frame-sizes", "30:99999999999999:30"], "is at most 2147483647"),
        (["--rtt-ms", "1e30"], "3600000"),
        (["--model", "rlp", "--set", "frame_bytes=60"], "follows from the frame size"),
        (["--model", "rlc-am", "--set", "tti_ms=1"], "follows from the frame size"),
    ],
)
def test_values_out_of_range_are_wrong_usage(
    arguments: list[str], said: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, with the value and its range."""
    assert cli.run(["retrace", str(trace), "-o", str(tmp_path / "out"), *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_evenly_spread_trace_has_the_same_reverse_direction(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its acknowledgements are lost as those of the original trace."""
    (tmp_path / "dead.txt").write_text("1" * 6000 + "\n")
    arguments = ["--even", "--reverse", str(tmp_path / "dead.txt"), "--model", "rlp", "--frame-sizes", "30"]
    assert cli.run(["retrace", str(trace), *arguments, "-o", str(tmp_path), "--json", "--no-report", "-q"]) == 0
    rows = json.loads(capsys.readouterr().out)["traces"]
    assert all(row["throughput_bps"]["30"] < 1000 for row in rows)


@pytest.mark.parametrize("packed", [False, True])
def test_an_extracted_trace_can_be_read(packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text or packed, with the size and duration of its blocks."""
    log = "# rlpdump 1\n# side: mobile\n# frame_ms: 20\n" + "".join(
        f"1700000000.{20 * n:03d}000 < {'BAD' if n % 7 == 3 else 'RR nr=0'}\n" for n in range(40)
    )
    (tmp_path / "log.txt").write_text(log)
    arguments = ["erasures", "extract", str(tmp_path / "log.txt"), "-o", str(tmp_path / "t"), "--json", "-q"]
    assert cli.run(arguments + ["--packed"] * packed) == 0
    row = json.loads(capsys.readouterr().out)["traces"][0]
    assert (row["blocks"], row["erased"], row["block_bytes"], row["block_ms"]) == (40, 6, 30, 20)
    assert cli.run(["retrace", row["path"], "-o", str(tmp_path / "out"), "--json", "-q", "--no-report"]) == 0
    again = json.loads(capsys.readouterr().out)["traces"][0]
    assert (again["blocks"], again["erased"], again["name"]) == (40, 6, row["name"])
