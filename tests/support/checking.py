"""Which form a check's text has, and the verdict on a published row that its tests give."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from confidence import Truth, every
from runs_table import NoRunsError, Row, Runs
from shared_data import shared

Tests = Iterator[Truth]
FORMS: dict[str, Callable[..., Tests]] = {}
"""How checks whose texts match a pattern from their beginning are tested."""
OF_OTHERS = {"setup": "set-up", "input": "calibrated", "event": "not decidable", "background": "not decidable"}
"""The verdict on rows that are no results, by role."""
OF_RESULTS = {True: "reproduced", False: "not reproduced", None: "undecided"}


def form(pattern: str) -> Callable[[Callable[..., Tests]], Callable[..., Tests]]:
    """Let a function of the row, and of the pattern's groups, test the checks of this form."""

    def register(function: Callable[..., Tests]) -> Callable[..., Tests]:
        FORMS[pattern] = function
        return function

    return register


@cache
def published() -> tuple[Mapping[str, str], ...]:
    """Every row of published_results.csv; skips the test without the shared data."""
    with shared("..", "facts", "published_results.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


@cache
def fields_of(row_id: str) -> Mapping[str, str]:
    """The row of that name."""
    return next(row for row in published() if row["id"] == row_id)


def form_of(check: str) -> tuple[str, tuple[str, ...]]:
    """The one form that a check's text has, and what stands in its gaps."""
    found = [(pattern, match.groups()) for pattern in FORMS if (match := re.match(pattern, check))]
    if len(found) != 1:
        raise LookupError(f"{len(found)} forms fit '{check}'")
    return found[0]


def tests_of(row: Row) -> list[Truth]:
    """Every test that a result's check asks for; open where runs are missing."""
    pattern, gaps = form_of(row.fields["check"])
    found: list[Truth] = []
    try:
        found.extend(FORMS[pattern](row, *gaps))
    except (NoRunsError, ZeroDivisionError):
        found.append(None)
    return found


def verdict(fields: Mapping[str, str], runs: Runs) -> str:
    """Of a row: not reproduced if a test fails, else undecided if one is open."""
    if fields["role"] != "result":
        return OF_OTHERS[fields["role"]]
    return OF_RESULTS[every(tests_of(Row(fields, runs)))]


def alike(row: Row, others: Iterable[str], **looked_at: Any) -> Tests:
    """Whether each of the other rows is decided alike when the runs are looked at in another way.

    A row that is undecided is not decided: that stays open.
    """
    runs = replace(row.runs, **looked_at)
    for other in others:
        both = {verdict(fields_of(other), row.runs), verdict(fields_of(other), runs)}
        yield None if OF_RESULTS[None] in both else len(both) == 1
