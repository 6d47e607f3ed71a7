"""Made-up addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multitracer.analysis.anonymize import Pseudonyms


def test_an_address_always_gets_the_same_made_up_address() -> None:
    """The mapping is one to one, in order of appearance; notations of one address give the same."""
    names = Pseudonyms()
    assert [names.address(a) for a in ("10.0.0.9", "192.0.2.1", "10.0.0.9")] == ["240.0.0.1", "240.0.0.2", "240.0.0.1"]
    assert names.address("fe80::1%eth0") == names.address("fe80:0:0:0:0:0:0:1") == "2001:db8::1"
    assert names.address("::ffff:10.0.0.9") == "::ffff:240.0.0.1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.9:80", "240.0.0.1:80"),
        ("[fe80::9]:443 spoke", "[2001:db8::1]:443 spoke"),
        ("[::ffff:10.0.0.9]:80", "[::ffff:240.0.0.1]:80"),
        ("from 10.0.0.9, to 10.0.0.7.", "from 240.0.0.1, to 240.0.0.2."),
        (
            "lost 3.5 of 12 at 10:30:45 (version 1.2.3, 300.1.1.1)",
            "lost 3.5 of 12 at 10:30:45 (version 1.2.3, 300.1.1.1)",
        ),
        ("frames::sent and a:b", "frames::sent and a:b"),
    ],
)
def test_addresses_in_sentences_are_replaced_and_nothing_else(text: str, expected: str) -> None:
    """Ports, times, versions and words stay."""
    assert Pseudonyms().text(text) == expected


@given(st.ip_addresses())
@example(IPv4Address("240.0.0.1"))
@example(IPv6Address("2001:db8::1"))
def test_no_address_survives_in_any_position(address: object) -> None:
    """Beside a port, in brackets and in a sentence, any address becomes its made-up one."""
    names = Pseudonyms()
    made = names.address(str(address))
    assert made != str(address)
    for text in ("{}", "[{}]:80", "at {}, then"):
        assert names.text(text.format(address)) == text.format(made)


def test_columns_keep_their_nulls() -> None:
    """Values of a column that are not text are not changed."""
    names = Pseudonyms()
    column = names.column(pd.Series(["10.0.0.9:1", None, "10.0.0.9:1"], dtype=object))
    assert column.tolist() == ["240.0.0.1:1", None, "240.0.0.1:1"]


def test_addresses_in_nested_values_are_replaced() -> None:
    """Lists and mappings keep their shape."""
    assert Pseudonyms().value({"a": ["10.0.0.9", {"b": ("x", 3, "10.0.0.9")}]}) == {
        "a": ["240.0.0.1", {"b": ("x", 3, "240.0.0.1")}]
    }
