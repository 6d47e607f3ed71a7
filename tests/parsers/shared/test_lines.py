"""What every line-oriented log needs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.model.trace import Skip
from multitracer.parsers.shared import lines
from multitracer.parsers.shared.source import Source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1.5", 1_500_000_000),
        ("1795208291.034281", 1_795_208_291_034_281_000),
        ("1795209449.540314285", 1_795_209_449_540_314_285),
        ("0.1234567899", 123_456_789),
    ],
)
def test_times_are_exact(text: str, expected: int) -> None:
    """Seconds become nanoseconds digit by digit; what is finer than a nanosecond is dropped."""
    assert lines.nanoseconds(text) == expected


@pytest.mark.parametrize("text", ["", ".", "1.", ".5", "-1", "1e9", "nan", "1_0", "١", "99999999999", "9999999999.0"])
def test_a_text_that_is_not_a_time_is_refused(text: str) -> None:
    """No sign, no exponent, no other digits, nothing beyond int64."""
    with pytest.raises(ValueError, match="a time"):
        lines.nanoseconds(text)


@given(st.integers(0, (1 << 63) - 1))
def test_seconds_and_nanoseconds_undo_each_other(time_ns: int) -> None:
    """A time written is the time read."""
    assert lines.nanoseconds(lines.seconds(time_ns)) == time_ns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.9.0.1:5201", "10.9.0.1:5201"),
        ("[::ffff:10.9.0.2]:5201", "10.9.0.2:5201"),
        ("[::FFFF:10.9.0.2]:5201", "10.9.0.2:5201"),
        ("[2001:db8::1]:80", "[2001:db8::1]:80"),
        ("fe80::1%eth0:22", "[fe80::1]:22"),
        ("[fe80::1]%eth0:22", "[fe80::1]:22"),
        ("[fe80::1%eth0]:22", "[fe80::1]:22"),
        ("10.0.0.1%lo:22", "10.0.0.1:22"),
    ],
)
def test_addresses_have_one_notation(text: str, expected: str) -> None:
    """Mapped addresses become IPv4, scopes are removed, IPv6 is in brackets."""
    assert lines.split_endpoint(text) == expected


@pytest.mark.parametrize("text", ["", "10.0.0.1", "10.0.0.1:", ":80", "10.0.0.1:*", "10.0.0.1:70000", "a:-1"])
def test_a_text_that_is_not_an_address_with_port_is_refused(text: str) -> None:
    """An address without a port, or with an impossible one."""
    with pytest.raises(ValueError, match="not an address"):
        lines.split_endpoint(text)


def test_losses_are_reported_once_per_reason() -> None:
    """The first place and the count of each reason are kept, in the order in which they came up."""
    losses = lines.Losses()
    losses.add("late", 3, 30)
    losses.add("odd", 4, 40)
    losses.add("late", 9, 90, 5)
    assert losses.skips == [Skip("late", 3, 30, 6), Skip("odd", 4, 40, 1)]
    assert losses.uncut


def test_a_last_line_without_an_end_is_a_loss() -> None:
    """It may have lost digits, which nothing would show: it is left out and counted at its place."""
    losses = lines.Losses()
    found = list(lines.whole_lines(Source("x", b"one\r\n\n  \ntwo\nthr"), losses))
    assert found == [(1, 0, "one"), (4, 9, "two")]
    assert losses.skips == [Skip(lines.CUT, 5, 13)]
    assert not losses.uncut


def test_a_line_too_long_for_a_log_is_not_searched() -> None:
    """So the time that a pattern takes is limited."""
    losses = lines.Losses()
    data = b"x" * (lines.LINE_BYTES + 1) + b"\nok\n"
    assert [text for _, _, text in lines.whole_lines(Source("x", data), losses)] == ["ok"]
    assert losses.skips[0].record == 1


def test_a_line_refused_again_is_counted_only() -> None:
    """The same text at once below is a loss for the same reason; behind another line it is looked at again."""
    losses, seen = lines.Losses(), []

    def take(number: int, _: int, text: str) -> None:
        seen.append(number)
        if text != "good":
            lines.whole(text, 9)

    source = Source("x", b"bad\n" * 3 + b"10\n10\n" + b"good\ngood\n" + b"bad\n")
    lines.take_lines(source, losses, take, "no line")
    assert seen == [1, 4, 6, 7, 8]
    assert [(skip.record, skip.offset, skip.count) for skip in losses.skips] == [(1, 0, 4), (4, 12, 2)]


def test_a_shape_is_that_of_the_first_line_and_of_most() -> None:
    """A stray line below does no harm, one at the top does; comments do not count."""
    number = re.compile(r"\d+\Z")
    assert lines.records_match(b"# head\n" + b"1\n" * 20 + b"x\n", number)
    assert not lines.records_match(b"x\n" + b"1\n" * 20, number)
    assert not lines.records_match(b"1\nx\n", number)
    assert not lines.records_match(b"", number)
