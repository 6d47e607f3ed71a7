"""One seed of one scenario, run: the value of each metric."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate import loops
from multitracer.replay.simulate.applications import work_of
from multitracer.replay.simulate.entities import entities
from multitracer.replay.simulate.measures import measures
from multitracer.replay.simulate.media import media_of
from multitracer.replay.simulate.metrics import METRICS
from multitracer.replay.simulate.radio import directions
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.schema import NAMED
from multitracer.replay.simulate.simulation import Hop, Setting, Simulation

NS = 1_000_000_000
LONGEST_S = 1_000_000
"""A transfer that is not done by then makes no progress."""
UNMODELLED = (
    "link.control_first", "link.reset_at_s", "link.stop_at_s", "link.stop_s", "link.far_buffer_bytes",
    "link.far_drain_bps", "link.vj", "link.upper_queue_packets", "channel.delayed_frames", "channel.extra_delay_s",
    "channel.unit", "channel.hits", "tcp.fin", "tcp.send_buffer_bytes", "tcp.interface_queue_packets",
    "tcp.interface_queue_bytes", "workload.warmup_s", "workload.server_s", "workload.second_connection_at_s",
    "link.sr.timer_starts", "link.asr.timer_starts", "link.sr.piggyback", "link.asr.piggyback",
    "link.sr.max_retransmissions", "link.asr.max_retransmissions", "link.asr.min_timeout_s", "link.asr.arithmetic",
    "link.asr.estimator", "link.rlc-am.discard",
    "link.rlc-am.lost_resend", "link.rlc-am.missing_threshold", "link.rlp.after_n2",
)  # fmt: skip
"""Keys that must have their defaults: nothing in a run depends on them yet."""
UNMODELLED_VALUES = {"link.ppp": True, "workload.request": "one-packet", "workload.end": "cut"}
"""Values of keys that cannot be simulated, where others can."""
BESIDE_MODELS = ("variant", "model", "header_bytes")
"""Keys of TCP that say which model there is, or that concern its user: no model has them as parameters of its own."""


def run(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Run a seed of a scenario to its end: the metrics, None for those that it cannot have."""
    return metrics(scenario, Simulation(setting(scenario, seed)).run())


def metrics(scenario: Scenario, done: Simulation) -> dict[str, Any]:
    """The metrics of a run that has ended, None for those that it cannot have."""
    return dict.fromkeys(METRICS) | measures(scenario, done) | _without_progress(done)


def _without_progress(done: Simulation) -> dict[str, Any]:
    """Why a run has no results, where nothing of what was to be transferred was complete at its end."""
    objects = done.source.work.objects
    if not len(objects) or (objects["end_ns"] < NEVER).any():
        return {}
    return {"ended": f"no transfer was complete after {done.setting.until_ns / NS:g} s"}


def setting(scenario: Scenario, seed: int) -> Setting:
    """All that a run of this seed needs; UsageError for what cannot be simulated."""
    _check(scenario)
    variant = scenario.word("tcp.variant")
    model = variant if variant in loops.MODELS else scenario.word("tcp.model")
    tcp = loops.model(model)
    ends = tuple(_tcp_parameters(scenario, tcp, side) for side in _sides(scenario))
    applications = work_of(scenario, seed)
    timed = scenario.word("workload.kind") in ("web-browsing", "web-sessions", "none")
    return Setting(
        loops.protocol(scenario.word("link.protocol"), model), entities(scenario), directions(scenario, seed),
        tcp.state.tcp(ends, len(applications.slots)), applications, scenario.whole("tcp.segment_bytes"),
        scenario.whole("tcp.header_bytes"), _hops(scenario), media_of(scenario, seed),
        scenario.flag("link.media_past_arq"),
        round(scenario.number("workload.seconds") * NS) if timed else LONGEST_S * NS,
    )  # fmt: skip


def _check(scenario: Scenario) -> None:
    for name, value in scenario.items:
        bare = ".".join(part for part in name.split(".") if part not in ("up", "down", "forward", "reverse"))
        if bare in UNMODELLED and value != NAMED[bare].default:
            raise UsageError(f"{name} = {value} cannot be simulated yet")
        if bare in UNMODELLED_VALUES and value == UNMODELLED_VALUES[bare]:
            raise UsageError(f"{name} = {value} cannot be simulated yet\nSet another value of {name}.")


def _sides(scenario: Scenario) -> tuple[str, str]:
    """What the wired end and the terminal are for TCP."""
    return ("forward", "reverse") if scenario.forward == "down" else ("reverse", "forward")


def _tcp_parameters(scenario: Scenario, tcp: loops.Tcp, side: str) -> Any:
    names = tcp.parameters.Parameters.__dataclass_fields__
    _check_known(scenario, names, side)
    given = {name: scenario.value(f"tcp.{name}", side) for name in names}
    return tcp.parameters.Parameters(**{name: value for name, value in given.items() if value is not None})


def _check_known(scenario: Scenario, names: Collection[str], side: str) -> None:
    """Raise UsageError for a key of TCP with a value of its own that the model has no parameter for."""
    for key in (key for key in NAMED.values() if key.room == "tcp" and key.name in scenario):
        bare, value = key.name.partition(".")[2], scenario.value(key.name, side)
        default = key.derived(scenario.parameters) if key.derived else key.default
        if bare not in names and bare not in BESIDE_MODELS and value != default:
            raise UsageError(f"{key.name} = {value}: this model of TCP has none\nLeave it out, or set tcp.model.")


def _hops(scenario: Scenario) -> tuple[Hop, Hop]:
    def hop(way: str) -> Hop:
        rate = round(scenario.number("wired.rate_bps", way))
        return Hop(rate, scenario.ns("wired.delay_s", way), scenario.whole("wired.queue_packets", way))

    return hop("down"), hop("up")
