"""Whole transfers over SR, ASR and RLC beside a plain model of all that takes part: the same to the nanosecond."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from plain_rlc import TWO_STATE, UNIFORM, Rlc, Rules
from plain_sr import Adaptive, Fixed, Link
from plain_transfer import MS, Found, S, transfer
from simulations import NS, scenario, simulated

from multitracer.replay.simulate import run as runs

PACKETS = 50
SEED = 3
"""Of the media; nothing else is drawn."""
COMMON = {
    "link.hand_down": "eager", "link.queue_frames": 50, "wired.rate_bps": 10_000_000, "wired.delay_s": 0.001,
    "tcp.variant": "reno", "tcp.model": "ns-2", "tcp.window_segments": 20, "tcp.min_rto_s": 1.0,
    "tcp.segment_bytes": 250, "tcp.header_bytes": 0, "channel.model": "listed", "contention.rate_bps": 56_000,
    "contention.packet_bytes": 250, "contention.start": "silent", "contention.bursts": "whole",
}  # fmt: skip
SR_FRAMES = {"link.header_bytes": 6, "link.control_frame_bytes": 6, "link.frame_bytes": 250}
POLICIES = {"asr 1+4": (1, 4), "asr 2+4": (2, 4), "asr 3+2": (3, 2), "asr 4+0": (4, 0), "asr 4+2": (4, 2)}
TIMEOUTS = {"sr 0.9": 900, "sr 1.1": 1100, "sr 1.3": 1300}
RULES = {
    "rlc 1 uniform": replace(UNIFORM, max_dat=3), "rlc 2 uniform": UNIFORM,
    "rlc 5 uniform": replace(UNIFORM, max_dat=7), "rlc 1 two-state": TWO_STATE,
    "rlc 3 two-state": replace(TWO_STATE, max_dat=5),
    "rlc 2, no poll by itself": replace(UNIFORM, resends_last=False),
}  # fmt: skip
OPTIONS = (*TIMEOUTS, *POLICIES, *RULES)


def ends(option: str) -> Callable[..., Any]:
    """What makes an end of the plain link."""
    if option in RULES:
        return lambda clock, air, deliver: Rlc(clock, air, deliver, RULES[option])
    if option in POLICIES:
        return lambda clock, air, deliver: Link(clock, air, Adaptive(*POLICIES[option]), deliver)
    return lambda clock, air, deliver: Link(clock, air, Fixed(TIMEOUTS[option] * MS), deliver)


def keys(option: str) -> dict[str, Any]:
    """The link as a scenario has it."""
    if option in RULES:
        return rlc_keys(RULES[option])
    if option in POLICIES:
        alpha, beta = POLICIES[option]
        return {"link.protocol": "asr", "link.asr.alpha": alpha, "link.asr.beta": beta} | SR_FRAMES
    return {"link.protocol": "sr", "link.sr.timeout_s": TIMEOUTS[option] / 1000} | SR_FRAMES


def rlc_keys(rules: Rules) -> dict[str, Any]:
    """The same rules as keys."""
    own = {
        "window": rules.window, "length_indicators": False, "poll_last_new": False,
        "poll_timer_starts": "poll-and-first", "poll_s": rules.poll / NS, "max_dat": rules.max_dat,
        "poll_prohibit_s": rules.poll_prohibit / NS,
        "poll_window_percent": rules.poll_window_percent, "poll_last_retransmission": rules.poll_last_again,
        "status_periodic_s": rules.status_periodic / NS, "status_prohibit_s": rules.status_prohibit / NS,
        "status_format": "bitmap", "mrw_s": rules.mrw / NS, "last_poll": "counted" if rules.resends_last else "dropped",
        "after_max_dat": "discard", "discard": "window", "max_mrw": 0, "periodic_always": True,
    }  # fmt: skip
    frame = {"link.protocol": "rlc-am", "link.frame_bytes": 250 + rules.header, "link.header_bytes": rules.header}
    return frame | {f"link.rlc-am.{name}": value for name, value in own.items()}


def compare(option: str, down: list[int], up: list[int], *, media: bool = False) -> Found:
    """Both transfers: the same end, the same packets of TCP, the same repeats of the link, drops and media delay."""
    listed = {"channel.forward.frames": [str(k) for k in down], "channel.reverse.frames": [str(k) for k in up]}
    size = {"workload.segments": PACKETS, "contention.enabled": media}
    described = scenario(**(COMMON | keys(option) | listed | size))
    done = simulated(described, SEED)
    ours = runs.metrics(described, done)
    talker = runs.setting(described, SEED).media[0]
    times = [int(time) for time in talker.times(100 * S)] if talker else []
    plain = transfer(PACKETS, ends(option), down=down, up=up, media=times)
    assert (round(ours["completion_s"][0] * NS), ours["packets_sent"], ours["tcp_retransmissions"],
            ours["tcp_timeouts"], ours["queue_drops"]) == (
        plain.ended, plain.sent, plain.again, plain.timeouts, plain.drops)  # fmt: skip
    if option in RULES:
        assert ours["link_discards"] == sum(end.discarded for end in plain.ends)
    else:
        assert ours["link_timeouts"] == sum(end.timeouts for end in plain.ends)
    if media:
        assert ours["media_delay_ms"] == pytest.approx(sum(plain.media) / len(plain.media) / MS)
    return plain


def erased(seed: int, rate: float) -> tuple[list[int], list[int]]:
    """Frames lost at random, down and up; more than are sent."""
    drawn = random.Random(seed)
    return tuple([k for k in range(20_000) if drawn.random() < rate] for _ in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize("option", OPTIONS)
def test_without_losses(option: str) -> None:
    """RLC alone sends anything again: the PDUs that carry polls."""
    plain = compare(option, [], [])
    assert (plain.ends[0].again > 0) == (option.startswith("rlc") and "no poll" not in option)


@pytest.mark.parametrize("option", ["sr 0.9", "asr 3+2"])
@pytest.mark.parametrize(
    ("down", "up"), [([30], []), ([30], [30]), ([30, 41], []), ([30, 41], [31]), ([], [20]), ([30, 31, 32], [31, 32])]
)
def test_with_listed_losses(option: str, down: list[int], up: list[int]) -> None:
    """A data frame; its NACK as well; its retransmission as well, and the second NACK; a TCP ACK; a burst each way."""
    compare(option, down, up)


@pytest.mark.parametrize(("down", "up"), [([30], []), ([30], [33]), ([30, 52], []), ([], [20])])
def test_rlc_with_listed_losses(down: list[int], up: list[int]) -> None:
    """A data PDU; the report of it as well; its retransmission as well; a TCP ACK."""
    compare("rlc 2 uniform", down, up)


@pytest.mark.parametrize("rate", [0.04, 0.12])
@pytest.mark.parametrize("option", OPTIONS)
def test_with_random_losses(option: str, rate: float) -> None:
    """Both directions, whatever is in the frames."""
    compare(option, *erased(OPTIONS.index(option), rate))


@pytest.mark.parametrize("option", OPTIONS)
def test_with_media(option: str) -> None:
    """Losses, and media in the same queue: it fills up, and link timers run out that need not have."""
    compare(option, *erased(OPTIONS.index(option), 0.05), media=True)
