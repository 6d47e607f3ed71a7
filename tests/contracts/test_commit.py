"""The commit of the checkout that runs, as results name it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from multitracer.model import commit
from multitracer.model.version import VERSION


def test_an_installed_copy_knows_its_version_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that happens to lie around it is not asked."""
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(commit, "_CHECKOUT", tmp_path)
    assert commit.commit() == VERSION


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_checkout_knows_its_commit_and_whether_it_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve digits, and -dirty after a change that is not committed."""
    monkeypatch.setattr(commit, "_CHECKOUT", tmp_path)
    (tmp_path / "setup.cfg").write_text("")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    assert re.fullmatch("[0-9a-f]{12}", commit.commit())
    (tmp_path / "setup.cfg").write_text("changed")
    assert re.fullmatch("[0-9a-f]{12}-dirty", commit.commit())
