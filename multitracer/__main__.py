"""The program: `multitracer`, or `python -m multitracer`."""

from __future__ import annotations

from typing import NoReturn

from multitracer.commands import stopping


def main() -> NoReturn:
    """Run the program with the shell's arguments and exit with its status."""
    stopping.begin()
    from multitracer import cli

    cli.main()


if __name__ == "__main__":
    main()
