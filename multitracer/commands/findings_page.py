"""docs/findings.md: every kind of finding, how it looks, what it means, what to do, and what time is charged to it."""

from __future__ import annotations

from html import escape
from textwrap import fill

from multitracer.commands.finding_texts import EXPLAINED
from multitracer.findings import DETECTORS
from multitracer.model.vocabulary import CAUSES, KINDS, LAYERS
from multitracer.report import colours

WIDTH = 118

_INTRO = """\
# Findings

Each kind is looked for where the inputs allow it; `not_looked_for` in summary.json and the report list the
others, with the inputs that would make them possible.

"""
_CHARGED = """
## What lost time is charged to

The accounting divides the session, from the first packet of the transfer to the last acknowledgement of data, among
these causes. In the lane `time` of the report they have these colours:

![The colours of the causes](findings/causes.svg)

A finding's `caused_by` is the number of the one finding that set it off, in the list of summary.json; null if none did.
Findings so form chains without circles, each with one root: an outage of the radio caused a reset, that a timeout, that
an idle link. A cause may begin after its effect does: segments sent at 9 s are flushed by a reset at 21 s.

All time but `new_data` and `link_overhead` is charged: each instant to the finding that holds it and whose kind can
leave that cause (the table below), and from there to the root of its chain. Of several findings the one that began last
counts; undecided ones never do. What TCP sent again is charged to what lost the earlier copy, or, if it was needless,
to what made TCP resend.

`lost_s` of a root is what was charged to it, in seconds: 0 if it cost nothing. It is null for a finding that has a
cause, which bears the loss, and where there is no accounting.

`blame` adds this up, one entry for each kind of root and layer, the dearest first. What no finding explains is the
entry `unexplained`. With `new_data` and `link_overhead` the shares add up to 1.

The layers:

"""
_LOOK = """
## How they look

Each picture is the first screen of the report of a real transfer, with the finding chosen: its row in the list and what
is told of it at the right, its slice in the lane of its layer (hatched where a finding is only likely, pale where it is
undecided), and the panels that show it. Resets and stops of the link are shaded. Resends are red where they were needed
and orange where they were needless; the mark says what set them off: a triangle pointing up a timeout, one pointing
down duplicate acknowledgements, SACK or RACK, a diamond the recovery after either, a square a probe.
"""


def findings_page() -> str:
    """The page without its first line."""
    layers = "".join(f"- **{name}**: {meaning}\n" for name, meaning in LAYERS.items())
    sections = "".join(_section(kind) for kind in KINDS)
    return "".join([_INTRO, _needs(), _CHARGED, layers, "\n", _leaves(), _LOOK, sections])


def _needs() -> str:
    """Which kinds are found when, and the inputs without which they are not looked for."""
    rows = [
        f"| {', '.join(_link(kind) for kind in detector.KINDS)} |"
        f" {(detector.__doc__ or '').strip().splitlines()[0]} |"
        f" {'; '.join(dict.fromkeys(need.input for need in detector.NEEDS))} |\n"
        for detector in DETECTORS
    ]
    return "| kinds | found when | needs |\n|---|---|---|\n" + "".join(rows)


def _leaves() -> str:
    """Which causes of the accounting each kind can leave."""
    rows = [
        f"| {_link(name)} | {', '.join(f'`{cause}`' for cause in kind.leaves) or 'none; what it sets off can'} |\n"
        for name, kind in KINDS.items()
    ]
    return "| kind | can leave, and so is charged with |\n|---|---|\n" + "".join(rows)


def _link(kind: str) -> str:
    return f"[{kind}](#{kind})"


def _section(kind: str) -> str:
    """One kind: what happened, the picture, the evidence, what to do."""
    texts = EXPLAINED[kind]
    return "\n".join([
        f"\n## {kind}\n",
        _wrapped(texts.happened),
        f"![{kind} in the report](findings/{kind}.png)\n",
        _wrapped(f"**In the picture:** {texts.seen}"),
        _wrapped(f"**Evidence:** {texts.evidence}"),
        _wrapped(f"**What to do:** {texts.remedy}").rstrip("\n"),
        "",
    ])  # fmt: skip


def _wrapped(paragraph: str) -> str:
    return fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def causes_drawing() -> str:
    """The colours of the causes in the report, as SVG."""
    column_width, line_height, columns = 230, 26, 4
    marks = []
    for place, (name, cause) in enumerate(CAUSES.items()):
        x, y = place % columns * column_width, place // columns * line_height
        marks.append(
            f'<rect x="{x + 4}" y="{y + 6}" width="14" height="14" fill="{colours.CAUSES[name]}"/>'
            f'<text x="{x + 24}" y="{y + 17}">{escape(cause.name)}</text>'
        )
    width, height = columns * column_width, -(-len(CAUSES) // columns) * line_height + 4
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join([
        f'{head} font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *marks, "</svg>", "",
    ])  # fmt: skip
