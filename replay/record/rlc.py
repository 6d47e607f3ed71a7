"""Recording UMTS RLC in acknowledged mode: rlcdump and umts-rlc; its resets are in its frames, and no events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO

from multitracer.link.pace import Pace
from multitracer.model.errors import UsageError
from multitracer.parsers import rlcdump
from multitracer.parsers.shared import rlc_frames
from multitracer.parsers.shared.rlc_frames import OTHER_END, At, FrameRow
from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.engine.driver import Engine
from multitracer.replay.engine.rlc import RLC_AM_OCTETS
from multitracer.replay.erasures.trace import ms_text
from multitracer.replay.record import datagrams
from multitracer.replay.record.instruments import ARRIVALS, SENT, Happening, Logged
from multitracer.replay.record.recorder import Reader
from multitracer.replay.retrace.models import Air
from multitracer.replay.retrace.rlc import Acknowledged

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RlcMedium:
    """UMTS RLC in acknowledged mode: rlcdump, and Wireshark's umts-rlc."""

    li_bits: int
    pace: Pace
    dump: str = "rlcdump"

    def table(self, logged: Sequence[Logged], side: str) -> pd.DataFrame:
        """The frames table of what one end logged; a PDU with several reports has several rows."""
        rows: list[FrameRow] = []
        for at, octets, damaged in logged:
            if damaged:
                rows.append(FrameRow(*at, "BAD", length_bytes=len(octets)))
            else:
                rows += [FrameRow._make((*at, *row[len(at) :])) for row in _decoded(octets, self.li_bits)]
        return rlc_frames.frames_table(rows, [side, OTHER_END[side]])

    def write(self, stream: TextIO, frames: pd.DataFrame, side: str, events: pd.DataFrame) -> None:
        """Write a log with its header."""
        header: dict[str, Any] = {"li_bits": self.li_bits}
        if self.pace.interval_ns:
            header |= {"tti_ms": ms_text(self.pace.interval_ns), "frames_per_tti": self.pace.frames}
        rlcdump.write(stream, frames, side=side, rat="umts", events=events, header=header)

    def packet(self, octets: bytes, uplink: bool, time_ns: int) -> bytes:
        """A packet of umts-rlc."""
        return datagrams.of_umts_rlc(octets, uplink=uplink, li_bits=self.li_bits)


@lru_cache(1 << 13)  # The second end's log has the first's PDUs: as many as one part of the log holds.
def _decoded(octets: bytes, li_bits: int) -> list[FrameRow]:
    """The rows of a PDU, each end's but for when and where it was logged."""
    pdus = rlc_frames.PduRows()
    pdus.umts_am(At(0, 0, 0, True), octets, li_bits)
    return pdus.rows


class AmRecorder:
    """Runs of RLC AM, of PDUs with octets."""

    def check(self, frame_bytes: int) -> None:
        """Raise UsageError for PDUs that a packet of the capture has no room for."""
        if frame_bytes > datagrams.LARGEST_BYTES:
            raise UsageError(
                f"PDUs of {frame_bytes} octets cannot be recorded; they must have at most {datagrams.LARGEST_BYTES}"
            )

    def engine(self, model: Acknowledged, air: Air, opportunities: int) -> Engine:
        """Both ends, not yet run, with room in the log for so many opportunities at a time."""
        # Each opportunity brings two PDUs sent, two that arrive, and the SDUs that one has room for; these may wait.
        sdus = air.frame_bytes // model.sdu_bytes + 2
        rows = opportunities * (4 + 2 * sdus) + model.settings.queue_sdus
        return model.engine(air, rows + 1, RLC_AM_OCTETS)

    def medium(self, parameters: Parameters, pace: Pace) -> RlcMedium:
        """Logs with the length indicators of these parameters."""
        return RlcMedium(8 * parameters.li_octets - 1, pace)

    def reader(self, parameters: Parameters) -> Reader:
        """Each part of a log is read by itself."""
        return _happenings


def _happenings(log: Log) -> Iterator[Happening]:
    """The rows of RLC's log that are about PDUs."""
    for at, (time_ns, side, event, octets, *_) in enumerate(log.rows.tolist()):
        if event == notes.SENT:
            yield Happening(time_ns, side, SENT, log.frames["octets"][at, :octets].tobytes())
        elif event in ARRIVALS:
            yield Happening(time_ns, side, ARRIVALS[event])


AM_RECORDER = AmRecorder()
