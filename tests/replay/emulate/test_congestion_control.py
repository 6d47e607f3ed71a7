"""kernel.congestion_control: any plain name is taken; what this kernel has not is refused where it would be set."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitracer.model.errors import MissingCapabilityError, UsageError
from multitracer.replay.emulate.kernel import KernelKeys
from multitracer.replay.simulate.kernel_keys import CONGESTION_CONTROL
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel with an algorithm that no list here knows."""
    monkeypatch.setattr(Path, "read_text", lambda _: "reno dctcp-new\n")


@pytest.mark.usefixtures("kernel")
def test_an_algorithm_of_the_kernel_is_set_whatever_it_is_called() -> None:
    """None is named in the schema; the kernel's own is set by nothing."""
    keys = KernelKeys(dict([parsed(CONGESTION_CONTROL, "dctcp-new")]))
    assert "net.ipv4.tcp_congestion_control=dctcp-new" in keys.sysctls()
    assert not [one for one in KernelKeys({}).sysctls() if "congestion_control" in one]


@pytest.mark.usefixtures("kernel")
def test_one_that_the_kernel_has_not_is_refused_with_those_it_has() -> None:
    """As what this machine lacks, with the module that may add it."""
    with pytest.raises(MissingCapabilityError, match=r"prague: this kernel has reno, dctcp-new\n.*modprobe tcp_prague"):
        KernelKeys(dict([parsed(CONGESTION_CONTROL, "prague")])).sysctls()


@pytest.mark.parametrize("given", ["", "none", "two words", "a=b", "sixteen_letters_", "../reno", 3, ["reno"]])
def test_what_is_no_plain_name_is_wrong_usage(given: object) -> None:
    """The message says what it may be."""
    with pytest.raises(UsageError, match=r"kernel\.congestion_control = .*\n.* a name of at most 15"):
        parsed(CONGESTION_CONTROL, given)


def test_a_simulation_asks_no_kernel() -> None:
    """The key has no effect there, whatever it says."""
    made = resolve("test", dict([parsed(CONGESTION_CONTROL, "prague")]))
    assert made.unused == (CONGESTION_CONTROL,)
