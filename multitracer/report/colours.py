"""The colours of everything that the pages draw, and the dashes of lines that are drawn together."""

from __future__ import annotations

# The colours of Okabe and Ito, which colour-blind people can tell apart; each goes with a shape or dash of its own.
BLUE, GREEN, ORANGE, RED, PURPLE, GREY, SKY, BLACK = (
    "#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#7f7f7f", "#56b4e9", "#000000",
)  # fmt: skip

SENT, ACKNOWLEDGED, ADVERTISED_WINDOW, SACK = BLUE, GREEN, "#b8860b", PURPLE
ARRIVED = "#44aa99"
RESENT = {"no": RED, "yes": ORANGE, "unknown": GREY}
"""Of retransmissions, by whether they were needless."""
LINK_RATE, LINK_RESET, FLOW_CONTROL, RELEASE = GREY, RED, PURPLE, BLACK
FINDING = ORANGE
LAYERS = {
    "sender": "#aa4499", "host": "#b8860b", "link": RED, "path": GREEN, "receiver": BLUE, "capture": "#cc6677",
    "unknown": GREY,
}  # fmt: skip
"""Of the layers: of findings, and of the time that is charged to them."""
CARRIED = {"new_data": "#6c7a89", "link_overhead": "#8a97a5"}
"""Of the time that was well used."""
CAUSES = {
    "new_data": BLUE, "tcp_retransmitted": RED, "link_retransmitted": ORANGE, "link_overhead": SKY,
    "link_control": "#999933", "flow_controlled": PURPLE, "link_reset": "#882255", "idle_window_limited": "#bbbbbb",
    "idle_sender": "#dddddd", "idle_recovery": "#661100", "path_held": "#44aa99",
    "unknown": "#f0e442",
}  # fmt: skip
"""Of the causes between which a session's time is divided, in the order of the accounting bar."""

LIMITS = {
    "application": "#aa4499", "receiver_window": BLUE, "sender_window": "#b8860b", "timeout_recovery": RED,
    "fast_recovery": "#e0742a", "path_stall": GREEN, "path_rate": "#6c7a89", "unknown": GREY,
}  # fmt: skip
"""Of what limited a transfer."""
PARTS = (BLUE, SKY, RED, ORANGE, PURPLE, GREEN, "#661100", "#882255", "#999933", "#44aa99", BLACK)
"""Of the parts of a notebook's bar, from left to right."""

_LINES = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, GREY, BLACK)
_DASHES = ("solid", "dashed", "dotted")


def line_style(place: int) -> dict[str, str]:
    """Colour and dash of one of several lines in a panel; 24 of them differ."""
    return {"line_color": _LINES[place % len(_LINES)], "line_dash": _DASHES[place // len(_LINES) % len(_DASHES)]}
