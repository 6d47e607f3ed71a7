"""The order in which findings are shown: the surest first, then the most severe."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.model.vocabulary import KINDS

_RANK = tuple(KINDS)
_SURENESS = ("confirmed", "likely", "undecided")


def order_groups(kinds: Any, verdicts: Any, lasted: Any) -> list[npt.NDArray[np.int64]]:
    """The numbers of findings in groups of one verdict and kind: confirmed first, then by severity.

    In each group those that lasted longest are first. The arguments have one element per finding.
    """
    names = {one: place for place, one in enumerate(sorted(set(zip(verdicts, kinds, strict=True)), key=_place))}
    group = np.fromiter((names[one] for one in zip(verdicts, kinds, strict=True)), dtype=np.int64, count=len(kinds))
    order = np.lexsort((-lasted, group))
    return np.split(order, np.searchsorted(group[order], np.arange(1, len(names)))) if len(names) else []


def _place(named: tuple[str, str]) -> tuple[int, int]:
    verdict, kind = named
    return _SURENESS.index(verdict), _RANK.index(kind)
