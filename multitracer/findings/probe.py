"""Tail loss probes, needed or needless."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENTS
from multitracer.findings.observations import Observations
from multitracer.findings.retransmission_rows import finding

KINDS = ("probe",)
NEEDS = (SEGMENTS,)

_WAS = {"yes": "needless", "no": "needed", "unknown": "needed or not cannot be told"}
"""Column `spurious` in words."""
_AFTER_TIMER = (
    "as that is long after the timer, and no other resend shows that this sender sends probes, it may be a timeout"
)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each probe.

    A probe is sent at the latest when the timer would run out (RFC 8985 7.2). Long after that a sender sends one only
    if its timer is not as modelled; where no other resend shows that it sends probes, it may have timed out.
    """
    columns = observed.retransmission_columns
    probes = np.flatnonzero(observed.retransmissions["trigger"] == "probe")
    hosts = [_host(columns["sender"][row]) for row in probes]
    sure = [not columns["in_doubt"][row] for row in probes]
    probing = {host for host, one in zip(hosts, sure, strict=True) if one}
    for row, host, one in zip(probes.tolist(), hosts, sure, strict=True):
        because = f"{columns['because'][row]} ({_WAS[columns['spurious'][row]]})"
        if one or host in probing:
            yield finding("probe", columns, [row], "confirmed", because)
        else:
            yield finding("probe", columns, [row], "likely", f"{because}; {_AFTER_TIMER}")


def _host(endpoint: str) -> str:
    """The address of an endpoint, without its port."""
    return str(endpoint).rpartition(":")[0]
