"""`multitracer analyze`: what is written, and what its options change."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from packets import ipv4, tcp
from repository import EXAMPLES
from shared_data import shared

from multitracer import cli
from multitracer.commands import parameters
from multitracer.commands.campaign import names_of
from multitracer.compute import threads
from multitracer.compute.kernels import Kernel
from multitracer.model.schema import CAUSES, SCHEMA
from multitracer.parsers import pcap
from multitracer.parsers.shared import experiment

RLP = EXAMPLES / "rlp-reset"


def analyze(out: Path, *arguments: str | Path) -> dict[str, Any]:
    """Run `analyze` into `out` and give the summary it wrote."""
    assert cli.run(["analyze", *map(str, arguments), "-o", str(out)]) == 0
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return summary


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The example with both layers, with everything written but the report."""
    out = tmp_path_factory.mktemp("both")
    options = ("--no-report", "--export", "xgraph", "--export", "xplot", "--export", "csv")
    return out, analyze(out, RLP, *options)


@pytest.mark.slow
def test_every_promised_table_is_written_with_its_columns(both: tuple[Path, dict[str, Any]]) -> None:
    """tables/ holds each written table of the schema: public columns only, with their meanings."""
    for name, table in SCHEMA.items():
        path = both[0] / "tables" / f"{name}.parquet"
        assert path.exists() == table.written
        if table.written:
            schema = pyarrow.parquet.read_schema(path)
            public = [column for column in table.columns if not column.private]
            assert schema.names == [column.name for column in public]
            assert [schema.field(c.name).metadata[b"meaning"].decode() for c in public] == [c.meaning for c in public]


def test_written_tables_keep_whole_nanoseconds_and_real_nulls(both: tuple[Path, dict[str, Any]]) -> None:
    """What is unknown reads back as null, and times beside it stay integers."""
    frames = pd.read_parquet(both[0] / "tables" / "segment_frames.parquet")
    assert str(frames["first_frame_ns"].dtype) == "Int64"
    carried = frames["first_frame_ns"].notna()
    assert 0 < carried.sum() < len(frames)
    assert (frames["first_frame_ns"][carried] > 10**18).all()


def test_no_file_holds_payload(both: tuple[Path, dict[str, Any]]) -> None:
    """Neither tables nor exports have a column of octets."""
    for path in both[0].rglob("*.parquet"):
        assert "data" not in pyarrow.parquet.read_schema(path).names
    for path in (both[0] / "csv").glob("*.csv"):
        assert "data" not in path.read_text().split("\n", 1)[0].split(",")


def test_series_carry_the_original_names(both: tuple[Path, dict[str, Any]]) -> None:
    """series/ holds those that the inputs support, as columns time_s and value."""
    names = {path.stem for path in (both[0] / "series").iterdir()}
    assert {"TcpSnd-data", "TcpSnd-cwnd", "TcpRcv-data", "RlpSnd-data", "RlpSnd-data-rexmt", "RlpSnd-rst"} <= names
    series = pd.read_csv(both[0] / "series" / "TcpSnd-data.csv")
    assert list(series.columns) == ["time_s", "value"]
    assert len(series) == both[1]["connections"][0]["directions"]["client"]["data_segments"]


def test_each_export_is_written_to_its_own_folder(both: tuple[Path, dict[str, Any]]) -> None:
    """Each export has a folder of its name."""
    assert (both[0] / "xgraph" / "TcpSnd-data").read_text().startswith("TitleText: TcpSnd-data")
    assert (both[0] / "xplot" / "0.client_tsg.xpl").read_text().startswith("timeval double\n")
    assert (both[0] / "csv" / "segments.csv").read_text().count("\n") == 1 + 219 + 181


def test_the_accounting_adds_up(both: tuple[Path, dict[str, Any]]) -> None:
    """Every instant of the session has one cause."""
    shares = both[1]["accounting"]
    assert set(shares) == set(CAUSES)
    assert sum(shares.values()) == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_summary_only_writes_the_same_summary_and_nothing_else(
    both: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """--summary-only saves the work of the files, and of what only they say."""
    out = tmp_path / "out"
    assert analyze(out, RLP, "--summary-only") == both[1]
    assert sorted(path.name for path in out.iterdir()) == [".multitracer", "summary.json"]


@pytest.mark.parametrize(("octets", "ahead"), [(0, True), (1 << 40, False)])
def test_what_comes_after_the_reading_is_imported_beside_it_where_the_input_is_long(
    octets: int, ahead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another thread, as the largest kernels are loaded; a short input is read sooner."""
    imported: list[tuple[str, bool]] = []
    loaded: list[str] = []

    def imports(name: str) -> Any:
        imported.append((name, main() is current()))
        return import_module(name)

    monkeypatch.setattr(parameters, "_LONG_INPUT_BYTES", octets)
    monkeypatch.setattr(parameters, "import_module", imports)
    monkeypatch.setattr(Kernel, "load", lambda kernel: loaded.append(f"{kernel.__module__}.{kernel.__name__}"))
    monkeypatch.setitem(threads._allowed, "threads", 2)
    main, current = threading.main_thread, threading.current_thread
    analyze(tmp_path, RLP, "--summary-only")
    for thread in threading.enumerate():
        if thread.name == "imports":
            thread.join()
    decoding, *kernels = [f"multitracer.{name}" for name in (parameters._DECODING, *parameters._LARGEST_KERNELS)]
    modules = [decoding.rpartition(".")[0], *parameters._AFTER_READING, *(name.rpartition(".")[0] for name in kernels)]
    assert imported == [(name, False) for name in modules] * ahead
    assert loaded == [decoding, *kernels] * ahead


@pytest.mark.slow
def test_the_report_is_written(tmp_path: Path) -> None:
    """Without --no-report there is a page, and it forbids itself the network."""
    analyze(tmp_path, RLP)
    text = (tmp_path / "report.html").read_text()
    assert "<html" in text
    assert "default-src 'none'" in text


@pytest.mark.slow
def test_any_file_name_is_analysed_and_written(tmp_path: Path) -> None:
    """Octets that are no text, and marks of HTML, in the tables, the exports and the report alike."""
    named = tmp_path / os.fsdecode(b"\xff<b>.pcap")
    shutil.copy(RLP / "snd.pcap", named)
    summary = analyze(tmp_path / "out", named, "--export", "csv", "--export", "xgraph", "--export", "xplot")
    assert summary["inputs"][0]["path"] == str(named)
    spelt = str(tmp_path / "\\udcff<b>.pcap")
    assert pd.read_parquet(tmp_path / "out" / "tables" / "inputs.parquet")["path"].tolist() == [spelt]
    assert pd.read_csv(tmp_path / "out" / "csv" / "inputs.csv")["path"].tolist() == [spelt]
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "\\udcff&lt;b&gt;.pcap" in report
    assert "<b>.pcap" not in report


@pytest.mark.slow
def test_any_directory_name_is_compared_and_written_to(tmp_path: Path) -> None:
    """Octets that are no text, in the names of experiments and of the directory for results."""
    odd, out = tmp_path / os.fsdecode(b"caf\xe9"), tmp_path / os.fsdecode(b"out\xff")
    odd.mkdir()
    shutil.copy(RLP / "snd.pcap", odd)
    arguments = ["analyze", "--compare", str(odd), str(EXAMPLES / "loss2"), "-o", str(out), "--export", "csv"]
    assert cli.run(arguments) == 0
    told = json.loads((out / "compare.json").read_text())
    report = told["experiments"][0]["report"]
    assert report == "caf\\udce9/report.html"
    assert (out / report).exists()
    assert f'href="{quote(report)}"' in (out / "compare.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_results_of_an_earlier_run_are_not_read_as_inputs(tmp_path: Path) -> None:
    """Analysing a folder twice with results in the same folder reads the same inputs."""
    folder = tmp_path / "recordings"
    shutil.copytree(RLP, folder)
    first = analyze(folder / "results", folder, "--no-report")
    second = analyze(folder, folder, "--no-report")
    third = analyze(folder, folder, "--no-report")
    assert len(first["inputs"]) == 5
    assert first == second == third


@pytest.mark.slow
def test_series_of_an_earlier_run_are_removed(tmp_path: Path) -> None:
    """Series that this run's inputs do not support are deleted; files of other origin are kept."""
    analyze(tmp_path, RLP, "--no-report")
    (tmp_path / "series" / "mine.csv").write_text("kept")
    analyze(tmp_path, RLP / "snd.pcap", "--no-report")
    assert {path.name for path in (tmp_path / "series").iterdir()} == {"TcpSnd-data.csv", "TcpSnd-ack.csv", "mine.csv"}


def test_a_forced_role_is_obeyed(tmp_path: Path) -> None:
    """--role by a file's name alone, where only one input has it."""
    roles = {
        entry["path"]: entry["role"]
        for entry in analyze(tmp_path, RLP / "snd.pcap", "--role", "snd.pcap=receiver", "--summary-only")["inputs"]
    }
    assert list(roles.values()) == ["receiver"]


def test_the_paths_rate_gives_accounting_without_a_link_log(tmp_path: Path) -> None:
    """Where arrivals show it, a stated one changes nothing."""
    found = analyze(tmp_path, RLP / "snd.pcap", "--summary-only")
    assert [rate["how"] for rate in found["path_rate"]] == ["found"]
    assert sum(found["accounting"].values()) == pytest.approx(1, abs=1e-9)
    told = analyze(tmp_path, RLP / "snd.pcap", "--summary-only", "--link-rate", "9600")
    assert told["accounting"] == found["accounting"]


def test_without_any_rate_the_summary_says_what_would_give_an_accounting(tmp_path: Path) -> None:
    """Of the first packets too few are acknowledged to show one; a stated one then gives it."""
    short = tmp_path / "short.pcap"
    short.write_bytes((RLP / "snd.pcap").read_bytes()[:4000])
    without = analyze(tmp_path / "without", short, "--summary-only")
    assert (without["accounting"], without["utilization"], without["path_rate"]) == (None, None, None)
    assert any("--link-rate" in said for said in without["missing"])
    shares = analyze(tmp_path / "with", short, "--summary-only", "--link-rate", "9600")["accounting"]
    assert sum(shares.values()) == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_anonymized_results_name_no_real_address_and_conclude_the_same(
    both: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """--anonymize changes addresses in every file, consistently, and nothing else."""
    summary = analyze(tmp_path, RLP, "--anonymize", "--export", "csv", "--export", "xplot")
    for path in (path for path in tmp_path.rglob("*") if path.suffix != ".parquet" and path.is_file()):
        assert not re.search(r"10\.9\.0\.[12]", path.read_text()), path
    for path in (tmp_path / "tables").iterdir():
        frame = pd.read_parquet(path)
        for name in frame.select_dtypes(["object", "string"]):
            assert not frame[name].astype(str).str.contains(r"10\.9\.0\.", regex=True).any(), (path.name, name)
    assert summary["connections"][0]["client"] == "240.0.0.1:43142"
    told = json.dumps(both[1]).replace("10.9.0.1", "240.0.0.1").replace("10.9.0.2", "240.0.0.2")
    for number, entry in enumerate(both[1]["inputs"], 1):
        told = told.replace(entry["path"], f"input-{number}")
    assert summary == json.loads(told)


@pytest.mark.slow
def test_a_window_leaves_the_rest_out(both: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """--from and --to count from the trace's start; what is outside is in no table and no finding."""
    summary = analyze(tmp_path, RLP, "--from", "10", "--to", "40", "--no-report")
    origin = pd.read_parquet(both[0] / "tables" / "segments.parquet")["time_ns"].min()
    for name in ("segments", "frames", "tcp_state"):
        seconds = (pd.read_parquet(tmp_path / "tables" / f"{name}.parquet")["time_ns"] - origin) / 1e9
        assert 10 <= seconds.min() < 11
        assert 39 < seconds.max() <= 40
    assert "link-reset" in {finding["kind"] for finding in summary["findings"]}


@pytest.mark.slow
def test_one_connection_can_be_kept(tmp_path: Path) -> None:
    """--connection keeps it under its number."""
    summary = analyze(tmp_path, EXAMPLES / "loss2", "--connection", "1", "--no-report")
    assert [one["id"] for one in summary["connections"]] == [1]
    segments = pd.read_parquet(tmp_path / "tables" / "segments.parquet")
    assert np.unique(segments["connection"].to_numpy()).tolist() == [1]
    assert {"TcpSnd-data.1.csv"} == {path.name for path in (tmp_path / "series").glob("TcpSnd-data*")}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "nan"), ("--to", "inf"), ("--link-rate", "nan"), ("--link-rate", "inf"),
        ("--clock", "rcv.pcap=1e12"), ("--clock", "rcv.pcap=0,-1000000"), ("--clock", "snd.pcap=1"),
        ("--connection", "99"), ("--to", "-3"),
        ("--role", "snd.pcap=sender", "--role", "snd.pcap=receiver"),
        ("--clock", "rcv.pcap=1", "--clock", "rcv.pcap=2"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_impossible_option_values_are_wrong_usage(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not a number, no such connection, nothing in the window, two clocks of one input: status 2 with the reason."""
    captures = [str(RLP / name) for name in ("snd.pcap", "rcv.pcap")]
    assert cli.run(["analyze", *captures, "-o", str(tmp_path), "-q", *arguments]) == 2
    assert cli.run(["analyze", *captures, "-o", str(tmp_path), *arguments]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert len(said) > 20


@pytest.mark.slow
def test_an_idle_link_is_found_in_a_window_without_packets(tmp_path: Path) -> None:
    """While TCP waits for its timer no packet is captured; the idle link is still found."""
    whole = analyze(tmp_path / "whole", RLP, "--summary-only")
    idle = max(
        (one for one in whole["findings"] if one["kind"] == "idle-link"), key=lambda one: one["end_s"] - one["start_s"]
    )
    window = (str(idle["start_s"] + 0.1), str(idle["end_s"] - 0.1))
    part = analyze(tmp_path / "part", RLP, "--summary-only", "--from", window[0], "--to", window[1])
    assert "idle-link" in [one["kind"] for one in part["findings"]]
    assert part["missing"] == [] or "No packet" in part["missing"][0]


@pytest.mark.data
def test_a_link_rate_accounts_for_all_transfers_of_the_host(tmp_path: Path) -> None:
    """Two transfers one after the other, and their control connections: the session is from first to last."""
    capture = shared("public", "tcp_both_ends", "mptcp_client_1_tcp_only_clean.pcapng")
    summary = analyze(tmp_path, capture, "--link-rate", "2000000", "--summary-only")
    assert sum(summary["accounting"].values()) == pytest.approx(1)
    assert 17 < summary["utilization"]["session_s"] < 19
    assert summary["utilization"]["flow_controlled_s"] is None
    sent = sum(one["directions"]["client"]["unique_bytes"] for one in summary["connections"])
    carried_s = summary["accounting"]["new_data"] * summary["utilization"]["session_s"]
    slowest, *_, fastest = sorted(rate["rate_bps"] for rate in summary["path_rate"])
    assert carried_s * slowest / 8 < 1.06 * sent  # headers come on top
    assert sent < carried_s * fastest / 8


def test_a_link_rate_needs_a_capture_at_the_sender(tmp_path: Path) -> None:
    """A capture at the receiver, behind the link, does not show when the link was busy, and a note says so."""
    summary = analyze(tmp_path, RLP / "rcv.pcap", "--link-rate", "9600", "--summary-only")
    assert summary["accounting"] is None
    assert any("rate alone tells nothing" in text for text in summary["missing"])


@pytest.mark.slow
def test_compared_experiments_are_each_written_and_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory of each, compare.json and compare.html beside them; one that cannot be read is named."""
    twice = tmp_path / "again" / "rlp-reset"
    shutil.copytree(RLP, twice)
    out = tmp_path / "out"
    inputs = [str(RLP), str(EXAMPLES / "loss2"), str(twice), str(tmp_path / "absent")]
    assert cli.run(["analyze", "--compare", *inputs, "-o", str(out), "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((out / "compare.json").read_text())
    rows = {row["name"]: row for row in told["experiments"]}
    assert list(rows) == ["rlp-reset", "loss2", "rlp-reset-2", "absent"]
    for name in ("rlp-reset", "loss2", "rlp-reset-2"):
        assert (out / rows[name]["report"]).stat().st_size > 10_000
        summary = json.loads((out / name / "summary.json").read_text())
        assert rows[name]["utilization"] == summary["utilization"]
        assert rows[name]["accounting"] == summary["accounting"]
    assert "cannot be read" in rows["absent"]["error"]
    assert told["at_or_below_95_percent"] == ["rlp-reset", "rlp-reset-2"]
    assert rows["rlp-reset"]["causes"][0] == "idle_recovery"
    assert "idle_recovery" not in rows["loss2"]["causes"]
    assert rows["rlp-reset"]["findings"]["link-reset"] == 1
    assert (out / "compare.html").stat().st_size > 10_000


def test_comparing_needs_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One experiment, or none that can be read, is no comparison."""
    assert cli.run(["analyze", "--compare", str(RLP), "-o", str(tmp_path)]) == 2
    assert cli.run(["analyze", "--compare", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(tmp_path)]) == 3
    assert "two experiments" in capsys.readouterr().err


def test_each_compared_experiment_has_a_directory_of_its_own(tmp_path: Path) -> None:
    """Also if two experiments have the same name."""
    for name in ("2024.01.02", "2024.01.03", "run"):
        (tmp_path / name).mkdir()
    names = ("run-2", "run", "2024.01.02", "2024.01.03", "a.pcap.gz", "b/run", "a.pcap")
    found = names_of(tuple(str(tmp_path / name) for name in names))
    assert found == ["run-2", "run", "2024.01.02", "2024.01.03", "a", "run-3", "a-2"]


@pytest.mark.slow
def test_strict_applies_to_compared_experiments(tmp_path: Path) -> None:
    """A cut capture gives status 4; --summary-only writes no page."""
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((EXAMPLES / "loss2" / "snd.pcap").read_bytes()[:-7])
    arguments = ["analyze", "--compare", str(cut), str(EXAMPLES / "loss2"), "-q", "--summary-only"]
    assert cli.run([*arguments, "-o", str(tmp_path / "out"), "--strict"]) == 4
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        ".multitracer", "compare.json", "cut", "loss2"
    ]  # fmt: skip


@pytest.mark.slow
def test_a_transfer_whose_acknowledgements_were_not_captured_is_compared(tmp_path: Path) -> None:
    """It is listed, without curves to compare."""
    packets = [ipv4(tcp(seq=1000 + 500 * number, ack=1, payload=bytes(500))) for number in range(40)]
    pcap.write(tmp_path / "oneway.pcap", [(10**8 * number, one) for number, one in enumerate(packets)], 101)
    arguments = ["analyze", "--compare", str(tmp_path / "oneway.pcap"), str(EXAMPLES / "loss2"), "-q"]
    assert cli.run([*arguments, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "compare.html").exists()


@pytest.mark.parametrize("command", [["analyze"], ["analyze", "--compare", str(RLP)], ["export"]], ids=str)
def test_an_output_directory_that_cannot_be_written_is_wrong_usage(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If DIR is a file, the error names it before the analysis begins."""
    place = tmp_path / "taken"
    place.write_text("")
    monkeypatch.setattr(experiment, "read", lambda *_, **__: pytest.fail("the work was begun"))
    assert cli.run([*command, str(EXAMPLES / "loss2"), "-o", str(place)]) == cli.USAGE
    assert "taken: no results can be written there" in capsys.readouterr().err


TOO_LONG = "a" * 300
"""No file system has a file of such a name: to look at it is an error, not an answer."""


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["analyze", TOO_LONG, "-o", "out"], 3),
        (["analyze", TOO_LONG, "--export", "pcapng", "-o", "out"], 3),
        (["retrace", TOO_LONG, "-o", "out"], 3),
        (["analyze", str(RLP), "-o", TOO_LONG], 2),
        (["analyze", "--recover", "-o", TOO_LONG], 2),
    ],
    ids=str,
)
def test_a_name_that_cannot_be_looked_at_is_told_as_one_that_is_not_there(
    arguments: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An input is no usable one, an output directory is wrong usage."""
    monkeypatch.chdir(tmp_path)
    assert cli.run(arguments) == status


def test_an_empty_window_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also if the inputs have no TCP packet at all."""
    line = "8.0 10.0.0.2:5001 10.0.0.1:54321 1480 0x80000010 0x80000008 10 2147483647 14848 1\n"
    (tmp_path / "state.txt").write_text(line)
    arguments = ["analyze", str(tmp_path / "state.txt"), "--from", "5", "-o", str(tmp_path / "out")]
    assert cli.run(arguments) == cli.USAGE
    said = capsys.readouterr().err
    assert "nothing was captured in that window" in said
    assert "There is no TCP packet in these inputs" in said


@pytest.mark.slow
def test_the_report_says_what_was_not_looked_for(tmp_path: Path) -> None:
    """Of one capture: each kind that it does not allow is named in the page, with the input that it needs."""
    summary = analyze(tmp_path, RLP / "snd.pcap")
    lines = unescape((tmp_path / "report.html").read_text()).splitlines()
    sentences = [line for line in lines if "Not looked for: " in line]
    assert summary["not_looked_for"]
    for one in summary["not_looked_for"]:
        assert any(one["kind"] in sentence and f"Needed: {one['needs']}." in sentence for sentence in sentences)
