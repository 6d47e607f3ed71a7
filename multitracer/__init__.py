"""MultiTracer: which layer made a transfer over a wireless link slow, when, and on what evidence.

In Python, `read(path, ...)` gives a Trace, `analyze(trace or path)` an Analysis, and `retrace(erasures, ...)` what
a link would have carried at every frame size; everything raised on purpose derives from
MultiTracerError. The names are loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from multitracer.model import errors
from multitracer.model.version import VERSION

if TYPE_CHECKING:
    from multitracer.model.errors import (
        InputError,
        MissingCapabilityError,
        MultiTracerError,
        NoUsableInputError,
        ReadingDefectError,
        SkippedInputError,
        UnknownFormatError,
        UsageError,
    )
    from multitracer.model.options import AnalyzeOptions
    from multitracer.model.trace import Trace
    from multitracer.parsers.shared.experiment import read
    from multitracer.replay.retrace.document import retrace
    from multitracer.report.notebook import Analysis, analyze

__version__ = VERSION

__all__ = [
    "Analysis",
    "AnalyzeOptions",
    "InputError",
    "MissingCapabilityError",
    "MultiTracerError",
    "NoUsableInputError",
    "ReadingDefectError",
    "SkippedInputError",
    "Trace",
    "UnknownFormatError",
    "UsageError",
    "analyze",
    "read",
    "retrace",
]

_HOME = {
    "Analysis": "report.notebook",
    "AnalyzeOptions": "model.options",
    "Trace": "model.trace",
    "analyze": "report.notebook",
    "read": "parsers.shared.experiment",
    "retrace": "replay.retrace.document",
}

_PROMISED_MODULES = {"errors": "model.errors", "tables": "model.schema"}
"""Modules that the public interface knows under these names."""

sys.modules[f"{__name__}.errors"] = errors  # so that `from multitracer.errors import ...` works


def __getattr__(name: str) -> Any:
    if name in _PROMISED_MODULES:
        return import_module(f"multitracer.{_PROMISED_MODULES[name]}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"multitracer.{_HOME.get(name, 'model.errors')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
