"""The text log of a gNB in srsRAN Project's words, written out."""

from __future__ import annotations

_DOWN, _UP = "DRB1 DL: ", "DRB1 UL: "


def line(ms: int, message: str, *, layer: str = "RLC", slot: str = "") -> str:
    """A line `ms` after noon, as srslog prints it."""
    second, rest = divmod(ms, 1000)
    minute, second = divmod(second, 60)
    return f"2024-05-01T12:{minute:02}:{second:02}.{rest:03}000 [{layer:<8}] [I] {slot}{message}"


def rlc(ms: int, message: str, bearer: str = "DRB1", ue: int = 0) -> str:
    way = "UL" if message.startswith("RX") else "DL"
    return line(ms, f"du=0 ue={ue} {bearer} {way}: {message}")


def data(ms: int, sn: int, length: int = 1402, si: str = "full", so: int | None = None, word: str = "TX") -> str:
    """A data PDU that the gNB sent, on a data bearer."""
    tail = f" so={so}" if so is not None else ""
    count = " retx_count=0" if word == "RETX" else ""
    message = f"{word} PDU. dc=data p={int(sn % 8 == 7)} si={si} sn={sn}{tail} pdu_len={length} grant_len=1500{count}"
    return rlc(ms, message)


def transfer(pdus: int = 60) -> str:
    """Downlink data, the third SDU in two segments, the fifth sent again, status reports every eighth."""
    lines = [line(0, "Built in Release mode using commit 0123456789.", layer="GNB")]
    for sn in range(pdus):
        ms = 100 + 5 * sn
        lines.append(line(ms, "DL PDU: ue=0 rnti=0x4601 size=1500", layer="MAC", slot="[   838.4] "))
        if sn == 2:
            lines += [data(ms, sn, 802, "first"), data(ms + 1, sn, 604, "last", 800)]
        else:
            lines += [data(ms, sn), "    0000: 80 00 45 00 00 20 d0 04 40 00 01 11 8a 9d 2d 2d"]
        if sn == 12:
            lines.append(data(ms + 1, 4, word="RETX"))
        if sn % 8 == 7:
            nack = " n_nack=1 nack=[4]" if sn == 7 else " n_nack=0"
            lines += [rlc(ms + 2, f"RX PDU. pdu_len=43 dc=data p=1 si=full sn={sn // 8}")]
            lines += [
                rlc(ms + 3, f"RX status PDU. ack_sn={sn + 1}{nack}"),
                rlc(ms + 3, "TX status PDU. pdu_len=3 grant_len=4"),
            ]
    return "\n".join(lines) + "\n"
