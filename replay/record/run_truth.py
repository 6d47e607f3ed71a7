"""What an analysis of a recorded run should find, in the words of its summary: all but what is the recording's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from multitracer.model.vocabulary import UNEXPLAINED
from multitracer.replay.arq import notes
from multitracer.replay.engine.loop import NO_SDU
from multitracer.replay.record.accounting_truth import LinkAccounting, accounting_of
from multitracer.replay.record.blame_truth import blame_of
from multitracer.replay.record.findings_truth import TrueFindings
from multitracer.replay.record.known_run import KnownRun, Resend
from multitracer.replay.record.limits_truth import limits
from multitracer.replay.record.link_frames import LOGGED, LinkFrames, SideTruth
from multitracer.replay.record.link_logs import SIDES
from multitracer.replay.record.spans import length
from multitracer.replay.record.transfer import Transfer, largest
from multitracer.replay.simulate.measures import REPEATED


class Truth:
    """What is true of a run; times in s from `first_ns` on."""

    def __init__(self, run: KnownRun, frames: LinkFrames, first_ns: int) -> None:
        self.run, self.frames, self._first_ns = run, frames, first_ns
        if self._data_side is not None:
            self._data_side.note_left()

    @cached_property
    def transfer(self) -> Transfer | None:
        """The transfer of most data."""
        return largest(self.run)

    @cached_property
    def accounting(self) -> LinkAccounting | None:
        """What the link did at each instant; None where its frames are not logged."""
        return accounting_of(self._data_side, self.transfer)

    @property
    def _logged(self) -> bool:
        return self.run.scenario.word("link.protocol") in LOGGED

    @cached_property
    def _data_side(self) -> SideTruth | None:
        return self.frames.of(self.run, self.transfer.end) if self.transfer is not None and self._logged else None

    @cached_property
    def _findings(self) -> TrueFindings | None:
        """All that happened; None where the link's frames are not logged."""
        if self.accounting is None:
            return None
        return TrueFindings(self.accounting, self.frames.of(self.run, 1 - self.accounting.side.side))

    def shares(self) -> dict[str, Any]:
        """What limited the transfer, where the link's time went and whom that is charged to, and what it carried."""
        return {
            "limits": limits(self.transfer) if self.transfer is not None else None,
            "accounting": self.accounting.shares if self.accounting is not None else None,
            "blame": self._blame(self._findings) if self._findings is not None else None,
            "findings": self._told(self._findings) if self._findings is not None else None,
            "links": list(self._links()),
        }

    def seconds(self, time_ns: int) -> float:
        """A time of the run in s."""
        return (time_ns - self._first_ns) / 1e9

    def _blame(self, true: TrueFindings) -> list[dict[str, Any]]:
        """Stretches of time with the root to which each is charged, in order of time."""
        found = blame_of(true)
        return [
            {"cause": cause, "start_s": self.seconds(start), "end_s": self.seconds(end)}
            for start, end, cause in sorted((*span, cause) for cause, spans in found.items() for span in spans)
        ]  # fmt: skip

    def _told(self, true: TrueFindings) -> list[dict[str, Any]]:
        """What is known to have happened, with the kinds of its chain from the root on; why an idle link was idle."""
        return [
            {"kind": one.kind, "start_s": self.seconds(one.start_ns), "end_s": self.seconds(one.end_ns),
             "root": one.root.kind, "chain": one.chain} | ({"idle": one.idle} if one.idle else {})
            for one in sorted(true.found, key=lambda one: one.start_ns) if one.kind != UNEXPLAINED
        ]  # fmt: skip

    def resend(self, one: Resend) -> dict[str, Any]:
        """A segment that was sent again."""
        segment = one.copy.segment
        return {
            "time_s": self.seconds(one.copy.sent_ns), "connection": segment.flow.number, "seq": segment.seq,
            "payload_bytes": segment.payload_bytes, "trigger": one.trigger, "spurious": "yes" if one.spurious else "no",
            "root": self.root(one),
        }  # fmt: skip

    def root(self, one: Resend) -> str | None:
        """What lost the earlier copy; the link may have given that up by itself."""
        true = self._findings
        before = true.earlier(one.copy) if true is not None and one.root == "link-reset" else None
        if true is None or before is None:
            return one.root
        loser = true.loser(before)
        return loser.kind if loser is not None else None

    def _links(self) -> Iterator[dict[str, Any]]:
        """What each direction of the link carried: its own frames, not what went past it."""
        rows = self.run.link[self.run.link["what"] == NO_SDU]
        counted = Counter(zip(rows["side"].tolist(), rows["event"].tolist(), strict=True))
        protocol, engine = self.run.scenario.word("link.protocol"), self.run.engine
        for side, (name, entity) in enumerate(zip(SIDES, (engine.a, engine.b), strict=True)):
            yield {
                "protocol": protocol, "sender": name, "frames_sent": counted[side, notes.SENT],
                "frames_retransmitted": _repeated(protocol, engine.protocol.counters(entity)),
                "frames_received": counted[1 - side, notes.RECEIVED], "frames_erased": counted[1 - side, notes.ERASED],
                **(times(self.frames.of(self.run, side)) if self._logged else {}),
            }  # fmt: skip


def times(side: SideTruth) -> dict[str, Any]:
    """How long a side's frames with user data were on the air, and what they carried."""
    frames = side.frames
    own = frames.numbered > 0
    busy, stopped = int((frames.end_ns - frames.begin_ns)[own].sum()), length(side.stopped)
    span = int(frames.begin_ns.max() - frames.begin_ns.min()) if len(frames.begin_ns) else 0
    return {
        "resets": len(side.resets), "payload_bytes": int(frames.data[own & ~side.octets.repeat].sum()),
        "busy_s": busy / 1e9, "idle_s": max(span - busy - stopped, 0) / 1e9, "flow_controlled_s": stopped / 1e9,
    }  # fmt: skip


def _repeated(protocol: str, counters: Mapping[str, int]) -> int:
    """How many of an entity's frames were sent again."""
    return counters[REPEATED[protocol]] if protocol in REPEATED else 0
