"""`multitracer erasures`: block-erasure traces themselves: taken from logs, made, fitted and described."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer.commands.parameters import output_option
from multitracer.commands.talk import quiet, say, talk_options

if TYPE_CHECKING:
    from multitracer.replay.erasures import ErasureTrace

EXAMPLES = """
\b
Examples:
  multitracer erasures extract rlpdump.mobile.txt -o traces
  multitracer erasures describe traces/*.txt
  multitracer erasures generate gilbert --set p_bad=0.004 --set p_good=0.08 --minutes 215
  multitracer erasures fit trace.txt
"""


@click.group("erasures", epilog=EXAMPLES)
def command() -> None:
    """Block-erasure traces: which blocks of a radio link were lost.

    A trace is text of the characters 0 (received) and 1 (lost), or packed to a bit a block.
    """


_traces = click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_packed_option = click.option("--packed", is_flag=True, help="Write a bit a block instead of text.")

EXTRACT_EXAMPLES = """
\b
Examples:
  multitracer erasures extract rlpdump.mobile.txt      what the network sent and the mobile lost
  multitracer erasures extract recordings/ -o traces   both ends' logs of an RLC link
"""


@command.command("extract", epilog=EXTRACT_EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@_packed_option
@_json_option
@output_option
@talk_options
def extract(inputs: tuple[str, ...], packed: bool, as_json: bool, output: Path) -> None:
    """Write the erasure trace of each direction that link logs tell of.

    RLP: the grid of blocks as the receiving end logged it, frames whose check failed are lost. RLC: the PDUs
    that one end sent, lost where the other end never logged them.
    """
    from multitracer.blocks import load_all
    from multitracer.export.files import prepare

    found, _ = load_all(inputs)
    prepare(output)
    written = [save(trace, output, packed=packed) for trace in found]
    for trace in found:
        for note in trace.notes if not quiet() else ():
            say(f"{trace.name}: {note}")
    rows = [_row(trace, path) for trace, path in zip(found, written, strict=True)]
    click.echo(json.dumps({"traces": rows}) if as_json else "\n".join(map(_line, rows)))


def save(trace: ErasureTrace, output: Path, *, packed: bool) -> Path:
    """Write a trace into the directory, in a file of its name."""
    from multitracer.parsers import erasures, erasures_packed

    header = {"block_bytes": trace.block_bytes, "block_ms": f"{trace.block_ms:g}", "name": trace.name}
    stem = re.sub(r"[^\w.-]+", "-", trace.name).strip("-.") or "trace"
    path = output / f"{stem}.{'bin' if packed else 'txt'}"
    if packed:
        with path.open("wb") as stream:
            erasures_packed.write(stream, trace.erased, header)
    else:
        with path.open("w", encoding="utf-8") as text:
            erasures.write(text, trace.erased, header)
    return path


def _row(trace: ErasureTrace, path: Path) -> dict[str, Any]:
    return {
        "name": trace.name, "path": str(path), "blocks": len(trace.erased), "block_bytes": trace.block_bytes,
        "block_ms": trace.block_ms, "erased": trace.count, "error_rate": trace.count / len(trace.erased),
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['path']}: {row['blocks']:,} blocks of {row['block_bytes']} octets every {row['block_ms']:g} ms, "
        f"{100 * row['error_rate']:.2f} % lost"
    )
