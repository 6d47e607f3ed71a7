"""`multitracer emulate`: a modelled link in real time under this machine's TCP, recorded at both ends and analysed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer.commands.messages import quiet, say, verbosity_options
from multitracer.commands.parameters import Whole
from multitracer.commands.retrace import pairs
from multitracer.commands.simulate import LARGEST_SEED, scenarios_or_files
from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.replay.emulate.kernel import KernelKeys
    from multitracer.replay.simulate.scenario import Scenario

EXAMPLES = """
\b
Examples:
  sudo multitracer emulate gsm-call -o call/                           a GSM data call, analysed
  sudo multitracer emulate gsm-call -o call/ --set channel.frame_loss_rate=0.1 --set kernel.sack=0
  sudo multitracer emulate umts-download -o download/ --set kernel.congestion_control=bbr
  sudo multitracer emulate umts-download -o delay/ --set emulate.transfer=datagrams
"""
ANALYSIS = "analysis"


@click.command("emulate", epilog=EXAMPLES)
@click.argument("scenario", shell_complete=scenarios_or_files)
@click.argument("command_line", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("--set", "settings", multiple=True, callback=pairs, metavar="KEY=VALUE",
              help="A key of the scenario (repeatable).")  # fmt: skip
@click.option("--seed", type=Whole(0, LARGEST_SEED), default=1, show_default=True, metavar="SEED",
              help="Of what the channel loses.")  # fmt: skip
@click.option("--max-lateness", metavar="PERCENT",
              help="How late 99 % of slots, and of packets, of a trusted run may be, in percent of a frame's time; "
                   "packets 1 ms in any case.  [default: 10]")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="A new folder for what is recorded.  [default: emulated-DATE-TIME]")  # fmt: skip
@click.option("--no-analyze", is_flag=True, help="Only record.")
@verbosity_options
@click.pass_context
def command(
    context: click.Context, scenario: str, command_line: tuple[str, ...], settings: dict[str, Any], seed: int,
    max_lateness: str | None, output: Path | None, no_analyze: bool,
) -> None:  # fmt: skip
    """Run a transfer of this machine's own TCP over a modelled link, in real time.

    SCENARIO is a TOML file or the name of a built-in one, as of simulate, without keys of modelled TCP. The transfer
    runs between two network namespaces, from the one to the other; with COMMAND it is what that does in the sending
    one. What both ends saw, the link's logs of both sides and the truth are recorded, and analysed (into DIR/analysis).
    """
    settings |= {} if max_lateness is None else {"emulate.max_lateness_percent": max_lateness}
    made, keys = _asked(scenario, settings, command=bool(command_line))
    output = output or Path(time.strftime("emulated-%Y%m%d-%H%M%S"))
    if keys["emulate.pairs"] > 1:
        rest = ["--no-analyze"] * no_analyze + ["--quiet"] * quiet()
        context.exit(_run_pairs(keys, scenario, settings, seed, output, *rest, "--", *command_line))
    from multitracer.recorder.session import make_new
    from multitracer.replay.emulate.session import emulate
    from multitracer.replay.emulate.window_limits import window_limits

    for limit in window_limits(made, keys):
        if limit.falls_short:
            say(f"link.{made.word('link.protocol')}.window: {limit.said}")
    make_new(output)

    def begun() -> None:
        if not quiet():
            say(f"the link runs; recording into {output}")

    truth = emulate(made, keys, seed, output, command_line, begun)
    if truth["exit"]:
        say(f"the transfer ended with status {truth['exit']}")
    for lack in truth["missing"]:
        say(f"not recorded: {lack['what']}; it needs {lack['needs']}")
    if not truth["trusted"] or not quiet():
        say(_lateness(truth))
    if "datagrams" in truth:
        _print_delays(truth["datagrams"])
    elif not no_analyze:
        _analyze(context, output)


def _lateness(truth: dict[str, Any]) -> str:
    """How late the link was, in percent of a frame's time."""
    slots, packets = (
        f"99 % of {what} were late by at most {truth[f'{name}_p99_percent']:.1f} % of a frame,"
        f" the latest by {truth[f'{name}_max_percent']:.0f} %"
        for what, name in (("slots", "lateness"), ("packets", "delivery_lateness"))
    )
    return f"{'' if truth['trusted'] else 'not to be trusted: '}{slots}; {packets}"


def _run_pairs(keys: KernelKeys, scenario: str, settings: dict[str, Any], seed: int, output: Path, *rest: str) -> int:
    """Run several at once, each by a process of its own; the first exit status that is not 0."""
    from multitracer.recorder.session import make_new
    from multitracer.replay.emulate.pairs import run_all

    make_new(output)
    return run_all([
        [
            sys.executable, "-P", "-m", "multitracer", "emulate", scenario, f"--seed={seed + pair}",
            f"--output={output / f'pair-{pair + 1}'}",
            *(f"--set={name}={value}" for name, value in settings.items()), "--set=emulate.pairs=1",
            f"--set=emulate.port={keys['emulate.port'] + pair}", *rest,
        ]
        for pair in range(keys["emulate.pairs"])
    ])  # fmt: skip


def _asked(name: str, settings: dict[str, Any], *, command: bool) -> tuple[Scenario, KernelKeys]:
    """The scenario, and what it asks of the kernel; UsageError for what cannot be emulated."""
    from multitracer.replay.emulate.kernel import KernelKeys, check
    from multitracer.replay.emulate.window_limits import check_windows
    from multitracer.replay.simulate.kernel_keys import EMULATED
    from multitracer.replay.simulate.scenario import resolve
    from multitracer.replay.simulate.scenario_files import load
    from multitracer.replay.simulate.schema import parsed

    described = load(name)
    said = {**described.keys, **dict(parsed(key, given) for key, given in settings.items())}
    if described.variants:
        raise UsageError(f"{name} has variants, and here one scenario runs\nSet its keys with --set instead.")
    if (varied := [key for key in described.vary if key not in settings]) and not quiet():
        say(f"varied by this scenario, and here as it stands: {', '.join(varied)} (--set says another value)")
    check(resolve(described.name, said), said, command=command)
    keys = KernelKeys(said)
    made = resolve(described.name, {**keys.modelled(), **keys.of_schedules(), **keys.of_packets()})
    check_windows(made, said, settings)
    useless = [key for key in made.unused if key in said and key.partition(".")[0] not in EMULATED]
    if useless and not quiet():
        say(f"without effect in this scenario: {', '.join(useless)}")
    return made, keys


def _print_delays(measured: dict[str, Any]) -> None:
    """Print what became of datagrams: there is no TCP to be analysed."""
    click.echo(f"{measured['received']} of {measured['sent']} datagrams came ({measured['loss_percent']:.2f} % lost)")
    if measured["received"]:
        click.echo(
            f"delay one way: mean {measured['delay_ms']:.1f} ms, median {measured['delay_p50_ms']:.1f} ms, "
            f"99 % below {measured['delay_p99_ms']:.1f} ms, longest {measured['delay_max_ms']:.1f} ms"
        )


def _analyze(context: click.Context, directory: Path) -> None:
    """Analyse what was recorded, without what tells the truth."""
    from multitracer.commands import analyze

    recorded = [directory / "snd", directory / "rcv", *sorted(directory.glob("*dump.*.txt"))]
    context.invoke(analyze.command, inputs=tuple(map(str, recorded)), output=directory / ANALYSIS)
