"""Which copy of the product is tested: the installed one, whether that is a copy or, editable, the checkout itself.

`python -m pytest` in the repository's root puts the root first on the path. There stands `multitracer/`, but without
`multitracer.parsers` and `multitracer.replay`, which only an installation puts in their place.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from house import FOLDERS
from repository import ROOT

ADVICE = "install it again: pip install -e '.[test]' (follows the checkout), or pip install '.[test]' (a copy)"


def take_root_off_path() -> None:
    """Import the installed copy, here and in every Python that a test starts."""
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != ROOT]
    os.environ["PYTHONSAFEPATH"] = "1"


def complaint() -> str | None:
    """Why what is installed cannot stand for this checkout; None where it can."""
    if find_spec("multitracer") is None:
        return f"multitracer is not installed for {sys.executable}: {ADVICE}"
    if differing := different_files():
        return f"the installed multitracer is not this checkout's ({differing[0]} differs): {ADVICE}"
    return None


def different_files() -> list[str]:
    """Modules and assets of the checkout that are not installed as they are here, and installed ones that are gone."""
    return [
        f"{folder}/{name}"
        for folder, package in FOLDERS.items()
        if (installed := _folder_of(package)) != ROOT / folder
        for name in sorted(_files(ROOT / folder) | _files(installed))
        if _octets(ROOT / folder / name) != _octets(installed / name)
    ]


def _folder_of(package: str) -> Path:
    """Where a package is installed; a path that does not exist where it is not."""
    spec = find_spec(package)
    return Path(spec.origin).resolve().parent if spec and spec.origin else Path(os.devnull, package)


def _files(folder: Path) -> set[Path]:
    """The modules and assets in a folder; an installed `multitracer` holds the other two packages as well."""
    inner = {package.rpartition(".")[2] for package in FOLDERS.values() if "." in package}
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if path.suffix not in (".pyc", ".nbi", ".nbc") and path.parts[0] not in inner}


def _octets(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
