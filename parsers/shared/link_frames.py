"""Link frames in captures: RLP in GSMTAP, RLC alone or inside MAC."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from multitracer.compute.patience import Patience
from multitracer.model.schema import build
from multitracer.parsers import rlpdump
from multitracer.parsers.shared import rlc_in_capture
from multitracer.parsers.shared.lines import Losses
from multitracer.parsers.shared.rlc_frames import Links
from multitracer.wire import gsmtap, rlp

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.trace import Skip

Datagram = tuple[int, int, int, int, int, bytes]
"""Record, time in ns, link type, source and destination port (-1 where there are none), octets."""


def read_linkframes(datagrams: Sequence[Datagram]) -> tuple[dict[str, pd.DataFrame], list[Skip]]:
    """Tables links and frames of all link frames found, and what had to be skipped."""
    ours = [datagram for datagram in datagrams if gsmtap.PORT in datagram[3:5]]
    others = [datagram for datagram in datagrams if gsmtap.PORT not in datagram[3:5]]
    both = ((_rlp, ours), (rlc_in_capture.read, others))
    found = [read(Patience("reading link frames").told(part)) for read, part in both if part]
    if len(found) == 1:
        return found[0]
    (first, skips), (second, more) = found
    return joined(first, second), [*skips, *more]


def _rlp(datagrams: Iterable[Datagram]) -> tuple[dict[str, pd.DataFrame], list[Skip]]:
    """RLP frames, one link per timeslot, carrier and direction; other GSMTAP types are counted.

    A monitor on the air interface receives both directions: frames count as logged by their sender, and
    frames damaged at the monitor as BAD.
    """
    losses, links, rows = Losses(), Links(), []
    for record, time_ns, _, _, _, octets in datagrams:
        tap = gsmtap.decode(octets)
        if tap is None or tap.type != gsmtap.GSM_RLP:
            losses.add("GSMTAP of another type than RLP" if tap else "no GSMTAP header", record)
            continue
        frame = _frame(tap.payload)
        if frame is None:
            losses.add("RLP frame of neither 240 nor 576 bits", record)
            continue
        bearer = f"carrier {tap.arfcn} timeslot {tap.timeslot}"
        link = links.number("rlp", bearer, "mobile" if tap.uplink else "network")
        rows.append(rlpdump.row_of(record, time_ns, link, True, frame))
    senders = links.senders
    frames = rlpdump.frames_table(rows, [senders[row.link] for row in rows])
    return {"links": links.table(), "frames": frames, "link_events": build("link_events", _no_events())}, losses.skips


def _frame(octets: bytes) -> rlp.Frame | None:
    """The frame; of a size that the specification does not know only if its check sequence proves it whole."""
    if len(octets) in rlp.FRAME_BYTES.values():
        return rlp.decode(octets)
    frame = rlp.decode(octets, any_size=True) if len(octets) >= rlp.SMALLEST_BYTES else None
    return None if frame is None or frame.type == "BAD" else frame


def _no_events() -> dict[str, list[object]]:
    return {name: [] for name in ("record", "time_ns", "recorded_ns", "link", "side", "event", "bytes")}


def joined(first: dict[str, pd.DataFrame], second: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The link tables of two protocols as one; the second's link numbers follow the first's."""
    import pandas as pd

    base = len(first["links"])
    links = second["links"].assign(link=second["links"]["link"] + base)
    links["reverse"] = links["reverse"].where(links["reverse"] < 0, links["reverse"] + base)
    joined = {"links": pd.concat([first["links"], links], ignore_index=True)}
    for name in ("frames", "link_events"):
        parts = [first[name]] if name in first else []
        if name in second:
            parts.append(second[name].assign(link=second[name]["link"] + base))
        if parts:
            joined[name] = pd.concat(parts, ignore_index=True).sort_values("record", kind="stable", ignore_index=True)
    return joined
