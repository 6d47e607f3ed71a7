"""What --anonymize leaves of names in the files that are written."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest
from marked_inputs import MARKER, inputs
from repository import EXAMPLES

from multitracer import cli

RENAMED = {
    "snd.pcap": "zanzibar.pcap", "rcv.pcap": "quokka.pcap", "tcp_probe.txt.gz": "narwhal.log.gz",
    "rlpdump.mobile.txt": "ocelot", "rlpdump.network.txt": "tapir.txt",
}  # fmt: skip
BEARER = "IMSI 262011234567890"
SECRETS = [
    *(name.encode() for path in RENAMED.values() for name in {path, Path(path).stem.partition(".")[0]}),
    b"hideout", BEARER.encode(), b"262011234567890", b"10.9.0.1", b"10.9.0.2",
]  # fmt: skip


@pytest.fixture(scope="module")
def hideout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings whose folder, files and bearer have telling names."""
    folder = tmp_path_factory.mktemp("a") / "hideout"
    folder.mkdir()
    for path in (EXAMPLES / "rlp-reset").iterdir():
        if path.name in RENAMED:
            shutil.copy(path, folder / RENAMED[path.name])
    for name in ("ocelot", "tapir.txt"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace("# side:", f"# bearer: {BEARER}\n# side:", 1))
    return folder


def octets(path: Path) -> Iterator[bytes]:
    """All that is in a file: its octets, its table unpacked, what a page holds packed."""
    raw = path.read_bytes()
    yield raw
    if path.suffix == ".parquet":
        yield str(pyarrow.parquet.read_schema(path).metadata).encode()
        yield pd.read_parquet(path).to_csv().encode()
    for packed in re.findall(rb"[A-Za-z0-9+/]{24,}={0,2}", raw) if path.suffix == ".html" else ():
        with suppress(ValueError):
            plain = base64.b64decode(packed)
            yield plain
            with suppress(zlib.error):
                yield zlib.decompress(plain, 47)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["--compare"]], ids=["one", "compared"])
def test_no_file_holds_a_name(arguments: list[str], hideout: Path, tmp_path: Path) -> None:
    """Of a file, a folder, a bearer or an end: not in text, tables, pages, nor in the names of files."""
    given = [hideout, hideout / "zanzibar.pcap"] if arguments else [hideout]
    exports = ["--export", "csv", "--export", "xplot", "--export", "xgraph"]
    out = tmp_path / "out"
    assert cli.run(["analyze", *arguments, *map(str, given), "-o", str(out), "--anonymize", "-q", *exports]) == 0
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) > 20
    for path in written:
        for one in octets(path):
            assert not [secret for secret in SECRETS if secret in one], path
        assert not [secret for secret in SECRETS if secret in str(path.relative_to(out)).encode()]
    summary = out / "experiment-1" / "summary.json" if arguments else out / "summary.json"
    document = json.loads(summary.read_text())
    assert [entry["path"] for entry in document["inputs"]] == [f"input-{number}" for number in range(1, 6)]
    assert {link["bearer"] for link in document["links"]} == {"bearer-1"}


FIRST_OCTETS = MARKER.encode()[:6].hex(" ").encode()
"""How a message shows what an unknown file begins with."""


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A recording of each format with a marker in each of its texts, in a folder of that name."""
    folder = tmp_path_factory.mktemp("b") / MARKER
    folder.mkdir()
    for name, data in inputs().items():
        (folder / name).write_bytes(data)
    return sorted(folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["--compare"]], ids=["one", "compared"])
def test_no_text_of_any_input_is_in_a_file(arguments: list[str], marked: list[Path], tmp_path: Path) -> None:
    """Names of hosts, files, interfaces and processes, comments, titles, messages, payload; alone and all together."""
    given = [marked[0].parent, *marked] if arguments else [marked[0].parent]
    exports = ["--export", "csv", "--export", "xplot", "--export", "xgraph"]
    out = tmp_path / "out"
    assert cli.run(["analyze", *arguments, *map(str, given), "-o", str(out), "--anonymize", "-q", *exports]) == 0
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) > (100 if arguments else 20)
    for path in written:
        for one in octets(path):
            found = [secret for secret in (MARKER.encode(), FIRST_OCTETS) if secret.lower() in one.lower()]
            assert not found, path
        assert MARKER.lower() not in str(path.relative_to(out)).lower()


def test_hosts_have_one_made_up_name_each_in_all_logs(marked: list[Path], tmp_path: Path) -> None:
    """What one log calls like another has the same name; addresses stay addresses."""
    out = tmp_path / "out"
    assert cli.run(["analyze", str(marked[0].parent), "-o", str(out), "--anonymize", "-q", "--no-report"]) == 0
    state = pd.read_parquet(out / "tables" / "tcp_state.parquet")
    local, remote = (set(state[name].dropna().str.rpartition(":")[0]) for name in ("local", "remote"))
    names = {one for one in local | remote if not re.match(r"240\.|\[2001:db8:", one)}
    assert names == {f"host-{number}" for number in range(1, 7)}
    read = pd.read_parquet(out / "tables" / "inputs.parquet")
    assert any("iperf3 says: “...”." in note for notes in read["notes"] for note in json.loads(notes))


def test_what_is_whole_is_whole_without_names(tmp_path: Path) -> None:
    """With --strict no input counts as one in which nothing is analysed."""
    inputs = [str(EXAMPLES / "rlp-reset" / name) for name in ("snd.pcap", "rlpdump.mobile.txt")]
    options = ["--anonymize", "--strict", "--summary-only", "-q", "-o", str(tmp_path / "out")]
    assert cli.run(["analyze", *inputs, *options]) == 0
