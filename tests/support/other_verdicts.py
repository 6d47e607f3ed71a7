"""Verdicts on the published rows from the runs' numbers and the texts of the checks alone.

A second program beside `reproduce`: it shares no code with it, and reads from the table of the runs and
published_results.csv what each row's verdict is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import check_forms
import checks_of_delivery_order
import checks_of_rlp
import checks_of_shared_links
import checks_of_web_sessions
import numpy as np
from checking import fields_of, published, verdict
from runs_table import Runs

CHECKS = check_forms, checks_of_delivery_order, checks_of_rlp, checks_of_shared_links, checks_of_web_sessions
"""Where the forms of checks stand."""
REPEATS = (
    "P000-050", "P001-010", "P002-017", "P002-018", "P002-019", "P002-020", "P003-025", "P003-026", "P003-053",
    "P003-056", "P003-085", "P003-109", "P003-112", "P003-113", "P003-114", "P003-115", "P003-116", "P003-117",
    "P003-118", "P003-119", "P003-126",
)  # fmt: skip
"""Rows that say what others say, and enter no score."""


def verdicts(paper: str, runs: Runs) -> dict[str, str]:
    """Of every row of a paper."""
    return {row["id"]: verdict(row, runs) for row in published() if row["paper"] == paper}


def score(found: Mapping[str, str]) -> dict[str, Any]:
    """How many of each kind are reproduced, of how many, and how many undecided; each result once."""
    of_kind: dict[str, Any] = {kind: [0, 0] for kind in ("optimum", "ordering", "value")}
    undecided = 0
    for row_id, said in found.items():
        row = fields_of(row_id)
        if row["role"] == "result" and row_id not in REPEATS:
            of_kind[row["kind"]][0] += said == "reproduced"
            of_kind[row["kind"]][1] += 1
            undecided += said == "undecided"
    return of_kind | {"undecided": undecided}


LINES = ("SACK", *check_forms.LIMITS)
"""The options of paper 000's figures."""
ALONE = ("P000-045", "P000-046", "P000-060", "P000-061", "P000-063")
"""Orderings of paper 000 that set one option against itself."""


def random_orderings(paper: str, runs: Runs, draws: int, seed: int = 1) -> float:
    """The mean share of paper 000's orderings that are reproduced when each figure's options change places."""
    rows = [row for row in published() if row["paper"] == paper and _is_permuted(row)]
    random = np.random.default_rng(seed)
    held = [verdict(row, replace(runs, turn=_Turn(random))) == "reproduced" for _ in range(draws) for row in rows]
    return sum(held) / len(held)


def _is_permuted(row: Mapping[str, str]) -> bool:
    scored = row["role"] == "result" and row["kind"] == "ordering" and row["id"] not in REPEATS
    return scored and row["id"] not in ALONE


class _Turn:
    """One permutation of a figure's options, the same for all error rates."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.figures: dict[tuple[object, ...], dict[str, str]] = {}

    def __call__(self, figure: tuple[object, ...], option: str) -> str:
        if figure not in self.figures:
            places = self.random.permutation(len(LINES))
            self.figures[figure] = {one: LINES[place] for one, place in zip(LINES, places, strict=True)}
        return self.figures[figure].get(option, option)
