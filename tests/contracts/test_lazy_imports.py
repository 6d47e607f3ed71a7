"""Lazy imports: `--help`, `formats` and `import multitracer` load no library that takes long."""

from __future__ import annotations

import subprocess
import sys

import pytest

import multitracer
from multitracer.model import errors

HEAVY = {"numpy", "pandas", "bokeh", "pyarrow", "numba", "rich", "dpkt", "jinja2"}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after running `code`."""
    script = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["formats"],
        ["analyze", "--help"],
        ["retrace", "--help"],
        ["erasures", "fit", "--help"],
        ["simulate", "--help"],
        ["simulate", "--list"],
        ["reproduce", "--help"],
        ["export", "--help"],
        ["--version"],
    ],
)
def test_help_and_formats_import_nothing_heavy(arguments: list[str]) -> None:
    """Help and the list of formats load no library that takes long to load."""
    assert not HEAVY & loaded_by(f"from multitracer.cli import run\nassert run({arguments!r}) == 0")


def test_importing_the_package_imports_nothing_heavy() -> None:
    """`import multitracer` loads no library; its names do when they are first used."""
    assert not HEAVY & loaded_by("import multitracer\ndir(multitracer)")


def test_every_promised_name_is_there() -> None:
    """Each name in __all__ can be imported, and every error class of the product is among them."""
    for name in multitracer.__all__:
        assert getattr(multitracer, name) is not None
    tree = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert tree <= set(multitracer.__all__)
    assert multitracer.__all__ == sorted(multitracer.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """An unknown attribute of the package raises AttributeError."""
    with pytest.raises(AttributeError, match="analyse"):
        _ = multitracer.analyse
