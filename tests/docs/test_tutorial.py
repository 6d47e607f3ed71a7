"""docs/tutorial.md: its commands, taken from the text, lead to an opened report and print what it shows."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest
from doc_commands import FORBIDDEN, lacking, sections, surroundings

SECTIONS = sections("tutorial.md")
INSTALLING = ("python3 -m venv", ". .venv", "pip install")
"""The beginnings of the commands that make an environment; this one has what they install."""
PORT = "8765"
RECORDING, OPENING = "Record", "Open the report"
OTHERS = [name for name, one in SECTIONS.items() if one.blocks and name not in (RECORDING, OPENING)]


def run(section: str, directory: Path) -> str:
    """Run a section's commands in one shell, which stops at the first that fails; returns what they print."""
    lines = "".join(SECTIONS[section].blocks).splitlines(keepends=True)
    commands = "".join(line for line in lines if not line.startswith(INSTALLING))
    with socket.create_server(("127.0.0.1", 0)) as server:
        commands = commands.replace(PORT, str(server.getsockname()[1]))  # which is free
    environment = surroundings(directory)
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode and FORBIDDEN.search(done.stderr):
        pytest.skip(done.stderr.strip().splitlines()[0])
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_begins_with_what_installs_the_program() -> None:
    """The commands that the tests leave out are there, and lead by themselves to the program."""
    lines = "".join(SECTIONS["Get it"].blocks).splitlines()
    assert lines == ["python3 -m venv .venv", ". .venv/bin/activate", "pip install .", "multitracer --version"]


@pytest.mark.slow
@pytest.mark.parametrize("section", OTHERS)
def test_every_command_works_and_prints_what_is_shown(section: str, tmp_path: Path) -> None:
    """Each ends with 0, and every line that the section shows is printed."""
    printed = run(section, tmp_path).splitlines()
    assert not [line for line in SECTIONS[section].shown if line and line not in printed]


@pytest.mark.slow
def test_it_ends_with_an_opened_report(tmp_path: Path) -> None:
    """The browser is given the report, which is written whole."""
    run(OPENING, tmp_path)
    report = tmp_path / "multitracer-out" / "report.html"
    assert (tmp_path / "opened").read_text().strip() == report.as_uri()
    assert report.read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.slow
@pytest.mark.skipif(bool(lacking("tcpdump")), reason=lacking("tcpdump"))
def test_what_is_recorded_is_analysed(tmp_path: Path) -> None:
    """The transfer of its own is captured from the first packet, and its report written."""
    printed = run(RECORDING, tmp_path)
    assert re.search(r"127\.0\.0\.1:\d+ > .* 24[0-9]\.[0-9] kbyte", printed), printed
    assert (tmp_path / "own" / "report.html").is_file()


def test_its_sections_are_those_that_a_reader_is_promised() -> None:
    """Record, analyse, read the report: in this order."""
    assert list(SECTIONS)[1:5] == ["Get it", RECORDING, "Analyse", OPENING]
