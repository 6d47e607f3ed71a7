"""`multitracer record`: record what this machine can see of its own transfers, and analyse it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer.commands.messages import quiet, say, verbosity_options
from multitracer.commands.parameters import Whole
from multitracer.model.errors import MissingCapabilityError, UsageError
from multitracer.recorder.tracefs import BUFFER_MB, MOST_MB

if TYPE_CHECKING:
    from multitracer.recorder.needs import Missing

EXAMPLES = """
\b
Examples:
  sudo multitracer record --port 5201 -- iperf3 -c server     until the command ends
  sudo multitracer record -i wlan0 -o slow/                   until Ctrl-C, all of TCP on an interface
  sudo multitracer record --port 5201 --remote root@server -- iperf3 -c server
  multitracer record --check                                  what could not be recorded here, and why
  sudo multitracer record --port 443 --no-analyze -o rec/ && multitracer analyze rec/
"""
ANALYSIS = "analysis"
"""The folder in the recording that takes its analysis."""
MOST_PORT = 65_535
MOST_BUFFER_MB = 1024


@click.command("record", epilog=EXAMPLES, context_settings={"ignore_unknown_options": False})
@click.argument("command_line", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("-i", "--interface", metavar="IFACE", help="Where to capture packets.  [default: the default route's]")
@click.option("--port", "ports", multiple=True, type=Whole(1, MOST_PORT),
              help="Record only TCP with this port at either end (repeatable).")  # fmt: skip
@click.option("--remote", metavar="USER@HOST", default="",
              help="Record at the other end too, over ssh, which may ask for a password; multitracer has to be "
                   "installed there.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="A new folder for the recording.  [default: recording-DATE-TIME]")  # fmt: skip
@click.option("--buffer", "buffer_mb", metavar="MB", type=Whole(1, MOST_BUFFER_MB),
              help="Each of the kernel's buffers, of packets and of TCP's events on each processor.  "
                   f"[default: {BUFFER_MB}; of events less where all would exceed {MOST_MB}]")  # fmt: skip
@click.option("--no-analyze", is_flag=True, help="Only record.")
@click.option("--check", is_flag=True, help="Record nothing; say what could not be recorded here, and what would help.")
@click.option("--json", "as_json", is_flag=True, help="With --check: as JSON.")
@verbosity_options
def command(
    command_line: tuple[str, ...], interface: str | None, output: Path | None, check: bool, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Record this machine's own transfers: packets, TCP's state, and what made TCP retransmit.

    Everything goes into one folder, which is then analysed (into DIR/analysis). What needs more rights or a package
    is left out, and said. The headers of packets are recorded, and none of their data.
    """
    from multitracer.recorder import needs
    from multitracer.recorder.session import Wanted, record
    from multitracer.recorder.settings import default_interface, interfaces

    chosen = interface or default_interface()
    if chosen not in (*interfaces(), "any"):
        raise UsageError(f"there is no interface {chosen!r} here; there are {', '.join(interfaces())}")
    if as_json and not check:
        raise UsageError("--json goes with --check")
    if check:
        _tell_missing(needs.all_missing(chosen), as_json=as_json)
        return
    directory = output or Path(time.strftime("recording-%Y%m%d-%H%M%S"))

    def begun(missing: list[Missing]) -> None:
        for one in missing:
            say(f"not recorded: {one.what}; it needs {one.needs}")
        if not quiet():
            say(f"recording on {chosen} into {directory}" + ("" if command_line else "; Ctrl-C ends it"))

    described = record(
        Wanted(directory, chosen, options["ports"], command_line, options["remote"], options["buffer_mb"]), begun
    )
    _tell_end(described, directory)
    if not options["no_analyze"]:
        _analyze(directory)
    _tell_lost(described)


def _tell_missing(missing: list[Missing], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"missing": [one._asdict() for one in missing]}, indent=2))
    elif missing:
        for one in missing:
            click.echo(f"{one.what}: needs {one.needs}")
    else:
        click.echo("Everything can be recorded here.")


def _tell_end(described: dict[str, Any], directory: Path) -> None:
    """What was lost, and how the command ended."""
    tracing, capture = described["tracing"] or {}, described["capture"] or {}
    if tracing.get("lost_events"):
        say(f"the kernel had no room for {tracing['lost_events']} events of TCP; a larger --buffer has")
    if capture.get("dropped"):
        say(f"the kernel had no room for {capture['dropped']} packets; a larger --buffer has")
    if described["exit"]:
        say(f"the command ended with status {described['exit']}")
    if not quiet():
        names = ", ".join(sorted(path.name for path in directory.iterdir()))
        say(f"recorded in {directory}: {names}")


def _tell_lost(described: dict[str, Any]) -> None:
    """End with an error where the recording of the other end did not arrive: that of this one is kept all the same."""
    from multitracer.recorder.remote import WHAT

    for one in described["missing"]:
        if one["what"] == WHAT:
            raise MissingCapabilityError(f"{WHAT} did not arrive whole: {one['needs']}\nThat of this end is kept.")


def _analyze(directory: Path) -> None:
    from multitracer.commands import analyze

    click.get_current_context().invoke(analyze.command, inputs=(str(directory),), output=directory / ANALYSIS)
