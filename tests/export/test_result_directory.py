"""The directory that results are written to."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.export.result_directory import (
    JOURNAL,
    MANIFEST,
    OURS,
    STAGING,
    STAGING_OF_0_1,
    ResultDirectory,
    is_whole,
    recover,
)
from multitracer.model.errors import MissingCapabilityError, UsageError

LAST = "summary.json"


def write(place: Path, files: dict[str, str], command: str = "analyze", *, adds: bool = False) -> None:
    """A run that writes these files."""
    with ResultDirectory(place, command, last=LAST, adds=adds) as directory:
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def there(place: Path) -> dict[str, str]:
    """The files of a place with their texts, without our own."""
    found = [path for path in place.rglob("*") if path.is_file() and OURS not in path.relative_to(place).parts]
    return {str(path.relative_to(place)): path.read_text() for path in found}


def test_files_of_an_earlier_run_go_and_those_of_others_stay(tmp_path: Path) -> None:
    """What the manifest lists and is not written again goes, with folders that become empty."""
    write(tmp_path, {LAST: "1", "series/a.csv": "1", "series/b.csv": "1", "xgraph/a": "1"})
    (tmp_path / "series" / "mine.csv").write_text("mine")
    (tmp_path / "notes").write_text("mine")
    write(tmp_path, {LAST: "2", "series/b.csv": "2"})
    assert there(tmp_path) == {LAST: "2", "series/b.csv": "2", "series/mine.csv": "mine", "notes": "mine"}
    assert not (tmp_path / "xgraph").exists()
    assert json.loads((tmp_path / OURS / MANIFEST).read_text()) == {"analyze": ["series/b.csv", LAST]}


def test_files_without_a_manifest_stay(tmp_path: Path) -> None:
    """A version that kept no manifest wrote them, or a person; only equal names are overwritten."""
    (tmp_path / "series").mkdir()
    for name in (LAST, "series/a.csv"):
        (tmp_path / name).write_text("old")
    write(tmp_path, {LAST: "new"})
    assert there(tmp_path) == {LAST: "new", "series/a.csv": "old"}


def test_a_command_removes_only_its_own_files(tmp_path: Path) -> None:
    """Results of two commands share a directory; one that adds keeps what it wrote before."""
    write(tmp_path, {LAST: "1", "a": "1"})
    write(tmp_path, {"retrace.json": "1", "a": "2"}, "retrace")
    write(tmp_path, {"one.txt": "1"}, "extract", adds=True)
    write(tmp_path, {"two.txt": "1"}, "extract", adds=True)
    write(tmp_path, {LAST: "2"})
    assert there(tmp_path) == {LAST: "2", "a": "2", "retrace.json": "1", "one.txt": "1", "two.txt": "1"}


def test_an_error_leaves_the_directory_as_it_was(tmp_path: Path) -> None:
    """Also a directory that held nothing."""
    with suppress(ZeroDivisionError), ResultDirectory(tmp_path, "analyze") as directory:
        (directory / LAST).write_text("half")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [UsageError, KeyboardInterrupt])
def test_a_failed_run_removes_the_directories_that_it_made(error: type[BaseException], tmp_path: Path) -> None:
    """Those that were not there before, and are empty."""
    (tmp_path / "before").mkdir()
    with suppress(error), ResultDirectory(tmp_path / "before" / "a" / "b", "analyze") as directory:
        (directory / LAST).write_text("half")
        (tmp_path / "else").mkdir()
        raise error
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["before", "else"]


def test_a_failed_run_leaves_directories_in_which_something_else_is(tmp_path: Path) -> None:
    """What another put there meanwhile."""
    with suppress(UsageError), ResultDirectory(tmp_path / "out", "analyze"):
        write(tmp_path / "out" / "experiment", {LAST: "1"})
        raise UsageError("no")
    assert there(tmp_path) == {"out/experiment/summary.json": "1"}


def test_a_run_that_is_stopped_while_it_waits_leaves_what_the_other_prepares(tmp_path: Path) -> None:
    """It is not its own."""

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    with ResultDirectory(tmp_path / "out", "analyze", last=LAST) as directory:
        (directory / LAST).write_text("1")
        with suppress(KeyboardInterrupt), ResultDirectory(tmp_path / "out", "analyze", tell=interrupted):
            pytest.fail("it did not wait")
    assert there(tmp_path / "out") == {LAST: "1"}


@pytest.mark.parametrize("left", [(STAGING,), (STAGING_OF_0_1,), (STAGING, STAGING_OF_0_1)], ids="-".join)
def test_what_a_killed_run_left_is_removed_by_the_next(left: tuple[str, ...], tmp_path: Path) -> None:
    """Without a journal it counts for nothing, whichever version it was."""
    for staging in left:
        (tmp_path / OURS / staging / "files").mkdir(parents=True)
        (tmp_path / OURS / staging / "files" / "half").write_text("half")
    write(tmp_path, {LAST: "1"})
    assert there(tmp_path) == {LAST: "1"}
    assert sorted(path.name for path in (tmp_path / OURS).iterdir()) == ["lock", "manifest"]


FILES = ["a", "b", "series/x", "series/y", LAST]


@settings(max_examples=30, deadline=None)
@given(old=st.sets(st.sampled_from(FILES)), new=st.sets(st.sampled_from(FILES), min_size=1), stopped=st.integers(0, 12))
def test_a_move_that_was_stopped_anywhere_can_be_finished(
    tmp_path_factory: pytest.TempPathFactory, old: set[str], new: set[str], stopped: int
) -> None:
    """After any number of changes: without the summary, or whole; and whole after `recover`, done twice or not."""
    place, changes = tmp_path_factory.mktemp("place"), iter(range(stopped))
    with pytest.MonkeyPatch.context() as patch:
        write(place, dict.fromkeys(old, "old")) if old else None
        for name in ("replace", "unlink", "rmdir"):
            patch.setattr(os, name, _stopping(getattr(os, name), place / OURS / JOURNAL, changes))
        try:
            write(place, dict.fromkeys(new, "new"))
        except _StoppedError:
            assert (place / OURS / JOURNAL).exists()
            whole = [dict.fromkeys(old, "old"), dict.fromkeys(new, "new")]
            assert LAST not in there(place) or there(place) in whole
    recover(place)
    assert there(place) == dict.fromkeys(new, "new")
    assert recover(place) == []
    assert is_whole(place, LAST) == (LAST in new)
    shutil.rmtree(place)


class _StoppedError(Exception):
    """The process is no more."""


def _stopping(change, journal: Path, changes):  # type: ignore[no-untyped-def]
    def changed(*arguments, **options):  # type: ignore[no-untyped-def]
        if journal.exists() and next(changes, None) is None:
            raise _StoppedError
        return change(*arguments, **options)

    return changed


@pytest.mark.parametrize("name", [LAST, "tables"])
def test_what_stands_in_the_way_is_wrong_usage_before_any_work(name: str, tmp_path: Path) -> None:
    """A directory where a file must go, a file or a link where a folder must."""
    if name == LAST:
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).symlink_to("/tmp")
    place = ResultDirectory(tmp_path, "analyze", names=[LAST, "tables/a"])
    with pytest.raises(UsageError, match="-o"), place:
        pytest.fail("the work was begun")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """What it leads to is not ours."""
    (tmp_path / "else").write_text("theirs")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LAST).symlink_to(tmp_path / "else")
    write(tmp_path / "out", {LAST: "ours"})
    assert (tmp_path / "else").read_text() == "theirs"
    assert not (tmp_path / "out" / LAST).is_symlink()


def test_files_behind_a_link_are_not_removed(tmp_path: Path) -> None:
    """A folder of results that a person moved elsewhere and linked is theirs."""
    write(tmp_path / "out", {LAST: "1", "series/a.csv": "1"})
    (tmp_path / "out" / "series").rename(tmp_path / "kept")
    (tmp_path / "out" / "series").symlink_to(tmp_path / "kept")
    write(tmp_path / "out", {LAST: "2"})
    assert (tmp_path / "kept" / "a.csv").exists()


def test_a_removed_directory_is_said(tmp_path: Path) -> None:
    """Not a defect."""
    removed = pytest.raises(MissingCapabilityError, match="removed meanwhile")
    with removed, ResultDirectory(tmp_path / "out", "analyze") as directory:
        shutil.rmtree(tmp_path / "out")
        directory.joinpath(LAST).write_text("x")


def test_names_of_any_octets_are_kept(tmp_path: Path) -> None:
    """In the manifest and the journal too."""
    place = tmp_path / os.fsdecode(b"o\xffut\n")
    write(place, {os.fsdecode(b"\xfe\n.txt"): "1", LAST: "1"})
    write(place, {LAST: "2"})
    assert there(place) == {LAST: "2"}


def test_results_for_later_runs_are_kept_in_our_folder(tmp_path: Path) -> None:
    """What a command keeps beside its lock and manifest is one of its results: whole with them, and removed as they."""
    kept = f"{OURS}/experiment.json"
    write(tmp_path, {kept: "1", LAST: "1"})
    assert (tmp_path / kept).read_text() == "1"
    assert is_whole(tmp_path, LAST)
    write(tmp_path, {LAST: "2"})
    assert not (tmp_path / kept).exists()


def test_a_second_run_waits_and_says_so(tmp_path: Path) -> None:
    """Until the first one ends, however it ends."""
    said: list[str] = []
    waiting = threading.Event()

    def tell(text: str) -> None:
        said.append(text)
        waiting.set()

    (tmp_path / OURS).mkdir()
    with (tmp_path / OURS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = threading.Thread(target=lambda: ResultDirectory(tmp_path, "analyze", tell=tell).__enter__())
        second.start()
        assert waiting.wait(10)
        assert second.is_alive()
    second.join(10)
    assert not second.is_alive()
    assert said == [f"{tmp_path}: another run is writing there; waiting for its end"]


ELSEWHERE = ["../victim", "series/../../victim", "{root}/victim", "", ".", f"{OURS}/lock", "a\0b", 5, None, ["x"]]
"""What no path of a result is; others may have written it to a directory that one is given."""


def with_victim(root: Path, text: object) -> tuple[Path, str]:
    """A directory for results beside a file, and the JSON text of something that names that file."""
    (root / "victim").write_text("mine")
    (root / "out" / OURS / STAGING / "files").mkdir(parents=True)
    (root / "out" / OURS / STAGING / "victim").write_text("evil")
    return root / "out", json.dumps(text).replace("{root}", str(root))


@pytest.mark.parametrize(
    "manifest", [{"analyze": ELSEWHERE}, {"analyze": 5}, {"analyze": {"a": 1}}, {"retrace": None}, [], 5, None], ids=str
)
def test_a_manifest_names_no_file_elsewhere(manifest: object, tmp_path: Path) -> None:
    """Whatever it holds, nothing outside the directory is removed, and the next one is whole."""
    place, text = with_victim(tmp_path, manifest)
    (place / OURS / MANIFEST).write_text(text)
    write(place, {LAST: "1"})
    assert (tmp_path / "victim").read_text() == "mine"
    assert json.loads((place / OURS / MANIFEST).read_text()) == {"analyze": [LAST]}


@pytest.mark.parametrize(
    ("journal", "sound"),
    [
        ({"remove": ELSEWHERE, "move": ELSEWHERE}, True),
        ({"remove": [], "move": ["linked/victim"]}, False),
        ({"remove": ["linked/victim"], "move": []}, True),
        ({"remove": ["x"]}, False), ({"remove": 5, "move": 6}, False), ([], False), (5, False),
    ],
    ids=str,
)  # fmt: skip
def test_a_journal_moves_no_file_elsewhere(journal: object, sound: bool, tmp_path: Path) -> None:
    """Nor by way of a link; one that cannot be carried out is said, and in the way of no other run."""
    place, text = with_victim(tmp_path, journal)
    (place / "linked").symlink_to(tmp_path)
    (place / OURS / STAGING / "files" / "linked").mkdir()
    (place / OURS / STAGING / "files" / "linked" / "victim").write_text("evil")
    (place / OURS / JOURNAL).write_text(text)
    if sound:
        assert recover(place) == [place]
    else:
        with pytest.raises(UsageError, match=r"damaged|is no directory"):
            recover(place)
    (place / "linked").unlink()
    write(place, {LAST: "1"})
    assert (tmp_path / "victim").read_text() == "mine"
    assert (place / LAST).read_text() == "1"


@pytest.mark.parametrize("linked", [STAGING, f"{STAGING}/files", f"{STAGING}/files/series"])
def test_a_journal_moves_no_file_from_elsewhere(linked: str, tmp_path: Path) -> None:
    """Where a link stands in the place of what was prepared, what is behind it stays; the next run is whole."""
    place, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    write(place, {LAST: "0"})
    name = "series/victim"
    victim = elsewhere / Path(STAGING, "files", name).relative_to(linked)
    victim.parent.mkdir(parents=True)
    victim.write_text("mine")
    (place / OURS / linked).parent.mkdir(parents=True, exist_ok=True)
    (place / OURS / linked).symlink_to(elsewhere)
    (place / OURS / JOURNAL).write_text(json.dumps({"remove": [], "move": [name]}))
    with pytest.raises(UsageError, match="damaged"):
        recover(place)
    write(place, {LAST: "1"})
    assert victim.read_text() == "mine"
    assert there(place) == {LAST: "1"}


def test_a_journal_that_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    """Nested more deeply than JSON is read."""
    place, _ = with_victim(tmp_path, None)
    (place / OURS / JOURNAL).write_text("[" * 100_000)
    with pytest.raises(UsageError, match="damaged"):
        recover(place)


def test_a_damaged_journal_keeps_no_other_from_its_end(tmp_path: Path) -> None:
    """Where several runs were killed, those that can be finished are, and the others are named."""
    for name in ("a", "b", "c"):
        write(tmp_path / name, {LAST: "0"})
        (tmp_path / name / OURS / STAGING / "files").mkdir(parents=True)
        (tmp_path / name / OURS / STAGING / "files" / LAST).write_text("1")
        (tmp_path / name / OURS / JOURNAL).write_text(json.dumps({"remove": [], "move": [LAST]}))
    (tmp_path / "b" / OURS / JOURNAL).write_text("cut of")
    with pytest.raises(UsageError, match=r"/b: the journal .* damaged.*; the others are finished"):
        recover(tmp_path)
    assert [there(tmp_path / name) for name in ("a", "b", "c")] == [{LAST: "1"}, {LAST: "0"}, {LAST: "1"}]


@pytest.mark.parametrize("name", [MANIFEST, JOURNAL])
def test_a_pipe_in_place_of_our_own_file_is_not_read(name: str, tmp_path: Path) -> None:
    """It would never end; the next run is whole."""
    write(tmp_path, {LAST: "0"})
    (tmp_path / OURS / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / OURS / name)
    write(tmp_path, {LAST: "1"})
    assert there(tmp_path) == {LAST: "1"}
