"""The house: who may import whom, what is packaged, and what every test says of itself."""

from __future__ import annotations

import ast
import configparser
import math
import re
import tomllib
from pathlib import Path

import pytest
from architecture_drawing import DRAWING, drawing
from house import circles, house, imports, modules, sources
from repository import ROOT

FLOORS: tuple[str, ...] = (
    "model", "compute", "wire", "parsers", "vantage", "tcp", "link", "recorder", "replay", "correlation", "accounting",
    "findings", "analysis", "export", "report", "commands", "cli", "__main__",
)  # fmt: skip
"""The rooms from the ground up; a module imports from its own room and from those before it."""

FLOOR = {name: number for number, name in enumerate(FLOORS)}
FLOOR[""] = FLOOR["commands"]  # multitracer/__init__.py leads to what it offers, and only commands may import it


def floor(module: str) -> int:
    """The floor that a module of ours stands on."""
    parts = module.split(".")
    return FLOOR[parts[1] if len(parts) > 1 and not parts[1].startswith("__version") else ""]


def test_every_module_stands_on_a_floor() -> None:
    """A new module at the top of the package is given its place in FLOORS."""
    homeless = {name for name, _ in sources() if [*name.split("."), ""][1] not in FLOOR}
    assert not homeless


@pytest.mark.parametrize(("module", "path"), list(sources()), ids=list(modules()))
def test_imports_run_downwards(module: str, path: Path) -> None:
    """A module imports ours from its own floor or below, absolutely, and `parsers` only as multitracer.parsers."""
    wrong = []
    for line, name, _ in imports(path):
        if name.startswith(".") or name.split(".")[0] in ("parsers", "replay"):
            wrong.append(f"line {line}: {name} is not named by its full name")
        elif name.split(".")[0] == "multitracer" and floor(name) > floor(module):
            wrong.append(f"line {line}: {name} stands above")
    assert not wrong


def test_no_files_import_one_another_in_a_circle() -> None:
    """Neither at run time nor for type checkers."""
    assert circles() == []


def test_the_number_of_packages_and_floors_is_limited() -> None:
    """At most 16 rooms on at most 11 floors; beside the rooms only the package itself and its two entry points."""
    rooms = {name.split(".")[1] for name, path in sources() if (ROOT / "multitracer") in path.parents and "." in name}
    loose = {path.stem for path in (ROOT / "multitracer").glob("*.py")}
    assert len(rooms) <= 16
    assert loose == {"__init__", "__main__", "cli"}
    assert max(house().floor.values()) <= 11


def test_the_drawing_is_of_these_imports() -> None:
    """`python tests/support/architecture_drawing.py` brings it up to date."""
    assert DRAWING.read_text() == drawing()


def test_parsers_do_not_import_replay() -> None:
    """What a model makes is not needed to read what was recorded."""
    for module, path in sources():
        if module.startswith("multitracer.parsers"):
            assert not [name for _, name, _ in imports(path) if name.startswith("multitracer.replay")], module


def test_who_uses_the_writers_of_parsers() -> None:
    """Replay's recorder, and the command that saves an erasure trace; nothing else writes recorded formats."""
    writers = {
        module
        for module, path in sources()
        if module.startswith("multitracer.parsers.")
        and any(isinstance(node, ast.FunctionDef) and node.name == "write" for node in ast.parse(path.read_text()).body)
    }
    users = {
        module
        for module, path in sources()
        for _, name, _ in imports(path)
        if name in writers and writes_with(path, name.split(".")[-1])
    }
    assert {"multitracer.parsers.pcap", "multitracer.parsers.rlpdump"} <= writers
    recorders = {"multitracer.replay.record." + name for name in ("instruments", "rlp", "rlc", "simulation")}
    assert users == recorders | {"multitracer.commands.erasures"}


def writes_with(path: Path, parser: str) -> bool:
    """Whether a file calls the function `write` of a parser that it imports, or imports that function."""
    tree = ast.parse(path.read_text())
    called = any(isinstance(node, ast.Attribute) and ast.unparse(node) == f"{parser}.write" for node in ast.walk(tree))
    imported = any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").endswith(f".{parser}")
        and "write" in {alias.name for alias in node.names}
        for node in ast.walk(tree)
    )
    return called or imported


def test_packages_listed_are_the_folders() -> None:
    """setup.cfg lists every folder with an __init__.py once, and nothing else."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = config["options"]["packages"].split()
    folders = {name for name, path in sources() if path.name == "__init__.py"}
    assert sorted(listed) == sorted(folders)


def test_ruff_bans_the_bare_names() -> None:
    """`import parsers` and `import replay` are errors for the linter too."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    banned = config["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert {"parsers", "replay"} <= set(banned)


MOST_PARAMETERS = {"kernel": 14, "function": 8}
"""Kernels keep no state of their own and make no arrays, so they are given more."""


def test_no_function_has_more_parameters_than_a_reader_can_keep_apart() -> None:
    """At most 14 for kernels, 8 for all others; `*arguments` and `**options` do not count."""
    wrong = [
        f"{module}, line {node.lineno}: {node.name}"
        for module, path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and parameters(node) > MOST_PARAMETERS[kind(node)]
    ]
    assert not wrong


def kind(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Whether a function is marked as a kernel where it is defined."""
    marks = {ast.unparse(mark).split(".")[-1] for mark in function.decorator_list}
    return "kernel" if marks & {"kernel", "inlined"} else "function"


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many named parameters a function has."""
    given = function.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)


LONGEST_BODIES = {0.5: 6, 0.9: 17, 0.99: 31}
"""Lines of a function's body, docstring left out, by the share of all functions that have no more."""
LONGEST_MODULE = 450
FOLDERS_OF_CODE = ("multitracer", "parsers", "replay", "tests", "benchmarks", "examples")


def test_functions_are_read_at_a_glance() -> None:
    """Half of all functions have at most 6 lines, nine tenths 17, and 99 of 100 have 31."""
    lines = sorted(
        body_lines(node)
        for _, path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert len(lines) > 1000
    found = {share: lines[math.ceil(share * len(lines)) - 1] for share in LONGEST_BODIES}
    assert {share: longest for share, longest in found.items() if longest > LONGEST_BODIES[share]} == {}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function's body, blank ones and comments included, without its docstring."""
    body = function.body if ast.get_docstring(function) is None else function.body[1:]
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_no_module_has_more_than_450_lines() -> None:
    """Neither of the product nor of its tests, benchmarks and examples."""
    files = [path for folder in FOLDERS_OF_CODE for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 400
    assert [str(path.relative_to(ROOT)) for path in files if len(path.read_text().splitlines()) > LONGEST_MODULE] == []


CATCHES_EVERYTHING = (
    "multitracer.cli", "multitracer.parsers", "multitracer.commands.campaign_task",
    "multitracer.commands.simulate_task",
)  # fmt: skip


def test_only_the_command_line_catches_everything() -> None:
    """Beside cli.py only what reads one of many inputs, or runs one of many experiments, catches Exception."""
    for module, path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and module not in CATCHES_EVERYTHING:
                caught = ast.unparse(node.type) if node.type else "everything"
                assert caught not in ("Exception", "BaseException", "everything"), f"{module}, line {node.lineno}"


RECORDERS = ("multitracer.replay.record.simulation", "multitracer.replay.emulate.session")
"""Write a truth file, and read none."""


def test_the_product_names_no_truth_file() -> None:
    """No module of the product names the files that only tests may read, but the recorders that write one."""
    for module, path in sources():
        text = path.read_text()
        read = ("packets.csv", "retransmissions.csv", "link.csv", "findings.csv")
        for name in read if module in RECORDERS else (*read, "truth.json"):
            assert not re.search(rf"""["']{re.escape(name)}["']""", text), f"{module} names {name}"


def test_every_test_has_a_docstring() -> None:
    """One sentence that states the behaviour."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert not silent
