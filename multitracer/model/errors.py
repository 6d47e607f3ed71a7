"""Everything MultiTracer raises on purpose, and the exit status each becomes.

MultiTracerError                 1   a defect, when nothing below fits
├── UsageError                   2   the request itself makes no sense
├── InputError                   3   an input cannot be used
│   ├── UnknownFormatError           its content is none of the formats we read
│   ├── NoUsableInputError           nothing in all the inputs can be analysed
│   └── ReadingDefectError           a defect of MultiTracer showed in reading it
├── SkippedInputError            4   --strict, and a part of an input had to be skipped
└── MissingCapabilityError       5   this machine lacks something (root, an extra)
"""

from __future__ import annotations


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether the system refused memory: for an array, for a thread's stack, or for a module's code."""
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))
        or (isinstance(error, ImportError) and "failed to map segment" in str(error))
    )


class MultiTracerError(Exception):
    """The base of every error raised on purpose; `exit_code` is the process's exit status."""

    exit_code = 1


class UsageError(MultiTracerError):
    """The options or arguments contradict each other or are out of range."""

    exit_code = 2


class InputError(MultiTracerError):
    """An input cannot be read; says where, what was expected, and what to do.

    `record` counts from 1 (a packet, or a line of a text file); `offset` is in bytes of the
    decompressed content.
    """

    exit_code = 3

    def __init__(
        self,
        path: str,
        problem: str,
        *,
        record: int | None = None,
        offset: int | None = None,
        hint: str = "",
    ) -> None:
        where = "".join(
            [
                f", record {record}" if record is not None else "",
                f", byte {offset}" if offset is not None else "",
            ]
        )
        super().__init__(f"{path}{where}: {problem}" + (f"\n{hint}" if hint else ""))
        self.path, self.record, self.offset = path, record, offset


class UnknownFormatError(InputError):
    """The content matches no format of `multitracer formats`."""


class NoUsableInputError(InputError):
    """Every input was read, and none holds anything that can be analysed."""


class ReadingDefectError(InputError):
    """Reading an input failed where it should not, for the exception that is its cause: a defect of MultiTracer."""

    def __init__(self, path: str, error: Exception) -> None:
        first = (str(error).splitlines() or [""])[0][:200]
        super().__init__(
            path,
            f"defect in reading this file: {type(error).__name__}: {first}",
            hint="That is MultiTracer's fault, not the file's: run it with -v for where, and please report it.",
        )


class SkippedInputError(MultiTracerError):
    """With --strict: something in an input had to be skipped."""

    exit_code = 4


class MissingCapabilityError(MultiTracerError):
    """This machine lacks what the command needs; the message says what to install or do."""

    exit_code = 5
