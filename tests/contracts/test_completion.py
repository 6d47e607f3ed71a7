"""Shell completion: commands, options, choices and files, at once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = {"numpy", "pandas", "bokeh", "pyarrow", "numba", "rich", "dpkt", "jinja2"}


def completed(line: str, shell: str = "bash") -> tuple[list[str], set[str]]:
    """What a shell is offered after `line`, and the top-level modules that were imported for it."""
    words = line.split(" ")
    code = (
        "import atexit, sys; atexit.register(lambda: print(*{n.split('.')[0] for n in sys.modules}, file=sys.stderr));"
        "from multitracer.cli import main; main()"
    )
    asked = {"_MULTITRACER_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines(), set(done.stderr.split())


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("multitracer ", {"plain,analyze", "plain,formats", "plain,export", "plain,erasures", "plain,retrace"}),
        ("multitracer an", {"plain,analyze"}),
        ("multitracer analyze --sum", {"plain,--summary-only"}),
        ("multitracer analyze --export ", {"plain,csv", "plain,pcapng", "plain,xgraph", "plain,xplot"}),
        ("multitracer export --format x", {"plain,xgraph", "plain,xplot"}),
        ("multitracer analyze snd", {"file,snd"}),
        ("multitracer analyze snd.pcap -o ", {"dir,"}),
        ("multitracer erasures ge", {"plain,generate"}),
        ("multitracer erasures generate gil", {"plain,gilbert"}),
        ("multitracer retrace tr", {"file,tr"}),
        ("multitracer simulate raw", {"plain,raw-file-transfer"}),
        ("multitracer emulate gsm", {"plain,gsm-call"}),
        ("multitracer simulate mine", {"file,mine"}),
        ("multitracer formats --j", {"plain,--json"}),
    ],
)
def test_what_is_begun_is_completed(line: str, offered: set[str]) -> None:
    """Names as far as they are typed; files and folders by the shell; and no library is loaded for it."""
    found, loaded = completed(line)
    assert offered <= set(found)
    assert {one for one in found if one.split(",")[1].startswith(line.split(" ")[-1])} == set(found)
    assert not HEAVY & loaded


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shells_script_is_printed(shell: str) -> None:
    """What README tells to put into the shell's own file."""
    asked = {**os.environ, "_MULTITRACER_COMPLETE": f"{shell}_source"}
    done = subprocess.run([sys.executable, "-m", "multitracer"], env=asked, capture_output=True, text=True, check=True)
    assert f"_MULTITRACER_COMPLETE={shell}_complete" in done.stdout
