"""Mutated inputs of every format, each made from a seed and a number, so that one can be made again."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import invented_captures
import iperf3_output
import mutated_captures
import mutated_diag
import mutated_text
import pyarrow as pa
import samples
from repository import EXAMPLES

from multitracer import parsers
from multitracer.model.errors import InputError
from multitracer.parsers.shared.source import open_source

_BYTES = 1600
"""Of each sample this much is taken: an input takes some ten milliseconds."""
_CONVERSATION_BYTES = 6000
"""Of an invented capture so much, in which a Wi-Fi station sends and receives data; and of what is read beside."""
_PACKED_SHARE = 0.06
_BESIDE_SHARE = 0.2
_WRITTEN_SHARE = 0.01
"""Of so many inputs all results are written: this takes a second."""


class Sample(NamedTuple):
    """The beginning of a recording, and more of it."""

    data: bytes
    longer: bytes
    experiment: str = ""
    """The folder of the recordings of the same transfer; empty for what is invented."""


class Mutant(NamedTuple):
    """One mutated input."""

    name: str
    """The format that it was."""
    data: bytes
    beside: bytes = b""
    """A sound recording of the same experiment, which is read with it; empty for none."""
    written: bool = False
    """Whether all results are written, of a part of the time and without addresses among others."""


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
def seeds() -> dict[str, list[Sample]]:
    """The samples of each format: of the examples, of the shared recordings if they are there, and invented ones."""
    found: dict[str, list[Sample]] = {entry.name: [] for entry in parsers.FORMATS}
    paths = [path for path in sorted(EXAMPLES.rglob("*")) if path.is_file() and "report" not in path.name]
    paths += [path for entry in parsers.FORMATS for path in samples.shared_files(entry.name)]
    for path in paths:
        try:
            source = open_source(str(path))
            name = parsers.recognise(source).name
        except InputError:
            continue
        found[name].append(_sample(source.head, _experiment(path)))
    for name, data in samples.INVENTED.items():
        found[name].append(_sample(data))
    found["iperf3"].append(_sample(iperf3_output.stream(iperf3_output.transfer())))
    for name, several in invented_captures.captures().items():
        found[name] += [Sample(*[_beginning(data, _CONVERSATION_BYTES)] * 2) for data in several]
    return {name: list(dict.fromkeys(several)) for name, several in found.items() if several}


def _sample(data: bytes, experiment: str = "") -> Sample:
    return Sample(_beginning(data), _beginning(data, _CONVERSATION_BYTES), experiment)


def _experiment(path: Path) -> str:
    """The folder that holds all recordings of a transfer, some in folders of the end that recorded them."""
    return str(path.parent.parent if path.parent.name in ("snd", "rcv") else path.parent)


@cache
def _experiments() -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = defaultdict(list)
    for several in seeds().values():
        for sample in several:
            found[sample.experiment].append(sample)
    return found


def mutant(seed: int, number: int) -> Mutant:
    """One mutated input."""
    rng = Random(f"{seed} {number}")
    names = sorted(seeds())
    name = "pcap" if rng.random() < 0.25 else rng.choice(names)
    sample = rng.choice(seeds()[name])
    beside = rng.choice(_experiments()[sample.experiment]).longer if rng.random() < _BESIDE_SHARE else b""
    data = _damage(name, sample.data)(sample.longer if beside else sample.data, rng)
    if rng.random() < _PACKED_SHARE:
        data = mutated_text.octets(rng.choice(_PACKERS)(data), rng)
    return Mutant(name, data, beside, rng.random() < _WRITTEN_SHARE)


def _damage(name: str, data: bytes) -> Callable[[bytes, Random], bytes]:
    if name == "mi2log":
        return mutated_diag.damaged
    return mutated_text.damaged if _is_text(data) else mutated_captures.damaged


def _is_text(data: bytes) -> bool:
    return b"\0" not in data[:1000] and data[:400].isascii()


_PACKERS: tuple[Callable[[bytes], bytes], ...] = (
    gzip.compress, lzma.compress, bz2.compress, partial(pa.compress, codec="zstd", asbytes=True),
)  # fmt: skip
