"""Mutated inputs of every format, each made from a seed and a number, so that one can be made again."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from functools import cache
from random import Random

import invented_captures
import iperf3_output
import mutated_captures
import mutated_text
import samples
from repository import EXAMPLES

from multitracer import parsers
from multitracer.model.errors import InputError
from multitracer.parsers.shared.source import open_source

_BYTES = 1600
"""Of each sample this much is taken: an input takes some ten milliseconds."""
_CONVERSATION_BYTES = 6000
"""Of an invented capture so much, in which a Wi-Fi station sends and receives data."""
_PACKED_SHARE = 0.06


def _beginning(data: bytes, most: int = _BYTES) -> bytes:
    """The first records of a sample: whole lines of text, whole packets of a capture."""
    if len(data) <= most:
        return data
    if parts := mutated_captures.split(data[: 16 * most]):
        head, records, written, _ = parts
        made = head
        for record in records:
            if len(made) > most and record.head:
                break
            made += written(record)
        return made
    head = data[:most]
    return head[: head.rfind(b"\n") + 1] if b"\0" not in head and b"\n" in head else head


@cache
def seeds() -> dict[str, list[bytes]]:
    """The samples of each format: of the examples, of the shared recordings if they are there, and invented ones."""
    found: dict[str, list[bytes]] = {entry.name: [] for entry in parsers.FORMATS}
    paths = [path for path in sorted(EXAMPLES.rglob("*")) if path.is_file() and "report" not in path.name]
    paths += [path for entry in parsers.FORMATS for path in samples.shared_files(entry.name)]
    for path in paths:
        try:
            source = open_source(str(path))
            name = parsers.recognise(source).name
        except InputError:
            continue
        found[name].append(_beginning(source.head))
    for name, data in samples.INVENTED.items():
        found[name].append(_beginning(data))
    found["iperf3"].append(_beginning(iperf3_output.stream(iperf3_output.transfer())))
    for name, several in invented_captures.captures().items():
        found[name] += [_beginning(data, _CONVERSATION_BYTES) for data in several]
    return {name: list(dict.fromkeys(several)) for name, several in found.items() if several}


def mutant(seed: int, number: int) -> tuple[str, bytes]:
    """One mutated input, and the format that it was."""
    rng = Random(f"{seed} {number}")
    names = sorted(seeds())
    name = "pcap" if rng.random() < 0.25 else rng.choice(names)
    data = rng.choice(seeds()[name])
    damage: Callable[[bytes, Random], bytes] = mutated_text.damaged if _is_text(data) else mutated_captures.damaged
    data = damage(data, rng)
    if rng.random() < _PACKED_SHARE:
        pack = rng.choice([gzip.compress, zlib.compress, lzma.compress, bz2.compress])
        data = mutated_text.octets(pack(data), rng)
    return name, data


def _is_text(data: bytes) -> bool:
    return b"\0" not in data[:1000] and data[:400].isascii()
