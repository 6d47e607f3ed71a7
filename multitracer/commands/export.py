"""`multitracer export`: series and tables in other tools' formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from multitracer.commands.messages import verbosity_options
from multitracer.commands.parameters import (
    EXPORTED,
    check_copies,
    input_options,
    output_option,
    read_and_analyze,
    results,
)

EXAMPLES = """
\b
Examples:
  multitracer export snd.pcap --format xplot
  multitracer export examples/rlp-reset --format xgraph --format csv -o plots
  multitracer export snd.pcap.gz --format pcapng && wireshark multitracer-out/pcapng/snd.pcapng
"""


@click.command("export", epilog=EXAMPLES)
@input_options
@output_option
@click.option("--format", "formats", multiple=True, type=EXPORTED,
              help="Which (repeatable); all but pcapng when not said.")  # fmt: skip
@verbosity_options
def command(inputs: tuple[str, ...], output: Path, formats: tuple[str, ...], **options: Any) -> None:
    """Write series and tables for other tools.

    xgraph gets the series (DIR/xgraph/NAME), xplot time/sequence graphs as tcptrace draws them
    (DIR/xplot/N.client_tsg.xpl), CSV all tables (DIR/csv/NAME.csv), and pcapng a copy of each
    capture whose packets carry what was found at them as comments (DIR/pcapng/NAME.pcapng).
    """
    check_copies(inputs, formats, anonymize=options["anonymize"])
    with results(output, "export") as directory:
        analysis = read_and_analyze(inputs, options)
        from multitracer.analysis.summary import summarize
        from multitracer.export import files

        document = summarize(analysis).document
        written = files.write_exports(analysis, document, directory, formats or files.EXPORTS)
    for path in written:
        click.echo(output / path.relative_to(directory))
