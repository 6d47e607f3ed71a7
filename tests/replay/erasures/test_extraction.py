"""Erasure traces out of link logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared_data import shared

from multitracer import cli
from multitracer.model.errors import InputError
from multitracer.replay.erasures.extraction import slots_of
from multitracer.replay.erasures.loading import file_name, load, load_all

MS = 1_000_000


def rlpdump(lines: list[tuple[float, str]], header: str = "# frame_ms: 20\n") -> str:
    """A log of one end; times in ms."""
    body = "".join(f"{1_700_000_000 + at / 1000:.6f} {said}\n" for at, said in lines)
    return f"# rlpdump 1\n# side: network\n{header}{body}"


def extracted(tmp_path: Path, text: str) -> str:
    """The one trace in a log, as characters."""
    (tmp_path / "log.txt").write_text(text)
    return "".join("01"[int(lost)] for lost in load(str(tmp_path / "log.txt"))[0].erased)


def test_frames_that_failed_are_losses(tmp_path: Path) -> None:
    """Frames that this end sent itself do not count."""
    log = rlpdump([(0, "< RR nr=0"), (0, "> RR nr=0"), (20, "< BAD"), (40, "< RR nr=0"), (60, "< BAD")])
    assert extracted(tmp_path, log) == "0101"


@pytest.mark.parametrize(("header", "wanted"), [("", "0001"), ("# nulls: logged\n", "0111")])
def test_a_slot_without_a_line_is_a_loss_only_where_fillers_are_logged(
    tmp_path: Path, header: str, wanted: str
) -> None:
    """Otherwise a NULL frame may have come in it."""
    log = rlpdump([(0, "< RR nr=0"), (60, "< BAD")], "# frame_ms: 20\n" + header)
    assert extracted(tmp_path, log) == wanted


def test_a_log_that_is_silent_for_days_is_of_several_recordings(tmp_path: Path) -> None:
    """Or one of its times is wrong: neither is a trace of thousands of millions of blocks; the record is named."""
    day_ms = 86_400_000
    log = rlpdump([(0, "< RR nr=0"), (20, "< BAD"), (10_000 * day_ms, "< RR nr=0"), (10_000 * day_ms + 20, "< BAD")])
    with pytest.raises(InputError, match=r"record 6.*has no line of .* blocks before this one"):
        extracted(tmp_path, log)
    assert len(extracted(tmp_path, rlpdump([(0, "< RR nr=0"), (day_ms, "< BAD")]))) == 1 + day_ms // 20


@pytest.mark.parametrize("every_ms", [20, 40, 140, 1000])
def test_without_a_header_the_spacing_of_frames_is_that_of_blocks(tmp_path: Path, every_ms: int) -> None:
    """Whatever the frames' size says."""
    frames = [(every_ms * n, f"< I RR ns={n} nr=0 len=25") for n in range(20)]
    (tmp_path / "log.txt").write_text(rlpdump([*frames, (every_ms * 22, "< BAD")], ""))
    (trace,) = load(str(tmp_path / "log.txt"))
    assert trace.block_ms == every_ms
    assert "".join("01"[int(lost)] for lost in trace.erased) == "0" * 22 + "1"


def test_a_block_of_unknown_length_has_none(tmp_path: Path) -> None:
    """The blocks logged are the trace, it is said, and what needs their length asks for it."""
    (tmp_path / "log.txt").write_text(rlpdump([(0, "< I RR ns=0 nr=0 len=25"), (60, "< BAD")], ""))
    assert cli.run(["erasures", "extract", str(tmp_path / "log.txt"), "-o", str(tmp_path / "out"), "-q"]) == 0
    (written,) = (tmp_path / "out").glob("*.txt")
    assert "# block_ms: unknown" in written.read_text()
    (trace,) = load(str(written))
    assert (trace.block_ms, trace.erased.tolist()) == (None, [False, True])
    with pytest.raises(InputError, match="how long a block lasts"):
        trace.minutes  # noqa: B018  (raising is what is tested)
    given = ["retrace", str(written), "-o", str(tmp_path / "r"), "-q"]
    assert cli.run(given) == 3
    assert cli.run([*given, "--block-ms", "20"]) == 0


def test_jitter_and_drift_do_not_move_the_grid() -> None:
    """Times off by up to 6 ms, and a clock that is 200 ppm fast, give every slot once."""
    steps = np.arange(100_000)
    jitter = np.random.default_rng(1).integers(-6 * MS, 6 * MS, len(steps))
    slots, early = slots_of(steps * 20 * MS + steps * 4_000 + jitter, 20 * MS)
    assert slots.tolist() == steps.tolist()
    assert early == 0


@pytest.mark.data
def test_captures_without_link_frames_are_refused() -> None:
    """The message says what would tell."""
    with pytest.raises(InputError, match="BAD frames"):
        load(str(shared("linux/loss2")))


def pdu(at: float, direction: str, sn: int) -> str:
    """One AMD PDU in an rlcdump."""
    return f"{1_700_000_000 + at / 1000:.6f} {direction} AMD sn={sn} p=0 li= len=40\n"


def test_pdus_that_never_arrived_are_losses(tmp_path: Path) -> None:
    """Each arrival is of the transmission one transit before, so a repeat that came is not the original."""
    sent = [(10 * n, n) for n in range(30)] + [(300, 7), (310, 30), (400, 7), (410, 31)]
    lost = [False] * 34
    lost[7] = lost[30] = True
    for name, side, direction, transit in (("a", "network", ">", 0), ("b", "mobile", "<", 60)):
        lines = [
            pdu(at + transit, direction, sn)
            for (at, sn), gone in zip(sent, lost, strict=True)
            if not (gone and side == "mobile")
        ]
        (tmp_path / f"{name}.txt").write_text(f"# rlcdump 1\n# side: {side}\n# mode: am\n# rat: umts\n{''.join(lines)}")
    found = next(trace for trace in load(str(tmp_path)) if trace.name.endswith("by network"))
    assert found.erased.tolist() == lost
    assert found.block_bytes == 40


def digits(path: Path) -> np.ndarray:
    """The blocks of a trace as text."""
    text = "".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    return np.array([character == "1" for character in text])


@pytest.mark.data
@pytest.mark.parametrize("folder", ["rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff"])
@pytest.mark.parametrize(("log", "sender"), [("network", "mobile"), ("mobile", "network")])
def test_real_logs_give_the_trace_of_the_radio(folder: str, log: str, sender: str) -> None:
    """Equal to what the radio did, but for the ends: before the first frame logged and after the last."""
    wanted = digits(shared(f"linux/{folder}/erasures.{sender}.txt"))
    found = load(str(shared(f"linux/{folder}/rlpdump.{log}.txt")))[0].erased
    at = next(at for at in range(13) if (wanted[at : at + len(found)] == found).all())
    assert not wanted[:at].any()
    # On the way for 180 ms, and half a second of silence at most when all was said.
    assert wanted[at + len(found) :].sum() <= 9
    assert len(wanted) - len(found) <= 90


@pytest.mark.data
@pytest.mark.parametrize(("folder", "rate"), [("rlc-inseq", 0.1), ("rlc-outseq", 0.1)])
def test_real_rlc_logs_give_the_losses_that_were_set(folder: str, rate: float) -> None:
    """10 % of the downlink's PDUs within three standard errors, none of the uplink's."""
    found = {trace.name.rpartition(" ")[2]: trace for trace in load(str(shared(f"linux/{folder}")))}
    down = found["network"]
    assert abs(down.count / len(down.erased) - rate) < 3 * np.sqrt(rate * (1 - rate) / len(down.erased))
    assert found["mobile"].count == 0


def test_each_folder_is_an_experiment_of_its_own(tmp_path: Path) -> None:
    """Nothing of one is taken for the other's, and every trace has a name of its own."""
    for name, text in (("a", "0101"), ("b", "0011")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trace.txt").write_text(text * 10 + "\n")
        (tmp_path / name / "log.txt").write_text(rlpdump([(0, "< RR nr=0"), (20, "< BAD")]))
    found, _ = load_all([str(tmp_path)])
    assert [trace.name for trace in found] == ["trace", "trace (2)"]
    assert [trace.erased[:4].tolist() for trace in found] == [[False, True] * 2, [False, False, True, True]]
    logged, _ = load_all([str(tmp_path)], logs_first=True)
    assert [trace.erased.tolist() for trace in logged] == [[False, True]] * 2
    assert len({file_name(trace.name) for trace in logged}) == 2


@pytest.mark.data
@pytest.mark.parametrize(("folder", "minutes"), [("rlc-inseq", 17.4 / 60), ("rlc-outseq", 16.5 / 60)])
def test_a_receivers_log_alone_has_the_same_clock(folder: str, minutes: float) -> None:
    """PDUs of one TTI share it, whichever end logged them."""
    (alone,) = [t for t in load(str(shared(f"linux/{folder}/rlcdump.mobile.txt.gz"))) if "network" in t.name]
    assert 0.5 * minutes < alone.minutes <= minutes * 1.05
