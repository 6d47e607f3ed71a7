"""GTP-U tunnels of many flows at once: the flows are told apart and named as one by one."""

from __future__ import annotations

import pytest
from decoding import decoded
from envelopes import ENVELOPES, Envelope, damaged, gtpu, stacked, udp
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import ipv4, tcp

from multitracer.parsers.shared import envelopes

ETHERNET = 1
COLUMNS = ["address_a", "port_a", "address_b", "port_b", "tunnel", "outer_a", "outer_b"]
NUMBERED = [Envelope("ip", "ip", f"gtpu teid {teid}", lambda p, t=teid: udp(2152, gtpu(p, teid=t))) for teid in (5, 6)]
AROUND = [*NUMBERED, *(one for name, one in ENVELOPES.items() if name.startswith(("gtpu", "vlan", "vxlan", "mpls")))]


def flows(records: list[bytes], many: int) -> list[list[object]]:
    """The flows of records, where `many` are opened together."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(envelopes, "_MANY_FLOWS", many)
        rows: list[list[object]] = decoded(records, ETHERNET).tables["flows"][COLUMNS].to_numpy().tolist()
        return rows


def in_tunnels(port: int, stack: list[Envelope], changes: list[tuple[int, int]], cut: int) -> bytes:
    """A record with a segment from `port` in envelopes, the innermost first, and then damaged."""
    return damaged(stacked(ipv4(tcp(b"abc", ports=(port, 80))), stack)[0], changes, cut)


RECORDS = st.builds(
    in_tunnels, st.integers(1000, 1003), st.lists(st.sampled_from(AROUND), max_size=3),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=2),
    st.one_of(st.just(0), st.integers(0, 60)),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(RECORDS, min_size=1, max_size=12))
@settings(deadline=None, max_examples=150)
def test_tunnels_of_many_flows_are_those_of_each(records: list[bytes]) -> None:
    """In any envelopes, whole or damaged, flows and tunnels are the same, opened one by one or together."""
    assert flows(records, many=1) == flows(records, many=1000)


def test_a_vlan_around_the_tunnel_is_named() -> None:
    """Each flow has its VLAN and its tunnel, and the addresses of the tunnel's ends."""
    records = [in_tunnels(1000 + n, [NUMBERED[n % 2], *[ENVELOPES["vlan"]] * (n > 1)], [], 0) for n in range(4)]
    found = flows(records, many=1)
    plain = ["gtpu teid 5", "gtpu teid 6"]
    assert [row[4] for row in found] == [*plain, *(f"vlan 100 / {one}" for one in plain)]
    assert {tuple(row[5:]) for row in found} == {("192.0.2.1", "192.0.2.2")}
