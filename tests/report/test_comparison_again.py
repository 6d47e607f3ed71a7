"""compare.json against a computation of its own from the summaries."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from comparison_again import disagreements, student
from repository import EXAMPLES
from shared_data import BLAME, instruments, shared

from multitracer import cli

pytestmark = pytest.mark.slow


def compare(inputs: list[Path], group: str, to: Path) -> Path:
    """The results of a comparison."""
    options = ["--group", group, "--no-report", "-q", "-o", str(to)]
    assert cli.run(["analyze", "--compare", *map(str, inputs), *options]) == 0
    return to


def test_examples_compare_as_their_summaries_say(tmp_path: Path) -> None:
    """With and without a link's log: differences by accounting and by limits, shares, groups.

    Of one transfer the sender's capture alone is compared, in which too little queues to show the path's rate.
    """
    causes = sorted(one for one in (EXAMPLES / "causes").iterdir() if one.is_dir() and one.name != "fast_recovery")
    alone = tmp_path / "fast_recovery"
    alone.mkdir()
    shutil.copy(EXAMPLES / "causes" / "fast_recovery" / "snd.pcap", alone)
    inputs = [EXAMPLES / "loss2", EXAMPLES / "rlp-reset", alone, *causes]
    out = compare(inputs, "^(fast|timeout|path)", tmp_path / "out")
    told = json.loads((out / "compare.json").read_text())
    assert {one["by"] for one in told["differences"]} == {"accounting", "limits"}
    assert [len(one["transfers"]) for one in told["groups"]] == [1, 2, 1, 5]
    assert disagreements(out, "^(fast|timeout|path)") == []


def test_another_number_is_found(tmp_path: Path) -> None:
    """Of a difference, of a group, of a share."""
    out = compare([EXAMPLES / "loss2", EXAMPLES / "rlp-reset"], "^[a-z]+", tmp_path)
    told = json.loads((out / "compare.json").read_text())
    told["differences"][0]["parts"]["other"] += 0.1
    told["groups"][0]["throughput_bps"]["mean"] *= 1.01
    told["utilization"]["unknown"] += 1
    (out / "compare.json").write_text(json.dumps(told))
    found = disagreements(out, "^[a-z]+")
    assert [one.split(":")[0] for one in found] == [
        "rlp-reset, accounting, all", "all, unknown", "loss, throughput_bps, mean"
    ]  # fmt: skip


@pytest.mark.data
def test_recordings_of_linux_compare_as_their_summaries_say(tmp_path: Path) -> None:
    """Transfers over RLP, with a line over them, over RLC and over a wire."""
    names = ("rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff", "rlc-inseq", "rlc-reset", "stall")
    inputs = []
    for name in names:
        (tmp_path / name).mkdir()
        inputs.append(instruments(shared("linux", name), tmp_path / name))
    out = compare(inputs, "^[a-z]+", tmp_path / "out")
    told = json.loads((out / "compare.json").read_text())
    assert max(one["session_s"]["transfers"] for one in told["link_data"]) >= 3
    assert disagreements(out, "^[a-z]+") == []


@pytest.mark.data
def test_recordings_of_known_limits_compare_as_their_summaries_say(tmp_path: Path) -> None:
    """Transfers over a link that is not logged."""
    inputs = []
    for name in BLAME:
        (tmp_path / name).mkdir()
        inputs.append(instruments(shared("blame", name), tmp_path / name))
    out = compare(inputs, "^(st?)", tmp_path / "out")
    assert disagreements(out, "^(st?)") == []


def test_students_t_goes_on_where_the_table_ends() -> None:
    """At 30 both are alike; of 60 and 120 degrees of freedom printed tables have 2.000 and 1.980."""
    assert student(31) == pytest.approx(2.0395, abs=1e-3)
    assert (round(student(60), 3), round(student(120), 3)) == (2.0, 1.98)
