"""Where compiled kernels are kept: found again, compiled anew after an edit, never where others can write."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from multitracer.compute import kernel_cache

CALLEE = '''"""A kernel in a module of its own."""
from multitracer.compute.kernels import kernel
from kept.plain import FACTOR

@kernel
def scaled(value):
    """A part."""
    return value * FACTOR + 1
'''
CALLER = '''"""A kernel that calls another module's."""
from multitracer.compute.kernels import kernel
from kept.callee import scaled

@kernel
def summed(values):
    """The whole."""
    total = 0
    for value in values:
        total += scaled(value)
    return total
'''
RUN = """
import sys, numpy as np
from kept import caller
print(caller.summed(np.arange(4)))
found = caller.summed.for_python.stats
print(sum(found.cache_hits.values()), sum(found.cache_misses.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of a user's with two kernels and a constant, each in its module."""
    folder = tmp_path / "src" / "kept"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "plain.py").write_text('"""Constants."""\nFACTOR = 10\n')
    (folder / "callee.py").write_text(CALLEE)
    (folder / "caller.py").write_text(CALLER)
    return folder


@pytest.fixture
def fresh() -> Iterator[None]:
    """Directories are looked for anew."""
    kernel_cache._checked.cache_clear()
    yield
    kernel_cache._checked.cache_clear()


def run(package: Path, cache: Path, code: str = RUN, **settings: str) -> tuple[str, ...]:
    """What a new process prints: the sum, then how often it found compiled code and how often it compiled."""
    environment = {
        **os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1",
        **settings,
    }  # fmt: skip
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return tuple(done.stdout.split())


COMPILED, FOUND = ("0", "1"), ("1", "0")


@pytest.mark.compiled
def test_a_kernel_is_compiled_anew_when_what_it_depends_on_changes(package: Path, tmp_path: Path) -> None:
    """It is found by the next run; not after an edit of a kernel that it calls, or of a constant elsewhere."""
    assert run(package, tmp_path) == ("64", *COMPILED)
    assert run(package, tmp_path) == ("64", *FOUND)
    (package / "plain.py").write_text('"""Other words, the same constants."""\n\nFACTOR = 10\n')
    assert run(package, tmp_path) == ("64", *FOUND)
    (package / "callee.py").write_text(CALLEE.replace("+ 1", "+ 2"))
    assert run(package, tmp_path) == ("68", *COMPILED)
    (package / "plain.py").write_text("FACTOR = 20\n")
    assert run(package, tmp_path) == ("128", *COMPILED)


MODULE_CONSTANT = """
from multitracer.compute.kernels import kernel
from kept import plain

@kernel
def summed(values):
    return plain.FACTOR * len(values) + plain.inner.OFFSET
"""


@pytest.mark.compiled
def test_a_kernel_is_compiled_anew_when_a_constant_that_it_reads_from_a_module_changes(
    package: Path, tmp_path: Path
) -> None:
    """In any package, and in a module within a module; another constant of that module does not matter."""
    (package / "caller.py").write_text(MODULE_CONSTANT)
    (package / "inner.py").write_text("OFFSET = 1\n")
    (package / "plain.py").write_text("from kept import inner\nFACTOR = 10\nOTHER = 1\n")
    assert run(package, tmp_path) == ("41", *COMPILED)
    (package / "plain.py").write_text("from kept import inner\nFACTOR = 10\nOTHER = 2\n")
    assert run(package, tmp_path) == ("41", *FOUND)
    (package / "plain.py").write_text("from kept import inner\nFACTOR = 20\n")
    assert run(package, tmp_path) == ("81", *COMPILED)
    (package / "inner.py").write_text("OFFSET = 2\n")
    assert run(package, tmp_path) == ("82", *COMPILED)


@pytest.mark.compiled
def test_bounds_checked_code_has_its_own_cache_entries(package: Path, tmp_path: Path) -> None:
    """Neither version is loaded in place of the other."""
    assert run(package, tmp_path)[1:] == COMPILED
    assert run(package, tmp_path, NUMBA_BOUNDSCHECK="1")[1:] == COMPILED
    assert run(package, tmp_path)[1:] == FOUND


@pytest.mark.compiled
@pytest.mark.parametrize("place", ["a file", "nowhere", "full"])
def test_without_a_usable_cache_kernels_are_compiled(place: str, package: Path, tmp_path: Path) -> None:
    """If the cache is not a directory, there is no home, or the disk is full."""
    code = RUN
    cache = tmp_path / "cache"
    settings = {}
    if place == "a file":
        cache.write_text("")
    elif place == "nowhere":
        cache, settings = Path(), {"XDG_CACHE_HOME": "", "HOME": "/dev/null"}
    else:
        code = (
            "import errno\nfrom numba.core import caching\n"
            "def full(*_): raise OSError(errno.ENOSPC, 'no room')\n"
            "caching.IndexDataCacheFile._save_data = full\n" + RUN
        )
    assert run(package, cache, code, **settings)[0] == "64"
    assert not list(package.rglob("*.nb?"))


@pytest.mark.compiled
def test_threads_that_start_together_compile_once(package: Path, tmp_path: Path) -> None:
    """Each thread gets the right sum."""
    code = (
        "import numpy as np\nfrom concurrent.futures import ThreadPoolExecutor\nfrom kept import caller\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(*set(pool.map(caller.summed, [np.arange(4)] * 8)))\n"
        "print(sum(caller.summed.for_python.stats.cache_misses.values()))"
    )
    assert run(package, tmp_path, code) == ("64", "1")


@pytest.mark.compiled
@pytest.mark.parametrize("octets", [0, 40])
@pytest.mark.parametrize("suffix", ["nbc", "nbi"])
def test_a_damaged_entry_is_compiled_anew(suffix: str, octets: int, package: Path, tmp_path: Path) -> None:
    """A file of which a power failure left a part, or nothing, costs one compilation, and no run."""
    assert run(package, tmp_path) == ("64", *COMPILED)
    (kept,) = tmp_path.rglob(f"*.{suffix}")
    kept.write_bytes(kept.read_bytes()[:octets])
    assert run(package, tmp_path) == ("64", *COMPILED)
    assert run(package, tmp_path) == ("64", *FOUND)


@pytest.mark.compiled
def test_kept_code_loads_without_the_compiler(package: Path, tmp_path: Path) -> None:
    """What numba registers to compile is left out where code was kept, and is there once another type needs it."""
    code = (
        "import sys, numpy as np\nfrom kept import caller\n"
        "for values in np.arange(4), np.arange(4.0):\n"
        "    print(caller.summed(values), 'numba.cpython.unicode' in sys.modules)"
    )
    assert run(package, tmp_path) == ("64", *COMPILED)
    assert run(package, tmp_path, code) == ("64", "False", "64.0", "True")
    assert run(package, tmp_path, code) == ("64", "False", "64.0", "False")


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("statement", "bounds", "error"),
    [("return value // (value - value)", "0", "ZeroDivisionError"), ("return values[value + 9]", "1", "IndexError")],
)
def test_kept_code_raises_what_it_raised(
    statement: str, bounds: str, error: str, package: Path, tmp_path: Path
) -> None:
    """An exception of a kernel is the same where its code was loaded, and nothing was compiled."""
    (package / "raising.py").write_text(
        '"""A kernel that fails."""\nfrom multitracer.compute.kernels import kernel\n\n'
        f'@kernel\ndef failing(values, value):\n    """Fails."""\n    {statement}\n'
    )
    code = (
        "import sys, numpy as np\nfrom kept import raising\n"
        "try:\n    raising.failing(np.arange(4), 2)\nexcept Exception as raised:\n    print(type(raised).__name__)\n"
        "print('numba.cpython.unicode' in sys.modules)"
    )
    assert run(package, tmp_path, code, NUMBA_BOUNDSCHECK=bounds) == (error, "True")
    assert run(package, tmp_path, code, NUMBA_BOUNDSCHECK=bounds) == (error, "False")


@pytest.mark.compiled
def test_kept_code_is_loaded_before_the_first_call(package: Path, tmp_path: Path) -> None:
    """The call finds it; where nothing is kept, or only what another processor needs, loading compiles nothing."""
    code = (
        "import numpy as np\nfrom kept import caller\n{before}\ncaller.summed.load()\n"
        "has = caller.summed.for_python\nprint(len(has.overloads))\n"
        "print(caller.summed(np.arange(4)), len(has.overloads))"
    )
    here = code.format(before="")
    assert run(package, tmp_path, here) == ("0", "64", "1")
    assert run(package, tmp_path, here) == ("1", "64", "1")
    elsewhere = "from numba.core.codegen import CPUCodegen\nCPUCodegen.magic_tuple = lambda self: ('another', '', '')"
    assert run(package, tmp_path, code.format(before=elsewhere)) == ("0", "64", "1")


@pytest.mark.compiled
def test_small_inputs_are_not_compiled_for(package: Path, tmp_path: Path) -> None:
    """A few records do not load numba; more of them use cached code, and compile nothing."""
    code = (
        "import sys, numpy as np\nfrom kept import caller\nfrom multitracer.compute import kernels\n"
        "kernels.choose({records})\nprint(caller.summed(np.arange(4)), 'numba' in sys.modules)"
    )
    several = code.format(records=10_000)
    assert run(package, tmp_path, several) == ("64", "False")
    assert run(package, tmp_path, code.format(records=20_000)) == ("64", "True")
    assert run(package, tmp_path, several) == ("64", "True")
    assert run(package, tmp_path, code.format(records=100)) == ("64", "False")


@pytest.mark.compiled
def test_progress_names_each_kernel_that_is_compiled(package: Path, tmp_path: Path) -> None:
    """Kernels called by others count, numba's own functions do not; at the end the text is empty."""
    code = (
        "import numpy as np\nfrom kept import caller\nfrom multitracer.compute import kernels\n"
        "kernels.on_compiling.append(lambda text: print(text or 'done', end=';'))\ncaller.summed(np.arange(4))"
    )
    said = " ".join(run(package, tmp_path, code)).split(";")
    first = "compiling (first run only): "
    assert said == [f"{first}summed, 1 of 2", f"{first}scaled, 2 of 2", "done", ""]
    assert run(package, tmp_path, code) == ()


@pytest.mark.compiled
def test_garbage_is_searched_for_rarely_while_kernels_are_compiled(package: Path, tmp_path: Path) -> None:
    """As in a command that runs by itself; afterwards as the program that calls the kernel has it."""
    code = (
        "import gc, numpy as np\nfrom kept import caller\nfrom multitracer.compute import kernels\n"
        "gc.set_threshold(900)\n"
        "kernels.on_compiling.append(lambda text: text and print(gc.get_threshold()[0], end=' '))\n"
        "caller.summed(np.arange(4))\nprint(gc.get_threshold()[0])"
    )
    assert run(package, tmp_path, code) == ("2000000", "2000000", "900")


@pytest.mark.compiled
def test_a_merged_kernel_is_compiled_as_a_part_of_its_caller(package: Path, tmp_path: Path) -> None:
    """It gives the same, counts for nothing in the progress, and its edits are noticed."""
    callee = package / "callee.py"
    callee.write_text(CALLEE.replace("import kernel", "import merged").replace("@kernel", "@merged"))
    code = (
        "import numpy as np\nfrom kept import caller\nfrom multitracer.compute import kernels\n"
        "kernels.on_compiling.append(lambda text: print(text or 'done', end=';'))\nprint(caller.summed(np.arange(4)))"
    )
    assert " ".join(run(package, tmp_path, code)) == "compiling (first run only): summed, 1 of 1;done;64"
    callee.write_text(callee.read_text().replace("+ 1", "+ 2"))
    assert " ".join(run(package, tmp_path, code)) == "compiling (first run only): summed, 1 of 1;done;68"


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_others_can_write_is_not_used(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that others could replace: only a sticky directory above it keeps its name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = tmp_path / "multitracer"
    (own / "kernels").mkdir(parents=True, mode=0o700)
    own.chmod(mode)
    assert (kernel_cache._directory() is not None) == (mode == 0o1777)
    kernel_cache._checked.cache_clear()
    own.chmod(0o755)
    (own / "kernels").chmod(mode)
    assert kernel_cache._directory() is None


@pytest.mark.usefixtures("fresh")
def test_the_cache_is_used_under_a_umask_that_lets_the_group_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All new directories can be written by this user only, also those above the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    before = os.umask(0o002)
    try:
        directory = kernel_cache._directory()
    finally:
        os.umask(before)
    assert directory == tmp_path / "home" / "cache" / "multitracer" / "kernels"
    made = [directory, *directory.parents][: -len(tmp_path.parents) - 1]
    assert [place.stat().st_mode & 0o777 for place in made] == [0o700] * 4


@pytest.mark.usefixtures("fresh")
def test_a_refused_directory_is_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that is used or cannot be created has no such reason."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel_cache.refusal() == ""
    (tmp_path / "multitracer").chmod(0o775)
    kernel_cache._checked.cache_clear()
    assert kernel_cache.refusal() == f"others can write to {tmp_path / 'multitracer'}"
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    kernel_cache._checked.cache_clear()
    assert (kernel_cache._directory(), kernel_cache.refusal()) == (None, "")


@pytest.mark.usefixtures("fresh")
def test_the_directory_that_was_checked_is_the_one_that_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that others can replace is followed once, when the directory is checked."""
    own, shared = tmp_path / "own", tmp_path / "shared"
    own.mkdir(mode=0o700)
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "cache").symlink_to(own)
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "cache"))
    assert kernel_cache._directory() == own / "multitracer" / "kernels"


@pytest.mark.usefixtures("fresh")
def test_another_users_directory_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if this user can write to it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = kernel_cache._directory()
    assert directory is not None
    assert directory.stat().st_mode & 0o777 == 0o700
    kernel_cache._checked.cache_clear()
    monkeypatch.setattr(os, "getuid", lambda: directory.stat().st_uid + 1)
    assert kernel_cache._directory() is None


def test_unused_entries_are_removed(tmp_path: Path) -> None:
    """Entries used within UNUSED_S stay."""
    for name, days in (("old", 31), ("used", 29)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.nbc").write_bytes(b"x")
        before = time.time() - days * 86_400
        os.utime(tmp_path / name, (before, before))
    assert kernel_cache.use(tmp_path / "used")
    kernel_cache.remove_unused(tmp_path)
    assert [place.name for place in tmp_path.iterdir()] == ["used"]
    assert time.time() - (tmp_path / "used").stat().st_mtime < 60


TUPLES = """
from typing import NamedTuple

class Inner(NamedTuple):
    FIELDS

class Outer(NamedTuple):
    inner: Inner
"""
TAKER = """
from __future__ import annotations
from multitracer.compute.kernels import kernel
from kept.plain import Outer

@kernel
def summed(outer: Outer):
    return outer.inner.more[0] - outer.inner.less[0]
"""


@pytest.mark.compiled
def test_a_kernel_is_compiled_anew_when_the_fields_of_its_argument_change(package: Path, tmp_path: Path) -> None:
    """Fields of a named tuple that changed places in another module are not mistaken for one another."""
    argument = "caller.Outer(plain.Inner(more=np.array([5]), less=np.array([2])))"
    code = RUN.replace("import caller", "import caller, plain").replace("np.arange(4)", argument)
    (package / "caller.py").write_text(TAKER)
    (package / "plain.py").write_text(TUPLES.replace("FIELDS", "more: object; less: object"))
    assert run(package, tmp_path, code) == ("3", *COMPILED)
    assert run(package, tmp_path, code) == ("3", *FOUND)
    (package / "plain.py").write_text(TUPLES.replace("FIELDS", "less: object; more: object"))
    assert run(package, tmp_path, code) == ("3", *COMPILED)
