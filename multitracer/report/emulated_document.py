"""What `reproduce delivery-order --emulate` found: the paper, our modelled Linux 2.4, and this machine's TCP."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from multitracer.replay.emulate.delivery_order import (
    COMPARED,
    FRTO,
    PAPER,
    RACK,
    WITHOUT_RACK,
    Measured,
    changes,
    difference_percent,
    published,
)
from multitracer.replay.papers.labels import labelled
from multitracer.replay.papers.runs import MissingRunsError, Runs
from multitracer.replay.simulate.statistics import mean_and_interval
from multitracer.report.emulated_page import ORDERS, tcp_text
from multitracer.report.metric_texts import title_of

_MODELLED = {False: "Linux 2.4 modelled, no FACK", True: "Linux 2.4 modelled, FACK"}
_PUBLISHED = {False: "published, no FACK", True: "published, FACK"}
_TABLE_2 = ((10, "in"), (10, "out"), (20, "in"), (20, "out"))
Modelled = Mapping[tuple[Any, ...], list[float]]
"""The samples of the modelled sessions, by metric, rate, FACK, order and frames erased."""


def document(found: Sequence[Measured], runs: Runs, scale: str) -> dict[str, Any]:
    """What reproduce.json has of them under `emulated`; `runs` are those of the modelled Linux 2.4."""
    modelled = _modelled_samples(runs)
    tcps = list(dict.fromkeys(tcp_text(one.labels) for one in found if one.labels["recovery"]))
    return {
        "kernel": os.uname().release,
        "scale": scale,
        "cells": [one.described() for one in found],
        "said": said(found, modelled),
        "resends": _resends(found, modelled, tcps),
        "changes": _changes(found, modelled, tcps),
    }


def _changes(found: Sequence[Measured], modelled: Modelled, tcps: Sequence[str]) -> dict[str, Any]:
    """By how much delivery out of sequence changes each metric, under the modelled TCPs and this kernel's."""
    ours = {(one.metric, *_place(one.labels), tcp_text(one.labels)): one for one in changes(found, COMPARED)}
    rows = []
    for metric, (rate, fer) in product(COMPARED, sorted({_place(one.labels) for one in found}, reverse=True)):
        before = (
            difference_percent(*(modelled.get((metric, rate, fack, order, fer), []) for order in ORDERS))
            for fack in _MODELLED
        )
        listed = [None if one is None else {"percent": one[0], "ci95": one[1]} for one in before]
        since = (ours.get((metric, rate, fer, tcp)) for tcp in tcps)
        listed += [None if one is None else {"percent": one.percent, "ci95": one.ci95} for one in since]
        rows.append({"metric": title_of(metric).partition(",")[0], "rate": rate, "fer": fer, "cells": listed})
    return {"heads": [*_MODELLED.values(), *tcps], "rows": rows}


def _place(labels: Mapping[str, Any]) -> tuple[int, int]:
    return labels["rate"], labels["fer"]


def _modelled_samples(runs: Runs) -> Modelled:
    found = {}
    for (labels, _), metric in product(labelled(PAPER), COMPARED):
        asked = {name: labels[name] for name in ("rate", "fack", "order", "fer")}
        try:
            sample = runs.sample({**asked, "metric": metric})
        except MissingRunsError:
            continue
        found[metric, labels["rate"], bool(labels["fack"]), labels["order"], labels["fer"]] = sample.values.tolist()
    return found


def _resends(found: Sequence[Measured], modelled: Modelled, tcps: Sequence[str]) -> dict[str, Any]:
    """Table 2 of the paper beside our model and this kernel."""
    paper = published()
    ours = {(*_place(one.labels), one.labels["order"], tcp_text(one.labels)): one for one in found}
    rows = []
    for fer, order in _TABLE_2:
        known = [paper.get((fack, order, fer), {}) for fack in _PUBLISHED]
        listed: list[Any] = [{"mean": one.get("mean"), "std": one.get("deviation")} for one in known]
        before = (modelled.get(("tcp_retransmissions", 384, fack, order, fer), []) for fack in _MODELLED)
        listed += map(mean_and_interval, before)
        cells = [ours.get((384, fer, order, tcp)) for tcp in tcps]
        listed += [None if one is None else mean_and_interval(one.samples("tcp_retransmissions")) for one in cells]
        rows.append({"fer": fer, "order": ORDERS[order], "cells": listed})
    return {"heads": [*_PUBLISHED.values(), *_MODELLED.values(), *tcps], "rows": rows}


def said(found: Sequence[Measured], modelled: Modelled) -> list[str]:
    """What changed since, in sentences; the first is the page's verdict."""
    texts = []
    for order, words in ORDERS.items():
        where = {"rate": 384, "fer": 10, "sack": True, "frto": FRTO[-1], "order": order, "recovery": RACK}
        own = _found(found, where)
        texts.append(
            f"{words} {published()[True, order, 10]['mean']:.2f} (published, Linux 2.4 with FACK), "
            f"{_mean_text(modelled.get(('tcp_retransmissions', 384, True, order, 10), []))} (modelled), "
            f"{_mean_text(own.samples('tcp_retransmissions') if own else [])} (Linux {os.uname().release} with "
            "Reno, SACK, F-RTO and RACK)"
        )
    resent = f"Segments sent again in a session at 384 kbit/s with 10 % of the frames erased: {'; '.join(texts)}."
    return [resent, *_goodput_said(found), *_rack_said(found), *_late_said(found)]


def _found(found: Sequence[Measured], labels: Mapping[str, Any]) -> Measured | None:
    """The cell with these labels."""
    return next((one for one in found if all(one.labels[name] == value for name, value in labels.items())), None)


def _mean_text(samples: Sequence[float]) -> str:
    one = mean_and_interval(samples)
    if one is None:
        return "not known"
    return f"{one['mean']:.2f}" + ("" if one["ci95"] is None else f" \u00b1 {one['ci95']:.2f}")


def _goodput_said(found: Sequence[Measured]) -> list[str]:
    """In how many settings delivery out of sequence costs goodput for sure."""
    every = [one for one in changes(found, ("goodput_bps",)) if one.ci95 is not None]
    worse, better = ([one for one in every if one.is_sure and one.percent * sign > 0] for sign in (-1, 1))
    if not every:
        return []
    most = f", at most {-min(one.percent for one in worse):.0f} %" if worse else ""
    return [
        f"Of {len(every)} settings of rate, erasures and TCP, delivery out of sequence costs goodput in {len(worse)}"
        f"{most}, and gains some in {len(better)}; in the others the 95 % interval holds 0. The paper found it worse "
        "throughout, by about 5 % at 384 kbit/s without FACK, and by more with it."
    ]


def _rack_said(found: Sequence[Measured]) -> list[str]:
    """What bit 0 of tcp_recovery does here."""
    with_rack, without = (
        _found(found, {**WITHOUT_RACK, "frto": FRTO[-1], "recovery": recovery}) for recovery in (RACK, 0)
    )
    if with_rack is None or without is None:
        return []
    texts = [_mean_text(one.samples("tcp_retransmissions")) for one in (with_rack, without)]
    return [
        f"With bit 0 of net.ipv4.tcp_recovery (RACK) this kernel sends {texts[0]} segments of a session again, without "
        f"it {texts[1]} (384 kbit/s, 10 % erased, out of sequence, SACK). Kernels without the older marking of losses, "
        "6.17 and later as far as known, have nothing to use in its place."
    ]


def _late_said(found: Sequence[Measured]) -> list[str]:
    late = sum(not session["trusted"] for one in found for session in one.sessions)
    every = sum(len(one.sessions) for one in found)
    return [f"{late} of {every} sessions were late by more than allowed, and are in no mean."] if late else []
