"""The examples of each cause of `limits`: the tool names what was set up, from both captures and from the sender's."""

from __future__ import annotations

import json
import runpy
from dataclasses import asdict
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from repository import EXAMPLES

import multitracer
from multitracer.model.limits import LIMITS

CAUSES = EXAMPLES / "causes"
KNOWN = LIMITS[: LIMITS.index("unknown")]
INPUTS = {"both": ("snd.pcap", "rcv.pcap"), "sender": ("snd.pcap",)}
CONFIRMED = {
    "application": {"application-limited"},
    "receiver_window": {"receiver-window-limited", "zero-window"},
    "sender_window": set(),
    "timeout_recovery": {"timeout"},
    "fast_recovery": {"fast-retransmit"},
    "path_stall": {"path-stall"},
    "path_rate": set(),
}
"""What is found in each; two causes have no kind of finding."""


def recorder() -> SimpleNamespace:
    """What the script that recorded them defines."""
    return SimpleNamespace(**runpy.run_path(str(CAUSES / "record.py")))


@cache
def summary(cause: str, inputs: str) -> dict[str, Any]:
    """The summary of an example from its inputs of a name."""
    return multitracer.analyze([CAUSES / cause / name for name in INPUTS[inputs]]).summary()


@pytest.mark.slow
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("cause", KNOWN)
def test_the_dearest_cause_is_what_was_set_up(cause: str, inputs: str) -> None:
    """In each folder another one, and the time adds up."""
    shares = summary(cause, inputs)["limits"]
    assert max(shares, key=shares.get) == cause
    assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("cause", KNOWN)
def test_the_finding_of_the_cause_is_confirmed(cause: str, inputs: str) -> None:
    """Where there is a kind of finding that says it; but from the sender's capture alone a timeout is likely.

    This receiver sent no DSACK that would show that it sends them: an acknowledgement of an earlier copy may be lost.
    """
    findings = summary(cause, inputs)["findings"]
    expected = "likely" if (cause, inputs) == ("timeout_recovery", "sender") else "confirmed"
    assert CONFIRMED[cause] <= {one["kind"] for one in findings if one["verdict"] == expected}


def test_every_cause_has_an_example_recorded_as_the_script_says() -> None:
    """What truth.json says was set up is what the table of scenarios says now."""
    scenarios = {one.cause: json.loads(json.dumps(asdict(one))) for one in recorder().SCENARIOS}
    assert tuple(scenarios) == KNOWN
    for cause, scenario in scenarios.items():
        truth = json.loads((CAUSES / cause / "truth.json").read_text())
        assert {name: truth.get(name) for name in scenario} == scenario


def test_a_packet_comes_out_when_rate_delay_and_stalls_let_it() -> None:
    """1000 octets at 8 kbit/s take a second; a stall holds the next one, and loses nothing."""
    script = recorder()
    way = script.Way(script.Scenario("", 0, rate_bps=8000, delay_s=0.5, held=((1.0, 5.0),)), data=True)
    first, second = bytes(1000), bytes(1000)[:-1] + b"2"
    way.offer(first, 0.0)
    way.offer(second, 0.1)
    assert list(way.arrived(1.4)) == []
    assert list(way.arrived(1.5)) == [first]
    assert list(way.arrived(6.4)) == []
    assert list(way.arrived(6.5)) == [second]


def test_a_link_loses_data_and_not_acknowledgements() -> None:
    """While it is dead, and when its queue is full, which loses both."""
    script = recorder()
    acknowledgement, data = bytes(52), bytes(1500)
    way = script.Way(script.Scenario("", 0, dead=((0.0, 1.0),), queue_packets=1), data=True)
    way.offer(data, 0.5)
    way.offer(acknowledgement, 0.6)
    way.offer(data, 1.0)
    way.offer(acknowledgement, 1.0)
    assert list(way.arrived(9.0)) == [acknowledgement, data]
