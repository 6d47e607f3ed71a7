"""What runs count of the data that TCP sent again, against what recordings of them know."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from sent_again import counted, recorded
from simulations import scenario

from multitracer.compute import kernels
from multitracer.replay.simulate.measures import REPEATED
from multitracer.replay.simulate.run import metrics

UNREPAIRED: dict[str, Any] = {"link__frame_bytes": 250}
LINKS: dict[str, dict[str, Any]] = {
    "raw": UNREPAIRED, "rlc-tm": UNREPAIRED, "rlc-um": {"link__frame_bytes": 40},
    "sr": {"link__sr__timeout_s": 1.5, "link__queue_frames": 0}, "asr": {"link__queue_frames": 0},
    "rlp": {"link__frame_bytes": 30, "link__hand_down": "lazy", "link__rlp__t1_s": 0.9, "link__rlp__n2": 5},
    "rlc-am": {"link__frame_bytes": 40, "link__rlc_am__max_dat": 4, "link__rlc_am__after_max_rst": "reestablish"},
}  # fmt: skip
"""Without drops in the device's queue, which count as sent: no log has those frames."""
MODELS: dict[str, dict[str, Any]] = {
    "ns-2": {"tcp__model": "ns-2", "tcp__variant": "sack", "tcp__min_rto_s": 0.4},
    "rfc": {"tcp__model": "rfc", "tcp__variant": "newreno", "tcp__min_rto_s": 0.4},
    "linux-2.4": {"tcp__variant": "linux-2.4"}, "bsd": {"tcp__variant": "bsd", "tcp__min_rto_s": 0.5},
}  # fmt: skip
LOSSES: dict[str, Any] = {
    "link__delay_s": 0.3, "channel__model": "two-state", "channel__good_s": 4, "channel__bad_s": 1,
    "channel__bad_ber": 0.05, "workload__file_bytes": 20_000,
}  # fmt: skip


def compare(keys: dict[str, Any], seed: int) -> Any:
    """Compare a run's metrics with what its recording knows; gives the latter."""
    kernels.choose(0)
    one = scenario(**keys)
    made = recorded(one, seed)
    run, true = made.run.simulation, counted(made)
    found = metrics(one, run)
    percent = 100 * true.needless / true.segments if true.segments else None
    assert found["tcp_retransmissions_of_delivered_percent"] == percent
    assert found["tcp_spurious_timeouts"] == true.spurious_timeouts
    assert int(run.source.totals.held_octets) == true.held_octets
    replied = int(run.source.work.objects["reply"].sum())
    assert found["tcp_retransmissions_of_held_per_mb"] == pytest.approx(1e6 * true.held_octets / replied)
    repairs = one.word("link.protocol") in REPEATED
    assert found["competing_recoveries"] == (true.competing if repairs else None)
    return true


PAIRS = [*zip(LINKS, itertools.cycle(MODELS)), *zip(itertools.cycle(LINKS), reversed(MODELS))]
"""Every protocol and every model, most of them with two of the other."""


@pytest.mark.parametrize(("protocol", "model"), PAIRS)
def test_counts_agree_with_the_recording(protocol: str, model: str) -> None:
    """Over every protocol and every model, with bursts of losses; octets of data alone count as held."""
    compare({"link__protocol": protocol, **LINKS[protocol], **MODELS[model], **LOSSES}, 3)


@pytest.mark.parametrize("protocol", ["sr", "asr", "rlp", "rlc-am"])
def test_counts_agree_where_both_layers_repair(protocol: str) -> None:
    """Outages are longer than TCP's timer, and the link persists: both send again, upwards too."""
    hasty = {"tcp__min_rto_s": 0.5, "tcp__model": "rfc", "tcp__header_bytes": 40}
    patient = {"rlp": {"link__rlp__n2": 30}, "rlc-am": {"link__rlc_am__max_dat": 30}}.get(protocol, {})
    losses = LOSSES | {"channel__bad_s": 4, "workload__direction": "up", "workload__file_bytes": 60_000}
    true = compare({"link__protocol": protocol, **LINKS[protocol], **patient, **hasty, **losses}, 5)
    assert min(true.needless, true.held_octets, true.competing, true.spurious_timeouts) > 0


def test_out_of_order_delivery_has_tcp_send_again_what_the_link_repeats() -> None:
    """With FACK most of it is data that the link delivers by itself."""
    keys = {"link__rlc_am__in_sequence": False, "channel__model": "uniform", "channel__frame_loss_rate": 0.05}
    fack = {"tcp__variant": "fack", "tcp__model": "ns-2"}
    link = {"link__protocol": "rlc-am", "link__frame_bytes": 40, "link__rate_bps": 256_000}
    true = compare(link | fack | keys | {"workload__file_bytes": 30_000}, 1)
    assert true.needless > true.segments / 2
    assert true.held_octets > 0
