"""Compiles what takes longest before the first test, where several processes run all tests and nothing is kept yet.

Otherwise each of them compiles the same kernels at the same time: what two tests need at once is compiled twice. Loops
of one protocol stay in one process, which compiles once what they share; from the cache, only whole ones are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kernel_modes import compiled
from repository import EXAMPLES
from rlc_scene import Scene

import multitracer
from multitracer.compute.kernels import Kernel
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.models import kinds

MANY_TESTS = 3000
"""Fewer tests need few of the kernels."""
_MS = 1_000_000


def compile_share(number: int, processes: int) -> None:
    """Compile what falls to one of several processes: to each one of SHARES, and the rest to the last.

    An error is left to the tests that call the same.
    """
    last = number == processes - 1
    for share in SHARES[number:] if last else SHARES[number : number + 1]:
        with compiled(), suppress(Exception):
            share()


def _links() -> None:
    """RLC's entity that works with octets, and the loops of links that repair or cut what is lost."""
    if not _kept("rlc-am"):
        Scene(Parameters(), lose=lambda _, line: line.startswith("2 A")).offer(*[b"a" * 90] * 9).run(90)
    _loops("rlc-am", "rlc-um", "rlc-tm", "rlp", "sr")


def _analysis() -> None:
    """An analysis of both layers."""
    multitracer.analyze(sorted(map(str, (EXAMPLES / "rlp-reset").iterdir()))).summary()


def _raw() -> None:
    """The loop of a link that does neither."""
    _loops("raw")


SHARES: tuple[Callable[[], None], ...] = (_links, _analysis, _raw)
"""In the order of how long they take; the first as long as the others together."""


def _loops(*names: str) -> None:
    """Compile the loops of these protocols that are not kept."""
    for name in names:
        if not _kept(name):
            kind = kinds()[name]
            ways = [Direction(35 * _MS, slot_ns=10 * _MS) for _ in (0, 1)]
            keep = Keep(log=10, stretches=10, sdus=10, ledger=2)
            Engine(kind.protocol, (kind.parameters(),) * 2, *ways, source([(0, 0, 40)]), keep).run(1000 * _MS)


def _kept(name: str) -> bool:
    loop = kinds()[name].protocol.run
    return isinstance(loop, Kernel) and loop._is_kept
