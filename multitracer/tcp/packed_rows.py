"""What passes over a connection branch on, of each segment, packed in one word.

The rows of a connection are far apart, and each column of each row would be a cache miss of its own; words are read in
the order of the connection's rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel

RESENT, OPTIONS, FLAGS, LENGTH = 1, 8, 16, 32
"""First bits of the fields of a word; bit 0 is the sender. Flags and options are tested by their bits."""


@kernel
def pack_word(sender: int, resent: int, flags: int, options: int, length: int) -> int:
    """The fields of a segment in one word; `resent` says whether it is marked as a retransmission."""
    return (length << LENGTH) | (flags << FLAGS) | (options << OPTIONS) | (resent << RESENT) | sender


@kernel
def pack_rows(
    connection: Any, point: Any, sender: Any, flags: Any, options: Any, length: Any, marks: Any, resent: int, skip: int,
    points: int, position: Any, words: Any,
) -> None:  # fmt: skip
    """Pack rows in the order of the groups of connection and point; `position` advances."""
    for row in range(len(connection)):
        if connection[row] >= 0 and not marks[row] & skip:
            group = np.int64(connection[row]) * points + point[row]
            words[position[group]] = pack_word(
                np.int64(sender[row]), 1 if marks[row] & resent else 0, np.int64(flags[row]), np.int64(options[row]),
                np.int64(length[row]),
            )  # fmt: skip
            position[group] += 1
