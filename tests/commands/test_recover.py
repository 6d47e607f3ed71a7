"""`analyze --recover`: what a killed run had whole, and not yet in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multitracer import cli
from multitracer.export.result_directory import JOURNAL, MANIFEST, OURS, STAGING, STAGING_OF_0_1

NEW = "summary.json"


def killed_within_its_move(place: Path, staging: str = STAGING) -> None:
    """A directory as a run leaves it that was killed after it had written its journal."""
    staged = place / OURS / staging / "files"
    staged.mkdir(parents=True)
    (staged / NEW).write_text("new")
    (place / "old.csv").write_text("old")
    (place / OURS / staging / MANIFEST).write_text(json.dumps({"analyze": [NEW]}))
    (place / OURS / JOURNAL).write_text(json.dumps({"remove": [NEW, "old.csv"], "move": [NEW]}))


@pytest.mark.parametrize("experiments", [(), ("monday", "tuesday")], ids=["one", "campaign"])
def test_a_move_is_finished(experiments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In DIR or the directories of a campaign in it, without an INPUT; each is named, and a second time none."""
    places = [tmp_path / name for name in experiments] or [tmp_path]
    for place in places:
        killed_within_its_move(place)
    assert cli.run(["analyze", "--recover", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{place}: the results are whole" for place in places]
    for place in places:
        assert (place / NEW).read_text() == "new"
        assert not (place / "old.csv").exists()
        assert sorted(path.name for path in (place / OURS).iterdir()) == ["lock", "manifest"]
    assert cli.run(["analyze", "--recover", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: nothing to recover\n"


def test_a_move_of_the_first_version_is_finished(tmp_path: Path) -> None:
    """It staged its results under another name."""
    killed_within_its_move(tmp_path, STAGING_OF_0_1)
    assert cli.run(["analyze", "--recover", "-o", str(tmp_path)]) == 0
    assert (tmp_path / NEW).read_text() == "new"
    assert not (tmp_path / "old.csv").exists()
    assert sorted(path.name for path in (tmp_path / OURS).iterdir()) == ["lock", "manifest"]


def test_the_next_run_finishes_a_move_though_it_fails_itself(tmp_path: Path) -> None:
    """What had been whole is there, whatever becomes of the run that found it."""
    killed_within_its_move(tmp_path)
    (tmp_path / "bad.txt").write_text("nothing that is read")
    assert cli.run(["analyze", str(tmp_path / "bad.txt"), "-o", str(tmp_path), "-q"]) == 3
    assert (tmp_path / NEW).read_text() == "new"
    assert not (tmp_path / OURS / JOURNAL).exists()


@pytest.mark.parametrize(("name", "says"), [("missing", "there is no such directory"), ("file", "is no directory")])
def test_where_no_directory_is_nothing_can_be_recovered(
    name: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped DIR is wrong usage, and is not made."""
    (tmp_path / "file").write_text("theirs")
    assert cli.run(["analyze", "--recover", "-o", str(tmp_path / name)]) == 2
    assert f"{tmp_path / name}: {says}" in capsys.readouterr().err
    assert not (tmp_path / "missing").exists()
