"""What a variant is called in checks: labels such as app, model, flr and limit, found from its keys.

A variant without losses stands in the figures of both error models, so it can carry several sets of labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any

from multitracer.replay.papers.folder import experiments, read
from multitracer.replay.papers.variants import Keys, Variant, variants

Labels = Mapping[str, Any]
OFF = "off"
"""The label of a key that is unset."""


@cache
def labelled(paper: str) -> tuple[tuple[Labels, Variant], ...]:
    """Every variant of a paper under each set of labels that it has."""
    return tuple(
        (labels, variant)
        for experiment in experiments(paper)
        for variant in variants(paper, experiment)
        for labels in labels_of(variant)
    )


def labels_of(variant: Variant) -> Iterator[Labels]:
    """The sets of labels of a variant."""
    table = read(variant.paper, "paper")
    said = table["experiment"][variant.experiment]["labels"]
    for values in product(*said.values()):
        labels = dict(zip(said, values, strict=True))
        for axis in table["axis"]:
            _label(axis, variant.keys, labels)
        if not any(_matches(when, variant.keys, labels) for when in table.get("never", ())):
            yield labels


def _label(axis: Mapping[str, Any], keys: Keys, labels: dict[str, Any]) -> None:
    for key in axis.get("keys", [axis["key"]] if "key" in axis else []):
        if key in keys:
            labels[axis["name"]] = OFF if keys[key] is None else keys[key]
    for row in axis.get("rows", ()):
        if _matches(row["when"], keys, labels):
            labels[axis["name"]] = row["label"]
            return


def _matches(when: Mapping[str, Any], keys: Keys, labels: Labels) -> bool:
    """Whether each value is that of the key (whose name has a dot) or of the label."""
    return all((keys if "." in name else labels).get(name) == value for name, value in when.items())
