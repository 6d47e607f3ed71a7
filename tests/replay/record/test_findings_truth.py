"""What is true of a run in the words of findings: scenes of a few packets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from multitracer.replay.record.findings_truth import TrueFindings
from multitracer.replay.tcp.packets import ACK, DATA, SYN


@pytest.mark.parametrize(("times", "expected"), [((3,), []), ((3, 1003, 3003), [("handshake-retry", 3, 3003)])])
def test_a_syn_that_was_sent_again_is_a_handshake_retry(times: tuple[int, ...], expected: list[Any]) -> None:
    """From the first to the last of one end; what is no SYN does not count."""
    packets = [(at, 0, SYN) for at in times] + [(3500, 1, SYN | ACK), (4000, 0, DATA), (5000, 0, DATA)]
    segments = [SimpleNamespace(flow=SimpleNamespace(number=0), end=end) for end in (0, 1)]
    copies = [
        SimpleNamespace(sent_ns=at, packet=SimpleNamespace(bits=bits), segment=segments[end])
        for at, end, bits in packets
    ]
    run = SimpleNamespace(copies=copies)
    true: Any = SimpleNamespace(accounting=SimpleNamespace(side=SimpleNamespace(run=run)))
    found = TrueFindings._handshakes(true)
    assert [(one.kind, one.start_ns, one.end_ns) for one in found] == expected
