"""The directory that results are written to: they are there whole, or not at all.

    DIR/.multitracer/lock      held by the run at work; the kernel frees it when that process ends, however it ends
    DIR/.multitracer/staging/  where a run writes; what a killed run left there is removed by the next one
    DIR/.multitracer/journal   what is to be removed and moved, in order; there only while that lasts
    DIR/.multitracer/manifest  the files in DIR that are ours, by the command that wrote them

Everything is written to staging/ and synced, so that a full disk or a kill leaves DIR as it was. The journal is the
turning point: from then on the new result counts, and only names change. The file that says that a result is whole
(summary.json) goes first and comes last. A kill in between leaves DIR without it, and the next run, or `recover`,
carries out the rest of the journal; doing a step twice does no harm.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from multitracer.export.disk import sync, sync_below
from multitracer.model.errors import MissingCapabilityError, UsageError

OURS = ".multitracer"
LOCK, STAGING, JOURNAL, MANIFEST = "lock", "staging", "journal", "manifest"
STAGING_OF_0_1 = "work"
"""What staging/ was called in version 0.1."""
_NEVER_A_RESULT = (LOCK, STAGING, JOURNAL, MANIFEST, STAGING_OF_0_1)
FILES = "files"
"""The folder in staging/ that is filled with results; drafts of journal and manifest lie beside it."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class ResultDirectory:
    """Where one run of a command puts its results: a context manager that gives the folder to write them to.

    At the end of the block they are moved to `directory`; after an error nothing is. Files that an earlier run of the
    same command wrote and this one did not are removed, unless it `adds` to what is there; no other files are.
    `last` names the file that goes first and comes last; `names` are the files that are sure to be written, for
    which the way is checked before any work.

    A run that fails removes the directories that it made itself and that are still empty.

    Raises UsageError if nothing can be written there, MissingCapabilityError if the disk is full or removed.
    `tell` is called with a sentence if another run is to be waited for.
    """

    def __init__(
        self, directory: Path, command: str, *, last: str = "", names: Sequence[str] = (), adds: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._command, self._last, self._names, self._adds = command, last, names, adds
        self._place = _Place(directory, tell)

    def __enter__(self) -> Path:
        place, ready = self._place, False
        try:
            place.lock()
            place.clear()
            place.refuse_obstacles(self._names)
            place.results.mkdir(parents=True)
            ready = True
        except OSError as error:
            place.explain(error)
            problem = f"{place.directory}: no results can be written there: {error.strerror or error}"
            raise UsageError(f"{problem}\nName another place with -o.") from error
        finally:
            if not ready:
                place.leave()
        return place.results

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._replace_the_old_result()
            elif isinstance(error, OSError):
                self._place.explain_meanwhile(error)
        finally:
            self._place.leave()

    def _replace_the_old_result(self) -> None:
        try:
            self._write_the_journal()
            self._place.carry_out()
        except OSError as error:
            self._place.explain_meanwhile(error)
            raise
        except (KeyboardInterrupt, SystemExit):
            # What is left takes milliseconds, and the result is whole instead of to be recovered.
            self._place.carry_out()
            raise

    def _write_the_journal(self) -> None:
        place = self._place
        new = list(_files_below(place.results))
        place.refuse_obstacles(new)
        manifest = place.manifest()
        old = manifest.get(self._command, [])
        gone = [] if self._adds else [path for path in old if path not in new and place.is_file(path)]
        kept = {command: [path for path in files if path not in new] for command, files in manifest.items()}
        kept[self._command] = sorted({*new, *(old if self._adds else ())})
        _write(place.staging / MANIFEST, {command: files for command, files in kept.items() if files})
        goes_first, comes_last = ([path for path in paths if path == self._last] for paths in (old + new, new))
        journal = {
            "remove": list(dict.fromkeys([*goes_first, *gone])),
            "move": [*(path for path in new if path != self._last), *comes_last],
        }
        _write(place.staging / JOURNAL, journal)
        sync_below(place.staging)
        (place.staging / JOURNAL).rename(place.ours / JOURNAL)
        sync(place.ours)


def recover(directory: Path, tell: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Finish the moves of runs that were killed within them, in `directory` and the directories in it.

    Returns the directories in which there was something to finish. Raises UsageError where there is no such directory,
    and, once all others are finished, for journals that are damaged.
    """
    if not _leads_to_a_folder(directory):
        problem = "is no directory" if os.path.lexists(directory) else "there is no such directory"
        raise UsageError(f"{directory}: {problem}, so nothing can be recovered there\nName the one of the run with -o.")
    found = sorted(path.parents[1] for path in directory.glob(f"*/{OURS}/{JOURNAL}"))
    if os.path.lexists(directory / OURS / JOURNAL):
        found.insert(0, directory)
    damaged = []
    for one in found:
        place = _Place(one, tell)
        place.lock()
        try:
            if not place.journal() and os.path.lexists(place.ours / JOURNAL):
                damaged.append(str(one))
            else:
                place.clear()
        finally:
            place.unlock()
    if damaged:
        others = "" if len(damaged) == len(found) else "; the others are finished"
        raise UsageError(
            f"{', '.join(damaged)}: the journal of the run that was killed is damaged, so that it cannot be finished"
            f"{others}\nRun the command again."
        )
    return found


def is_whole(directory: Path, last: str) -> bool:
    """Whether a result ending with `last` is there, and no file that the manifest lists is missing."""
    place = _Place(directory, lambda _: None)
    return (
        not os.path.lexists(place.ours / JOURNAL)
        and any(last in files for files in place.manifest().values())
        and all(place.is_file(path) for files in place.manifest().values() for path in files)
    )


class _Place:
    """A result directory and what lies in its .multitracer/."""

    def __init__(self, directory: Path, tell: Callable[[str], None]) -> None:
        self.directory, self._tell = directory, tell
        self.ours = directory / OURS
        self.staging = self.ours / STAGING
        self.results = self.staging / FILES
        self._lock: int | None = None
        self._made: list[Path] = []

    def lock(self) -> None:
        """Wait until no other run is at work here; makes the directory."""
        while self._lock is None:
            self._make(self.ours)
            if self.ours.is_symlink():
                raise UsageError(
                    f"{self.ours} is a link, and results are prepared there\nRemove it, or name another place with -o."
                )
            with suppress(FileNotFoundError):  # another run that failed has just removed it
                lock = os.open(self.ours / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                try:
                    self._wait(lock)
                    self._lock = lock if self._still_there(lock) else None
                finally:
                    if self._lock is None:
                        os.close(lock)

    def _make(self, folder: Path) -> None:
        """Make a folder and those around it, and remember which were not there."""
        while not folder.is_dir():
            if not folder.parent.is_dir():
                self._make(folder.parent)
            try:
                folder.mkdir()
                self._made.append(folder)
            except FileExistsError:
                if not folder.is_dir():
                    raise
            except FileNotFoundError:
                if folder.parent.is_dir():  # else another run that failed has just removed it
                    raise

    def _wait(self, lock: int) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._tell(f"{self.directory}: another run is writing there; waiting for its end")
            fcntl.flock(lock, fcntl.LOCK_EX)

    def _still_there(self, lock: int) -> bool:
        try:
            return os.path.samestat(os.fstat(lock), (self.ours / LOCK).stat())
        except FileNotFoundError:
            return False

    def unlock(self) -> None:
        """Let the next run begin."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def leave(self) -> None:
        """Remove what was prepared, unless the journal still needs it, and let the next run begin."""
        try:
            if self._lock is not None:  # else what is there is another run's
                self._remove_what_was_prepared()
            for folder in reversed(self._made):
                with suppress(OSError):  # not empty
                    folder.rmdir()
        finally:
            self.unlock()

    def _remove_what_was_prepared(self) -> None:
        if not os.path.lexists(self.ours / JOURNAL):
            with suppress(OSError):
                self._empty_staging()
        if not any((self.ours / name).exists() for name in (JOURNAL, MANIFEST)):  # nothing was ever written here
            with suppress(OSError):
                (self.ours / LOCK).unlink()
                self.ours.rmdir()

    def clear(self) -> None:
        """Finish what a killed run began to move, and remove what one had not finished writing."""
        self._take_over()
        self.carry_out()
        with suppress(FileNotFoundError):
            (self.ours / JOURNAL).unlink()  # a damaged one
        self._empty_staging()

    def _empty_staging(self) -> None:
        """Remove what was prepared; of a link to another place the link alone."""
        with suppress(FileNotFoundError):
            if self.staging.is_symlink():
                self.staging.unlink()
            else:
                shutil.rmtree(self.staging)

    def _take_over(self) -> None:
        """Go on with what a run of version 0.1 left; it is newer than staging/, as every later run begins with this."""
        left = self.ours / STAGING_OF_0_1
        if left.is_dir() and not left.is_symlink():
            self._empty_staging()
            left.rename(self.staging)

    def manifest(self) -> dict[str, list[str]]:
        """Our files by the command that wrote them; none where there is no manifest, or a damaged one."""
        return _read(self.ours / MANIFEST)

    def journal(self) -> dict[str, list[str]]:
        """What is to be removed and moved; nothing where there is no journal, or a damaged one."""
        found = _read(self.ours / JOURNAL)
        sound = {"remove", "move"} <= set(found) and not self._is_prepared_elsewhere(found["move"])
        return found if sound else {}

    def _is_prepared_elsewhere(self, paths: list[str]) -> bool:
        """Whether a link stands among the folders where these files were prepared: what is behind it is not ours."""
        below = {parent for one in paths for parent in Path(one).parents}
        return any(folder.is_symlink() for folder in (self.staging, *(self.results / folder for folder in below)))

    def carry_out(self) -> None:
        """Do what the journal says and is not done yet, if there is one."""
        journal = self.journal()
        if not journal:
            return
        waiting = [path for path in journal["move"] if os.path.lexists(self.results / path)]
        self.refuse_obstacles(waiting)
        gone = [path for path in journal["remove"] if path in waiting or path not in journal["move"]]
        self._remove([path for path in gone if self.is_file(path)])
        self._move(waiting[:-1])
        self._move(waiting[-1:])
        with suppress(FileNotFoundError):
            (self.staging / MANIFEST).replace(self.ours / MANIFEST)
        (self.ours / JOURNAL).unlink()
        sync(self.ours)

    def _remove(self, paths: list[str]) -> None:
        """Remove files, and the folders that become empty by that."""
        for path in paths:
            (self.directory / path).unlink(missing_ok=True)
        for folder in sorted({(self.directory / path).parent for path in paths} - {self.directory, self.ours}):
            with suppress(OSError):  # not empty: it holds files of others
                folder.rmdir()
        sync(self.directory)

    def _move(self, paths: list[str]) -> None:
        """Move files to their places, and wait until their folders are on the disk."""
        for path in paths:
            (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
            (self.results / path).replace(self.directory / path)
        for folder in {parent for path in paths for parent in Path(path).parents}:
            sync(self.directory / folder)

    def explain(self, error: OSError) -> None:
        """Raise what a user can do, if the results are not in their places or there is no room for them."""
        why = error.strerror or str(error)
        if os.path.lexists(self.ours / JOURNAL):
            raise MissingCapabilityError(
                f"{self.directory}: the results are whole, but not all in their place: {why}\n"
                f"Mend that; then `multitracer analyze --recover -o {self.directory}` puts them there."
            ) from error
        if error.errno in _NO_ROOM:
            raise MissingCapabilityError(
                f"{self.directory}: the results could not be written: {why}; what was there is as it was\n"
                "Make room, or name another place with -o."
            ) from error

    def explain_meanwhile(self, error: OSError) -> None:
        """The same, or that the directory was removed while a run wrote there."""
        self.explain(error)
        if not os.path.lexists(self.results):
            raise MissingCapabilityError(
                f"{self.directory}: the results could not be written: the directory was removed meanwhile\n"
                "Run it again, or name another place with -o."
            ) from error

    def is_file(self, path: str) -> bool:
        """Whether there is a file of that name, not behind a link that leads elsewhere."""
        target = self.directory / path
        return os.path.lexists(target) and not _is_folder(target) and not self._obstacle(path)

    def refuse_obstacles(self, paths: Sequence[str]) -> None:
        """Raise UsageError if something stands where one of the files must go."""
        for path in paths:
            if problem := self._obstacle(path):
                raise UsageError(f"{problem}\nMove it away, or name another place with -o.")

    def _obstacle(self, path: str) -> str:
        """What prevents that a file is moved to `path`, in words; "" if nothing does."""
        if _is_folder(self.directory / path):
            return f"{self.directory / path} is a directory, and a file of the results must go there"
        device = self.directory.stat().st_dev
        for parent in list(Path(path).parents)[:-1]:
            folder = self.directory / parent
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                return f"{folder} is no directory, and files of the results must go there"
            if folder.exists() and folder.stat().st_dev != device:
                return f"{folder} is another file system than {self.directory}, and files cannot be moved there"
        return ""


def _leads_to_a_folder(path: Path) -> bool:
    """Whether it is a folder or a link to one; not where the system refuses to look."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _files_below(folder: Path) -> Iterator[str]:
    """The files in a folder and those in it, by their paths within it, sorted."""
    return (str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if not path.is_dir())


def _read(path: Path) -> dict[str, list[str]]:
    """Lists of files below the directory, by name; what is anything else is left out, as others may have written it."""
    if not path.is_file():  # a pipe would not end
        return {}
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: [one for one in files if _is_below(one)] for name, files in found.items() if isinstance(files, list)}


def _is_below(path: Any) -> bool:
    """Whether it is the path of a file that a result can have: within the directory, and nothing that is ours here."""
    parts = Path(path).parts if isinstance(path, str) and "\0" not in path else ()
    ours = parts[:1] == (OURS,) and (len(parts) == 1 or parts[1] in _NEVER_A_RESULT)
    return bool(parts) and not Path(path).is_absolute() and ".." not in parts and not ours


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON, a path a line; names that are not UTF-8 are escaped, and read back as they were."""
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")
