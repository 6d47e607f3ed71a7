"""`multitracer erasures`: traces made, described and fitted, as their users do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from repository import EXAMPLES

from multitracer import cli

BAD = EXAMPLES / "channels" / "bad.toml"


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    """A command's JSON, or what it said when it failed."""
    assert cli.run(["erasures", *arguments]) == status
    told = capsys.readouterr()
    return json.loads(told.out) if status == 0 else told.err


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("uniform", ["probability=0.05"]),
        ("even", ["error_rate=0.05"]),
        ("gilbert", ["p_bad=0.004", "p_good=0.08"]),
        ("gilbert-elliott", ["p_bad=0.004", "p_good=0.08", "h_good=0.001", "h_bad=0.8"]),
        ("two-state", ["good_s=10", "bad_s=0.5", "good_ber=1e-6", "bad_ber=1e-2"]),
        ("markov", ["probabilities=0.01,0.3,0.15,0.6"]),
        ("mta", ["change_blocks=20", "error_free_blocks=300", "lossy_blocks=60", "probabilities=0.5,0.8"]),
    ],
)
def test_every_model_makes_a_trace(
    model: str, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the length asked for; the same seed makes the same file."""
    options = [word for pair in given for word in ("--set", pair)]
    made = []
    for name in ("a", "b"):
        out = tmp_path / name
        row = run(capsys, "generate", model, *options, "--minutes", "2", "--seed", "5", "-o", str(out), "--json", "-q")
        assert row["blocks"] == 6000
        made.append(Path(row["path"]).read_bytes())
    assert made[0] == made[1]


def test_a_file_of_parameters_can_be_overridden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trace is named after the file; options on the command line take precedence."""
    arguments = ("generate", str(BAD), "--blocks", "5000", "--set", "p_bad=0", "-o", str(tmp_path), "--json", "-q")
    row = run(capsys, *arguments)
    assert (row["name"], row["blocks"], row["erased"]) == ("bad-0", 5000, 0)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["generate", "gilbert", "--set", "p_bda=1"], 2, "Did you mean p_bad"),
        (["generate", "gilbert", "--set", "p_bad=1"], 2, "needs p_good"),
        (["generate", "gilbert", "--set", "p_bad=2", "--set", "p_good=1"], 2, "p_bad is 2"),
        (["generate", "uniform", "--set", "probability=nan"], 2, "probability is nan"),
        (["generate", "gauss"], 2, "There are: uniform, even, gilbert"),
        (["generate", "none.toml"], 3, "cannot be read"),
        (["generate", "uniform", "--set", "probability=0.1", "--minutes", "1e9"], 2, "blocks; it must have 1 to"),
        (["generate", "two-state", "--set", "good_s=0"], 2, "needs bad_s"),
        (["generate", "two-state", "--set", "block_ms=9", "--set", "good_s=1"], 2, "give --block-ms"),
        (["fit", "missing.txt"], 3, "cannot be read"),
        (["describe", "missing.txt"], 3, "cannot be read"),
    ],
)
def test_nonsense_is_refused(
    arguments: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the value, and what it must be."""
    assert said in run(capsys, *arguments, "-o", str(tmp_path / "out"), status=status)


@pytest.fixture
def trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A minute and a half of the bad example channel."""
    row = run(capsys, "generate", str(BAD), "--blocks", "30000", "--seed", "1", "-o", str(tmp_path), "--json", "-q")
    return str(row["path"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('model = "uniform"\nprobability = 0.1\nminutes = "x"', "minutes=x is not a number"),
        ('model = "uniform"\nprobability = 0.1\nblocks = 4.5', "blocks=4.5 is not a whole number"),
        ('model = "uniform"\nprobability = 0.1\nblocks = true', "blocks=True is not a whole number"),
        ('model = "uniform"\nprobability = 0.1\nminutes = nan', "blocks; it must have"),
        ('model = "uniform"\nprobability = 0.1\nname = 5', "name=5 is not a word"),
        ('model = "uniform"\nprobability = [0.1]', "probability=[...] is not a number"),
        ('model = "uniform"\nprobability = 0.1\nblock_bytes = 1.5', "block_bytes=1.5 is not a whole number"),
        ('model = "markov"\nprobabilities = 0.1', "probabilities=0.1 is not a list"),
        ('model = "two-state"\nblock_ms = 1\ngood_s = 1\nbad_s = 1\ngood_ber = 0\nbad_ber = 1\nwhat = 2', "'what'"),
        ("model = ", "is no TOML"),
    ],
)
def test_a_file_with_invalid_parameters_is_refused(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the key and the allowed values, and is not reported as a defect."""
    (tmp_path / "made.toml").write_text(content + "\n")
    status = cli.run(["erasures", "generate", str(tmp_path / "made.toml"), "-o", str(tmp_path / "out")])
    assert status in (2, 3)
    assert said in capsys.readouterr().err


def test_minutes_given_override_blocks_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options on the command line take precedence, in whichever unit."""
    (tmp_path / "m.toml").write_text('model = "uniform"\nprobability = 0.1\nblocks = 400\n')
    row = run(capsys, "generate", str(tmp_path / "m.toml"), "--minutes", "1", "-o", str(tmp_path), "--json", "-q")
    assert row["blocks"] == 3000


def test_fits_are_compared_and_one_recommended(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In words, and as fit.json: parameters with errors, likelihood, distances."""
    assert cli.run(["erasures", "fit", trace, "-o", str(tmp_path), "-q"]) == 0
    told = capsys.readouterr().out
    row = json.loads((tmp_path / "fit.json").read_text())["traces"][0]
    assert row["recommended"] == "gilbert"
    assert "gilbert explains the trace best" in told
    best = next(model for model in row["models"] if model["model"] == "gilbert")
    estimate = best["parameters"]["p_bad"]
    assert abs(estimate["value"] - 0.0042) < 3 * estimate["standard_error"]
    assert 0 <= best["burst_distance"] < 0.1


def test_a_description_is_printed_and_written(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the terminal, as describe.json and as describe.html."""
    assert cli.run(["erasures", "describe", trace, "-o", str(tmp_path), "-q"]) == 0
    told = capsys.readouterr().out
    row = json.loads((tmp_path / "describe.json").read_text())["traces"][0]
    assert f"{100 * row['error_rate']:.3f} %" in told
    assert row["error_rate_low"] < 0.0042 / 0.0842 < row["error_rate_high"]
    assert len(row["stretches"]) == 1
    assert sum(length * count for length, count in row["bursts"]["histogram"]) == row["erased_blocks"]
    assert (tmp_path / "describe.html").stat().st_size > 100_000


@pytest.mark.slow
def test_traces_of_losses_only_and_without_losses_are_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be computed is null, and the page is still written."""
    for name, character in (("none", "0"), ("all", "1"), ("short", "01")):
        (tmp_path / f"{name}.txt").write_text(character * 40 + "\n")
        found = run(capsys, "describe", str(tmp_path / f"{name}.txt"), "-o", str(tmp_path), "--json", "-q")
        assert found["traces"][0]["error_rate_low"] is None
        assert run(capsys, "fit", str(tmp_path / f"{name}.txt"), "-o", str(tmp_path), "--json", "-q")["traces"]
