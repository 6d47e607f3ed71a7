"""Scenarios: resolved keys, files that extend one another, and variants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multitracer.model.errors import InputError, UsageError
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.scenario_files import Described, built_in, load
from multitracer.replay.simulate.schema import parsed
from multitracer.replay.simulate.variants import Plan, plan


def scenario(**given: Any) -> Scenario:
    """The scenario of keys, in which `__` stands for a dot."""
    return resolve("", dict(parsed(key.replace("__", "."), value) for key, value in given.items()))


def written(folder: Path, text: str, name: str = "mine.toml") -> str:
    """The name of a file with that text."""
    (folder / name).write_text(text)
    return str(folder / name)


def planned(name: str, settings: dict[str, Any] | None = None, **vary: tuple[Any, ...]) -> Plan:
    """The variants of a file."""
    over = {key.replace("__", "."): values for key, values in vary.items()}
    return plan(load(name), settings or {}, over)


def test_defaults_are_those_of_the_interface() -> None:
    """A few of each kind."""
    found = scenario()
    assert (found.word("link.protocol"), found.number("link.rate_bps"), found.ns("link.delay_s")) == (
        "raw", 64_000.0, 50_000_000,
    )  # fmt: skip
    assert (found.whole("link.queue_frames"), found.whole("tcp.window_segments")) == (50, 20)
    assert found.flag("tcp.syn")
    assert (found.forward, found.reverse) == ("down", "up")
    assert found.value("link.tti_s") is None


def test_what_has_no_effect_is_left_out_and_told() -> None:
    """Keys of another protocol, of media that are not there, of a workload that is not run."""
    found = scenario(link__sr__timeout_s=1, contention__rate_bps=9600, link__rate_bps=1)
    assert found.unused == ("contention.rate_bps", "link.sr.timeout_s")
    assert "link.sr.timeout_s" not in found
    assert "workload.off_s" not in found


def test_defaults_follow_other_keys() -> None:
    """What the protocol, the variant and the workload decide."""
    assert scenario(link__protocol="rlp").flag("link.ppp")
    assert scenario(tcp__variant="fack").flag("tcp.sack")
    assert not scenario(tcp__variant="reno").flag("tcp.sack")
    assert scenario(tcp__variant="sack").word("tcp.sack_rule") == "pipe"
    assert scenario(tcp__variant="sack", tcp__model="rfc").word("tcp.sack_rule") == "rfc6675"
    assert scenario(workload__kind="web-sessions").whole("workload.parallel_connections") == 2
    assert scenario(workload__kind="web-browsing").whole("workload.parallel_connections") == 4
    assert scenario(tcp__receive_window_bytes=8192).value("tcp.window_segments") is None


def test_a_direction_has_its_own_value_or_that_of_both() -> None:
    """Also where only one direction has the model that needs it."""
    found = scenario(link__up__rate_bps=9600, channel__forward__model="uniform", channel__forward__frame_loss_rate=0.1)
    assert [found.number("link.rate_bps", way) for way in ("down", "up")] == [64_000.0, 9600.0]
    assert [found.word("channel.model", way) for way in ("forward", "reverse")] == ["uniform", "none"]
    assert found.number("channel.frame_loss_rate", "forward") == 0.1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"channel__model": "uniform"}, "channel.frame_loss_rate is missing, which channel.model = uniform needs"),
        ({"channel__reverse__model": "gilbert"}, "channel.bad_s is missing"),
        ({"link__protocol": "rlp", "link__stop_at_s": [1, 2]}, "link.stop_at_s has 2 values and link.stop_s 0"),
        ({"workload__file_bytes": 9, "workload__file_bytes_max": 8}, "workload.file_bytes = 9 is above"),
        ({"tcp__header_bytes": 40, "tcp__segment_bytes": 40}, "no room for data"),
        ({"tcp__min_rto_s": 90}, "tcp.min_rto_s = 90.0 is above tcp.max_rto_s"),
        ({"link__protocol": "rlp", "link__rlp__window": 62}, "modulo 62"),
    ],
)  # fmt: skip
def test_keys_that_are_missing_or_contradict_each_other_are_named(given: dict[str, Any], words: str) -> None:
    """Before anything is run."""
    with pytest.raises(UsageError, match=words):
        scenario(**given)


def test_the_same_keys_make_the_same_scenario_and_json_keeps_them() -> None:
    """It can be a key of a dict; another value makes another digest, what has no effect does not."""
    one, two = scenario(link__rate_bps=9600), scenario(link__rate_bps="9600", contention__rate_bps=1)
    assert one == two
    assert hash(one) == hash(two)
    assert one.digest == two.digest != scenario().digest
    back = dict(parsed(name, value) for name, value in json.loads(json.dumps(one.parameters)).items())
    assert resolve("", back) == one


def test_a_key_that_is_unset_has_no_number() -> None:
    """Whoever needs one asks `value` first."""
    with pytest.raises(KeyError, match=r"link\.tti_s"):
        scenario().number("link.tti_s")


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_built_in_scenario_can_be_resolved(name: str) -> None:
    """It says in a line what it is, is meant for some seeds, and every key that it says has an effect."""
    made = planned(name)
    assert load(name).about
    assert load(name).seeds
    assert made.unused == ()
    assert len(made.variants) > 1
    assert len({variant.scenario.name for variant in made.variants}) == len(made.variants)


def test_a_file_extends_another_and_its_own_keys_win(tmp_path: Path) -> None:
    """Names of files are meant from the folder of the file that says them."""
    base = "link.rate_bps = 1000\nlink.delay_s = 1\nseeds = 7\n[vary]\ntcp.variant = ['reno', 'sack']"
    written(tmp_path, base, "base.toml")
    (tmp_path / "in").mkdir()
    mine = written(
        tmp_path / "in", "extends = '../base.toml'\nlink.rate_bps = 2000\nchannel.model = 'trace'\n"
        "channel.trace = 'losses.txt'\n"
    )  # fmt: skip
    found = load(mine)
    assert (found.name, found.seeds, found.keys["link.rate_bps"], found.keys["link.delay_s"]) == ("mine", 7, 2000, 1)
    assert found.keys["channel.trace"] == str(tmp_path / "in" / "losses.txt")
    assert found.vary == {"tcp.variant": ("reno", "sack")}


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("extends = 'mine.toml'", UsageError, "extends itself"),
        ("extends = 'raw-file-transfr'", UsageError, "Did you mean raw-file-transfer"),
        ("extends = 3", UsageError, "extends = 3"),
        ("link = 3", UsageError, "there is no key 'link'"),
        ("link.rat_bps = 3", UsageError, "mine.toml: there is no key 'link.rat_bps'\nDid you mean link.rate_bps"),
        ("link.rate_bps = 1979-05-27", UsageError, "link.rate_bps = 1979-05-27"),
        ("[vary]\nlink.rate_bps = []", UsageError, "varied over 0 values"),
        ("[vary]\nlink.rat_bps = [1]", UsageError, "link.rat_bps"),
        ("vary = 3", UsageError, "vary = 3"),
        ("[variant]\nname = 'x'", UsageError, r"\[\[variant\]\]"),
        ("[[variant]]\nlink.rate_bps = 3", UsageError, "variant 1: name"),
        ("[[variant]]\nname = 'x'\n[[variant]]\nname = 'x'", UsageError, "two variants named 'x'"),
        ("seeds = 0", UsageError, "seeds = 0"),
        ("link.rate_bps = " + "[" * 5000, (UsageError, InputError), "mine.toml"),
        ("a b", InputError, "is no TOML"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_in_two_lines(text: str, error: Any, words: str, tmp_path: Path) -> None:
    """With its name, the key, and what was expected."""
    with pytest.raises(error, match=words) as told:
        load(written(tmp_path, text))
    assert len(str(told.value).splitlines()) <= 2


def test_a_file_that_is_not_there_is_no_input(tmp_path: Path) -> None:
    """A name without an ending is meant as a built-in scenario."""
    with pytest.raises(InputError, match="cannot be read"):
        load(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="there is no scenario 'nothing'"):
        load("nothing")


def test_every_combination_of_what_is_varied_is_a_variant(tmp_path: Path) -> None:
    """Lines are drawn along the number with most values; the other keys name the lines."""
    mine = written(tmp_path, "[vary]\nlink.rate_bps = [1000, 2000, 3000]\ntcp.variant = ['reno', 'sack']")
    made = planned(mine)
    assert made.axis == "link.rate_bps"
    assert [(one.line, one.point) for one in made.variants] == [
        (f"tcp.variant = {name}", rate) for rate in (1000, 2000, 3000) for name in ("reno", "sack")
    ]
    assert made.variants[0].scenario.name == "link.rate_bps = 1000, tcp.variant = reno"


def test_named_variants_take_part_in_every_combination(tmp_path: Path) -> None:
    """Their keys stand beside the name, or in a table `keys`."""
    mine = written(
        tmp_path, "[[variant]]\nname = 'a'\nlink.protocol = 'sr'\n[[variant]]\nname = 'b'\nkeys.link.rate_bps = 9\n"
        "[vary]\nlink.delay_s = [1, 2]"
    )  # fmt: skip
    made = planned(mine)
    assert [one.scenario.name for one in made.variants] == [
        f"{name}, link.delay_s = {delay}" for name in "ab" for delay in (1, 2)
    ]
    assert [one.scenario.word("link.protocol") for one in made.variants] == ["sr", "sr", "raw", "raw"]
    assert made.variants[3].scenario.number("link.rate_bps") == 9


def test_options_go_before_the_file() -> None:
    """What is set is varied no more; what is varied replaces what the file varies of the same key."""
    assert len(planned("raw-file-transfer", {"channel.frame_loss_rate": 0.1}).variants) == 1
    made = planned("sr-file-transfer", channel__frame_loss_rate=("0", "0.5", "0.5"))
    assert len(made.variants) == 2 * 5
    with pytest.raises(UsageError, match="both set and varied"):
        planned("raw-file-transfer", {"link.rate_bps": 1}, link__rate_bps=(2,))


def test_too_many_variants_are_refused_at_once() -> None:
    """Before any of them is made."""
    rates = {f"link.{key}": tuple(range(1, 1001)) for key in ("rate_bps", "frame_bytes", "delay_s")}
    with pytest.raises(UsageError, match="1,000,000,000 variants"):
        plan(Described("x"), {}, rates)


def test_a_key_that_has_an_effect_in_one_variant_is_not_called_useless() -> None:
    """Only what has none in all."""
    made = planned("raw-file-transfer", {"link.sr.timeout_s": 1, "link.asr.alpha": 1}, link__protocol=("raw", "sr"))
    assert made.unused == ("link.asr.alpha",)
