"""mahimahi's link schedules as a link's rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitracer.model.errors import InputError, UsageError
from multitracer.replay.emulate.kernel import KernelKeys, check
from multitracer.replay.emulate.schedule import load
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed


def test_opportunities_are_counted_by_the_millisecond(tmp_path: Path) -> None:
    """The last of them is where the schedule begins anew."""
    (tmp_path / "schedule").write_text("1\n1\n3\n5\n")
    assert load(str(tmp_path / "schedule")).tolist() == [1, 2, 0, 1, 0]


def test_the_scenario_has_slots_with_room_for_the_most(tmp_path: Path) -> None:
    """In the direction that the schedule is for."""
    (tmp_path / "schedule").write_text("1\n1\n3\n5\n")
    keys = KernelKeys({"emulate.schedule_up": str(tmp_path / "schedule")})
    assert keys.of_schedules() == {"link.up.tti_s": 0.001, "link.up.blocks_per_tti": 2}
    assert len(keys.schedule("down")) == 0


def test_another_file_is_no_schedule(tmp_path: Path) -> None:
    """What it is instead is said."""
    (tmp_path / "losses").write_text("0101010001\n")
    with pytest.raises(InputError, match="no link schedule of mahimahi's, but erasures"):
        load(str(tmp_path / "losses"))


def test_a_schedule_does_not_go_with_an_erasure_trace() -> None:
    """That counts equal slots."""
    said = dict(
        parsed(name, value)
        for name, value in {
            "channel.model": "trace", "channel.trace": "x", "emulate.schedule_down": "y", "link.frame_bytes": 1500
        }.items()
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"channel\.model = trace: an erasure trace counts equal slots"):
        check(resolve("test", said), said)
