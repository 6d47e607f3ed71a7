"""docs/recording.md: how fast link protocols can be by their windows is what `emulate` holds a link to."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from doc_commands import DOCS

from multitracer.replay.arq.rlp.entity import OVERHEAD_BYTES
from multitracer.replay.emulate.kernel import KernelKeys
from multitracer.replay.emulate.window_limits import window_limits
from multitracer.replay.simulate.entities import RLC_HEADER
from multitracer.replay.simulate.link_keys import PROTOCOLS
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.schema import NAMED, parsed

ROW = re.compile(r"^ *\| ([\w, -]+) \| (\d+) \| (\d+) octets \| ([\d.]+) s \| ([\d.]+) Mbit/s \|$", re.MULTILINE)
HEADERS = {"rlp": OVERHEAD_BYTES, "rlc-am": RLC_HEADER}
SLOT_S = 0.01


class Stated(NamedTuple):
    """A row of the page's table, of one protocol."""

    protocol: str
    window: int
    octets: int
    round_trip_s: float
    mbits: str

    def scenario(self) -> Scenario:
        """A link with this window, these frames and this round trip."""
        keys = {
            "link.protocol": self.protocol, f"link.{self.protocol}.window": self.window, "link.tti_s": SLOT_S,
            "link.delay_s": self.round_trip_s / 2 - SLOT_S,
            "link.frame_bytes": self.octets + HEADERS.get(self.protocol, 0), "tcp.segment_bytes": 1500,
        }  # fmt: skip
        return resolve("test", dict(parsed(name, value) for name, value in keys.items()))


TEXT = (DOCS / "recording.md").read_text(encoding="utf-8")
TABLE = [
    Stated(protocol, int(window), int(octets), float(round_trip), mbits)
    for protocols, window, octets, round_trip, mbits in ROW.findall(TEXT)
    for protocol in protocols.split(", ")
]


@pytest.mark.parametrize("stated", TABLE, ids=lambda one: f"{one.protocol}-{one.window}-{one.octets}")
def test_a_stated_limit_is_that_of_such_a_link(stated: Stated) -> None:
    """Both ways, in as many digits as the page has."""
    for limit in window_limits(stated.scenario(), KernelKeys({})):
        assert limit.round_trip_s == pytest.approx(stated.round_trip_s)
        digits = len(stated.mbits.partition(".")[2])
        assert f"{limit.window_bps / 1e6:.{digits}f}" == stated.mbits


def test_every_protocol_with_a_window_is_stated_with_its_default() -> None:
    """RLC AM's also with the widest window there is; the others are said to have none."""
    limited = {protocol for protocol in PROTOCOLS if f"link.{protocol}.window" in NAMED}
    assert {one.protocol for one in TABLE} == limited
    stated = {(one.protocol, one.window) for one in TABLE}
    assert stated >= {(protocol, NAMED[f"link.{protocol}.window"].default) for protocol in limited}
    assert ("rlc-am", NAMED["link.rlc-am.window"].most) in stated
    (unlimited,) = re.findall(r"([\w, -]+?) have\s+no window", " ".join(TEXT.split()))
    assert set(re.split(r", | and ", unlimited.strip())) == set(PROTOCOLS) - limited
