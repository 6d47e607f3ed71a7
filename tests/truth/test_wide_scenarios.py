"""What `analyze` finds in recordings of every link protocol, channel and workload, against what is true of them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from recorded_scenarios import Compared, analysed, compared, record
from wide_scenarios import CHANNELS, PROTOCOLS, WORKLOADS, wide_case

pytestmark = pytest.mark.slow

BOTH = (5, 6, 9, 12, 229, 230)
"""RLC UM and a trace, RLC TM and listed losses, ASR and bit errors, RLC UM and listed losses; three of them the web. Of
the web, too, RLC UM with an impatient NewReno, and RLC TM, where resends of the other end have the receiver's clock."""
SHARED = (126, 131, 135)
"""Web sessions over a raw link and ASR, and files over RLC UM: no connection alone shows its path's rate."""
LOGGED, ONE_ENDED = (11, 32, 39, 102, 108, 214), (31,)
"""Files one after the other and a single one over RLC AM, web sessions over it beside media and alone, browsing over
RLP, and web sessions beside more media the other way; web sessions over RLP, captured at one end."""
POINTS = 2
"""Points of a hundred of the session."""


@pytest.fixture(autouse=True)
def kernels_run() -> None:
    """Plain: compiling the loops of so short simulations takes longer than they do."""


def found(number: int, folder: Path) -> Compared:
    """A case, recorded and analysed."""
    folder.mkdir(exist_ok=True)
    one = wide_case(number, folder)
    truth = record(one, folder / "run")
    return compared(one, truth, analysed(folder / "run"))


def test_each_protocol_meets_each_channel_and_each_workload(tmp_path: Path) -> None:
    """In as many cases as there are pairs, and four times as many."""
    keys = [wide_case(number, tmp_path).keys for number in range(4 * 49)]
    met = [{(one["link__protocol"], one[name]) for one in keys} for name in ("channel__model", "workload__kind")]
    assert met == [set(product(PROTOCOLS, others)) for others in (CHANNELS, WORKLOADS)]


@pytest.mark.parametrize("number", BOTH)
def test_both_captures_tell_every_retransmission_rightly(number: int, tmp_path: Path) -> None:
    """Found, needless or not, and what set it off; and no cause is said to have limited more than it did."""
    it = found(number, tmp_path / "case")
    assert (it.resends, it.spurious_wrong, it.spurious_unknown, it.trigger_wrong) == (it.found, [], 0, [])
    assert it.resends >= 3
    assert max(points for name, points in it.limits.items() if name != "unknown") < 5


@pytest.mark.parametrize("number", SHARED)
def test_the_connections_between_two_hosts_show_their_paths_rate_together(number: int, tmp_path: Path) -> None:
    """What limited the one with most data is as the truth has it, and nothing of it unknown."""
    assert max(map(abs, found(number, tmp_path / "case").limits.values())) < POINTS


def test_a_connection_alone_is_limited_as_it_is_beside_the_others(tmp_path: Path) -> None:
    """Its path has the rate that all of them show."""
    record(wide_case(SHARED[0], tmp_path), tmp_path / "run")
    whole = analysed(tmp_path / "run").summary()["connections"]
    for number in (2, 17):  # alone, neither shows any
        part = analysed(tmp_path / "run", connections=(number,)).summary()["connections"]
        alone = next(one for one in part if one["id"] == number)
        limits = [one["directions"]["client"]["limits"] for one in (whole[number], alone)]
        assert limits[1] == pytest.approx(limits[0])
        assert limits[0]["path_rate"] > 0.4


@pytest.mark.parametrize("number", LOGGED + ONE_ENDED)
def test_a_links_log_tells_where_its_time_went_and_why(number: int, tmp_path: Path) -> None:
    """Accounting, cause by cause, and nothing is confirmed that did not happen, or by another root; and blame.

    What held back an application whose end was not captured is not seen.
    """
    it = found(number, tmp_path / "case")
    assert it.accounting is not None
    assert it.blame is not None
    assert max(map(abs, it.accounting.values())) < POINTS
    assert number in ONE_ENDED or max(map(abs, it.blame.values())) < POINTS
    assert it.confirmed_wrong == []
