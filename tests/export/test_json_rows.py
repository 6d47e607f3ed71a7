"""Items made from columns, as dicts and as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.analysis.plain_values import dicts
from multitracer.export.json_rows import lines

ROWS = 3


def columns(elements: st.SearchStrategy[Any], dtype: type) -> st.SearchStrategy[Any]:
    """A column of ROWS of these."""
    return st.lists(elements, min_size=ROWS, max_size=ROWS).map(lambda values: np.array(values, dtype=dtype))


COLUMNS = st.one_of(
    columns(st.integers(-(2**63), 2**63 - 1), np.int64),
    columns(st.integers(0, 2**16 - 1), np.uint16),
    columns(st.floats(), np.float64),
    columns(st.booleans(), np.bool_),
    columns(st.none() | st.integers(-5, 5), object),
    columns(st.text(), object),
)
TREES = st.recursive(COLUMNS, lambda inner: st.dictionaries(st.text(), inner, min_size=1, max_size=4)).filter(
    lambda tree: isinstance(tree, dict)
)


@pytest.mark.slow
@given(TREES)
def test_a_line_is_the_text_of_its_item(tree: dict[str, Any]) -> None:
    """The JSON text and the dict of an item agree, for any names and values."""
    assert [json.loads(line) for line in lines(tree)] == dicts(tree)
    assert all(b"\n" not in line for line in lines(tree))


def test_unknown_values_are_none_and_known_ones_pythons_own() -> None:
    """Not-a-number is unknown, infinity no number; whole numbers stay whole, also in an inner item."""
    tree = {"s": np.array([0.5, np.nan, np.inf]), "in": {"n": np.array([1, None, 3], dtype=object)}}
    assert dicts(tree) == [{"s": 0.5, "in": {"n": 1}}, {"s": None, "in": {"n": None}}, {"s": None, "in": {"n": 3}}]
    assert lines(tree)[1:] == [b'{"s":null,"in":{"n":null}}', b'{"s":null,"in":{"n":3}}']


def test_values_that_are_equal_but_written_differently_stay_apart() -> None:
    """A column of one value throughout is written from that value alone: -0.0 is not 0.0, and 1 is not true."""
    tree = {"n": np.array([0.0, -0.0]), "o": np.array([1, True], dtype=object), "nan": np.array([np.nan, np.nan])}
    assert lines(tree) == [b'{"n":0.0,"o":1,"nan":null}', b'{"n":-0.0,"o":true,"nan":null}']
    assert lines({"same": np.array([7, 7])}) == [b'{"same":7}', b'{"same":7}']


def test_items_do_not_share_values() -> None:
    """Changing one item changes no other."""
    first, second = dicts({"in": {"n": np.array([1, 2])}})
    first["in"]["n"] = 7
    assert second == {"in": {"n": 2}}


def test_no_rows_give_no_items() -> None:
    """Neither as dicts nor as JSON."""
    tree = {"a": np.zeros(0), "in": {"b": np.zeros(0, dtype=object)}}
    assert dicts(tree) == lines(tree) == []
