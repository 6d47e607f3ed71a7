"""Which link and direction the accounting is of."""

from __future__ import annotations

import pandas as pd
import pytest

from multitracer.analysis import link_layer

ROWS = [{"id": 0}, {"id": 1}]


@pytest.mark.parametrize(("captured", "main"), [((100, 400), 1), ((400, 400), 0), ((0, 0), 0), (None, 0)])
def test_the_main_link_carried_most_of_what_was_captured(captured: tuple[int, int] | None, main: int) -> None:
    """The first carries more user data, as of media that no capture has; it decides only where that does not."""
    frames = pd.DataFrame({"link": [0, 1], "sent": True, "payload_bytes": [9000, 5000]})
    carried = None
    if captured is not None:
        again = {"link": [0], "segment": [3], "transmission": [1], "payload_bytes": [900]}
        first = {"link": [0, 1], "segment": [1, 2], "transmission": 0, "payload_bytes": list(captured)}
        carried = pd.concat([pd.DataFrame(first), pd.DataFrame(again)])
    assert link_layer._main(ROWS, frames, carried) == main
