"""Options with values that make no sense are wrong usage, whatever the command and the option."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import click
import pytest
from repository import EXAMPLES

from multitracer import cli
from multitracer.replay.channels import channel_classes
from multitracer.replay.retrace import MODEL_NAMES
from multitracer.replay.retrace.models import kinds

ABSURD = ("1e308", "-1e308", "1e-300", "nan", "inf", "-inf", "1" + "0" * 400, "9" * 5000, "0x", "", "\u0661e999")
LONGEST_S = 20
NUMBERS = (click.IntRange, click.FloatRange, click.types.IntParamType, click.types.FloatParamType)
SND = EXAMPLES / "loss2" / "snd.pcap"
TEXTS = {"clocks": "{file}={value},{value}", "sizes": "1:{value}:1", "max_unpacked": "{value}"}
"""Options whose text holds numbers, and how it is made of one."""


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    def hangs(*_: object) -> None:
        raise AssertionError("hangs")

    before = signal.signal(signal.SIGPROF, hangs)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)  # of the processor: a busy machine is no hang
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


Words = tuple[str, ...]
Said = pytest.CaptureFixture[str]


def commands(group: click.Group = cli.cli, path: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Every command with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        if isinstance(one, click.Group):
            yield from commands(one, (*path, name))
        elif one is not None:
            yield (*path, name), one


def options() -> Iterator[tuple[Words, click.Option, str]]:
    """Every option that takes a number: the command, the option, and how its text is made of a number."""
    for words, command in commands():
        for option in command.params:
            if isinstance(option, click.Option) and isinstance(option.type, NUMBERS):
                yield words, option, "{value}"
            elif isinstance(option, click.Option) and option.name in TEXTS:
                yield words, option, TEXTS[option.name]


OPTIONS = [pytest.param(*case, id=f"{' '.join(case[0])} {case[1].opts[0]}") for case in options()]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small erasure trace."""
    path = tmp_path / "trace.txt"
    path.write_text("0001000000" * 40 + "\n")
    return path


def test_every_command_has_options_that_take_numbers_or_none() -> None:
    """The search for options finds those that are known."""
    found = {(*words, option.opts[0]) for words, option, _ in options()}
    assert {("analyze", "--link-rate"), ("retrace", "--rtt-ms"), ("erasures", "generate", "--seed")} <= found
    assert {words[0] for words, _ in commands()} == set(cli.COMMANDS)


@pytest.mark.parametrize(("words", "option", "form"), OPTIONS)
def test_an_absurd_number_is_wrong_usage(
    words: Words, option: click.Option, form: str, trace: Path, tmp_path: Path, capsys: Said
) -> None:
    """It ends with 2 and one or two lines that name the option, without any work."""
    inputs = {"generate": "uniform"}.get(words[-1], str(SND if words[0] in ("analyze", "export") else trace))
    for value in ABSURD:
        text = form.format(file=SND.name, value=value)
        status = cli.run([*words, inputs, "-o", str(tmp_path / "out"), f"{option.opts[0]}={text}"])
        out, err = capsys.readouterr()
        assert (status, out) == (2, ""), value[:20]
        assert option.opts[0] in err
        assert len(err.splitlines()) <= 2
        assert len(err) < 600


@pytest.mark.parametrize("name", sorted(channel_classes()))
def test_an_absurd_parameter_of_a_channel_is_wrong_usage(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every parameter of every model of a channel, each with every absurd value."""
    kind = channel_classes()[name]
    good = {field.name: "0.5" for field in fields(kind)}
    for field in fields(kind):
        for value in ABSURD[:-2]:
            given = [f"--set={key}={value if key == field.name else text}" for key, text in good.items()]
            status = cli.run(["erasures", "generate", name, "--blocks", "500", "-o", str(tmp_path), *given])
            err = capsys.readouterr().err
            assert status == 2, (field.name, value[:20], err)
            assert len(err.splitlines()) <= 2
            assert len(err) < 600


def parameters_of(model: str) -> list[str]:
    """The names of a protocol's parameters that hold numbers; none of the ideal model."""
    kind = kinds().get(model)
    hints = get_type_hints(kind.parameters) if kind else {}
    return [name for name, of in hints.items() if of in (int, float) and name not in kind.from_frame] if kind else []


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_an_absurd_parameter_of_a_protocol_is_wrong_usage(
    model: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every parameter of every protocol, each with every absurd value."""
    for field in parameters_of(model):
        for value in ABSURD[:-2]:
            arguments = ["retrace", str(trace), "--model", model, "--frame-sizes", "30", "--no-report"]
            status = cli.run([*arguments, "-o", str(tmp_path), f"--set={field}={value}"])
            err = capsys.readouterr().err
            assert status == 2, (field, value[:20], err)
            assert len(err.splitlines()) <= 2


@pytest.mark.parametrize(
    "text",
    [
        "model = 'uniform'\nprobability = " + "[" * 5000 + "]" * 5000,
        "model = 'uniform'\nprobability = " + "[" * 90 + "]" * 90,
        "model = 'uniform'\nprobability = " + "9" * 5000,
        "model = 'uniform'\nprobability = 1e308",
        "model = 'uniform'\nprobability = nan",
        "model = 'uniform'\nprobability = 0.1\nblocks = " + "9" * 400,
        "model = 'uniform'\nprobability = 0.1\nminutes = 1e-300",
        "model = 'uniform'\nprobability = 0.1\nblock_ms = inf",
        "a" * 20 + ".a" * 900 + " = 1",
        "[a" + ".a" * 2000 + "]\nb = 1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", [["erasures", "generate"], ["simulate"]], ids=" ".join)
def test_an_absurd_file_is_wrong_usage(command: list[str], text: str, tmp_path: Path, capsys: Said) -> None:
    """Of a channel or a scenario: nested deeply, or with numbers that nothing can have."""
    path = tmp_path / "odd.toml"
    path.write_text(text + "\n")
    status = cli.run([*command, str(path), "-o", str(tmp_path / "out")])
    err = capsys.readouterr().err
    assert status == 2, err
    assert len(err.splitlines()) <= 2
    assert len(err) < 600
