"""MultiTracer: which layer made a transfer over a wireless link slow, when, and on what evidence.

In Python, `read(path, ...)` gives a Trace, `analyze(trace)` an Analysis, and `retrace(erasures, ...)` what
a link would have carried at every frame size; everything raised on purpose derives from
MultiTracerError. The names are loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitracer.analysis import Analysis, analyze
    from multitracer.blocks import retrace
    from multitracer.errors import (
        InputError,
        MissingCapabilityError,
        MultiTracerError,
        NoUsableInputError,
        SkippedInputError,
        UnknownFormatError,
        UsageError,
    )
    from multitracer.options import AnalyzeOptions
    from multitracer.reading import read
    from multitracer.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "Analysis",
    "AnalyzeOptions",
    "InputError",
    "MissingCapabilityError",
    "MultiTracerError",
    "NoUsableInputError",
    "SkippedInputError",
    "Trace",
    "UnknownFormatError",
    "UsageError",
    "analyze",
    "read",
    "retrace",
]

_HOME = {
    "Analysis": "analysis",
    "AnalyzeOptions": "options",
    "Trace": "trace",
    "analyze": "analysis",
    "read": "reading",
    "retrace": "blocks",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"multitracer.{_HOME.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
