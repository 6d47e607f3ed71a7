"""The summary as text on stdout, for a terminal or a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from multitracer.analysis.finding_evidence import evidence_lines
from multitracer.analysis.story import LEAST
from multitracer.model.vocabulary import CAUSES, LAYERS

if TYPE_CHECKING:
    from rich.text import Text

    from multitracer.analysis.display_filters import DisplayFilters
    from multitracer.analysis.summary import Summary
    from multitracer.model.analysis import Totals

BAR_CELLS = 72
WIDEST = 140
"""The most columns of a terminal that a finding's line takes."""
SHOWN_FINDINGS, SHOWN_NOTES = 6, 3

_CAUSES = {
    "new_data": ("#", "green"), "link_overhead": ("+", "dark_green"), "tcp_retransmitted": ("T", "red"),
    "link_retransmitted": ("L", "magenta"), "link_control": ("c", "bright_magenta"), "flow_controlled": ("x", "yellow"),
    "link_reset": ("R", "bright_red"), "path_held": ("h", "dark_cyan"), "idle_recovery": ("!", "dark_orange"),
    "idle_window_limited": ("w", "cyan"), "idle_sender": (".", "blue"), "unknown": ("?", "grey50"),
}  # fmt: skip
"""Each cause's letter in the bar (for output without colours) and its colour."""

_STYLES = {"confirmed": "bold red", "likely": "yellow", "undecided": "dim"}


def printable(text: str) -> str:
    """`text` with control characters escaped: file names and captures may contain terminal commands."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def print_summary(summary: Summary, results: str, out: TextIO, filters: DisplayFilters | None = None) -> None:
    """Print inputs, clocks, verdict, accounting and findings to `out`, and the line `results`: what was written.

    Findings are one line a kind, cut to a terminal's width; with `filters` all of them, each whole with its evidence
    and the display filters for it.
    """
    from rich.console import Console

    console = Console(file=out, highlight=False, soft_wrap=True, emoji=False, markup=False)
    width = min(console.width, WIDEST) if console.is_terminal else None
    findings = _kinds(summary.document, width) if filters is None else _all_findings(summary.document, filters)
    with console.capture() as captured:  # rich would handle a closed pipe itself and exit
        for line in (*_lines(summary, colour=console.color_system is not None), *findings):
            console.print(line)
        console.print(f"\n{printable(results)}")
    out.write(captured.get())


def _lines(concluded: Summary, *, colour: bool) -> Iterator[Text]:
    """All but the findings."""
    from rich.text import Text

    summary = concluded.document
    yield Text(_inputs(summary, concluded.totals))
    yield Text(_trust(summary), style="dim")
    yield Text("\n" + concluded.verdict, style="bold")
    yield from (Text(printable(line)) for line in concluded.story[1:])
    if layers := _layers(summary):
        yield Text(layers, style="dim")
    if clocks := _kernel_clocks(concluded.totals):
        yield Text(clocks)
    yield from map(Text, _notes(summary))
    if summary["accounting"]:
        yield Text()
        yield from _bar(summary["accounting"], colour=colour)


def _inputs(summary: dict[str, Any], totals: Totals) -> str:
    """Inputs, connections and links, and a line for each of the busiest connections."""
    inputs = summary["inputs"]
    formats = list(dict.fromkeys(entry["format"] for entry in inputs))
    parts = [f"{_many(len(inputs), 'input')} ({', '.join(formats)})", _many(totals.connections, "connection")]
    protocols = list(dict.fromkeys(link["protocol"] for link in summary["links"]))
    parts += [f"link {', '.join(protocols)}"] if protocols else ["no link log"]
    lines = [", ".join(parts), *map(_connection, totals.busiest)]
    if left := totals.connections - len(totals.busiest):
        lines.append(f"  and {_many(left, 'connection')} with less data")
    return "\n".join(lines)


def _connection(one: dict[str, Any]) -> str:
    """One connection's line: the direction of most data, bytes, duration, goodput and retransmissions."""
    end = max(("client", "server"), key=lambda name: one["directions"][name]["unique_bytes"] or 0)
    sent, other = one["directions"][end], "server" if end == "client" else "client"
    rate = f", {_unit(sent['goodput_bps'], 'bit/s')}" if sent["goodput_bps"] else ""
    resent = sum(count or 0 for count in sent["spurious"].values())
    again = f", {resent} of {sent['data_segments']} segments sent again"
    return (
        f"  {one['id']}: {one[end]} > {one[other]}  {_unit(sent['unique_bytes'] or 0, 'byte')}"
        f" in {one['duration_s']:.1f} s{rate}{again if resent else ''}"
    )


def _trust(summary: dict[str, Any]) -> str:
    """The largest clock error, and how many inputs and records were skipped."""
    clocks = [entry["clock"] for entry in summary["inputs"] if entry["clock"]]
    known = [clock for clock in clocks if clock["error_s"] is not None]
    parts = [_clock_error(known) if any(clock["error_s"] for clock in known) else "one clock"]
    if len(known) < len(clocks):
        parts.append(f"{_many(len(clocks) - len(known), 'clock')} unknown")
    unread = [entry for entry in summary["inputs"] if not entry["records"] and entry["skipped"]]
    skipped = sum(entry["skipped"] for entry in summary["inputs"] if entry not in unread)
    if unread:
        parts.append(f"{_many(len(unread), 'input')} not read")
    if skipped or not unread:
        parts.append(f"{_many(skipped, 'record')} skipped" if skipped else "nothing skipped")
    return ", ".join(parts)


def _clock_error(clocks: list[dict[str, Any]]) -> str:
    """How well the clocks are known, by the one that is known least."""
    error, worst = (1e3 * max(clock[name] or 0 for clock in clocks) for name in ("error_s", "worst_s"))
    return f"clocks known within {error:.1f} ms if both ways take equally long, at worst {worst:.1f} ms"


def _kernel_clocks(totals: Totals) -> str:
    """The kernel's own clocks of the connection and direction with most data; empty where no log has them."""
    ends = [end for one in totals.busiest[:1] for end in one["directions"].values()]
    sent = max(ends, key=lambda end: end["unique_bytes"] or 0, default=None)
    clocks = sent and sent["kernel_clocks"]
    if not clocks:
        return ""
    return (
        f"The kernel's own clocks: busy {clocks['busy_s']:.1f} s, of that {clocks['rwnd_limited_s']:.1f} s with the"
        f" receiver's window full, {clocks['sndbuf_limited_s']:.1f} s with the send buffer full."
    )


def _layers(summary: dict[str, Any]) -> str:
    """What the layer words of the story mean; empty where it has none."""
    told = (one["layer"] for one in summary.get("blame") or () if one["share"] >= LEAST and one["layer"] != "unknown")
    used = dict.fromkeys(told)
    return f"({'; '.join(f'{name}: {LAYERS[name]}' for name in used)})" if used else ""


def _notes(summary: dict[str, Any]) -> list[str]:
    """Notes on the inputs, and which further inputs would help."""
    notes = [f"{entry['path']}: {note}" for entry in summary["inputs"] for note in entry["notes"]]
    notes += [
        f"{entry['path']}: its times are its own and prove nothing beside the others': it {entry['clock']['how']}."
        for entry in summary["inputs"]
        if entry["clock"] and entry["clock"]["offset_s"] is None and not entry["notes"]
    ]
    more = [f"and {_many(len(notes) - SHOWN_NOTES, 'note')} more (in summary.json)"] if len(notes) > SHOWN_NOTES else []
    notes = [*notes[:SHOWN_NOTES], *more, *summary.get("notes", []), *summary.get("missing", [])]
    return [printable(text) for text in notes]


def _bar(shares: dict[str, float], *, colour: bool) -> Iterator[Text]:
    """The accounting as one bar and its legend."""
    from rich.text import Text

    bar, legend = Text(), Text()
    reached = drawn = 0.0
    for name, (letter, style) in _CAUSES.items():
        reached += shares[name]
        cells = round(reached * BAR_CELLS) - round(drawn * BAR_CELLS)
        drawn = reached
        paint = f"black on {style}" if colour else ""
        bar.append(letter * cells, style=paint)
        if shares[name] >= 0.005:
            legend.append(letter, style=paint)
            legend.append(f" {CAUSES[name].name} {100 * shares[name]:.0f} %   ")
    yield bar
    yield legend


def _kinds(summary: dict[str, Any], width: int | None) -> Iterator[Text]:
    """A line for each of the first kinds of finding."""
    from rich.text import Text

    findings = summary["findings"]
    groups = findings.groups()
    if groups:
        yield Text("\nFindings")
    for group in groups[:SHOWN_FINDINGS]:
        yield _finding(findings.of(group[:1])[0], len(group), width)
    if left := sum(map(len, groups[SHOWN_FINDINGS:])):
        yield Text(f"  and {left} more (--findings shows all)", style="dim")


def _finding(first: dict[str, Any], count: int, width: int | None) -> Text:
    """One kind of finding: verdict, number, and the longest of them; None does not cut the line."""
    from rich.text import Text

    times = f" ({count}, longest shown)" if count > 1 else ""
    line = Text(f"  {first['verdict']:9}", style=_STYLES[first["verdict"]])
    line.append(f"  {first['start_s']:8.1f} s  {first['kind']}{times}: ", style="default not bold")
    line.append(printable(first["because"]), style="default not bold dim")
    if width is not None:
        line.truncate(width, overflow="ellipsis")
    return line


def _all_findings(summary: dict[str, Any], filters: DisplayFilters) -> Iterator[Text]:
    """Every finding, in order of time, each with all that it rests on."""
    from rich.text import Text

    findings = summary["findings"]
    yield Text("\nFindings" if findings else "\nNo findings")
    for number, one in enumerate(findings):
        line = Text(f"  {number:4}  {one['verdict']:9}", style=_STYLES[one["verdict"]])
        line.append(f"  {one['start_s']:.3f} s to {one['end_s']:.3f} s  {one['kind']}", style="default not bold")
        yield line
        yield from (Text(f"        {printable(text)}") for text in _evidence(summary, one, filters))


def _evidence(summary: dict[str, Any], finding: dict[str, Any], filters: DisplayFilters) -> Iterator[str]:
    """The lines below a finding: because, evidence, what set it off, and display filters."""
    yield finding["because"]
    connection = "" if finding["connection"] is None else f", connection {finding['connection']}"
    lost = "" if finding["lost_s"] is None else f", lost {finding['lost_s']:.3f} s"
    yield f"layer: {finding['layer']}{connection}{lost}"
    yield from (f"evidence: {line}" for line in evidence_lines(summary, finding))
    if finding["caused_by"] is not None:
        yield f"set off by: {finding['caused_by']} ({summary['findings'][finding['caused_by']]['kind']})"
    yield from (f"display filter for {path}: {text}" for path, text in filters.of(finding))


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _unit(value: float, unit: str) -> str:
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.1f} {prefix}{unit}"
    return f"{value:.0f} {unit}"
