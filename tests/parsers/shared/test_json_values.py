"""Values of JSON documents, found without making Python objects of the others."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import InputError
from multitracer.parsers import flent, iperf3
from multitracer.parsers.shared import json_values
from multitracer.parsers.shared.json_values import DamagedError, Value, loaded_elements, value_at
from multitracer.parsers.shared.source import Source

DECODER = json.JSONDecoder()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def whole(octets: bytes) -> Value:
    return value_at(octets, 0, len(octets))


def walked(value: Value) -> Any:
    """The Python object, put together from the values that were found."""
    if value.is_object:
        return {name: walked(inner) for name, inner in value.members()}
    if value.octets[value.start : value.start + 1] == b"[":
        return [walked(inner) for inner in value.elements()]
    return value.loaded(DECODER)


@settings(max_examples=30)
@given(VALUES, st.sampled_from([None, 0, "\t"]), st.booleans())
def test_all_values_of_a_document_are_found(value: Any, indent: Any, ascii_only: bool) -> None:
    """However it is written, and whatever brackets and quotes stand in strings."""
    octets = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert (found := whole(octets)).end == len(octets)
    assert walked(found) == value
    assert found.loaded(DECODER) == value


@settings(max_examples=30)
@given(st.dictionaries(st.text(), VALUES, min_size=1), st.data())
def test_a_document_that_is_cut_is_not_whole(value: dict[str, Any], data: st.DataObject) -> None:
    """Wherever it is cut."""
    octets = json.dumps(value).encode()
    with pytest.raises(DamagedError):
        whole(octets[: data.draw(st.integers(0, len(octets) - 1))])


@pytest.mark.parametrize("octets", [b'{"a" 1}', b'{"a": 1, 2}', b'{"a": }', b"{,,}", b'{"a": 1]'])
def test_members_that_are_none_are_damage(octets: bytes) -> None:
    """A name without a value, a value without a name, another bracket."""
    with pytest.raises(DamagedError):
        whole(octets).check()


def test_elements_that_are_none_do_not_cost_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do those that are too long for anything that is read."""
    monkeypatch.setattr(json_values, "LONGEST_LOADED", 20)
    octets = b'[1, {"a": x}, "' + b"a" * 30 + b'", {"a": 1}]'
    damaged: list[int] = []
    assert list(loaded_elements(whole(octets), DECODER, damaged.append)) == [1, {"a": 1}]
    assert damaged == [octets.index(b"{"), octets.index(b'"aa')]


NONSENSE = {
    "flent": b'{"metadata": {"FLENT_VERSION": "2"}, "raw_values": {"a": [%b{}]}}',
    "flent, in what is not read": b'{"metadata": {"FLENT_VERSION": "2", "x": [%b{}]}, "raw_values": {}}',
    "flent, cut": b'{"metadata": {"FLENT_VERSION": "2"}, "raw_values": {"a": [%b',
    "iperf3": b'{"start": {"version": "iperf 3.9"}, "intervals": [%b{}]}',
    "iperf3, cut": b'{"start": {"version": "iperf 3.9"}, "intervals": [%b',
}


@pytest.mark.parametrize("name", NONSENSE)
def test_objects_that_are_no_samples_take_no_memory(name: str) -> None:
    """Of twenty thousand empty objects not more is held than their octets, a few times."""
    octets = NONSENSE[name] % (b"{}," * 20_000)
    reader = flent if "flent" in name else iperf3
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            reader.read(Source("x", octets))
        assert tracemalloc.get_traced_memory()[1] < 6 * len(octets)
    finally:
        tracemalloc.stop()
