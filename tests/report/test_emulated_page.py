"""The page of paper 002's sessions under the machine's own TCP."""

from __future__ import annotations

from typing import Any

import pytest

from multitracer.replay.emulate.delivery_order import Measured, cells
from multitracer.replay.papers.runs import Runs
from multitracer.report import emulated_page
from multitracer.report.emulated_document import document


def sessions(order: str) -> list[dict[str, Any]]:
    """Three sessions, of which those out of sequence are a tenth slower and send four segments again."""
    late = order == "out"
    return [
        {"goodput_bps": (250e3 + one) * (0.9 if late else 1), "tcp_retransmissions": 4 if late else 0,
         "rtt_ms": 500.0 + one, "tcp_timeouts": 0, "tcp_spurious_retransmissions": 0, "trusted": True}
        for one in range(3)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the command makes of them; no session was modelled."""
    measured = [Measured(one.labels, sessions(one.labels["order"])) for one in cells("quick")]
    return document(measured, Runs("delivery-order", {}), "quick")


def test_what_changed_is_said_in_numbers(found: dict[str, Any]) -> None:
    """The published mean beside this kernel's, and in how many settings goodput is lost for sure."""
    assert "5.14 (published, Linux 2.4 with FACK)" in found["said"][0]
    assert "4.00 \u00b1 0.00 (Linux" in found["said"][0]
    assert "costs goodput in 24, at most 10 %" in found["said"][1]


def test_what_was_not_modelled_is_unknown(found: dict[str, Any]) -> None:
    """Not 0."""
    assert "not known (modelled)" in found["said"][0]
    assert found["resends"]["rows"][0]["cells"][2:4] == [None, None]


def test_tables_have_a_cell_for_every_heading(found: dict[str, Any]) -> None:
    """Published, modelled, and each kind of TCP."""
    for table in (found["resends"], found["changes"]):
        assert {len(one["cells"]) for one in table["rows"]} == {len(table["heads"])}


def test_the_page_shows_every_cell(found: dict[str, Any]) -> None:
    """With its TCP in words, and a figure for each metric."""
    page = emulated_page.html(found)
    assert page.count("SACK, no F-RTO, RACK, no threshold</td>") == 12
    assert page.count("out of sequence</td>") >= 25
    assert "\u00b1" in page or "&plusmn;" in page
