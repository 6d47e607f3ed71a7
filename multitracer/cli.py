"""The command line: finds and runs the command, and maps errors to exit statuses.

Nothing that takes long is imported here, so that `--help` answers at once.
"""

from __future__ import annotations

import difflib
import errno
import os
import signal
import sys
import traceback
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import shell_complete

from multitracer import __version__
from multitracer.commands import stopping
from multitracer.commands.messages import QUIET, VERBOSE, say
from multitracer.compute import process_settings
from multitracer.model.errors import MissingCapabilityError, MultiTracerError, is_lack_of_memory

DEFECT, USAGE = 1, 2
PIPE_CLOSED = 128 + signal.SIGPIPE
"""The exit status of a program ended by that signal, as shells report it."""

COMPLETION = "_MULTITRACER_COMPLETE"
"""The variable by which a shell asks what completes a command line."""

COMMANDS = ("analyze", "retrace", "erasures", "simulate", "reproduce", "record", "emulate", "export", "formats")


class Commands(click.Group):
    """The commands, each imported from its own module when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"multitracer.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; a usage error with a suggestion for an unknown name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            meant = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(COMMANDS)}."
            ctx.fail(f"There is no command '{args[0]}'. {meant}")
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="multitracer %(version)s")
def cli() -> None:
    """Says which layer made a TCP transfer over a wireless link slow, when, and on what evidence.

    \b
    multitracer analyze snd.pcap rcv.pcap rlpdump.txt
    """


def main() -> NoReturn:
    """Run the program with the shell's arguments and exit with its status; or say what completes a command line."""
    if instruction := os.environ.get(COMPLETION):
        sys.exit(shell_complete(cli, {}, "multitracer", COMPLETION, instruction))
    process_settings.settle()
    try:
        stopping.unwind()
        status = run(sys.argv[1:])
    except KeyboardInterrupt:  # while an error was told
        status = _interrupted()
    stopping.settled()
    process_settings.leave()
    if stopping.stopped():
        os._exit(status)  # threads that still work are not waited for
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run one command with these arguments; returns the exit status."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        stopping.drop_output()
        return PIPE_CLOSED
    except OSError as error:  # the device that standard output is on is full
        stopping.drop_output()
        say(f"standard output: {_exhausted(error)}")
        return MissingCapabilityError.exit_code
    return status


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name may contain characters that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    context: click.Context | None = None
    try:
        context = cli.make_context("multitracer", arguments)
        with context:
            cli.invoke(context)
        return 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, click.Abort):
        return _interrupted()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        return _explain(error, _usage(error), USAGE, context)
    except MultiTracerError as error:
        return _explain(error, str(error), error.exit_code, context)
    except Exception as error:  # noqa: BLE001 - the one place where a defect is caught, to be called one
        if isinstance(error, OSError) or is_lack_of_memory(error):
            return _explain(error, _exhausted(error), MissingCapabilityError.exit_code, context)
        return _explain(error, _defect(error), DEFECT, context)


def _interrupted() -> int:
    say(stopping.word())
    return stopping.status()


def _explain(error: BaseException, message: str, status: int, context: click.Context | None) -> int:
    """Print the error's message, with -v its traceback; returns `status`.

    An error that an interrupt became on its way, as within an import, is the interrupt.
    """
    if stopping.stopped():
        return _interrupted()
    asked = context.meta if context else {}
    if asked.get(VERBOSE):
        traceback.print_exception(error)
    if not asked.get(QUIET):
        say(message)
    return status


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "multitracer"
    return f"{error.format_message()}\nTry `{path} --help`."


def _exhausted(error: Exception) -> str:
    """The message for an error of the operating system: disk full, no memory, no permission."""
    if not isinstance(error, OSError):
        return "there is not memory enough for this\nGive less at once: fewer inputs, or a part of them."
    where = f"{error.filename}: " if error.filename else ""
    hint = "\nMake room, or name another place with -o." if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return f"{where}{error.strerror or error}{hint}"


def _defect(error: Exception) -> str:
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return (
        f"this is a defect in MultiTracer, not in your input: {what}\n"
        "Run it again with -v for where, and please report it."
    )
