"""One seed of one scenario, run: the value of each metric."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.simulate import loops
from multitracer.replay.simulate.applications import work_of
from multitracer.replay.simulate.entities import entities, one_estimator
from multitracer.replay.simulate.far_end import orders
from multitracer.replay.simulate.framing import PPP_OCTETS, Framing, framing
from multitracer.replay.simulate.hosts import interface, side
from multitracer.replay.simulate.key import Value
from multitracer.replay.simulate.link_session import ROWS, LinkSession, link_session
from multitracer.replay.simulate.measures import measures
from multitracer.replay.simulate.media import media_of
from multitracer.replay.simulate.metrics import EVENTS, METRICS
from multitracer.replay.simulate.radio import directions
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.schema import NAMED
from multitracer.replay.simulate.simulation import Hop, Setting, Simulation
from multitracer.replay.simulate.standstill import lossless, standstill
from multitracer.replay.simulate.work import Work

NS = 1_000_000_000
LONGEST_S = 1_000_000
"""A transfer that is not done by then makes no progress."""
SHORT: dict[str, Value] = {"workload.seconds": 1.0, "workload.connections": 1}
"""How little is to be done in a run that is only asked whether it can be."""
BESIDE_MODELS = ("variant", "model", "header_bytes", "interface_queue_packets", "interface_queue_bytes")
"""Keys of TCP that say which model there is, or that concern its user: no model has them as parameters of its own."""
LACKING = {"limited_transmit": False, "local_drop": "loss"}
"""Values by which a scenario says that TCP does without something: a model that does not have it does."""


def run(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Run a seed of a scenario to its end: the metrics, None for those that it cannot have."""
    session = link_session(scenario)
    if session is None:
        return metrics(scenario, Simulation(setting(scenario, seed)).run())
    return metrics(scenario, session.run(Simulation(setting(scenario, seed), ROWS)), session)


def metrics(scenario: Scenario, done: Simulation, session: LinkSession | None = None) -> dict[str, Any]:
    """The metrics of a run that has ended, None for those that it cannot have."""
    used = session.metrics(done) if session is not None else {}
    found = dict.fromkeys(METRICS) | measures(scenario, done) | used
    return found | {EVENTS: done.engine.events} | standstill(scenario, done) | lossless(scenario, done)


def setting(scenario: Scenario, seed: int) -> Setting:
    """All that a run of this seed needs; UsageError for what cannot be simulated."""
    link, model = loops.loop_of(scenario)
    tcp = loops.model(model)
    ends = tuple(_tcp_parameters(scenario, tcp, side(scenario, way)) for way in ("down", "up"))
    applications = work_of(scenario, seed)
    _check_told(scenario, tcp)
    return Setting(
        loops.protocol(link, model), entities(scenario), directions(scenario, seed),
        tcp.state.tcp(ends, len(applications.slots)), applications, scenario.whole("tcp.segment_bytes"),
        scenario.whole("tcp.header_bytes"), _hops(scenario), media_of(scenario, seed),
        scenario.flag("link.media_past_arq"), _framing(scenario), orders(scenario), one_estimator(scenario),
        _until_ns(scenario, applications), interface(scenario, "up"), scenario.ns("workload.warmup_s"),
        (_is_listed(scenario, "down"), _is_listed(scenario, "up")),
    )  # fmt: skip


def _is_listed(scenario: Scenario, way: str) -> bool:
    """Whether the frames that are lost this way are listed one by one."""
    return scenario.word("channel.model", side(scenario, way)) == "listed"


def _until_ns(scenario: Scenario, applications: Work) -> int:
    """When a run ends at the latest: after its seconds, or where it makes no progress beside its pauses."""
    if scenario.value("workload.seconds") is not None:
        return scenario.ns("workload.seconds")
    return LONGEST_S * NS + int(applications.pages["pause_ns"].sum())


def refusal(scenario: Scenario, seed: int = 1) -> str:
    """Why a scenario cannot be simulated, in one line; empty if it can. Asked of a short run, which is drawn faster."""
    short = tuple((key, value and SHORT.get(key, value)) for key, value in scenario.items)
    try:
        setting(replace(scenario, items=short), seed)
    except UsageError as error:
        return str(error).splitlines()[0]
    return ""


def _framing(scenario: Scenario) -> Framing:
    """What PPP and compressed headers make of packets on the link."""
    return framing(
        PPP_OCTETS if scenario.flag("link.ppp") else 0, vj=bool(scenario.value("link.vj")),
        timestamps=bool(scenario.value("tcp.timestamps")), tick_ns=scenario.ns("tcp.tick_s"),
        payload_octets=scenario.whole("tcp.segment_bytes") - scenario.whole("tcp.header_bytes"),
    )  # fmt: skip


def _tcp_parameters(scenario: Scenario, tcp: loops.Tcp, own: str) -> Any:
    names = tcp.parameters.Parameters.__dataclass_fields__
    _check_known(scenario, names, own)
    given = {name: scenario.value(f"tcp.{name}", own) for name in names}
    try:
        return tcp.parameters.Parameters(**{name: value for name, value in given.items() if value is not None})
    except UsageError as error:  # its parameters have the names of the keys
        raise UsageError(f"tcp.{error}") from error


def _check_known(scenario: Scenario, names: Collection[str], own: str) -> None:
    """Raise UsageError for a key of TCP with a value of its own that the model has no parameter for."""
    for key in (key for key in NAMED.values() if key.room == "tcp" and key.name in scenario):
        bare, value = key.name.partition(".")[2], scenario.value(key.name, own)
        default = key.derived(scenario.parameters) if key.derived else key.default
        if bare not in names and bare not in BESIDE_MODELS and value not in (default, LACKING.get(bare, default)):
            raise UsageError(f"{key.name} = {value}: this model of TCP has none\nLeave it out, or set tcp.model.")


def _check_told(scenario: Scenario, tcp: loops.Tcp) -> None:
    """Raise UsageError where an interface queue is to tell a sender of drops that cannot be told."""
    if "local_drop" in tcp.parameters.Parameters.__dataclass_fields__:
        return
    for way in ("down", "up"):
        if any(interface(scenario, way)) and scenario.word("tcp.local_drop", side(scenario, way)) == "quench":
            raise UsageError(
                "tcp.local_drop = quench: this model of TCP is not told what its host drops\n"
                "Set tcp.local_drop = loss, or tcp.model."
            )


def _hops(scenario: Scenario) -> tuple[Hop, Hop]:
    """The wired hop; the wired host's interface queue is its queue down."""
    def hop(way: str) -> Hop:
        rate = round(scenario.number("wired.rate_bps", way))
        packets, octets = interface(scenario, way) if way == "down" else (0, 0)
        own = packets > 0 or octets > 0
        room = packets if own else scenario.whole("wired.queue_packets", way)
        return Hop(rate, scenario.ns("wired.delay_s", way), room, octets, own)

    return hop("down"), hop("up")
