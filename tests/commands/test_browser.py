"""`--open`: the report in the user's browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from repository import EXAMPLES

from multitracer import cli

SND = str(EXAMPLES / "rlp-reset" / "snd.pcap")


@pytest.mark.slow
def test_the_report_is_opened_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, by its address on the disk."""
    opened: list[str] = []

    def note(address: str) -> bool:
        opened.append(address)
        return (tmp_path / "report.html").is_file()

    monkeypatch.setattr(webbrowser, "open", note)
    assert cli.run(["analyze", SND, "--open", "-o", str(tmp_path)]) == 0
    assert opened == [(tmp_path / "report.html").as_uri()]
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_without_a_browser_that_is_said_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The results are there."""
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert cli.run(["analyze", SND, "--open", "-o", str(tmp_path)]) == 0
    assert "no browser was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["nowhere.pcap"], 3), ([SND, "--no-report"], 2), ([SND, "--summary-only"], 2)],
)
def test_nothing_is_opened_without_a_report(
    arguments: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an error, or where no report is asked for, which is wrong usage."""
    monkeypatch.setattr(webbrowser, "open", lambda _: pytest.fail("a browser was opened"))
    assert cli.run(["analyze", *arguments, "--open", "-o", str(tmp_path)]) == status


def test_findings_of_several_experiments_are_not_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--findings with --compare is wrong usage."""
    assert cli.run(["analyze", "--compare", SND, SND, "--findings", "-o", str(tmp_path)]) == 2
    assert "--findings" in capsys.readouterr().err
