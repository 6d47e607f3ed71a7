"""Kernels kept as machine code: one process compiles them, later ones run them without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.compute import kernels, machine_code
from multitracer.compute.kernels import Kernel
from multitracer.compute.machine_code import Code, signature

pytestmark = pytest.mark.skipif(not machine_code.usable(), reason="kernels are not run as machine code here")

WARM = """
import sys
import numpy as np
from multitracer.compute.arrays import tally
counts = np.zeros(4, dtype=np.int64)
tally(np.array([1, 1, 3], dtype=np.int8), counts)
print(counts.tolist(), "numba" in sys.modules)
"""


def described(values: Any, grid: Any, scale: int, doubled: bool, share: float) -> Any:
    """A kernel with every kind of argument that is handed over, and a tuple of every kind of result."""
    total = np.int64(0)
    for i in range(len(values)):
        total += np.int64(values[i]) * (2 if doubled else 1)
        grid[i, 1] = total * scale
    return total, doubled, share / 2


def fill(values: Any) -> None:
    """A kernel without a result."""
    for i in range(len(values)):
        values[i] = i


def last(values: Any) -> int:
    """A kernel with one number as its result."""
    return int(values[-1])


def counted(values: Any) -> int:
    """A kernel that asks for its array's size."""
    return int(values.size)


def divided(one: int, other: int) -> int:
    """A kernel that raises an exception on a division by zero."""
    return one // other


@pytest.fixture(autouse=True)
def _in_a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(kernels, "_state", {**kernels._state, "plain": False, "small": False})
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)


def fresh(function: Callable[..., Any]) -> Kernel:
    """The kernel as a new process has it: nothing of it is compiled or linked."""
    return Kernel(function)


@pytest.mark.compiled
@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9), st.integers(-(2**20), 2**20), st.booleans(),
    st.floats(allow_nan=False), st.sampled_from(["C", "F", "every other"]), st.booleans(),
)  # fmt: skip
def test_arguments_and_results_pass_unchanged(
    values: list[int], scale: int, doubled: bool, share: float, layout: str, writeable: bool
) -> None:
    """The compiled kernel against the plain one, over types, layouts and access of its arguments."""
    results = []
    for run in (DESCRIBED, described):
        column = np.array(values, dtype=np.int32)
        column.flags.writeable = writeable
        grid = np.zeros((2 * len(values) + 1, 2), dtype=np.int64, order="F" if layout == "F" else "C")
        grid = grid[::2] if layout == "every other" else grid
        results.append((run(column, grid, scale, doubled, share), grid.tolist()))
    assert results[0] == results[1]
    assert [type(part) for part in results[0][0]] == [int, bool, float]


DESCRIBED = fresh(described)


@pytest.mark.compiled
def test_none_and_single_numbers_are_returned_as_such() -> None:
    """Not as tuples."""
    values = np.empty(5, dtype=np.int32)
    assert fresh(fill)(values) is None
    assert values.tolist() == [0, 1, 2, 3, 4]
    assert fresh(last)(values) == 4


@pytest.mark.compiled
def test_arguments_that_differ_in_what_does_not_matter_share_their_code() -> None:
    """Whether an array owns its memory, say: code that is linked twice would define its symbols twice."""
    kernel, owner = fresh(last), np.arange(6)
    assert [kernel(owner), kernel(owner[:3]), kernel(owner[::2])] == [5, 2, 4]
    assert len(kernel._by_kinds) == 3
    assert len(kernel._by_signature) == 2


@pytest.mark.compiled
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 3, 4)])
def test_arrays_of_any_shape_are_found_whole(shape: tuple[int, ...]) -> None:
    """Empty ones, and those of three dimensions turned around."""
    array = np.arange(np.prod(shape)).reshape(shape)[..., ::-1]
    assert fresh(counted)(array) == array.size


@pytest.mark.compiled
def test_an_exception_within_a_kernel_is_one_outside() -> None:
    """It never goes by unseen."""
    with pytest.raises(RuntimeError, match="divided"):
        fresh(divided)(1, 0)


@pytest.mark.compiled
def test_what_is_kept_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that finds machine code translates nothing."""
    fresh(fill)(np.empty(5))
    assert len(list(tmp_path.glob("fill-*.object"))) == 1
    monkeypatch.setattr(machine_code, "translate", None)
    values = np.empty(3)
    fresh(fill)(values)
    assert values.tolist() == [0, 1, 2]


@pytest.mark.compiled
def test_a_small_input_waits_for_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel runs plain, and those that it calls, until a large input had it compiled; then as machine code."""
    translated, runs = machine_code.translate, []
    monkeypatch.setattr(machine_code, "translate", lambda *given: runs.append(given) or translated(*given))
    for records, compiled in ((kernels.SMALL_RECORDS - 1, 0), (kernels.SMALL_RECORDS, 1), (1, 1)):
        kernels.choose(records)
        assert fresh(last)(np.arange(4)) == 3
        assert len(runs) == compiled


def test_a_plain_run_in_one_thread_leaves_the_others_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that overlap, the first ending first, and neither leaves the process plain."""
    monkeypatch.setitem(kernels._state, "small", True)
    begun, first_ended, seen = threading.Barrier(3), threading.Event(), []

    def first() -> None:
        begun.wait()

    def second() -> None:
        begun.wait()
        first_ended.wait()
        seen.append(kernels.plain())

    threads = [threading.Thread(target=fresh(function)) for function in (first, second)]
    for thread in threads:
        thread.start()
    begun.wait()
    threads[0].join()
    assert not kernels.plain()
    first_ended.set()
    threads[1].join()
    assert seen == [True]
    assert not kernels.plain()


@pytest.mark.compiled
def test_threads_that_begin_together_share_one_linker() -> None:
    """Where each made its own, what the first had linked would be gone with it."""
    code = (
        "import threading, numpy as np\n"
        "from multitracer.compute import kernels, machine_code\n"
        "made = []\n"
        "def begin(): kernels.get_ready(); made.append(machine_code.engine())\n"
        "threads = [threading.Thread(target=begin) for _ in range(8)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "print(len(set(map(id, made))), len(made))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "8"]


@pytest.mark.compiled
@pytest.mark.parametrize("keep", [0, 10, 40, 500])
def test_damaged_machine_code_is_not_run(tmp_path: Path, keep: int) -> None:
    """A file that was cut, or changed in one bit, is compiled again."""
    fresh(fill)(np.empty(5))
    (path,) = tmp_path.glob("fill-*.object")
    good = path.read_bytes()
    for damaged in (good[:keep], good[:keep] + bytes([good[keep] ^ 1]) + good[keep + 1 :]):
        path.write_bytes(damaged)
        values = np.empty(3)
        fresh(fill)(values)
        assert values.tolist() == [0, 1, 2]
        assert Code.from_bytes(path.read_bytes()) is not None


@pytest.mark.compiled
def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is compiled for this process."""
    monkeypatch.setattr(kernels, "cache_directory", lambda: tmp_path / "absent")
    assert fresh(last)(np.arange(3)) == 2


@pytest.mark.compiled
def test_what_is_no_number_nor_array_of_numbers_is_left_to_numba() -> None:
    """A tuple has no place in the calling convention used here."""
    assert signature(((1, 2),)) is None
    assert fresh(last)((1, 2)) == 2


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        (1, "int64"), (True, "bool"), (1.5, "float64"), (np.uint8(1), "uint8"), (np.float32(1), "float32"),
        (np.zeros(3, dtype=np.uint16), "uint16 1 C w"), (np.zeros((3, 2))[:, 0], "float64 1 A w"),
        (np.zeros((3, 2), order="F"), "float64 2 F w"), (np.frombuffer(b"abc", dtype=np.uint8), "uint8 1 C r"),
    ],
)  # fmt: skip
def test_a_signature_tells_types_layout_and_access(argument: Any, word: str) -> None:
    """What decides which machine code fits."""
    assert signature((argument,)) == (word,)


@pytest.mark.parametrize(
    "argument", [None, "text", 2**63, np.zeros(3, dtype=">u4"), np.array(1), np.array(["a"]), np.datetime64(1, "s")]
)
def test_what_machine_code_cannot_take_has_no_signature(argument: Any) -> None:
    """Such a call is numba's to make, or to refuse."""
    assert signature((1, argument)) is None


@pytest.mark.compiled
def test_a_warm_process_does_without_the_compiler(tmp_path: Path) -> None:
    """It never loads numba, which takes longer than most analyses."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", WARM], env=environment, capture_output=True, text=True, check=True
        ).stdout.split("] ")
        for _ in range(2)
    ]
    assert printed == [["[0, 2, 0, 1", "True\n"], ["[0, 2, 0, 1", "False\n"]]


def test_the_compilers_file_of_settings_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may ask for bounds checks, which other directories' runs must not find in the cache."""
    monkeypatch.chdir(tmp_path)
    assert machine_code.usable.__wrapped__()
    (tmp_path / ".numba_config.yaml").write_text("boundscheck: 1")
    assert not machine_code.usable.__wrapped__()


@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_OPT"])
def test_settings_of_the_compiler_are_left_to_it(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code that was made without them is not run in their place."""
    monkeypatch.setenv(setting, "1")
    assert not machine_code.usable.__wrapped__()
