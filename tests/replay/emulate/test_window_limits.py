"""How fast link protocols can be by their windows: the figures that papers and specifications' readers know."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitracer.model.errors import UsageError
from multitracer.replay.emulate.kernel import KernelKeys
from multitracer.replay.emulate.window_limits import check_windows, window_limits
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.schema import parsed

RLC_ROUND_TRIP = {"link.frame_bytes": 40, "link.tti_s": 0.01, "link.delay_s": 0.0575, "link.protocol": "rlc-am"}


@pytest.mark.parametrize(
    ("keys", "mbits"),
    [
        ({"link.protocol": "rlp", "link.frame_bytes": 30, "link.tti_s": 0.02, "link.delay_s": 0.18}, 0.03),
        ({"link.protocol": "sr", "link.tti_s": 0.005, "link.delay_s": 0.05}, 2.3),
        ({**RLC_ROUND_TRIP, "link.rlc-am.window": 512}, 1.15),
        ({**RLC_ROUND_TRIP, "link.rlc-am.window": 2047}, 4.6),
    ],
)
def test_a_window_lasts_for_a_round_trip(keys: dict[str, object], mbits: float) -> None:
    """What it holds in user data, in the shortest time in which its first frame can be acknowledged."""
    scenario = resolve("test", dict(parsed(name, value) for name, value in keys.items()))
    limits = window_limits(scenario, KernelKeys({}))
    assert [one.way for one in limits] == ["down", "up"]
    for limit in limits:
        assert limit.window_bps / 1e6 == pytest.approx(mbits, rel=0.03)


def test_what_the_link_has_room_for_is_user_data() -> None:
    """12 PDUs of 38 octets every 10 ms."""
    said = dict(parsed(*one) for one in {**RLC_ROUND_TRIP, "link.blocks_per_tti": 12}.items())
    limit = window_limits(resolve("test", said), KernelKeys({}))[0]
    assert limit.link_bps == pytest.approx(12 * 38 * 8 / 0.01)
    assert "has room for 0.365 Mbit/s, and a window of 512 frames over a round trip of 0.135 s" in limit.said


def test_a_protocol_without_a_window_has_no_limit() -> None:
    """Raw frames wait for nobody."""
    assert window_limits(resolve("test", {}), KernelKeys({})) == []


def test_a_schedule_has_room_for_its_mean(tmp_path: Path) -> None:
    """Not for as much as its fullest millisecond all the time: cellular links send in bursts."""
    schedule = tmp_path / "bursts"
    schedule.write_text("".join(f"{ms}\n" for ms in (*[10] * 40, 990, 1000)))
    said = dict(parsed(*one) for one in (SLOW | {"emulate.schedule_down": str(schedule)}).items())
    keys = KernelKeys(said)
    limit = window_limits(resolve("test", keys.modelled() | keys.of_schedules()), keys)[0]
    assert limit.link_bps == pytest.approx(42 * 248 * 8)
    assert not limit.falls_short


SLOW: dict[str, str] = {"link.protocol": "rlc-am", "link.delay_s": "0.2"}
FAST = {"link.rate_bps": "5000000"}


def scenario_of(keys: dict[str, str]) -> Scenario:
    """The scenario that these keys make."""
    return resolve("test", dict(parsed(*one) for one in keys.items()))


def refused(file: dict[str, str], settings: dict[str, str]) -> str:
    """Why a link is refused of these keys in a file and over it, empty where it is not."""
    own, over = (dict(parsed(*one) for one in keys.items()) for keys in (file, settings))
    try:
        check_windows(resolve("test", own | over), own | over, over)
    except UsageError as error:
        return str(error)
    return ""


def test_a_link_that_its_window_cannot_fill_is_refused() -> None:
    """With the window that would, if there is one."""
    said = refused(SLOW, FAST)
    needed = int(said.partition("Fill it with link.rlc-am.window = ")[2].partition(",")[0])
    assert "4.96 Mbit/s, and a window of 512 frames over a round trip of 0.401 s carries" in said
    for window, fills in ((needed, True), (needed - 1, False)):
        limits = window_limits(scenario_of(SLOW | FAST | {"link.rlc-am.window": str(window)}), KernelKeys({}))
        assert all(limit.falls_short != fills for limit in limits)
    assert refused(SLOW, {}) == ""
    assert needed * (250 - 2) * 8 / 0.401 == pytest.approx(4.96e6, rel=0.002)
    assert "No window fills it" in refused(SLOW, {"link.rate_bps": "90000000"})


def test_a_window_is_asked_for_where_it_is_said_with_its_link() -> None:
    """In a file with the link, whatever else is set; for another link it has to be said anew."""
    window = {"link.rlc-am.window": "20"}
    assert refused(SLOW | FAST | window, {}) == ""
    assert refused(SLOW | FAST | window, {"channel.model": "none"}) == ""
    assert refused(SLOW | window, FAST)
    assert refused(SLOW, {"link.down.rate_bps": "5000000"} | window) == ""
