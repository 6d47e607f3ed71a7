"""The keys of the channel: which frames the radio loses or delays."""

from __future__ import annotations

from multitracer.replay.simulate.key import Key, number, seconds, word
from multitracer.replay.simulate.limits import LONGEST_AIR_S

MODEL = "channel.model"
MOST_FRAMES = 100_000_000
"""The highest number of a frame that is listed: a byte is kept for each before it."""


def _for(*models: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ((MODEL, models),)


_STATES = _for("two-state", "gilbert")

CHANNEL = (
    word(MODEL, "What loses frames; the directions are independent.", "none", "uniform", "two-state", "bit-errors",
         "gilbert", "trace", "listed"),
    number("channel.frame_loss_rate", "Probability that a frame is lost.", None, most=1, where=_for("uniform"),
           needed=True),
    number("channel.bit_error_rate", "Probability that a bit is wrong; each by itself.", None, most=1,
           where=_for("bit-errors"), needed=True),
    seconds("channel.good_s", "Mean time of the good state, exponential.", 10.0, above=True, where=_STATES),
    seconds("channel.bad_s", "Mean time of the bad state, exponential; 0: there is none.", None, where=_STATES,
            needed=True),
    number("channel.good_ber", "Bit errors in the good state.", 1e-6, most=1, where=_for("two-state")),
    number("channel.bad_ber", "Bit errors in the bad state.", 1e-2, most=1, where=_for("two-state")),
    word("channel.rule", "Which frames are lost: by the product over the states that they meet, by any touch of the "
         "bad one, or by the state at their end.", "product", "touch", "end", where=_STATES),
    word("channel.start", "The state at time 0.", "stationary", "good", where=_STATES),
    Key("channel.trace", "path", "An erasure trace, or a link log that has one. After its end nothing is lost, which "
        "is said. Of both directions, it loses the same places in both: channel.forward.trace and "
        "channel.reverse.trace are of one alone.", None, where=_for("trace"),
        needed=True),
    Key("channel.frames", "wholes", "Which frames put on the air are lost, counted from 0: channel.forward.frames and "
        "channel.reverse.frames.", (), most=MOST_FRAMES, where=_for("listed")),
    Key("channel.delayed_frames", "wholes", "Frames put on the air that arrive later, counted from 0.", ()),
    Key("channel.extra_delay_s", "numbers", "By how much, one for each of channel.delayed_frames.", (),
        most=LONGEST_AIR_S),
    word("channel.unit", "What is lost at once: a frame, or all frames of a TTI, by the luck of the first.", "frame",
         "tti"),
    word("channel.hits", "What can be lost: all frames, or data frames of the link protocol alone, neither its control "
         "frames nor media that go past it.", "all", "data"),
)  # fmt: skip
