"""tcpstats: our own text format of a sender's TCP state, one sample a line.

    # tcpstats 1
    # connection: 10.0.0.1:5000 > 10.0.0.2:80
    TIME cwnd=BYTES ssthresh=BYTES srtt=SECONDS rttvar=SECONDS rto=SECONDS

with any of the keys; `ssthresh=inf` means that none is set. A `# connection:` line applies to the lines
after it. Other `# key: value` lines are metadata; `# clock: monotonic|relative` is needed where TIME is
not in seconds since the epoch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf, isnan
from typing import IO, TYPE_CHECKING

from multitracer.parsers.shared.lines import (
    Losses,
    head_lines,
    nanoseconds,
    seconds,
    split_endpoint,
    take_lines,
)
from multitracer.parsers.shared.tcp_state import StateLog

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

KEYS = {
    "cwnd": "cwnd_bytes",
    "ssthresh": "ssthresh_bytes",
    "srtt": "srtt_s",
    "rttvar": "rttvar_s",
    "rto": "rto_s",
}
CLOCKS = ("epoch", "monotonic", "relative")
_FIRST = re.compile(r"# *tcpstats 1\s*\Z")
_HEADER = re.compile(r"#\s*([\w-]{1,40})\s*:(.*)\Z")
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?(?:[eE][-+]?\d{1,3})?|inf)\Z", re.ASCII)
_EPOCH_FROM_NS = 10**17
"""Times before 1973 are taken to count from the start of the log."""


def sniff(head: bytes) -> bool:
    """Whether the first line is `# tcpstats 1`."""
    lines = head_lines(head)
    return bool(lines) and _FIRST.match(lines[0]) is not None


def read(source: Source) -> Recording:
    """The samples as rows of `tcp_state`."""
    log, metadata = StateLog(), dict[str, str]()
    ends: tuple[str | None, str | None] = (None, None)

    def take(number: int, offset: int, text: str) -> None:
        nonlocal ends
        if not text.lstrip().startswith("#"):
            return _sample(log, ends, number, offset, text)
        header = _HEADER.match(text.strip())
        if header and header[1] == "connection":
            ends = _connection(header[2].strip(), log.losses, number, offset)
        if header:
            metadata.setdefault(header[1], header[2].strip())
        return None

    take_lines(source, log.losses, take, "not a line of tcpstats")
    clock = metadata.get("clock", "")
    if clock not in CLOCKS:
        clock = "relative" if len(log.times) and log.times[0] < _EPOCH_FROM_NS else "epoch"
    return log.recording("tcpstats", source, clock=clock, metadata=metadata)


def write(stream: IO[str], state: pd.DataFrame, metadata: Mapping[str, str] | None = None) -> None:
    """Write a `tcp_state` table; columns without a key, and rows without a value for any key, are left out."""
    stream.write("# tcpstats 1\n")
    for key, value in (metadata or {}).items():
        stream.write(f"# {key}: {value}\n")
    columns = [state[column].tolist() for column in KEYS.values()]
    before: tuple[object, object] = (None, None)
    for time_ns, local, remote, *values in zip(
        state["time_ns"].tolist(), state["local"], state["remote"], *columns, strict=True
    ):
        if (local, remote) != before and local and remote:
            stream.write(f"# connection: {local} > {remote}\n")
            before = (local, remote)
        pairs = [f"{key}={_text(value)}" for key, value in zip(KEYS, values, strict=True) if not isnan(value)]
        if pairs:
            stream.write(f"{seconds(time_ns)} {' '.join(pairs)}\n")


def _text(value: float) -> str:
    return str(int(value)) if value != inf and value == int(value) else repr(value)


def _connection(text: str, losses: Losses, number: int, offset: int) -> tuple[str | None, str | None]:
    local, _, remote = text.partition(">")
    try:
        return split_endpoint(local.strip()), split_endpoint(remote.strip())
    except ValueError:
        losses.add("a connection that is not ip:port > ip:port", number, offset)
        return None, None


def _sample(log: StateLog, ends: tuple[str | None, str | None], number: int, offset: int, text: str) -> None:
    """Add the sample of a line, TIME and keys; of a value that is no number only that value is lost."""
    first, *rest = text.split()
    try:
        time_ns = nanoseconds(first)
    except ValueError:
        log.losses.add("does not begin with a time in seconds", number, offset)
        return
    values = {}
    for key, equals, value in (pair.partition("=") for pair in rest):
        if equals and key in KEYS and _NUMBER.match(value):
            values[KEYS[key]] = float(value)
        else:
            log.losses.add("not key=number with a key of this format", number, offset)
    if values:
        log.add(number, time_ns, "sample", ends[0], ends[1], **values)
    elif not rest:
        log.losses.add("a time without a value", number, offset)
