"""Write the pages of docs/ that are generated from the program: `python -m multitracer.commands.docs [DIR]`."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

from multitracer.commands.findings_page import causes_drawing, findings_page
from multitracer.commands.reproduction_page import reproduction_page
from multitracer.model.schema import SCHEMA, Column, Table
from multitracer.model.vocabulary import FATES
from multitracer.parsers import FORMATS
from multitracer.replay.channels import channel_classes
from multitracer.replay.channels.generation import GEOMETRY
from multitracer.replay.retrace.models import Extra, kinds
from multitracer.replay.simulate import loops
from multitracer.replay.simulate.key import Key
from multitracer.replay.simulate.metrics import METRICS
from multitracer.replay.simulate.scenario_files import built_in
from multitracer.replay.simulate.schema import KEYS, NAMED

MADE = "<!-- made by python -m multitracer.commands.docs -->\n"


def pages() -> dict[str, str]:
    """The text of every generated page, by file name."""
    return {
        "tables.md": tables_page(),
        "formats.md": formats_page(),
        "findings.md": MADE + findings_page(),
        "findings/causes.svg": causes_drawing(),
        "models.md": models_page(),
        "scenarios.md": scenarios_page(),
        "reproduction.md": MADE + reproduction_page(),
    }


def tables_page() -> str:
    """Every table that is written, and what each column means."""
    intro = (
        "# Tables\n\n"
        "`analyze` writes these to `DIR/tables/NAME.parquet`, where every column carries its meaning and unit too.\n"
        "`read` and `analyze` give them as pandas DataFrames. What the inputs cannot tell is null.\n"
    )
    return MADE + intro + "".join(_table(table) for table in SCHEMA.values() if table.written) + _fates()


def _fates() -> str:
    """What each fate of a segment means, and what proves it."""
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in FATES.items())
    return f"{_FATES}| fate | is said where |\n|---|---|\n{rows}{_PROOFS}"


_FATES = """
## Fates of segments

`fate` in `segments` says what became of a segment's data. Nothing is guessed: what the recordings do not prove is
`unknown`. All copies of one packet, at the sender's capture and at the receiver's, have one fate.

"""
_PROOFS = """
What proves them:

- With captures at both ends, what is in the receiver's arrived, what is not did not, but for what that capture lost.
  What came, and had to be sent again all the same, was not taken (PAWS, no room).
- With the sender's capture alone, data that was sent once and was acknowledged, or selectively so, was delivered. Of
  octets that were sent several times, a resend that was needed (`spurious` no) shows that the earlier copies of all its
  octets were lost, a needless one that an earlier copy arrived. What remains possible for more than one copy is
  `unknown`, and so is all that a capture with missing records would have to show.
- With the receiver's capture alone, what it holds has arrived.
- A log of the link tells where what did not arrive was lost. Which packets were on the air, its sender's log says; that
  it delivered one, its far end's log; without that, that its peer had acknowledged the frames. A reset has flushed what
  the link had on the air and never delivered. Of packets that waited in the queue when a reset came it is certain only
  if the queue held as many before; else it may have dropped them. Packets that were found by their sizes alone prove
  nothing, nor does what a monitor of the air did not hear.

A record of several segments (segmentation offload) has arrived if all of it has.
"""


def _table(table: Table) -> str:
    rows = [_column(column) for column in table.columns if not column.private]
    head = "| column | type | unit | meaning |\n|---|---|---|---|\n"
    return f"\n## {table.name}\n\n{table.meaning[0].upper()}{table.meaning[1:]}.\n\n{head}" + "".join(rows)


def _column(column: Column) -> str:
    dtype = "text" if column.dtype == "object" else column.dtype
    if isinstance(dtype, tuple):
        dtype = ", ".join(dtype)
    return f"| `{column.name}` | {dtype} | {column.unit} | {column.meaning} |\n"


def formats_page() -> str:
    """Every input format, and what it is recognised by."""
    rows = [f"| {entry.name} | {entry.holds} | {_escaped(entry.recognised_by)} |\n" for entry in FORMATS]
    intro = (
        "# Input formats\n\n"
        "Recognised by content, never by name, in this order; gzip, zstandard, xz and bzip2 are read through.\n\n"
        "| format | holds | recognised by |\n|---|---|---|\n"
    )
    return MADE + intro + "".join(rows)


def models_page() -> str:
    """Every parameter of every link protocol and channel."""
    intro = (
        "# Models\n\nThe link protocols of `multitracer retrace --model NAME --set KEY=VALUE`, and the channels of\n"
        "`multitracer erasures generate NAME --set KEY=VALUE`, with their parameters. A time `x_ns` can be given in\n"
        "milliseconds as `x_ms`. Where `retrace` changes a default it says so.\n"
    )
    protocols = [
        _parameters(name, kind.parameters, kind.defaults, kind.from_frame, kind.extras)
        + (f"\n{kind.note}\n" if kind.note else "")
        for name, kind in kinds().items()
    ]
    channels = [_parameters(name, kind, {}, GEOMETRY) for name, kind in channel_classes().items()]
    return MADE + intro + "\n## Link protocols\n" + "".join(protocols) + "\n## Channels\n" + "".join(channels)


def _parameters(
    name: str, kind: type[Any], changed: Mapping[str, str], left_out: Sequence[str], extras: Sequence[Extra] = ()
) -> str:
    meanings, hints = attribute_docs(kind), get_type_hints(kind)
    rows = [
        (one.name, _default(one, changed), hints[one.name], meanings.get(one.name, ""))
        for one in fields(kind)
        if one.name not in left_out
    ]
    rows += [(one.name, str(one.default), type(one.default), one.meaning) for one in extras]
    lines = [f"| `{key}` | {default} | {_type(hint)} | {_escaped(meaning)} |\n" for key, default, hint, meaning in rows]
    head = f"\n### {name}\n\n{(kind.__doc__ or '').strip().splitlines()[0]}\n"
    return head + ("\n| parameter | default | is | meaning |\n|---|---|---|---|\n" + "".join(lines) if lines else "")


def _default(one: Field[Any], changed: Mapping[str, str]) -> str:
    if one.name in changed:
        return f"{one.default} (retrace: {changed[one.name]})"
    return "" if one.default is MISSING else str(one.default)


def _type(kind: Any) -> str:
    return {int: "whole number", float: "number", bool: "yes or no", str: "word"}.get(kind, "numbers with commas")


def scenarios_page() -> str:
    """Every key of a scenario, and every metric."""
    rooms = dict.fromkeys(_heading(key) for key in KEYS)
    tables = [_keys(room, [key for key in KEYS if _heading(key) == room]) for room in rooms]
    metrics = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in METRICS.items())
    listed = "".join(f"| `{name}` | {one.about} |\n" for name, one in built_in().items())
    built = f"\n## Built-in scenarios\n\n| name | is |\n|---|---|\n{listed}"
    return f"{MADE}{_SCENARIOS}{built}{''.join(tables)}\n## Metrics\n\n| metric | is |\n|---|---|\n{metrics}"


_SCENARIOS = """# Scenarios

A scenario of `multitracer simulate` is a TOML file, or built in. Its keys can be set by `--set KEY=VALUE` and varied by
`--vary KEY=VALUE,VALUE,...`. A time `x_s` can be given in milliseconds as `x_ms`; `none` unsets what may be unset.

```toml
about = "one line for people"
extends = "raw-file-transfer"     # a built-in scenario, or another file: its keys, where this file says nothing else
seeds = 30                        # how many, unless --seeds says

link.rate_bps = 9600
link.up.rate_bps = 4800           # for one direction: link and wired down and up, channel and tcp forward and reverse

[vary]                            # every combination is a variant
channel.frame_loss_rate = [0.0, 0.01, 0.02]

[[variant]]                       # and each of these with each combination
name = "with a protocol"
link.protocol = "sr"
```

`down` is from the wired end to the terminal; `forward` is the way of the workload's data. A key has an effect only
where its table says so; what is said without effect is told, and left out of the results.

Run i of every variant meets the same channel, media and pages. Results are in `simulate.json` (every number of `--json`
but `wall_s`, which no two runs have the same), `simulate.csv` (each metric of each run) and `simulate.html`. Finished
runs are kept in `DIR/.multitracer/runs.jsonl`: stopped, a sweep goes on where it was. What other
sources of MultiTracer ran is not used. Runs that stood still before their end, or outlasted an erasure trace, are said.

## Recording a run

`--record DIR` writes what instruments would have logged of one run, a folder for `analyze`:

| file | holds |
|---|---|
| `snd.pcap`, `rcv.pcap` | TCP/IP packets beside the data's sender and beside its receiver |
| `tcpstats.txt` | the sender's windows, round trips and timers after each of its events |
| `rlpdump.*.txt`, `rlcdump.*.txt` | what each end of RLP, or of RLC AM, sent and received |
| `erasures.*.txt` | which frames of each side the radio lost: a block an opportunity, or a frame where there are none |
| `truth.json` | what is true of the run |

Packets have IPv4 and TCP headers with right checksums inside their `tcp.segment_bytes`: `tcp.header_bytes` of them, but
40 octets at least, 52 with timestamps; SACK blocks, and a SYN's options, are written beside the octets that the packet
has on the link. What an end of ns-2 receives and what it sends are two connections, as its agents are one-way; the
answer to its SYN is written as a SYN with ACK. RLC's PDUs carry the packets of the captures, and so do RLP's
characters, in frames of PPP; without PPP, and with compressed headers, they say where they stand in their stream. Runs
begin on 2001-01-01. Clocks agree.

`truth.json` has the keys `parameters`; `start_ns`, when the first packet left, from which its times count; `clocks`;
`retransmissions`, with `time_s`, `connection` (in the order in which they began), `seq`, `payload_bytes`, `trigger`,
`spurious`, and as `root` the kind of finding that lost the earlier copy, null where none is; `limits`, from the model's
windows, queues and losses; `links`, the frames of each direction. For RLP and RLC AM, in the direction of most data,
it also has `accounting`, the shares of what the link did, and `findings` (`kind`, `start_s`, `end_s`, `root`; for
`idle-link` also `idle`, the cause in the accounting), both from the state of the link's ends and of TCP, and `blame`
(`cause`, `start_s`, `end_s`): each instant that carried no new data, charged to the kind of the
root that explains it, or `unexplained`. For links without a log these are null.
"""


def _heading(key: Key) -> str:
    """What a key's table is called: its room, for a protocol's parameters both."""
    parts = key.name.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else parts[0]


def _keys(room: str, keys: Sequence[Key]) -> str:
    rows = [
        f"| `{key.name}` | {_key_default(key)} | {_escaped(key.range_text)} | {_meaning(key)} |\n"
        for key in keys
    ]
    table = f"\n## {room}\n\n| key | default | is | meaning |\n|---|---|---|---|\n{''.join(rows)}"
    return table + (_own_values() if room == "tcp" else "")


def _own_values() -> str:
    """What BSD and Linux had where the default of a key is another: a scenario has to say it."""
    found = "\nDefaults hold for every variant. Of these two, the systems had others, which a scenario has to say:\n"
    for variant in ("bsd", "linux-2.4"):
        own = fields(loops.model(variant).parameters.Parameters)
        said = [f"`tcp.{one.name}` {_as_key(one.default)}" for one in own if _differs(one, variant)]
        found += f"\n- `{variant}`: {', '.join(said)}.\n"
    return found


def _differs(one: Field[Any], variant: str) -> bool:
    """Whether a parameter of a variant has another default than the key of its name."""
    key = NAMED[f"tcp.{one.name}"]
    default = key.derived({"tcp.variant": variant, "tcp.model": "rfc"}) if key.derived else key.default
    return one.name != "variant" and one.default != default


def _as_key(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else "none" if value is None else str(value)


def _key_default(key: Key) -> str:
    if key.default_text or key.needed:
        return key.default_text or "must be said"
    if isinstance(key.default, bool):
        return "yes" if key.default else "no"
    if isinstance(key.default, tuple):
        return ", ".join(map(str, key.default))
    if isinstance(key.default, float):
        return f"{key.default:.12g}"
    return "none" if key.default is None else str(key.default)


def _where(key: Key) -> str:
    """The other keys on which it depends whether it has an effect, but for the protocol of its table."""
    said = [
        f"{name} = {' or '.join('none' if one is None else 'yes' if one is True else str(one) for one in values)}"
        for name, values in key.where
        if name != "link.protocol"
    ]
    return f" With {', '.join(said)}." if said else ""


def _meaning(key: Key) -> str:
    """What it means, and what beside which other keys."""
    return _escaped(key.meaning) + _where(key) + _narrower(key)


def _narrower(key: Key) -> str:
    """What it may be beside some values of another key."""
    return "".join(
        f" With {name} = {' or '.join(map(str, values))}: from {least:g} to {most:g}."
        for name, values, least, most in key.narrower
    )


def attribute_docs(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a dataclass and its bases, by field name."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                found[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


if __name__ == "__main__":
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    (directory / "findings").mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8")
