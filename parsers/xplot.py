"""xplot plot commands, as tcptrace writes them: marks, lines and texts at points of two axes.

The commands are kept as `metadata["plot"]`: the axes' names and kinds, and a table `commands` of
command, x and y (and x2, y2 of a line), colour and text. A time axis is in whole nanoseconds.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import FieldError, Losses, head_lines, nanoseconds, whole_lines

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.parsers.shared.source import Source

COLOURS = ("white", "green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink")
POINTS = (
    "dot", "diamond", "box", "plus", "x", "uarrow", "darrow", "larrow", "rarrow", "utick", "dtick", "ltick",
    "rtick", "htick", "vtick", "invisible",
)  # fmt: skip
TEXTS = ("atext", "btext", "ltext", "rtext", "ctext")
LINES = ("line", "dline")
_KINDS = "timeval|dtime|double|signed|unsigned|int"
_AXES = re.compile(rf"({_KINDS}) ({_KINDS})\s*\Z")
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?(?:e[-+]?\d{1,3})?\Z", re.ASCII)


@dataclass
class _Plot:
    axes: tuple[str, str]
    names: dict[str, str] = field(default_factory=dict)
    colour: str = ""
    records: array[int] = field(default_factory=lambda: array("q"))
    commands: list[str] = field(default_factory=list)
    xs: list[Any] = field(default_factory=list)
    ys: array[float] = field(default_factory=lambda: array("d"))
    x2s: list[Any] = field(default_factory=list)
    y2s: array[float] = field(default_factory=lambda: array("d"))
    colours: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)

    def metadata(self) -> dict[str, Any]:
        """The axes' names and kinds, and the table of commands."""
        return self.names | {"x_kind": self.axes[0], "y_kind": self.axes[1], "commands": self.table()}

    def table(self) -> pd.DataFrame:
        import pandas as pd

        rows = len(self.commands)
        timed = self.axes[0] == "timeval"
        x = np.array(self.xs, np.int64 if timed else np.float64)
        x2 = np.array(
            [self.xs[row] if value is None else value for row, value in enumerate(self.x2s)], x.dtype
        )
        return pd.DataFrame(
            {
                "record": np.array(self.records, np.int64),
                "command": pd.Categorical(self.commands),
                "x": x,
                "y": np.array(self.ys, np.float64),
                "x2": x2,
                "y2": np.array(self.y2s, np.float64),
                "colour": pd.Categorical(self.colours),
                "text": pd.Series([self.texts.get(row, "") for row in range(rows)], dtype=object),
            }
        )


def sniff(head: bytes) -> bool:
    """Whether the first line gives the kinds of the two axes, and the second is `title`."""
    lines = head_lines(head)
    return len(lines) > 1 and _AXES.match(lines[0]) is not None and lines[1].strip() == "title"


def read(source: Source) -> Recording:
    """The commands, up to `go`."""
    losses, plot, caption = Losses(), None, ""
    lines = whole_lines(source, losses)
    for number, offset, text in lines:
        text = text.strip()
        axes = _AXES.match(text)
        if plot is None:
            if axes is None:
                break
            plot = _Plot((axes[1], axes[2]))
        elif caption in TEXTS:
            plot.texts[len(plot.commands) - 1] = text[:1000]
            caption = ""
        elif caption:
            plot.names[caption] = text[:1000]
            caption = ""
        elif text in ("title", "xlabel", "ylabel"):
            caption = text
        elif text in COLOURS:
            plot.colour = text
        elif text == "go":
            break
        else:
            caption = _command(plot, losses, number, offset, text)
    if plot is None or not plot.commands:
        raise InputError(source.path, "holds no xplot command that draws anything")
    return Recording(
        "xplot", {}, len(plot.commands), losses.skips, bytes_read=len(source), clock="epoch",
        complete=losses.uncut, counts={"plot commands": len(plot.commands)},
        metadata={"plot": plot.metadata()},
    )  # fmt: skip


def _command(plot: _Plot, losses: Losses, number: int, offset: int, text: str) -> str:
    """Add a drawing command; gives its name where the next line is its text, else nothing."""
    name, *rest = text.split()
    numbers = 4 if name in LINES else 2
    if name not in (*POINTS, *TEXTS, *LINES) or len(rest) not in (numbers, numbers + 1):
        losses.add("not an xplot command", number, offset)
        return ""
    try:
        x, y = _x(plot, rest[0]), _float(rest[1])
        x2, y2 = (_x(plot, rest[2]), _float(rest[3])) if numbers == 4 else (None, nan)
    except ValueError:
        losses.add("an xplot command whose numbers are none", number, offset)
        return name if name in TEXTS else ""
    plot.records.append(number)
    plot.commands.append(name)
    plot.xs.append(x)
    plot.ys.append(y)
    plot.x2s.append(x2)
    plot.y2s.append(y2)
    colour = rest[numbers] if len(rest) > numbers else plot.colour
    plot.colours.append(colour if colour in COLOURS else plot.colour)
    return name if name in TEXTS else ""


def _x(plot: _Plot, text: str) -> int | float:
    return nanoseconds(text) if plot.axes[0] == "timeval" else _float(text)


def _float(text: str) -> float:
    if not _NUMBER.match(text) or not isfinite(float(text)):
        raise FieldError("a field that is no finite number")
    return float(text)
