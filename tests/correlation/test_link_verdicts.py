"""What a link's log says of retransmissions that the sender's capture leaves open."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scenes import SERVER, retransmissions, segment_frames
from sending import ack, again, data, table

from multitracer.correlation.delivery import MISSING
from multitracer.correlation.link_verdicts import NEEDED, NEEDLESS, Capture, carried_copies, with_link_verdicts
from multitracer.model.paths import Paths
from multitracer.tcp.connection_rows import Groups

SCRIPT = (data(0, 1, 101), data(1, 101, 201), again(500, 101, 201), ack(700, 201))
RESEND, ANSWER = 2, 3
"""The rows of the resend and of what acknowledges it."""


def told(
    whole: tuple[float | None, ...],
    *,
    left: float | None = 640,
    receiver: int = -1,
    error_ms: float | None = 1,
    late_ack: int = -1,
    unheard: float | None = None,
    unheard_ack: int = 201,
    unheard_on: int = 1,
    spurious: str = "unknown",
) -> tuple[str, str, int]:
    """Verdict, reason and late_ack, where the link had the segments whole at its far end at these times, in ms.

    What was heard of the answer `left` there, and another one that was lost at `unheard`.
    """
    segments = table(SCRIPT).assign(point=0)
    near, far = np.array([[0, receiver]]), np.array([[receiver, 0]])
    nothing = np.full(len(SCRIPT), -1, dtype=np.int32)
    capture = Capture(segments, Groups(segments, 1).rows, Paths(near, far, nothing, nothing.astype(np.int8)))
    rows = [
        {"segment": row, "sent": SCRIPT[row].ms, "first": SCRIPT[row].ms + 5, "seq": SCRIPT[row].seq,
         "payload_bytes": 100, "delivered": whole[row]}
        for row in range(3)
    ]  # fmt: skip
    answer = {"link": 1, "payload_bytes": 0, "sender": SERVER}
    if left is not None:
        rows.append({"segment": ANSWER, "first": left, "delivered": 690, **answer})
    if unheard is not None:
        rows.append({"first": unheard, "ack": unheard_ack, **answer, "link": unheard_on})
    open_ = {"spurious": spurious, "because": "a timer; cannot be told", "late_ack": late_ack}
    resent = retransmissions({"ms": 500, "segment": RESEND, **open_})
    errors = {} if error_ms is None else {(0, False, 0): round(error_ms * 1e6)}
    found = with_link_verdicts(resent, capture, segment_frames(*rows), {0: 1, 1: 0}, errors).iloc[0]
    return str(found["spurious"]), found["because"], int(found["late_ack"])


def test_what_was_acknowledged_before_the_link_delivered_the_resend_was_resent_needlessly() -> None:
    """The earlier copy was whole 600 ms after, the answer left at 640, the resend came at 650."""
    assert told((60, 600, 650)) == ("yes", f"a timer; {NEEDLESS}", 1)


def test_what_the_receiver_acknowledged_before_was_resent_needlessly_though_the_link_lost_that() -> None:
    """The answer to the earlier copy left at 410 ms and was lost: the timer ran out rightly, at 500 ms."""
    assert told((60, 400, 630), unheard=410) == ("yes", f"a timer; {NEEDLESS}", 0)
    assert told((60, 400, 650), unheard=410) == ("yes", f"a timer; {NEEDLESS}", 1)
    assert told((60, 600, 605), unheard=610)[0] == "unknown"


@pytest.mark.parametrize(
    ("before", "copy", "answered", "late_ack"),
    [(60, 600, 610, 1), (550, 400, 560, 1), (550, 400, 410, -1), (60, 500.5, 510, -1)],
    ids=["whole after it", "held behind another", "perhaps not held", "within the error of the clocks"],
)
def test_what_the_link_delivered_after_the_timer_was_on_its_way(
    before: float, copy: float, answered: float, late_ack: int
) -> None:
    """The timer ran out at 500 ms, and the link lost the answer to the copy; a link that keeps the order holds it."""
    assert told((before, copy, 630), unheard=answered) == ("yes", f"a timer; {NEEDLESS}", late_ack)


@pytest.mark.parametrize("other", [{"unheard_ack": 2**31 - 5}, {"unheard_on": 2}])
def test_what_acknowledges_more_than_was_sent_or_came_over_another_link_tells_nothing(other: dict[str, int]) -> None:
    """It is of another connection with the same addresses, or by another log's clock."""
    assert told((60, 600, 630), unheard=610, **other)[0] == "unknown"


def test_whether_an_acknowledgement_came_late_is_open_where_the_log_lacks_it() -> None:
    """The one that was heard may have been sent before the resend came, or after."""
    assert told((60, 400, 650), left=None, unheard=410) == ("yes", f"a timer; {NEEDLESS}", -1)


def test_of_what_is_known_to_be_needless_the_log_tells_whether_an_acknowledgement_was_late() -> None:
    """The verdict and its reason stand; what the link never had whole contradicts it, and tells nothing."""
    assert told((60, 400, 650), spurious="yes") == ("yes", "a timer; cannot be told", 1)
    assert told((60, 400, 630), unheard=410, spurious="yes") == ("yes", "a timer; cannot be told", 0)
    assert told((60, None, 630), spurious="yes") == ("yes", "a timer; cannot be told", -1)


@pytest.mark.parametrize(("logged", "missing"), [(-1, False), (MISSING, True)])
def test_what_the_log_shows_to_be_missing_was_never_whole(logged: int, missing: bool) -> None:
    """Whatever became of the segment before it."""
    rows = [{"segment": n, "first": n, "seq": 1 + 100 * n, "payload_bytes": 100} for n in range(2)]
    assert carried_copies(segment_frames(rows[0], rows[1] | {"logged_ns": logged})).missing.tolist() == [False, missing]


def test_a_resend_that_came_before_the_answer_left_may_be_what_it_answers() -> None:
    """Then nothing is known, as before."""
    assert told((60, 600, 630))[0] == "unknown"


@pytest.mark.parametrize(("error_ms", "verdict"), [(20, "yes"), (60, "unknown"), (None, "unknown")])
def test_without_the_answer_in_the_log_the_clocks_decide(error_ms: float | None, verdict: str) -> None:
    """The answer was heard at 700 ms, within the error of the clocks, and the resend came at 750."""
    assert told((60, 600, 750), left=None, error_ms=error_ms)[0] == verdict


def test_what_the_link_never_had_whole_was_resent_rightly() -> None:
    """The one before was whole, and the answer left after the resend had come."""
    assert told((60, None, 630)) == ("no", f"a timer; {NEEDED}", -1)


def test_what_a_reset_may_have_discarded_proves_nothing() -> None:
    """Nor does a log by which that never came that was sent once and acknowledged."""
    assert told((None, None, 630))[0] == "unknown"


def test_the_first_that_the_log_lacks_may_be_from_before_it_began() -> None:
    """Nothing that came before it shows that the far end logged already."""
    table = segment_frames(
        {"segment": 0, "sent": 0, "first": 5, "seq": 1, "payload_bytes": 100, "delivered": None},
        {"segment": 1, "sent": 9, "first": 15, "seq": 101, "payload_bytes": 100, "delivered": 60},
        {"segment": 2, "sent": 19, "first": 25, "seq": 201, "payload_bytes": 100, "delivered": None},
    )
    assert carried_copies(table).missing.tolist() == [False, False, True]


def test_an_answer_that_the_log_lacks_proves_no_resend_right() -> None:
    """It may have left before the resend came: only its latest time is known."""
    assert told((60, None, 630), left=None)[0] == "unknown"


@pytest.mark.parametrize(("late_ack", "verdict"), [(1, "unknown"), (0, "no")])
def test_what_tcp_shows_to_be_answered_was_not_resent_rightly(late_ack: int, verdict: str) -> None:
    """Though the log has no earlier copy whole: it lacks something."""
    assert told((60, None, 630), late_ack=late_ack)[0] == verdict


def test_a_timer_that_ran_out_rightly_stays_so() -> None:
    """No acknowledgement of the earlier copy came back, though the link had delivered it."""
    assert told((60, 600, 650), late_ack=0) == ("yes", f"a timer; {NEEDLESS}", 0)


def test_a_capture_at_the_receiver_is_not_overruled() -> None:
    """It has told what can be told."""
    assert told((60, 600, 650), receiver=1)[0] == "unknown"


def test_nothing_else_is_changed() -> None:
    """Other verdicts stay, and without a log all do."""
    resent = retransmissions({"ms": 500, "spurious": "no", "segment": RESEND})
    segments = table(SCRIPT).assign(point=0)
    near = np.array([[0, -1]])
    nothing = np.full(len(SCRIPT), -1, dtype=np.int32)
    capture = Capture(segments, Groups(segments, 1).rows, Paths(near, near[:, ::-1], nothing, nothing.astype(np.int8)))
    pd.testing.assert_frame_equal(with_link_verdicts(resent, capture, segment_frames(), {}, {}), resent)
