"""Every seed of every variant: what is run, what is kept, and the document of all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import simulated

from multitracer.model import errors
from multitracer.model.errors import InputError
from multitracer.model.version import VERSION
from multitracer.replay.simulate import sweep
from multitracer.replay.simulate.code_digest import digest_of, folders
from multitracer.replay.simulate.scenario_files import load
from multitracer.replay.simulate.sweep import KeptRuns, document, tasks, why_ended
from multitracer.replay.simulate.variants import Plan, plan

SEEDS = range(1, 4)


def planned(**vary: tuple[Any, ...]) -> Plan:
    """The variants of a built-in scenario at one loss rate."""
    over = {key.replace("__", "."): values for key, values in vary.items()}
    return plan(load("raw-file-transfer"), {"channel.frame_loss_rate": 0.1}, over)


def run(made: Plan) -> list[list[dict[str, Any]]]:
    """Every run, without any cost."""
    return [[simulated.run(variant.scenario, seed) for seed in SEEDS] for variant in made.variants]


def test_a_document_of_one_variant_has_the_keys_of_the_interface() -> None:
    """No variants and no pairs."""
    made = planned()
    found = document(made, SEEDS, run(made))
    assert list(found) == ["scenario", "parameters", "seeds", "first_seed", "metrics", "events"]
    assert (found["scenario"], found["seeds"], found["events"]) == ("raw-file-transfer", 3, 30)
    assert found["parameters"]["channel.frame_loss_rate"] == 0.1
    assert found["metrics"]["tcp_timeouts"]["mean"] == 2
    assert found["metrics"]["media_delay_ms"] is None
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_document_of_several_begins_with_the_first_variant() -> None:
    """And compares each with each on the same seeds: here the loss rate alone differs, to the last digit."""
    made = plan(load("raw-file-transfer"), {}, {})
    found = document(made, SEEDS, run(made))
    assert [one["name"] for one in found["variants"]] == [one.scenario.name for one in made.variants]
    assert found["metrics"] == found["variants"][0]["metrics"]
    assert found["parameters"] == found["variants"][0]["parameters"]
    assert len(found["pairs"]) == 10 * 2
    first = found["pairs"][0]
    assert first["metric"] == "throughput_bps"
    assert [first["a"], first["b"]] == [one["name"] for one in found["variants"][:2]]
    assert first["mean"] == pytest.approx(960)
    assert first["ci95"] == pytest.approx(0, abs=1e-9)


def test_of_many_variants_there_are_no_pairs() -> None:
    """Null: they grow with the square."""
    made = planned(link__rate_bps=tuple(range(1000, 1000 + sweep.MOST_PAIRED + 1)))
    assert document(made, SEEDS, run(made))["pairs"] is None


def test_variants_that_are_the_same_are_run_once() -> None:
    """Whatever they are called."""
    made = planned(link__sr__timeout_s=(1, 2))
    assert len(made.variants) == 2
    assert len(tasks(made, SEEDS)) == 3


def test_a_run_is_known_by_its_keys_seed_code_and_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nothing else is taken for it."""
    (tmp_path / "t.txt").write_text("0101\n")
    given = {"channel.model": "trace", "channel.trace": str(tmp_path / "t.txt")}

    def key(**more: Any) -> str:
        return tasks(plan(load("media-contention"), {**given, **more}, {}), [1])[0].key

    before = key()
    assert key() == before
    assert key(**{"link.rate_bps": 1}) != before
    (tmp_path / "t.txt").write_text("0100\n")
    other = key()
    assert other != before
    monkeypatch.setattr(sweep, "VERSION", "another")
    assert key() != other
    monkeypatch.setattr(sweep, "VERSION", VERSION)
    monkeypatch.setattr(sweep, "code_digest", lambda: "another")
    assert key() != other
    (tmp_path / "t.txt").unlink()
    with pytest.raises(InputError, match=r"t\.txt: the channel's trace cannot be read"):
        key()


def test_an_edit_of_any_source_that_makes_results_makes_other_code(tmp_path: Path) -> None:
    """A line of a model, a name, a distribution; what the interpreter leaves there counts for nothing."""
    room = tmp_path / "engine"
    (room / "__pycache__").mkdir(parents=True)
    model, draws = room / "loop.py", room / "draws.txt.gz"
    model.write_text("x = 1\n")
    draws.write_bytes(b"1")
    seen = [digest_of([room])]
    (room / "__pycache__" / "loop.pyc").write_bytes(b"x")
    assert digest_of([room]) == seen[0]
    for change in (lambda: model.write_text("x = 2\n"), lambda: draws.write_bytes(b"2"),
                   lambda: model.rename(room / "ring.py")):  # fmt: skip
        change()
        seen.append(digest_of([room]))
    assert len(set(seen)) == 4


def test_the_code_of_a_run_is_every_room_that_its_modules_come_from() -> None:
    """What is imported to run a scenario is among the sources, but for errors, words and the shape of tables."""
    script = (
        "import sys; from multitracer.replay.simulate import run; from multitracer.replay.simulate import loops;"
        "from multitracer.replay.erasures import extraction; from multitracer.replay.retrace import models;"
        "[loops.protocol(link, tcp) for link in ('sr', 'rlp', 'rlc-am') for tcp in ('ns-2', 'linux-2.4')];"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('multitracer') and m.__file__))"
    )
    asked = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    where, model = folders(), Path(errors.__file__).parent
    others = [path for path in map(Path, asked.stdout.split()) if not any(path.is_relative_to(one) for one in where)]
    assert all(path.name == "__init__.py" or path.parent == model for path in others), others


def test_a_line_that_was_cut_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    """As a kill or a full disk leaves it; lines of other versions count for nothing."""
    one, two, three = tasks(planned(), SEEDS)
    kept = KeptRuns(tmp_path / "runs")
    kept.add(one, {"tcp_timeouts": 1})
    kept.add(two, {"tcp_timeouts": 2})
    whole = kept.path.read_bytes()
    other = b'{"version": "other", "key": "x", "result": {}}\n[1]\n{}\n\xff\n'
    kept.path.write_bytes(other + whole[:-9])
    again = KeptRuns(kept.path)
    assert again.results == {one.key: {"tcp_timeouts": 1}}
    again.add(three, {"tcp_timeouts": 3})
    assert set(KeptRuns(kept.path).results) == {one.key, three.key}


def test_what_is_kept_in_the_end_does_not_depend_on_the_order(tmp_path: Path) -> None:
    """Runs end in any order on several processors."""
    all_of_them = tasks(planned(), SEEDS)
    for place, order in enumerate((all_of_them, all_of_them[::-1])):
        kept = KeptRuns(tmp_path / str(place))
        for task in order:
            kept.add(task, {"tcp_timeouts": task.seed})
        kept.only([task.key for task in all_of_them])
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_a_run_without_progress_says_why() -> None:
    """The variant, how many of its runs, and the reason."""
    made = planned()
    runs = [[{"throughput_bps": 0, "ended": "no segment fits into a frame"}, {"throughput_bps": 1}]]
    assert why_ended(made, runs) == ["raw-file-transfer: 1 of 2 runs: no segment fits into a frame"]
    assert "ended" not in document(made, [1, 2], runs)["metrics"]


def test_a_run_behind_the_end_of_its_trace_is_said_beside() -> None:
    """Both, where both are to be said."""
    made = planned()
    runs = [[{"throughput_bps": 0, "ended": "one", "lossless": "two"}, {"throughput_bps": 1, "lossless": "two"}]]
    assert why_ended(made, runs) == ["raw-file-transfer: 1 of 2 runs: one", "raw-file-transfer: 2 of 2 runs: two"]
    assert "lossless" not in document(made, [1, 2], runs)["metrics"]
