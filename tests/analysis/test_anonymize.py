"""Made-up addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multitracer.analysis.anonymize import Pseudonyms, rename_inputs
from multitracer.model.options import AnalyzeOptions
from multitracer.model.schema import build
from multitracer.model.short_texts import quoted
from multitracer.model.trace import Input, Recording, Skip, Trace


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


def renamed(*recordings: Recording, path: str = "{}", **columns: list[object]) -> Trace:
    """A trace of recordings in files called 0, 1, ..., with its inputs and hosts renamed."""
    inputs = [Input(number, path.format(number), one) for number, one in enumerate(recordings)]
    return rename_inputs(Trace(inputs, {"tcp_state": build("tcp_state", columns)}), AnalyzeOptions())[0]


def test_a_host_that_a_log_has_by_name_has_a_made_up_one() -> None:
    """One for each name, with the port; addresses, any address and unknown ends stay for the analysis."""
    local = ["alpha.example:80", "10.0.0.1:80", "[fe80::1]:80", "*:80", None, "beta:https"]
    rest: dict[str, list[object]] = {name: [0] * 6 for name in ("time_ns", "recorded_ns", "input")}
    rest |= {"event": ["sample"] * 6}
    state = renamed(local=list(local), remote=["alpha.example:9", *local[1:]], **rest).tables["tcp_state"]
    assert state["local"].tolist()[:4] == ["host-1:80", *local[1:4]]
    assert state["local"].tolist()[5] == "host-2:https"
    assert state["remote"].tolist()[0] == "host-1:9"


def test_what_a_sentence_quotes_of_an_input_is_left_out() -> None:
    """In notes, losses and counts; of a defect in reading only that there was one."""
    said = quoted("cannot reach “alpha”\nat all")
    whole = Recording("x", notes=[f"It says {said}."], skips=[Skip(f"begins {said}")], counts={f"of {said}": 2})
    broken = Recording("y", skips=[Skip("defect in reading this file: KeyError: 'alpha'")], defect=KeyError("alpha"))
    first, second = (entry.recording for entry in renamed(whole, broken).inputs)
    assert first.notes == ["It says “...”."]
    assert (first.skips[0].reason, first.counts) == ("begins “...”", {"of “...”": 2})
    assert second.skips[0].reason == "defect in reading this file"


def test_a_file_s_name_is_replaced_as_a_word() -> None:
    """Not where it is a part of another word, as the name of standard input is of many."""
    trace = renamed(Recording("x", notes=["A re-sent one; see -: it has some."]), path="-")
    assert trace.inputs[0].recording.notes == ["A re-sent one; see input-1: it has some."]
