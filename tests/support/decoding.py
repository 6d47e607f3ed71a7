"""Records decoded as those of a capture file."""

from __future__ import annotations

import numpy as np

from multitracer.compute.kernels import octets
from multitracer.model.trace import Recording
from multitracer.parsers.shared.capture import recording
from multitracer.parsers.shared.records import Capture, Records

RAW = 101


def decoded(packets: list[bytes], link_type: int = RAW, originals: list[int] | None = None) -> Recording:
    """The recording of these records."""
    sizes = np.array([len(packet) for packet in packets], dtype=np.int32)
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    count = len(packets)
    records = Records(
        octets(b"".join(packets) or b"\0"), offset, sizes, np.array(originals or sizes, dtype=np.int32),
        np.arange(count, dtype=np.int64), np.zeros(count, dtype=np.int16), np.arange(1, count + 1), [link_type],
    )  # fmt: skip
    return recording("pcap", Capture("x", [link_type], iter([records])))
