"""How much longer one transfer took than another, and what that time went to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared

from multitracer import cli
from multitracer.analysis.difference import MOST_NAMED, OTHER, difference, sentence, spent
from multitracer.model.vocabulary import CAUSES, LIMIT_NAMES

SECONDS = st.floats(0, 1000)


def row(name: str, **spent_s: dict[str, float] | None) -> dict[str, Any]:
    """What compare.json has of a transfer, as far as it is compared."""
    return {"name": name, "spent_s": {"accounting": None, "blame": None, "limits": None} | spent_s}


def accounts() -> st.SearchStrategy[dict[str, float]]:
    """Seconds of every cause of the accounting."""
    return st.fixed_dictionaries(dict.fromkeys(CAUSES, SECONDS))


@given(accounts(), accounts())
def test_the_parts_add_up_to_the_difference(one: dict[str, float], two: dict[str, float]) -> None:
    """With what is too little to be named; each named part is the difference of that cause."""
    found = difference(row("a", accounting=one), row("b", accounting=two))
    assert found is not None
    assert found["seconds"] == pytest.approx(sum(two.values()) - sum(one.values()))
    assert sum(found["parts"].values()) == pytest.approx(found["seconds"], abs=1e-6)
    assert len(found["parts"]) <= MOST_NAMED + 1
    for name in found["parts"].keys() - {OTHER}:
        assert found["parts"][name] == two[name] - one[name]


def test_the_sentence_names_the_largest_first_and_adds_up_as_written() -> None:
    """Signs say what took longer and what less."""
    one = row("good", accounting={"new_data": 30.04, "idle_recovery": 0.0, "flow_controlled": 0.0, "idle_sender": 2.1})
    two = row("bad", accounting={"new_data": 30.0, "idle_recovery": 12.42, "flow_controlled": 2.6, "idle_sender": 0.9})
    found = difference(one, two)
    assert found is not None
    assert sentence(found) == (
        "13.8 s longer than good: idle (TCP waits or repairs) +12.4 s, flow controlled +2.6 s, "
        "idle (nothing to send) -1.2 s."
    )
    back = difference(two, one)
    assert back is not None
    assert sentence(back).startswith("13.8 s shorter than bad: idle (TCP waits or repairs) -12.4 s, ")


def test_equal_transfers_took_equally_long() -> None:
    """Nothing is named."""
    one = row("a", accounting={"new_data": 3.0}, blame={"unexplained": 0.0})
    found = difference(one, {**one, "name": "b"})
    assert found == {
        "name": "b", "against": "a", "seconds": 0, "by": "accounting", "parts": {OTHER: 0}, "blame": {OTHER: 0}
    }  # fmt: skip
    assert sentence(found) == "As long as a: nothing changed by 0.1 s."


def test_transfers_are_compared_by_what_both_have() -> None:
    """The accounting, else the limits; without either there is no difference to tell."""
    limits = dict.fromkeys(LIMIT_NAMES, 1.0)
    accounted = row("a", accounting=dict.fromkeys(CAUSES, 1.0), limits=limits)
    limited = row("b", limits=limits | {"path_rate": 3.0})
    found = difference(accounted, limited)
    assert found is not None
    assert (found["by"], found["seconds"], found["parts"]) == ("limits", 2.0, {"path_rate": 2.0, OTHER: 0.0})
    assert sentence(found) == "2.0 s longer than a: the path's rate +2.0 s."
    assert difference(accounted, row("c")) is None
    assert difference({"name": "d", "spent_s": None}, accounted) is None


@pytest.mark.data
@pytest.mark.slow
def test_differences_are_those_of_the_summaries(tmp_path: Path) -> None:
    """By cause of the accounting and of the blame, from the summaries alone."""
    folders = [shared("linux", name) for name in ("rlp-good", "rlp-reset", "stall")]
    assert cli.run(["analyze", "--compare", *map(str, folders), "--no-report", "-q", "-o", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "compare.json").read_text())
    first, *others = [json.loads((tmp_path / path.name / "summary.json").read_text()) for path in folders]
    assert [one["name"] for one in document["differences"]] == ["rlp-reset", "stall"]
    for told, summary in zip(document["differences"], others, strict=True):
        session = [one["utilization"]["session_s"] for one in (first, summary)]
        assert told["seconds"] == pytest.approx(session[1] - session[0], abs=1e-9)
        for name in told["parts"].keys() - {OTHER}:
            shares = [one["accounting"][name] for one in (first, summary)]
            assert told["parts"][name] == pytest.approx(shares[1] * session[1] - shares[0] * session[0], abs=1e-9)
        for name in told["blame"].keys() - {OTHER, "new_data", "link_overhead"}:
            blamed = [sum(one["seconds"] for one in each["blame"] if one["cause"] == name) for each in (first, summary)]
            assert told["blame"][name] == pytest.approx(blamed[1] - blamed[0], abs=1e-9)
        for parts in (told["parts"], told["blame"]):
            assert sum(parts.values()) == pytest.approx(told["seconds"], abs=1e-6)


def test_without_accounting_the_limits_time_is_spent() -> None:
    """Each limit's share of the time that they divide; without that time nothing is known in seconds."""
    summary = {"accounting": None, "blame": None, "limits": {"application": 0.25, "path_rate": 0.75}}
    assert spent(summary, 8.0) == {"accounting": None, "blame": None, "limits": {"application": 2.0, "path_rate": 6.0}}
    assert spent(summary, None) is None
