"""Pseudonyms for addresses, names of files and hosts, and bearers, the same in all results; ports and times stay.

Inputs, and hosts that a log has by name, are renamed before the analysis, so that no sentence names them; what a
sentence quotes of an input is left out. Addresses are replaced after it, because packets in a link log are matched by
their real addresses: the conclusions are the same with and without. IPv4 addresses
become 240.0.0.1, 240.0.0.2, ... (reserved, RFC 1112 4), IPv6 addresses 2001:db8::1, ... (documentation, RFC 3849).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from multitracer.compute.arrays import with_columns
from multitracer.model.analysis import Analysis
from multitracer.model.options import AnalyzeOptions
from multitracer.model.short_texts import without_quotations
from multitracer.model.trace import Input, Recording, Trace

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")

_V4_BASE, _V6_BASE = int(IPv4Address("240.0.0.0")), int(IPv6Address("2001:db8::"))
_V4 = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)"
_V6 = r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4})(?![\w:.]*\w)"
_LITERAL = re.compile(f"{_V6}|{_V4}")


class Pseudonyms:
    """Replaces addresses by pseudonyms, numbered in order of appearance."""

    def __init__(self) -> None:
        self._given: dict[IPv4Address | IPv6Address, str] = {}
        self._counts = {4: 0, 6: 0}
        self._bearers: dict[str, str] = {}

    def address(self, text: str) -> str:
        """The pseudonym of an address in any notation; other text is returned unchanged."""
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return text
        mapped = getattr(address, "ipv4_mapped", None)
        if mapped is not None:  # an IPv4 address on an IPv6 socket
            return f"::ffff:{self.address(str(mapped))}"
        if address not in self._given:
            made = self._next(address.version)
            self._given[address] = str(made if made != address else self._next(address.version))
        return self._given[address]

    def _next(self, version: int) -> IPv4Address | IPv6Address:
        self._counts[version] += 1
        number = self._counts[version]
        return IPv4Address(_V4_BASE + number) if version == 4 else IPv6Address(_V6_BASE + number)

    def bearer(self, name: Any) -> Any:
        """The pseudonym of a bearer; what is unknown or empty stays."""
        if not isinstance(name, str) or not name:
            return name
        return self._bearers.setdefault(name, f"bearer-{len(self._bearers) + 1}")

    def text(self, text: str) -> str:
        """`text` with every address in it replaced."""
        return _LITERAL.sub(lambda found: self.address(found[0]), text)

    def value(self, value: Value) -> Value:
        """A value with the addresses replaced in every text in it, in nested lists and dicts, too."""
        if isinstance(value, str):
            return self.text(value)  # type: ignore[return-value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}  # type: ignore[return-value]
        if isinstance(value, list | tuple):
            return type(value)(self.value(item) for item in value)
        return value

    def column(self, values: pd.Series[Any]) -> Any:
        """A column of texts or dicts with their addresses replaced, an object array; equal texts are replaced once."""
        cells = values.tolist()
        replaced = {text: self.text(text) for text in dict.fromkeys(cell for cell in cells if isinstance(cell, str))}
        new = np.empty(len(cells), dtype=object)
        new[:] = [replaced[cell] if isinstance(cell, str) else self.value(cell) for cell in cells]
        return new


def rename_inputs(trace: Trace, options: AnalyzeOptions) -> tuple[Trace, AnalyzeOptions]:
    """The trace and the options with inputs called input-1, input-2, ... instead of by their paths."""
    called = {entry.path: f"input-{number}" for number, entry in enumerate(trace.inputs, 1)}
    words = called | {Path(path).name: name for path, name in called.items()}
    known = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True) if word)
    pattern = re.compile(rf"(?<![\w-])(?:{known})(?![\w-])")

    def text(told: str) -> str:
        return without_quotations(pattern.sub(lambda found: words[found[0]], told))

    inputs = [replace(entry, path=called[entry.path], recording=_told(entry.recording, text)) for entry in trace.inputs]
    stated = replace(
        options,
        roles={called.get(path, path): role for path, role in options.roles.items()},
        clocks={called.get(path, path): clock for path, clock in options.clocks.items()},
    )
    return replace(trace, inputs=inputs, tables=_with_renamed_hosts(trace.tables)), stated


def _with_renamed_hosts(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables with hosts called host-1, host-2, ... that logs of TCP's state have by name, as `ss -r` does."""
    state, names = tables["tcp_state"], dict[str, str]()

    def renamed(end: Any) -> Any:
        host, colon, port = end.rpartition(":") if isinstance(end, str) else ("", "", "")
        host = host.strip("[]")
        if not host or host == "*" or _is_address(host):
            return end
        return names.setdefault(host, f"host-{len(names) + 1}") + colon + port

    columns = {}
    for column in ("local", "remote"):
        ends = state[column].tolist()
        given = {end: renamed(end) for end in dict.fromkeys(ends)}
        columns[column] = np.array([given[end] for end in ends] + [None], dtype=object)[:-1]
    return tables | {"tcp_state": with_columns(state, **columns)}


def _is_address(text: str) -> bool:
    try:
        ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def _told(recording: Recording, text: Callable[[str], str]) -> Recording:
    """The recording with what it tells a person changed by `text`."""
    skips = [replace(skip, reason=text(skip.reason)) for skip in recording.skips]
    if recording.defect is not None:  # its message may quote what was read
        skips = [replace(skip, reason=skip.reason.partition(": ")[0]) for skip in skips]
    counts = Counter[str]()
    for what, count in recording.counts.items():
        counts[text(what)] += count
    return replace(recording, notes=[text(note) for note in recording.notes], skips=skips, counts=dict(counts))


_TEXTS = {
    "flows": ("address_a", "address_b", "tunnel", "outer_a", "outer_b"),
    "connections": ("client", "server"),
    "tcp_state": ("local", "remote"),
    "retransmissions": ("sender", "because"),
    "segment_frames": ("sender",),
    "findings": ("because", "evidence"),
}
"""Columns that may contain addresses, by table."""


def anonymize_analysis(analysis: Analysis) -> Analysis:
    """The analysis with every address and bearer replaced: in tables, sentences and notes.

    The TCP checksum covers the addresses, which could be guessed from it, so it is set to 0; the column
    checksum_ok stays.
    """
    names, trace, links = Pseudonyms(), analysis.trace, analysis.links
    recorded = {"flows": _table("flows", trace.tables["flows"], names)}  # first: pseudonyms are numbered in its order
    recorded |= {name: _table(name, table, names) for name, table in trace.tables.items() if name != "flows"}
    return replace(
        analysis,
        trace=Trace([_input(entry, names) for entry in trace.inputs], recorded, trace.shift_ns),
        tables={name: _table(name, table, names) for name, table in analysis.tables.items()},
        links=replace(links, rows=[_without_bearer(row, names) for row in links.rows], notes=names.value(links.notes)),
        missing=names.value(analysis.missing),
    )


def _table(name: str, table: pd.DataFrame, names: Pseudonyms) -> pd.DataFrame:
    """The table with addresses replaced and checksums set to 0."""
    if name == "links":
        return with_columns(table, bearer=np.array([names.bearer(one) for one in table["bearer"]], dtype=object))
    columns = {column: names.column(table[column]) for column in _TEXTS.get(name, ()) if column in table}
    if name in ("packets", "segments"):
        columns["checksum"] = np.zeros(len(table), dtype=table["checksum"].dtype)
    return with_columns(table, **columns)


def _input(entry: Input, names: Pseudonyms) -> Input:
    rows = {name: table[[]] for name, table in entry.recording.tables.items()}  # how many, and nothing of them
    recording = replace(entry.recording, metadata={}, tables=rows)
    return replace(entry, recording=_told(recording, names.text))


def _without_bearer(row: dict[str, Any], names: Pseudonyms) -> dict[str, Any]:
    return names.value(row) | {"bearer": names.bearer(row["bearer"])}
