r"""Block-erasure traces packed to one bit a block, for long ones; the text format is in `erasures`.

Layout: the octets `\x89erased\n`; the header's size in octets (32 bits, little endian) and the header, the
text format's `# key: value` lines; the number of blocks (64 bits, little endian); the blocks, eight an
octet, the first in the lowest bit, 1 where the block was lost, zero bits at the end.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.erasures import header_text, recording
from multitracer.parsers.erasures import read_header as header_of
from multitracer.parsers.shared.lines import CUT, Losses

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

MAGIC = b"\x89erased\n"
_SIZE, _COUNT = struct.Struct("<I"), struct.Struct("<Q")
_LONGEST_HEADER = 1 << 16


def sniff(head: bytes) -> bool:
    """Whether it begins with the magic octets."""
    return head.startswith(MAGIC)


def read(source: Source) -> Recording:
    """The trace as `metadata["erased"]`, one bool a block, as `erasures` reads it; no table."""
    losses, head = Losses(), source.first(_LONGEST_HEADER + len(MAGIC) + _SIZE.size + _COUNT.size)
    at = len(MAGIC) + _SIZE.size
    size = _SIZE.unpack_from(head, len(MAGIC))[0] if len(head) >= at else _LONGEST_HEADER + 1
    begin = at + size + _COUNT.size
    if size > _LONGEST_HEADER or len(head) < begin:
        raise InputError(source.path, "ends within its header", offset=len(head), hint="Write the trace again.")
    metadata = header_of(head[at : at + size], losses, at)
    blocks = _COUNT.unpack_from(head, at + size)[0]
    end = begin + -(-blocks // 8)
    octets = np.frombuffer(source.first(end), dtype=np.uint8, offset=begin)
    erased = np.unpackbits(octets, bitorder="little")[:blocks].view(np.bool_)
    if len(erased) < blocks:
        losses.add(CUT, None, begin + len(octets))
    elif behind := sum(map(len, source.pieces())) - end:
        losses.add("octets behind the last block", None, end, behind)
    return recording(source, "erasures-packed", erased, metadata, losses)


def write(stream: BinaryIO, erased: Any, header: dict[str, Any] | None = None) -> None:
    """Write a trace, one bool a block, with its header; the inverse of `read`."""
    flat = np.asarray(erased, dtype=np.bool_)
    text = header_text(header).encode()
    stream.write(MAGIC + _SIZE.pack(len(text)) + text + _COUNT.pack(len(flat)))
    stream.write(np.packbits(flat, bitorder="little").tobytes())
