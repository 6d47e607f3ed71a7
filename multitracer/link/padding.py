"""When the sender of a link had nothing more to send, as the padding of its frames shows.

UMTS RLC concatenates SDUs to fill a PDU of fixed size; it pads one only where no further data waits when it is made,
which may be some time before it is on the air (25.322 9.2.2.8, 11.3.2.1). LTE and NR cut PDUs to the size that is
granted, so that theirs show nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.link.coverage import one_log
from multitracer.wire import rlc_umts

if TYPE_CHECKING:
    import pandas as pd

_REST_IS_NO_DATA = (rlc_umts.SPEC.padding, rlc_umts.SPEC.piggyback)
"""A status report is put where there would be padding (25.322 9.2.1.5)."""


def padded_ns(frames: pd.DataFrame, links: pd.DataFrame, link: int) -> npt.NDArray[np.int64]:
    """When a link's sender sent new data in an AMD PDU with padding, by its own log: sorted, ns.

    What is sent again is padded as it was at first, whatever waits by then.
    """
    if str(links["protocol"].iat[link]) != "rlc-umts":
        return np.empty(0, dtype=np.int64)
    own = frames.iloc[one_log(frames, np.flatnonzero(((frames["link"] == link) & frames["sent"]).to_numpy()))]
    found = own[(own["type"] == "AMD") & (own["transmission"] == 0)]
    padded = [_is_padded(*row) for row in zip(found["lis"], found["length_bytes"], found["data"], strict=True)]
    return np.sort(found["time_ns"].to_numpy()[np.array(padded, dtype=np.bool_)])


def _is_padded(lis: tuple[int, ...] | None, length: int, data: bytes | None) -> bool:
    """Whether a length indicator of a PDU says that its rest is no data."""
    if not lis:
        return False
    bits = rlc_umts.li_bits_in(lis, length, data)
    return any(rlc_umts.long_form(li, bits) in _REST_IS_NO_DATA for li in lis)
