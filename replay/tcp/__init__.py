"""TCP senders and receivers as state machines: told the time, given packets, asked for packets."""
