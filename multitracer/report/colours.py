"""The colours of everything that the pages draw, and the dashes of lines that are drawn together."""

from __future__ import annotations

# The colours of Okabe and Ito, which colour-blind people can tell apart; each goes with a shape or dash of its own.
# Orange and sky blue are darker than theirs: each colour but black, which pages draw as their text, has a contrast of
# 3:1 with the ground of the light and of the dark theme (WCAG 2.1, 1.4.11).
BLUE, GREEN, ORANGE, RED, PURPLE, GREY, SKY, BLACK = (
    "#0072b2", "#009e73", "#c58700", "#d55e00", "#cc79a7", "#7f7f7f", "#3b9bd1", "#000000",
)  # fmt: skip

SENT, ACKNOWLEDGED, ADVERTISED_WINDOW, SACK = BLUE, GREEN, "#b8860b", PURPLE
ARRIVED = "#3fa08f"
RESENT = {"no": RED, "yes": ORANGE, "unknown": GREY}
"""Of retransmissions, by whether they were needless."""
LINK_RATE, LINK_RESET, FLOW_CONTROL, RELEASE = GREY, RED, PURPLE, BLACK
FINDING = ORANGE
LAYERS = {
    "sender": "#aa4499", "host": "#b8860b", "link": RED, "path": GREEN, "receiver": BLUE, "capture": "#cc6677",
    "unknown": GREY,
}  # fmt: skip
"""Of the layers: of findings, and of the time that is charged to them."""
CARRIED = {"new_data": "#6c7a89", "link_overhead": "#8995a3"}
"""Of the time that was well used."""
CAUSES = {
    "new_data": BLUE, "tcp_retransmitted": RED, "link_retransmitted": ORANGE, "link_overhead": SKY,
    "link_control": "#7d8f2e", "flow_controlled": PURPLE, "link_reset": "#b03a78", "idle_window_limited": "#66727d",
    "idle_sender": "#949494", "idle_recovery": "#9a5b3a", "path_held": "#3fa08f",
    "unknown": "#7a6fb0",
}  # fmt: skip
"""Of the causes between which a session's time is divided, in the order of the accounting bar."""

LIMITS = {
    "application": "#aa4499", "receiver_window": BLUE, "sender_window": "#b8860b", "timeout_recovery": RED,
    "fast_recovery": "#e0742a", "path_stall": GREEN, "path_rate": "#6c7a89", "unknown": GREY,
}  # fmt: skip
"""Of what limited a transfer."""
PARTS = (BLUE, SKY, RED, ORANGE, PURPLE, GREEN, "#9a5b3a", "#b03a78", "#7d8f2e", "#3fa08f", "#7a6fb0")
"""Of the parts of a notebook's bar, from left to right."""

_LINES = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, GREY, BLACK)
_DASHES = ("solid", "dashed", "dotted")


def line_style(place: int) -> dict[str, str]:
    """Colour and dash of one of several lines in a panel; 24 of them differ."""
    return {"line_color": _LINES[place % len(_LINES)], "line_dash": _DASHES[place // len(_LINES) % len(_DASHES)]}
